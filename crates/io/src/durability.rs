//! Durability of a job's files, and the syncs for it.
//!
//! A file is published in this order: its bytes are synced, it gets its name, and the folder of the name is synced. An
//! object that names other files, such as an entry of a log, gets its own name only when the folders of those files are
//! synced as well. A job notes the folders in which it has given or removed names, so that a folder is synced once for
//! all files of a group.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use lakerace_exec::{lock, map_slice};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::job::Job;
use crate::open_files::open_or_make_room;

/// Limit of folders that are synced concurrently: syncs that wait together share the disk's flush.
const FOLDERS_AT_ONCE: usize = 8;

/// Durability of a job's files on this machine, after the job has ended without an error. The default is
/// [`Self::Full`].
///
/// Commits of small files have another type, `lakerace_files::Durability`, whose default is `Normal`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DurabilityLevel {
    /// A loss of power: files and the folders of their names are synced before the job ends.
    #[default]
    Full,
    /// The end of the process. A loss of power may lose data that the system has not written yet, and leave files empty
    /// or incomplete.
    Normal,
}

impl DurabilityLevel {
    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

impl fmt::Display for DurabilityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DurabilityLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = [Self::Full, Self::Normal].into_iter().find(|level| level.name() == text);
        found.ok_or_else(|| Error::usage(format!("unknown durability {text:?}")).advice("choose full or normal"))
    }
}

/// The syncs of a job.
#[derive(Debug, Default)]
pub(crate) struct JobSyncs {
    /// Folders whose names have changed since they were last synced.
    folders: Mutex<BTreeSet<PathBuf>>,
    /// Held while folders are synced: other threads that rely on them wait.
    syncing: Mutex<()>,
    /// The first failure. The system reports lost writes once, so a later sync that succeeds proves nothing.
    failed: OnceLock<Error>,
    has_warned: AtomicBool,
}

impl JobSyncs {
    fn check(&self) -> Result<()> {
        self.failed.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn fail(&self, error: io::Error) -> Error {
        let advice = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space or choose another target, then run it again"
            }
            _ => "check the disk and the system's log, then run it again",
        };
        let failed = Error::unavailable(format!("the disk failed to store what was written to it: {error}"));
        self.failed.get_or_init(|| failed.advice(advice).caused_by(error)).clone()
    }
}

impl Job {
    /// True if this job's files are to survive a loss of power.
    pub fn is_durable(&self) -> bool {
        self.options().durability == DurabilityLevel::Full
    }

    /// Syncs the bytes of a file, if the job is to be durable. After a failure, every sync of the job fails.
    ///
    /// # Errors
    /// `Unavailable`: the error of the disk.
    pub fn sync_file(&self, file: &File) -> Result<()> {
        if !self.is_durable() {
            return Ok(());
        }
        self.syncs().check()?;
        file.sync_all().map_err(|error| self.syncs().fail(error))
    }

    /// Notes that names in a folder have changed: [`Self::sync_folders`] syncs it.
    pub fn note_folder(&self, folder: &Path) {
        if self.is_durable() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            lock(&self.syncs().folders).insert(folder.to_owned());
        }
    }

    /// Notes the folder that a name is in.
    pub fn note_name(&self, path: &Path) {
        if let Some(folder) = path.parent() {
            self.note_folder(folder);
        }
    }

    /// True where [`Self::sync_folders`] has anything to do.
    pub(crate) fn has_unsynced_folders(&self) -> bool {
        !lock(&self.syncs().folders).is_empty()
    }

    /// Syncs all noted folders, each once. A folder that no longer exists has no names to keep.
    ///
    /// # Errors
    /// As for [`Self::sync_file`].
    pub fn sync_folders(&self) -> Result<()> {
        if !self.is_durable() {
            return Ok(());
        }
        let syncs = self.syncs();
        let _alone = lock(&syncs.syncing);
        syncs.check()?;
        let folders: Vec<PathBuf> = std::mem::take(&mut *lock(&syncs.folders)).into_iter().collect();
        map_slice(&folders, FOLDERS_AT_ONCE, |folder| self.sync_folder(folder)).map(drop)
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        let opened = match open_or_make_room(|| File::open(folder)) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.warn_of_folder(folder, &error);
                return Ok(());
            }
            Err(error) => return Err(self.syncs().fail(error).at(folder.display())),
        };
        match opened.sync_all() {
            Err(error) if knows_no_sync(&error) => self.warn_of_folder(folder, &error),
            Err(error) => return Err(self.syncs().fail(error).at(folder.display())),
            Ok(()) => {}
        }
        Ok(())
    }

    fn warn_of_folder(&self, folder: &Path, error: &io::Error) {
        if !self.syncs().has_warned.swap(true, Ordering::Relaxed) {
            let folder = folder.display();
            self.warn(&format!(
                "{folder}: the folder can't be synced ({error}), so new names in it may be lost when power fails"
            ));
        }
    }
}

/// True for the error of a file system that has no sync of folders.
fn knows_no_sync(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::INVAL | Errno::NOTSUP | Errno::NOSYS | Errno::BADF))
}

#[cfg(test)]
mod tests;
