//! ORC files as a [`Source`](crate::Source) and a [`Sink`](crate::Sink), by the `lakerace-orc` crate.
//!
//! A file is opened by one tail read ([`file`]); a plan prunes stripes by the statistics of the file and of each stripe
//! ([`statistics`]), reads the footers of those that remain, all of them through planned requests, and lists the byte
//! ranges of their streams. A read steps through stripes by [`crate::steps`]: one column of one stripe is a [`lane`].

mod error;
mod file;
mod lane;
mod sink;
mod source;
mod statistics;
mod timestamps;

pub use sink::OrcSink;
pub use source::OrcSource;
