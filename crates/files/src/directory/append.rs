//! Changes that depend on the current file: appending to it, and replacing one version of it.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use lakerace_io::{Error, Result};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3Default;

use super::root::{FOLDER, StoreRoot};
use crate::home::{FileVersion, IfExists, PendingAppend, PutOptions};
use crate::name::shown;

/// Excludes other such changes, of any thread and process, while it lives.
pub(super) struct ChangeLock(#[expect(dead_code, reason = "the lock ends with its descriptor")] OwnedFd);

impl StoreRoot {
    /// The state of a file: which one it is, its length and its times.
    pub(super) fn version(&self, name: &str) -> Result<Option<FileVersion>> {
        let Some((folder, last)) = self.parent(name)? else { return Ok(None) };
        let found = match rustix::fs::statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => found,
            Ok(_) | Err(Errno::NOENT | Errno::NAMETOOLONG) => return Ok(None),
            Err(e) => return Err(self.failed(e, name)),
        };
        let mut hash = Xxh3Default::new();
        hash.update(&(found.st_dev as u64).to_le_bytes());
        hash.update(&(found.st_ino as u64).to_le_bytes());
        hash.update(&(found.st_size as u64).to_le_bytes());
        for (seconds, nanoseconds) in
            [(found.st_mtime as i64, found.st_mtime_nsec as i64), (found.st_ctime as i64, found.st_ctime_nsec as i64)]
        {
            hash.update(&seconds.to_le_bytes());
            hash.update(&nanoseconds.to_le_bytes());
        }
        Ok(Some(FileVersion(hash.digest128())))
    }

    /// Checks that a file has the version that is to be replaced. While the lock is held, others that change versions
    /// can't replace it.
    pub(super) fn hold_version(&self, name: &str, if_exists: IfExists) -> Result<Option<ChangeLock>> {
        let IfExists::ReplaceVersion(_) = if_exists else { return Ok(None) };
        let lock = self.lock_changes().map_err(|e| self.failed(e, name))?;
        if_exists.check(name, || self.version(name))?;
        Ok(Some(lock))
    }

    /// Locks the root. Each call opens a new file description, so that threads exclude each other, too.
    fn lock_changes(&self) -> Result<ChangeLock, Errno> {
        let root = rustix::fs::openat(&self.handle, ".", FOLDER, Mode::empty())?;
        loop {
            match rustix::fs::flock(&root, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(ChangeLock(root)),
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Appends to the file in place, and creates it if it doesn't exist. The bytes follow those in the file when they
    /// are written, even if another process wrote them. After an error, none of the bytes are left.
    pub(super) fn append(&self, name: &str, tail: &mut dyn PendingAppend, options: &PutOptions) -> Result<()> {
        self.may_write(name, options)?;
        // A concurrent replacement by another process would remove the appended bytes.
        let _lock = self.lock_changes().map_err(|e| self.failed(e, name))?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(0o666);
        let mut is_new = false;
        let (folder, file) = self.in_parent(name, |folder, last| {
            let made = rustix::fs::openat(folder, last, flags | OFlags::CREATE | OFlags::EXCL, mode);
            is_new = made.is_ok();
            match made {
                Err(Errno::EXIST) => rustix::fs::openat(folder, last, flags, mode),
                made => made,
            }
        })?;
        let mut file = File::from(file);
        let found = file.metadata().map_err(Error::from)?;
        if !found.is_file() {
            return Err(Error::invalid("not a regular file, so nothing can be appended to it").at(shown(name)));
        }
        let done = tail
            .give(&mut |bytes| file.write_all(bytes).map_err(Error::from))
            .and_then(|()| self.end_append(&file, &folder, is_new, options));
        if done.is_err() {
            // The caller gets the error of the write, not one of this cleanup.
            let _ = match is_new {
                true => self.remove(name),
                false => file.set_len(found.len()).map_err(Error::from),
            };
        }
        done.map_err(|e| e.at(shown(name)))
    }

    fn end_append(&self, file: &File, folder: &OwnedFd, is_new: bool, options: &PutOptions) -> Result<()> {
        let system = |error: Errno| Error::from(std::io::Error::from(error));
        if let Some(mtime_ms) = options.mtime_ms {
            let time = Timespec { tv_sec: mtime_ms.div_euclid(1000), tv_nsec: mtime_ms.rem_euclid(1000) * 1_000_000 };
            rustix::fs::futimens(file, &Timestamps { last_access: time, last_modification: time }).map_err(system)?;
        }
        self.syncs.sync_file(file)?;
        if is_new {
            self.syncs.note(folder)?;
            self.sync()?;
        }
        Ok(())
    }
}
