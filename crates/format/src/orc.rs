//! ORC files as a [`Source`](crate::Source) and a [`Sink`](crate::Sink), by the `lakerace-orc` crate.
//!
//! A file is opened by one tail read ([`mod@file`]); a plan prunes stripes by the statistics of the file and of each stripe
//! ([`statistics`]), reads the footers of those that remain, all of them through planned requests ([`fetch`]), and with a filter
//! their indexes, which exclude row groups ([`groups`]), and lists the byte ranges of their streams. A read steps through
//! stripes by [`crate::exec`]: one column of one stripe is read by a [`column_reader`].

mod column_reader;
mod error;
mod fetch;
mod file;
mod groups;
mod row_groups;
mod sink;
mod source;
mod statistics;
mod timestamps;
mod unit;

use std::sync::Arc;

use lakerace_io::option::{
    BLOOM_FILTER, COMPRESSION, FILE_NAME_COLUMN, ROW_GROUP_BYTES, TIMESTAMP_UNIT, UNION_COLUMNS,
};

pub use sink::OrcSink;
pub use source::OrcSource;

use crate::file_format::FileFormat;

/// Apache ORC.
pub static ORC: FileFormat = FileFormat {
    title: "ORC",
    endings: &["orc"],
    marks: &[b"ORC"],
    is_columnar: true,
    options: &[&FILE_NAME_COLUMN, &TIMESTAMP_UNIT, &UNION_COLUMNS, &COMPRESSION, &ROW_GROUP_BYTES, &BLOOM_FILTER],
    ..FileFormat::new(
        "orc",
        |files, options, job| Ok(Arc::new(OrcSource::open_part(files, options, job)?)),
        OrcSink::create,
    )
};
