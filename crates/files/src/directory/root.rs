//! The folder of a store: names are walked from its handle.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::syncs::FolderSyncs;
use crate::home::{IfExists, PutOptions, Stat};
use crate::name::{check_name, normalisation_warning, not_found, shown, taken};

/// How a folder is opened: a symbolic link is none.
pub(super) const FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// The prefix and suffix of hidden files; they are not listed.
const HIDDEN: (&str, &str) = (".lakerace-files-", ".tmp");

/// Advice where a file and a folder want one name.
const FOLDER_STAYS: &str = "rename one of the two, or use a SQLite store, which can hold both";

/// The number of attempts to create a folder that others keep removing because it is empty.
const TRIES: usize = 1_000;

#[derive(Debug)]
pub(super) struct StoreRoot {
    pub(super) location: String,
    pub(super) handle: OwnedFd,
    pub(super) is_read_only: bool,
    pub(super) syncs: FolderSyncs,
    pub(super) warnings: Mutex<Vec<String>>,
}

/// The obstacle in a folder's place.
enum NoFolder {
    Nothing,
    File,
    TooLong,
}

pub(super) fn is_hidden(part: &str) -> bool {
    part.starts_with(HIDDEN.0) && part.ends_with(HIDDEN.1)
}

/// A new name that is not listed.
pub(super) fn hidden_part() -> String {
    format!("{}{:016x}{}", HIDDEN.0, rand::random::<u64>(), HIDDEN.1)
}

/// The folders of a name, and its last part.
fn split(name: &str) -> (impl Iterator<Item = &str>, &str) {
    let (folders, last) = name.rsplit_once('/').unwrap_or(("", name));
    (folders.split('/').filter(|part| !part.is_empty()), last)
}

