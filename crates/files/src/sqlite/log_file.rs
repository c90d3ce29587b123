//! The log of a store as a file that other programs may remove.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lakerace_io::{Error, Result};

/// The log that a connection writes. SQLite keeps it open, and would continue to write a log that was removed.
#[derive(Debug)]
pub(super) struct SqliteLogFile {
    path: PathBuf,
    /// Device and number of the file, once it was seen.
    seen: Option<(u64, u64)>,
    is_gone: bool,
}

impl SqliteLogFile {
    /// The log of the store at `path`.
    pub(super) fn new(path: &Path) -> Self {
        let mut log = OsString::from(path);
        log.push("-wal");
        Self { path: log.into(), seen: None, is_gone: false }
    }

    /// Looks at the log after a commit, when there is one. An error, from then on, where the log that was written has been removed or
    /// another one is in its place.
    pub(super) fn look(&mut self) -> Result<()> {
        let found = std::fs::metadata(&self.path).ok().map(|found| (found.dev(), found.ino()));
        self.is_gone |= found.is_none() || (self.seen.is_some() && self.seen != found);
        self.seen = found;
        self.check()
    }

    /// An error where the last look has found another log.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_gone {
            return Ok(());
        }
        Err(Error::corrupt("another program has removed the log of the store, which holds the last writes")
            .at(self.path.display())
            .advice(
                "close the store in all processes, verify it, and repeat the last writes; keep its -wal and -shm files",
            ))
    }
}
