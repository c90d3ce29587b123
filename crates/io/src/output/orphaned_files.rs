//! Hidden files of killed processes.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use lakerace_exec::{ProcessLocal, lock};
use rustix::fs::{FlockOperation, flock};

use super::hidden_name::is_own_name;

/// The age from which an unchanged hidden file has no writer.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);
/// The time before a folder is searched again.
const LOOK_AGAIN: Duration = Duration::from_secs(60 * 60);
/// Folders whose last look is kept at most.
const KNOWN_AT_MOST: usize = 1024;

/// The time of the last search of each folder.
static LOOKED: ProcessLocal<Mutex<BTreeMap<PathBuf, Instant>>> = ProcessLocal::new(Mutex::default);

/// Removes hidden files and staged folders of this user from a folder that were not changed for a day, and that no
/// process holds. A folder is searched once an hour at most. A file that can't be removed stays hidden: no write fails
/// for it.
pub fn remove_orphaned_files(folder: &Path) {
    let mut looked = lock(&LOOKED);
    if looked.get(folder).is_some_and(|last| last.elapsed() < LOOK_AGAIN) {
        return;
    }
    if looked.len() >= KNOWN_AT_MOST {
        looked.clear();
    }
    looked.insert(folder.to_owned(), Instant::now());
    drop(looked);
    remove_older_than(folder, OLD);
}

/// Keeps a hidden file or a staged folder from being treated as orphaned, as long as the handle is open.
pub fn hold(file: &File) {
    // A file system without locks has the time of the last change alone.
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

fn remove_older_than(folder: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_own_name) {
            continue;
        }
        // The metadata of a link, not that of its target.
        let Ok(metadata) = entry.metadata() else { continue };
        let path = entry.path();
        if metadata.uid() != rustix::process::geteuid().as_raw() || !is_old(&metadata, age) || is_held(&path, &metadata)
        {
            continue;
        }
        if metadata.is_file() {
            let _ = std::fs::remove_file(&path);
        } else if metadata.is_dir() && holds_old_files_only(&path, age) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn is_old(metadata: &Metadata, age: Duration) -> bool {
    // A time in the future is not old.
    metadata.modified().is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|passed| passed >= age))
}

/// Returns true if a living process has the file open, or if this can't be determined.
fn is_held(path: &Path, metadata: &Metadata) -> bool {
    if !metadata.is_file() && !metadata.is_dir() {
        return true;
    }
    match File::open(path) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK),
        Err(_) => true,
    }
}

/// Returns true if nothing in a staged folder has changed for so long.
fn holds_old_files_only(folder: &Path, age: Duration) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let Ok(metadata) = entry.metadata() else { return false };
        is_old(&metadata, age) && (!metadata.is_dir() || holds_old_files_only(&entry.path(), age))
    })
}

#[cfg(test)]
mod tests;
