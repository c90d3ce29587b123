//! Syncs, by which a durable store's writes survive a loss of power: contents are synced before they get their names, and folders after
//! names in them have changed, once for all changes of a batch, and for threads that wait at the same time.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, OnceLock};

use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};
use rustix::io::Errno;

/// Folders that are open until they are synced, at most.
const FOLDERS_AT_MOST: usize = 64;

/// The syncs of one opening of a store.
#[derive(Debug)]
pub(super) struct FolderSyncs {
    is_durable: bool,
    /// By device and number: folders in which names have changed since they were last synced.
    folders: Mutex<BTreeMap<(i128, u64), OwnedFd>>,
    /// Held while folders are synced: other threads that rely on them wait.
    syncing: Mutex<()>,
    /// The first failure. The system reports lost writes only once, so a later sync that succeeds proves nothing.
    failed: OnceLock<Error>,
}

impl FolderSyncs {
    pub(super) fn new(is_durable: bool) -> Self {
        Self { is_durable, folders: Mutex::default(), syncing: Mutex::default(), failed: OnceLock::new() }
    }

    pub(super) fn is_durable(&self) -> bool {
        self.is_durable
    }

    fn check(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn fail(&self, error: Errno) -> Error {
        let failed = Error::unavailable(format!("the disk failed to store what was written to it: {error}"))
            .advice("check the disk and the system's log, then open the store again");
        self.failed.get_or_init(|| failed).clone()
    }

    /// Puts a content on the disk.
    pub(super) fn sync_file(&self, file: &File) -> Result<()> {
        if !self.is_durable {
            return Ok(());
        }
        self.check()?;
        sync(file).map_err(|error| self.fail(error))
    }

    /// Notes that names in a folder have changed: [`Self::sync`] puts them on the disk.
    pub(super) fn note(&self, folder: &OwnedFd) -> Result<()> {
        if !self.is_durable {
            return Ok(());
        }
        let found = rustix::fs::fstat(folder).map_err(|error| self.fail(error))?;
        let mut folders = lock(&self.folders);
        let id = (i128::from(found.st_dev), found.st_ino);
        if folders.contains_key(&id) {
            return Ok(());
        }
        match folder.try_clone() {
            Ok(folder) if folders.len() < FOLDERS_AT_MOST => drop(folders.insert(id, folder)),
            // Many are open.
            _ => return sync_folder(folder).map_err(|error| self.fail(error)),
        }
        Ok(())
    }

    /// Puts the names of all folders that were noted on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        if !self.is_durable {
            return Ok(());
        }
        let _alone = lock(&self.syncing);
        self.check()?;
        let folders = std::mem::take(&mut *lock(&self.folders));
        folders.values().try_for_each(sync_folder).map_err(|error| self.fail(error))
    }
}

/// Syncs a folder, unless it was removed. Some file systems don't support this; their default behaviour must suffice.
fn sync_folder(folder: &OwnedFd) -> Result<(), Errno> {
    if rustix::fs::fstat(folder)?.st_nlink == 0 {
        return Ok(());
    }
    match sync(folder) {
        Err(Errno::INVAL | Errno::NOTSUP | Errno::NOSYS) => Ok(()),
        outcome => outcome,
    }
}

fn sync(file: impl AsFd) -> Result<(), Errno> {
    loop {
        match rustix::fs::fsync(&file) {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}
