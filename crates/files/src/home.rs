//! The operations of every home of files.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use lakerace_io::{Error, Result};
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3Default;

use crate::name::{changed, taken};
use crate::options::Compression;

/// A report on a long work: files and bytes so far. False stops the work.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// A file's properties.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stat {
    /// Its name, with `/` between folders.
    pub name: String,
    /// The content's length in bytes.
    pub size: u64,
    /// When the content was put, in milliseconds since 1970-01-01 UTC.
    pub mtime_ms: i64,
    /// XXH3-64 of the content; of the stored bytes where the content went through transforms. `None` in a directory.
    pub checksum: Option<u64>,
    /// How the content is stored: a codec, then transforms in the order of their application, `; ` between them.
    pub encoding: String,
    /// The file's metadata as JSON.
    pub metadata: Option<String>,
}

impl Stat {
    /// The version of a file that has a checksum.
    pub(crate) fn version(&self) -> FileVersion {
        FileVersion::new(self.size, self.mtime_ms, self.checksum.unwrap_or_default(), self.metadata.as_deref())
    }
}

/// The treatment of a name that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfExists {
    /// The new content takes the place of the old one.
    #[default]
    Replace,
    /// An error of kind `Conflict`.
    Error,
    /// The new content takes the place of the file as it was in this version. Of another one, or of none, it is an error of kind `Conflict`.
    ReplaceVersion(FileVersion),
}

/// A state of a file: its content, its time and its metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileVersion(pub(crate) u128);

impl FileVersion {
    /// The version of a name that no file has.
    pub(crate) const ABSENT: Self = Self(0);

    /// The version of a file with these properties.
    pub(crate) fn new(size: u64, mtime_ms: i64, checksum: u64, metadata: Option<&str>) -> Self {
        let mut hash = Xxh3Default::new();
        hash.update(&size.to_le_bytes());
        hash.update(&mtime_ms.to_le_bytes());
        hash.update(&checksum.to_le_bytes());
        hash.update(&[u8::from(metadata.is_some())]);
        hash.update(metadata.unwrap_or_default().as_bytes());
        Self(hash.digest128())
    }
}

impl IfExists {
    /// Returns an error where a content may not replace an existing one. `found` returns the existing version, and is
    /// called only where that matters.
    pub(crate) fn check(self, name: &str, found: impl FnOnce() -> Result<Option<FileVersion>>) -> Result<()> {
        match self {
            Self::Replace => Ok(()),
            Self::Error => found()?.map_or(Ok(()), |_| Err(taken(name))),
            Self::ReplaceVersion(version) => {
                let is_same = found()?.unwrap_or(FileVersion::ABSENT) == version;
                if is_same { Ok(()) } else { Err(changed(name)) }
            }
        }
    }
}

/// How one file is put.
#[derive(Debug, Clone, Default)]
pub struct PutOptions {
    /// The treatment of a name that is taken.
    pub if_exists: IfExists,
    /// The codec of this file instead of the store's.
    pub compression: Option<Compression>,
    /// The file's metadata: a JSON value.
    pub metadata: Option<String>,
    /// The time to record instead of now, in milliseconds since 1970-01-01 UTC.
    pub mtime_ms: Option<i64>,
}

/// Memory for one content.
pub trait ContentSink {
    /// Memory for `size` bytes. A home that answers `Ok` afterwards has written all of it. A home may ask again; the last
    /// memory counts.
    fn begin(&mut self, size: usize) -> Result<&mut [MaybeUninit<u8>]>;
}

impl ContentSink for Vec<u8> {
    fn begin(&mut self, size: usize) -> Result<&mut [MaybeUninit<u8>]> {
        self.clear();
        self.try_reserve_exact(size)
            .map_err(|_| lakerace_io::Error::unavailable(format!("not enough memory for a content of {size} bytes")))?;
        Ok(&mut self.spare_capacity_mut()[..size])
    }
}

/// An open content, read by positions.
pub trait RandomAccessFile: Send {
    /// Its length in bytes.
    fn size(&self) -> u64;
    /// Reads at `offset` into `out` and gives the bytes read: fewer than asked for only at the content's end. A content that
    /// was replaced since it was opened is an error of kind `Conflict`.
    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize>;
}

/// Bytes that are appended to a file.
pub trait PendingAppend {
    /// Gives them to `each` in parts, from the first one each time.
    fn give(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}

impl PendingAppend for &[u8] {
    fn give(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        each(self)
    }
}

/// A content that is being written. Dropped before [`Self::finish`], it leaves nothing.
pub trait Write: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
    /// Reads written bytes at `offset` into `out`, and returns their number: fewer than `out` holds only at the end. An
    /// error of kind `Unsupported` where the content does not go to a store.
    fn read_back(&mut self, _offset: u64, _out: &mut [u8]) -> Result<usize> {
        Err(Error::unsupported("written data can't be read before the file is complete"))
    }
    /// Gives the content its name, in one step.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Reads a content of `total` bytes at `offset` into `out`, from parts of equal length that `part` gives by their number, and gives the bytes
/// read. A part may be shorter than that, as the last one: nothing is read after it.
pub(crate) fn read_parts<'a>(
    (offset, total): (u64, u64),
    out: &mut [u8],
    part_bytes: usize,
    part: impl Fn(u64) -> Result<Cow<'a, [u8]>>,
) -> Result<usize> {
    let mut done = 0;
    while done < out.len() && offset + (done as u64) < total {
        let at = offset + done as u64;
        let bytes = part(at / part_bytes as u64)?;
        let rest = bytes.get((at % part_bytes as u64) as usize..).unwrap_or_default();
        let len = rest.len().min(out.len() - done);
        if len == 0 {
            break;
        }
        out[done..done + len].copy_from_slice(&rest[..len]);
        done += len;
    }
    Ok(done)
}

