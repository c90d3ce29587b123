//! Parquet files as a [`Source`](crate::Source) and a [`Sink`](crate::Sink).
//!
//! A file is opened by one tail read ([`footer`]). A plan prunes row groups and pages and lists the byte ranges that
//! remain ([`read::planning`], [`read::prune`]). A read steps through row groups, all columns by the same row counts, on
//! a pool of threads ([`crate::exec`]). A [column reader](read::column_reader) yields the next rows of one column of one
//! row group as an array. Flat columns have a decoder of our own ([`decode`]), nested ones go through the parquet crate
//! ([`read::nested_reader`]).
//!
//! A write cuts batches into row groups ([`mod@write`]) and encodes their columns side by side ([`write::pool`]), flat ones
//! by encoders of our own ([`encode`]), nested ones by the parquet crate ([`write::nested`]).

pub(crate) mod decode;
pub(crate) mod encode;
mod footer;
mod logical_types;
mod read;
mod source;
mod write;

use std::sync::Arc;

use lakerace_io::option::{
    BLOOM_FILTER, COMPRESSION, FILE_NAME_COLUMN, ROW_GROUP_BYTES, ROW_GROUP_ROWS, TIMESTAMP_UNIT, UNION_COLUMNS,
};

use crate::file_format::{FileFormat, OpenOptions};
pub(crate) use crate::panic_guard::guarded;
pub use decode::block::{Block, MemoryPool};
pub(crate) use footer::schema::with_root_views;
pub use read::row_group::{Keeps, RowGroup};
pub use source::ParquetSource;
pub use write::ParquetSink;

/// Apache Parquet.
pub static PARQUET: FileFormat = FileFormat {
    title: "Parquet",
    endings: &["parquet", "pq"],
    marks: &[b"PAR1"],
    is_columnar: true,
    keeps_dictionaries: true,
    options: &[
        &FILE_NAME_COLUMN,
        &TIMESTAMP_UNIT,
        &UNION_COLUMNS,
        &COMPRESSION,
        &ROW_GROUP_ROWS,
        &ROW_GROUP_BYTES,
        &BLOOM_FILTER,
    ],
    ..FileFormat::new(
        "parquet",
        |files, options, job| {
            let OpenOptions { first, parquet, union, columns, .. } = options;
            Ok(Arc::new(ParquetSource::open_columns(files, *first, *parquet, *union, *columns, job)?))
        },
        ParquetSink::create,
    )
};
