//! Contents on their way to their names.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use lakerace_io::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};

use super::DirectoryHome;
use super::root::hidden_part;
use crate::home::{IfExists, PutOptions, Write};
use crate::name::{not_found, shown};

/// The identity of a file, independent of its name: its device and its inode number.
pub(super) type FileId = (u64, u64);

pub(super) fn id(file: &File) -> Result<FileId> {
    let found = file.metadata().map_err(Error::from)?;
    Ok((found.dev(), found.ino()))
}

/// A complete content in a hidden file, which goes where no one gives it its name.
pub(super) struct HiddenContent {
    home: DirectoryHome,
    pub(super) name: String,
    part: Option<String>,
    pub(super) if_exists: IfExists,
}

impl HiddenContent {
    /// Gives the file its name, which [`StoreRoot::sync`](super::root::Root::sync) puts on the disk.
    pub(super) fn publish(&mut self, folder: Option<&OwnedFd>) -> Result<()> {
        let (root, name) = (&self.home.0, self.name.as_str());
        let Some(part) = &self.part else { return Ok(()) };
        let found;
        let folder = match folder {
            Some(folder) => folder,
            None => {
                found = root.parent(name)?.ok_or_else(|| not_found(name))?.0;
                &found
            }
        };
        let _lock = root.hold_version(name, self.if_exists)?;
        root.publish(folder, part, self.if_exists, name)?;
        self.part = None;
        Ok(())
    }
}

impl Drop for HiddenContent {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // A file that can't be removed stays hidden, until the store is compacted.
            if let Ok(Some((folder, _))) = self.home.0.parent(&self.name) {
                let _ = rustix::fs::unlinkat(&folder, part.as_str(), AtFlags::empty());
            }
            self.home.0.remove_empty_folders(&self.name);
        }
    }
}

/// A hidden file that gets its name when it is complete.
pub(super) struct StagedFile {
    hidden: HiddenContent,
    mtime_ms: Option<i64>,
    folder: OwnedFd,
    pub(super) file: File,
}

impl StagedFile {
    pub(super) fn new(home: &DirectoryHome, name: &str, options: &PutOptions) -> Result<Self> {
        home.0.may_write(name, options)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let part = hidden_part();
        let (folder, file) = home.0.in_parent(name, |folder, _| {
            rustix::fs::openat(folder, part.as_str(), flags, Mode::from_raw_mode(0o666))
        })?;
        let (home, name, if_exists) = (home.clone(), name.to_owned(), options.if_exists);
        let hidden = HiddenContent { home, name, part: Some(part), if_exists };
        Ok(Self { hidden, mtime_ms: options.mtime_ms, folder, file: file.into() })
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| self.failed(e.into()))
    }

    /// An error with the store and the name of the file.
    fn failed(&self, error: Error) -> Error {
        error.at(shown(&self.hidden.name)).at(&self.hidden.home.0.location)
    }

    /// Gives the file its time, and makes its content durable.
    fn complete(&self) -> Result<()> {
        let root = &self.hidden.home.0;
        if let Some(mtime_ms) = self.mtime_ms {
            let time = Timespec { tv_sec: mtime_ms.div_euclid(1000), tv_nsec: mtime_ms.rem_euclid(1000) * 1_000_000 };
            rustix::fs::futimens(&self.file, &Timestamps { last_access: time, last_modification: time })
                .map_err(|e| root.failed(e, &self.hidden.name))?;
        }
        root.syncs.sync_file(&self.file).map_err(|e| self.failed(e))
    }

    pub(super) fn publish(&mut self) -> Result<()> {
        self.complete()?;
        self.hidden.publish(Some(&self.folder))?;
        self.hidden.home.0.sync()
    }

    /// The complete file, closed: a batch may have more of them than a process may have open.
    pub(super) fn close(self) -> Result<(HiddenContent, FileId)> {
        self.complete()?;
        let id = id(&self.file)?;
        Ok((self.hidden, id))
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.append(bytes)
    }

    fn read_back(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < out.len() {
            match self.file.read_at(&mut out[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error.into())),
            }
        }
        Ok(done)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.publish()
    }
}
