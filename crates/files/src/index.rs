//! Which files a store on an object store has. The index is a table, which this crate knows by a trait alone.

use std::sync::Arc;

use lakerace_io::Result;

/// Where a content, or a part of a long one, is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The number of the pack.
    pub pack: u128,
    /// Where the stored bytes begin in the pack.
    pub start: u64,
    /// How many stored bytes there are.
    pub len: u32,
    /// The low 32 bits of XXH3-64 of the stored bytes.
    pub check_sum: u32,
}

/// What the index says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The content's length in bytes.
    pub size: u64,
    /// When the content was put, in milliseconds since 1970-01-01 UTC.
    pub mtime_ms: i64,
    /// How the content is stored: a codec, then transforms, `; ` between them.
    pub encoding: Arc<str>,
    /// XXH3-64 of the content; of the stored bytes where it went through transforms.
    pub checksum: u64,
    /// The file's metadata as JSON.
    pub metadata: Option<String>,
    /// Where the content is, in parts of 4 MiB.
    pub segments: Vec<Segment>,
}

/// A version of the index.
#[derive(Debug, Default)]
pub struct Indexed {
    /// Its number; each change makes the next one.
    pub version: u64,
    /// Names and what they stand for, in any order.
    pub files: Vec<(String, Entry)>,
}

/// A table of names that any number of writers changes at the same time.
pub trait Index: Send + Sync + std::fmt::Debug {
    /// The newest version; `None` where it is `known`, or where there is no table.
    fn load(&self, known: Option<u64>) -> Result<Option<Indexed>>;
    /// The version that was the newest one at `ms` milliseconds since 1970-01-01 UTC; `None` where there was no table then, or where
    /// its history does not go back that far.
    fn load_at(&self, ms: i64) -> Result<Option<Indexed>>;
    /// Gives names other entries, and takes those of `None` away, all in one step; makes the table where there is none. Gives the
    /// version that this has made.
    fn change(&self, changes: &[(Arc<str>, Option<Arc<Entry>>)]) -> Result<u64>;
    /// Makes few files of many small ones, and removes those that no recent version needs.
    fn compact(&self) -> Result<()>;
}