impl StoreRoot {
    pub(super) fn warn(&self, warning: String) {
        let mut warnings = lock(&self.warnings);
        if warnings.len() < 100 && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// The error of a call to the system.
    pub(super) fn failed(&self, error: Errno, place: &str) -> Error {
        let error = match error {
            Errno::LOOP => Error::invalid("a part of the name is a symbolic link, which a store does not follow"),
            Errno::NAMETOOLONG => {
                let most = rustix::fs::fstatvfs(&self.handle).map_or(255, |found| found.f_namemax);
                Error::invalid(format!("the file system allows at most {most} bytes in a part of a name"))
                    .advice("shorten the name, or use a SQLite store")
            }
            other => Error::from(std::io::Error::from(other)),
        };
        error.at(shown(place))
    }

    /// The error of giving a file its name.
    fn refused(&self, error: Errno, name: &str) -> Error {
        match error {
            Errno::EXIST => taken(name),
            Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY => self.is_folder(name),
            other => self.failed(other, name),
        }
    }

    /// The error for a name that a folder has.
    pub(super) fn is_folder(&self, name: &str) -> Error {
        Error::conflict("a folder already has this name").at(shown(name)).advice(FOLDER_STAYS)
    }

    /// The error of a store whose own directory was removed.
    pub(super) fn is_there(&self) -> Result<()> {
        match rustix::fs::fstat(&self.handle) {
            Ok(found) if found.st_nlink == 0 => {
                Err(Error::not_found("the store's directory was removed").at(&self.location))
            }
            _ => Ok(()),
        }
    }

    /// Puts names that were given and removed on the disk, where the store is durable.
    pub(super) fn sync(&self) -> Result<()> {
        self.syncs.sync().map_err(|e| e.at(&self.location))
    }

    pub(super) fn is_writable(&self) -> Result<()> {
        match self.is_read_only {
            true => Err(Error::usage("the store is open read-only").advice("open it without read_only")),
            false => Ok(()),
        }
    }

    pub(super) fn may_write(&self, name: &str, options: &PutOptions) -> Result<()> {
        self.is_writable()?;
        check_name(name)?;
        if name.split('/').any(is_hidden) {
            return Err(
                Error::invalid("names of this form are reserved for files that are being written").at(shown(name))
            );
        }
        if options.metadata.is_some()
            || options.compression.is_some_and(|wanted| wanted != crate::options::Compression::default())
        {
            return Err(Error::unsupported("a directory store keeps neither metadata nor compressed contents")
                .at(shown(name))
                .advice("use a SQLite store for that"));
        }
        if let Some(warning) = normalisation_warning(name) {
            self.warn(warning);
        }
        Ok(())
    }

    fn open_folder(&self, at: &OwnedFd, part: &str, name: &str) -> Result<Result<OwnedFd, NoFolder>> {
        match rustix::fs::openat(at, part, FOLDER, Mode::empty()) {
            Ok(folder) => Ok(Ok(folder)),
            Err(Errno::NOENT) => Ok(Err(NoFolder::Nothing)),
            Err(Errno::NAMETOOLONG) => Ok(Err(NoFolder::TooLong)),
            Err(Errno::NOTDIR) => {
                let is_link = rustix::fs::statat(at, part, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
                if is_link { Err(self.failed(Errno::LOOP, name)) } else { Ok(Err(NoFolder::File)) }
            }
            Err(e) => Err(self.failed(e, name)),
        }
    }

    /// The directory that a name is in, and the name's last part. `None` where there is none, as for a name that no file can have.
    pub(super) fn parent<'a>(&self, name: &'a str) -> Result<Option<(OwnedFd, &'a str)>> {
        if check_name(name).is_err() || name.split('/').any(is_hidden) {
            return Ok(None);
        }
        let (folders, last) = split(name);
        let mut at = self.handle.try_clone().map_err(Error::from)?;
        for part in folders {
            match self.open_folder(&at, part, name)? {
                Ok(next) => at = next,
                Err(_) => return Ok(None),
            }
        }
        Ok(Some((at, last)))
    }

    /// The directory that a name is in, made where there is none. `None` where another one has removed a folder in the meantime.
    fn made_parent<'a>(&self, name: &'a str) -> Result<Option<(OwnedFd, &'a str)>> {
        let (folders, last) = split(name);
        let mut at = self.handle.try_clone().map_err(Error::from)?;
        for part in folders {
            let mut found = self.open_folder(&at, part, name)?;
            if matches!(found, Err(NoFolder::Nothing)) {
                match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {
                        self.syncs.note(&at)?;
                        found = self.open_folder(&at, part, name)?;
                    }
                    Err(Errno::NOENT) => return Ok(None),
                    Err(e) => return Err(self.failed(e, name)),
                }
            }
            match found {
                Ok(next) => at = next,
                Err(NoFolder::Nothing) => return Ok(None),
                Err(NoFolder::TooLong) => return Err(self.failed(Errno::NAMETOOLONG, name)),
                Err(NoFolder::File) => {
                    return Err(folder_is_file(name));
                }
            }
        }
        Ok(Some((at, last)))
    }

    /// Makes the directory that a name is in, and acts in it. Others remove empty folders at any time, which gives `act` the error
    /// `NOENT`: then both are done again.
    pub(super) fn in_parent<T>(
        &self,
        name: &str,
        mut act: impl FnMut(&OwnedFd, &str) -> Result<T, Errno>,
    ) -> Result<(OwnedFd, T)> {
        // Folders that were made for nothing go.
        self.try_in_parent(name, &mut act).inspect_err(|_| self.remove_empty_folders(name))
    }

    fn try_in_parent<T>(
        &self,
        name: &str,
        act: &mut dyn FnMut(&OwnedFd, &str) -> Result<T, Errno>,
    ) -> Result<(OwnedFd, T)> {
        for _ in 0..TRIES {
            if let Some((folder, last)) = self.made_parent(name)? {
                match act(&folder, last) {
                    Ok(done) => return Ok((folder, done)),
                    Err(Errno::NOENT) => {}
                    Err(e) => return Err(self.refused(e, name)),
                }
            }
            self.is_there()?;
            std::thread::yield_now();
        }
        Err(Error::unavailable("other processes keep removing the folder of the file").at(shown(name)))
    }

    /// The file of a name with its size and time; `None` where there is none.
    pub(super) fn find(&self, name: &str) -> Result<Option<(File, Stat)>> {
        let Some((folder, last)) = self.parent(name)? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&folder, last, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            // A socket or a device is no file, either.
            Err(Errno::NOENT | Errno::NAMETOOLONG | Errno::NXIO | Errno::NODEV) => return Ok(None),
            Err(e) => return Err(self.failed(e, name)),
        };
        let found = file.metadata().map_err(Error::from)?;
        if !found.is_file() {
            return Ok(None);
        }
        let stat = stat_of(name, found.len(), found.modified().ok());
        Ok(Some((file, stat)))
    }

    /// The kind of the thing at a name, a symbolic link being one; `None` where there is nothing.
    pub(super) fn kind(&self, name: &str) -> Result<Option<FileType>> {
        let Some((folder, last)) = self.parent(name)? else { return Ok(None) };
        match rustix::fs::statat(&folder, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
            Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(None),
            Err(e) => Err(self.failed(e, name)),
        }
    }

    pub(super) fn read(&self, name: &str) -> Result<(File, u64)> {
        let (file, stat) = self.find(name)?.ok_or_else(|| not_found(name))?;
        Ok((file, stat.size))
    }

    pub(super) fn remove(&self, name: &str) -> Result<()> {
        self.is_writable()?;
        let (folder, last) = self.parent(name)?.ok_or_else(|| not_found(name))?;
        match rustix::fs::unlinkat(&folder, last, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::ISDIR | Errno::NAMETOOLONG) => return Err(not_found(name)),
            // Some systems say so of a folder.
            Err(Errno::PERM) if self.kind(name)? == Some(FileType::Directory) => return Err(not_found(name)),
            Err(e) => return Err(self.failed(e, name)),
        }
        self.syncs.note(&folder)?;
        self.remove_empty_folders(name);
        Ok(())
    }

    /// Folders are there for their files only.
    pub(super) fn remove_empty_folders(&self, name: &str) {
        let mut folder = name;
        while let Some((outer, _)) = folder.rsplit_once('/') {
            folder = outer;
            let Ok(found) = self.parent(folder) else { return };
            let Some((parent, last)) = found else { continue };
            match rustix::fs::unlinkat(&parent, last, AtFlags::REMOVEDIR) {
                // Notes the parent for the next sync, which makes the removal durable and returns any failure.
                Ok(()) => drop(self.syncs.note(&parent)),
                Err(Errno::NOENT | Errno::NAMETOOLONG) => {}
                Err(_) => return,
            }
        }
    }

    pub(super) fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.may_write(to, &PutOptions::default())?;
        let (file, _) = self.read(from)?;
        if from == to {
            return Ok(());
        }
        let _lock = self.hold_version(to, if_exists)?;
        // Another program may have written it, or this one before it was to be durable.
        self.syncs.sync_file(&file).map_err(|e| e.at(shown(from)))?;
        let (source, old) = self.parent(from)?.ok_or_else(|| not_found(from))?;
        let (target, is_found) =
            self.in_parent(to, |target, new| match moved(&source, old, target, new, if_exists) {
                // It is the file that is gone, not the folder.
                Err(Errno::NOENT) if rustix::fs::statat(&source, old, AtFlags::SYMLINK_NOFOLLOW).is_err() => Ok(false),
                done => done.map(|()| true),
            })?;
        if !is_found {
            return Err(not_found(from));
        }
        self.syncs.note(&target).and_then(|()| self.syncs.note(&source))?;
        self.remove_empty_folders(from);
        Ok(())
    }

    /// Gives a file of a folder its name in the same folder, in one step. [`Self::sync`] puts it on the disk.
    pub(super) fn publish(&self, folder: &OwnedFd, hidden: &str, if_exists: IfExists, name: &str) -> Result<()> {
        moved(folder, hidden, folder, split(name).1, if_exists).map_err(|e| self.refused(e, name))?;
        self.syncs.note(folder)
    }
}

/// The error for a name whose folder is a file.
pub(super) fn folder_is_file(name: &str) -> Error {
    Error::conflict("one of the folders in this path is a file").at(shown(name)).advice(FOLDER_STAYS)
}

/// Gives a file another name in one step.
pub(super) fn moved(
    source: &OwnedFd,
    old: &str,
    target: &OwnedFd,
    new: &str,
    if_exists: IfExists,
) -> Result<(), Errno> {
    match if_exists {
        // For a version, the holder of the lock has checked it.
        IfExists::Replace | IfExists::ReplaceVersion(_) => rustix::fs::renameat(source, old, target, new),
        IfExists::Error => match rustix::fs::renameat_with(source, old, target, new, RenameFlags::NOREPLACE) {
            // Not every file system knows the flag; a hard link does not replace either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(source, old, target, new, AtFlags::empty())
                    .and_then(|()| rustix::fs::unlinkat(source, old, AtFlags::empty()))
            }
            other => other,
        },
    }
}

pub(super) fn stat_of(name: &str, size: u64, modified: Option<SystemTime>) -> Stat {
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Stat {
        name: name.to_owned(),
        size,
        mtime_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        checksum: None,
        encoding: "none".to_owned(),
        metadata: None,
    }
}
