//! Parquet files as a [`Source`](crate::Source) and a [`Sink`](crate::Sink).
//!
//! A file is opened by one tail read ([`footer`]); a plan prunes row groups and pages and lists the byte ranges that
//! remain ([`planning`], [`prune`]); a read steps through row groups, all columns by the same row counts, on a pool of
//! threads ([`crate::steps`]). One column of one row group is a [`lane`]: a state machine that yields the next rows as an
//! array.
//! Flat columns have a decoder of our own ([`flat`]), nested ones go through the parquet crate ([`nested`]).
//!
//! A write cuts batches into row groups ([`write`]) and encodes their columns side by side ([`write_pool`]), flat ones by
//! encoders of our own ([`encode`]), nested ones by the parquet crate ([`write_nested`]).

mod block;
mod booleans;
mod codec;
mod column;
mod column_reader;
mod convert;
mod delta;
mod empty_groups;
mod encode;
mod encode_block;
mod encode_boolean;
mod encode_buffer;
mod encode_bytes;
mod encode_compress;
mod encode_delta;
mod encode_dictionary;
mod encode_fixed;
mod encode_literals;
mod encode_page;
mod encode_rle;
mod encode_statistics;
mod encode_values;
mod fixed;
mod fixed_bytes;
mod flat;
mod footer;
mod footer_mend;
mod header;
mod hybrid;
mod index;
mod indexes;
mod nested;
mod nested_int96;
mod pages;
mod pieces;
mod planning;
mod prune;
mod read;
#[cfg(target_os = "linux")]
mod region;
mod row_group;
mod schema;
mod snappy;
mod source;
mod texts;
mod trust;
mod validity;
mod views;
mod write;
mod write_file;
mod write_nested;
mod write_options;
mod write_pool;

pub use block::{Block, Pool};
pub(crate) use footer::guarded;
pub use row_group::{Keeps, RowGroup};
pub(crate) use schema::with_root_views;
pub use source::ParquetSource;
pub use write::ParquetSink;
