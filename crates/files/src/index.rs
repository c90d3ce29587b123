//! Which files a store on an object store has. The index is a table, which this crate knows by a trait alone.

use std::sync::Arc;

use lakerace_io::Result;

/// The location of a content, or of a part of a long one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The number of the pack.
    pub pack: u128,
    /// The start of the stored bytes in the pack.
    pub start: u64,
    /// How many stored bytes there are.
    pub len: u32,
    /// The low 32 bits of XXH3-64 of the stored bytes.
    pub check_sum: u32,
}

/// The index's entry of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
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
    /// The location of the content, in parts of 4 MiB.
    pub segments: Vec<Segment>,
}

/// A callback for names and their entries; `None` where the file was removed. The last call for a name counts.
pub type EachName<'a> = &'a mut dyn FnMut(String, Option<IndexEntry>) -> Result<()>;

/// A version of the index.
pub trait IndexVersion {
    /// The table's identity, which no other table has, be it at the same place.
    fn table_id(&self) -> &str;
    /// Its number; each change makes the next one.
    fn version(&self) -> u64;
    /// The tag that distinguishes the version from another one of its number, as a table has that was put back from a copy. `None` where
    /// that is not known.
    fn commit(&self) -> Option<u64>;
    /// Gives every file, in any order.
    fn each(&self, each: EachName<'_>) -> Result<()>;
    /// Calls `each` with the changes since another version of the same table, of this commit. Returns false where that
    /// costs more than reading all, or is not known: then the calls are void.
    fn each_since(&self, version: u64, commit: u64, each: EachName<'_>) -> Result<bool>;
}

/// A change that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexChange {
    /// The version that it has made.
    pub version: u64,
    /// The commit of that version, where it is known.
    pub commit: Option<u64>,
    /// The commit of the version before, where it is known.
    pub before: Option<u64>,
}

/// A table of names that any number of writers changes at the same time.
pub trait Index: Send + Sync + std::fmt::Debug {
    /// The newest version; `None` where there is no table.
    fn newest(&self) -> Result<Option<Box<dyn IndexVersion>>>;
    /// The version that was the newest one at `ms` milliseconds since 1970-01-01 UTC; `None` where there was no table then, or where
    /// its history does not go back that far.
    fn at(&self, ms: i64) -> Result<Option<Box<dyn IndexVersion>>>;
    /// Gives names other entries, and takes those of `None` away, all in one step; makes the table where there is none. Gives the
    /// version that this has made. `from`: the version that the changes were made from; an error of kind `Conflict` where a later one
    /// has changed the same names.
    fn change(&self, changes: &[(Arc<str>, Option<Arc<IndexEntry>>)], from: Option<u64>) -> Result<IndexChange>;
    /// Makes few files of many small ones, and removes those that no recent version needs.
    fn compact(&self) -> Result<()>;
}
