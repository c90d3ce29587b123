//! Parquet files as a [`Source`](crate::Source).
//!
//! A file is opened by one tail read ([`footer`]); a plan prunes row groups and pages and lists the byte ranges that
//! remain ([`planning`], [`prune`]); a read steps through row groups, all columns by the same row counts, on a pool of
//! threads ([`read`]). One column of one row group is a [`lane`]: a state machine that yields the next rows as an array.
//! Flat columns have a decoder of our own ([`flat`]), nested ones go through the parquet crate ([`nested`]).

mod footer;
mod index;
mod lane;
mod nested;
mod planning;
mod prune;
mod read;
mod schema;
mod selection;
mod source;

pub use source::ParquetSource;
