//! Writing one object so that it appears whole or not at all.

use bytes::Bytes;

use crate::{JobStore, Result};

/// What to do about an object that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Fail with `Conflict`, leaving it as it is.
    Error,
    /// Replace it when the new one is complete.
    Replace,
}

/// A new object under way. Dropped before [`Self::finish`], it leaves nothing behind.
///
/// Local: a hidden file beside the target, renamed at the end. S3: one PUT up to `part_bytes`, a multipart upload
/// above it, parts sent while the caller goes on encoding, a bounded number at once.
#[derive(Debug)]
pub struct Output {
    _private: (),
}

impl Output {
    /// Begins a new object at `path`.
    pub fn create(_store: &JobStore, _path: &object_store::path::Path, _if_exists: IfExists) -> Result<Self> {
        unimplemented!()
    }

    /// Appends bytes; blocks while too many parts are under way.
    pub fn write(&mut self, _bytes: Bytes) -> Result<()> {
        unimplemented!()
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        unimplemented!()
    }

    /// Sends what remains and waits until the store has everything, without making it visible: the last step,
    /// [`Self::finish`], is then short. A folder sink does this for all files before it finishes the first.
    pub fn prepare(&mut self) -> Result<()> {
        unimplemented!()
    }

    /// Makes the object visible.
    pub fn finish(self) -> Result<()> {
        unimplemented!()
    }
}