/// Takes contents by their places in a list of names; `None` where there is no such file.
pub type Each<'a> = &'a mut dyn FnMut(usize, Option<&[u8]>) -> Result<()>;

/// Reading, from the newest state or from a snapshot.
///
/// Only this crate implements it: [`ContentSink`] relies on the written bytes.
pub trait Reads: Send + Sync {
    /// Gives the content of `name` to `sink` and its length. An error of kind `NotFound` where there is none.
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize>;
    /// Gives each name's content with its place in `names`, in the order of names: all of one state. `None` where there is no such file.
    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()>;
    /// A file's properties.
    fn stat(&self, name: &str) -> Result<Option<Stat>>;
    /// Files whose names begin with `prefix` and are not less than `from`, in the order of their names' bytes, `limit` at
    /// most.
    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>>;
    /// Opens a content for reading by positions.
    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>>;
}

/// A step of a batch, whose contents are put as `P`.
pub(crate) enum HomeOperation<P> {
    Put(P),
    Remove(String),
    Rename(String, String, IfExists),
}

/// Writes that become visible together, by [`Self::commit`]. If it is dropped before, none becomes visible. An error
/// leaves the store unchanged.
///
/// A directory can't replace several files atomically. It checks first, and undoes earlier writes where a later one
/// fails.
pub trait WriteBatch: Send {
    /// Puts a content.
    fn put(&mut self, name: &str, data: &[u8], options: &PutOptions) -> Result<()>;
    /// Removes a file, which must exist when the batch is committed.
    fn remove(&mut self, name: &str) -> Result<()>;
    /// Renames a file, which must exist when the batch is committed.
    fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()>;
    /// Makes all of it visible.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// A part of a store that is damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file, where its name is known.
    pub name: Option<String>,
    /// The last name before the damage and the first one after it, where names themselves are lost.
    pub between: Option<(Option<String>, Option<String>)>,
    /// The problem.
    pub problem: String,
}

/// The outcome of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyOutcome {
    /// Files whose names could be read.
    pub files: u64,
    /// Bytes of the contents that are right.
    pub bytes: u64,
    /// Files that could only be checked by the checksum of their stored bytes, because a key or a transform is missing.
    pub undecoded: u64,
    /// The damages.
    pub damage: Vec<Damage>,
    /// Names that differ from their successor by Unicode normalisation only.
    pub alike: Vec<(String, String)>,
}

/// The outcome of a compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CompactOutcome {
    /// The store's bytes before.
    pub bytes_before: u64,
    /// The store's bytes now.
    pub bytes_after: u64,
    /// Contents encoded again, or moved to other blocks or out of their rows.
    pub rewritten: u64,
    /// Contents that no one owned: uploads that were given up, and blocks whose files are gone.
    pub orphans: u64,
}

/// A place where files live.
pub trait Home: Reads {
    /// The store as its user knows it.
    fn location(&self) -> &str;
    /// Puts a content that is in memory.
    fn put(&self, name: &str, data: &[u8], options: &PutOptions) -> Result<()>;
    /// Begins a content that comes in parts.
    fn create(&self, name: &str, options: &PutOptions) -> Result<Box<dyn Write>>;
    /// The state of a file; `None` where there is none. A content that is opened afterwards has this version or a later
    /// one.
    fn version(&self, name: &str) -> Result<Option<FileVersion>>;
    /// Appends to a file in place, and returns whether the home supports this. If not, a new content replaces the old
    /// one.
    fn append_in_place(&self, _name: &str, _tail: &mut dyn PendingAppend, _options: &PutOptions) -> Result<bool> {
        Ok(false)
    }
    /// Begins writes that become visible together.
    fn batch(&self) -> Result<Box<dyn WriteBatch>>;
    /// Removes a file; an error of kind `NotFound` where there is none.
    fn remove(&self, name: &str) -> Result<()>;
    /// Removes all files whose names begin with `prefix` and says how many.
    fn remove_prefix(&self, prefix: &str) -> Result<u64>;
    /// Renames a file.
    fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()>;
    /// Copies a file.
    fn copy(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()>;
    /// Replaces a file's metadata.
    fn set_metadata(&self, name: &str, metadata: Option<&str>) -> Result<()>;
    /// Opens a state of all files, for many reads.
    fn snapshot(&self) -> Result<Box<dyn Reads>>;
    /// Reads everything and reports the damage.
    fn verify(&self, progress: Progress<'_>) -> Result<VerifyOutcome>;
    /// Gives space back.
    fn compact(&self, progress: Progress<'_>) -> Result<CompactOutcome>;
    /// Makes all that was put survive a loss of power, with any [`Durability`](crate::Durability); does nothing in memory.
    fn flush(&self) -> Result<()>;
    /// Commits writes that wait in memory for their commit: those of packs, as [`Self::flush`] does. Other homes have
    /// none, and do nothing.
    fn close(&self) -> Result<()> {
        Ok(())
    }
    /// Trains a dictionary from the small files that the store has; gives its number.
    fn train(&self) -> Result<u32>;
    /// Takes warnings of operations that did not fail. Each is given once.
    fn warnings(&self) -> Vec<String>;
}
