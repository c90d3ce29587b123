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

pub use sink::OrcSink;
pub use source::OrcSource;
