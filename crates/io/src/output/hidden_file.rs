//! A file under a hidden name next to its target, until it is complete.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use lakerace_exec::{ProcessLocal, SemaphorePermit, WeightedSemaphore, lock, run_both};
use rustix::fs::{CWD, RenameFlags};

use super::hidden_name::{ENDING, MARK};
use super::orphaned_files::hold;
use super::permissions::KeptPermissions;
use crate::error::Error;
use crate::job::Job;
use crate::open_files::{FileShares, open_or_make_room};

/// A new file that is not visible yet. If it is dropped before [`Self::publish`], it is removed, with the folders made
/// for it.
#[derive(Debug)]
pub(crate) struct HiddenFile {
    /// The handle for writing; `None` once it was closed.
    open: Option<OpenHidden>,
    hidden: PathBuf,
    target: PathBuf,
    /// The folders that were made for it, or for files next to it that have not appeared yet; outermost first.
    made_folders: Vec<PathBuf>,
    /// The permissions of the file that has the name already: the new one gets them.
    permissions: Option<KeptPermissions>,
    is_synced: bool,
    published: bool,
    job: Job,
}

#[derive(Debug)]
struct OpenHidden {
    file: File,
    _counted: Option<SemaphorePermit>,
}

/// Hidden files of this process that are open.
static OPEN: ProcessLocal<WeightedSemaphore> = ProcessLocal::new(|| WeightedSemaphore::new(u64::MAX));

/// Returns true if more files wait for their names than may stay open.
pub(crate) fn are_many_open() -> bool {
    OPEN.used() > FileShares::of_process().complete as u64
}

/// Folders that were made for files that have not appeared yet. The last one of them to be given up removes its folder,
/// whoever has made it.
static FOLDERS: ProcessLocal<Mutex<BTreeSet<PathBuf>>> = ProcessLocal::new(Mutex::default);

fn folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    lock(&FOLDERS)
}

impl HiddenFile {
    /// The name that it gets.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// A file that will be `target`. Missing folders are made.
    pub(crate) fn create(target: PathBuf, job: &Job) -> std::io::Result<Self> {
        let folder = target.parent().ok_or(ErrorKind::InvalidInput)?;
        // The lock excludes the removal of folders: they stay from here on.
        let mut known = folders();
        let missing = missing_folders(folder);
        known.extend(make_folders(folder)?);
        let made_folders: Vec<PathBuf> = known.iter().filter(|made| folder.starts_with(made)).cloned().collect();
        let permissions = KeptPermissions::read(&target);
        let created = create_hidden(folder, &target, permissions.is_some());
        drop(known);
        match created {
            Ok((file, hidden)) => {
                hold(&file);
                // They may belong to another writer, and stay if this file is dropped.
                made_folders.iter().chain(&missing).for_each(|folder| job.note_name(folder));
                let (is_synced, published, job) = (false, false, job.clone());
                let open = Some(OpenHidden { file, _counted: SemaphorePermit::try_acquire(&*OPEN, 1) });
                Ok(Self { open, hidden, target, made_folders, permissions, is_synced, published, job })
            }
            Err(e) => {
                give_up_folders(&made_folders);
                Err(e)
            }
        }
    }

    /// The file.
    ///
    /// # Errors
    /// It was closed.
    pub(crate) fn file(&self) -> std::io::Result<&File> {
        let closed = || std::io::Error::other("a complete file was already closed");
        self.open.as_ref().map(|open| &open.file).ok_or_else(closed)
    }

    /// Closes the file if it is synced and many are open. It is not held any more, then: after a day, another process may take
    /// it for one that was left, and [`Self::publish`] fails.
    pub(crate) fn close_if_many(&mut self) {
        if self.is_synced && are_many_open() {
            self.open = None;
        }
    }

    /// Folders that were made for it, the outermost first.
    pub(crate) fn made_folders(&self) -> &[PathBuf] {
        &self.made_folders
    }

    /// Gives the file the permissions of the one that it replaces. Only [`Self::sync`] remains to be done.
    pub(crate) fn seal(&mut self) -> std::io::Result<()> {
        self.permissions.take().map_or(Ok(()), |permissions| permissions.give_to(self.file()?))
    }

    /// Syncs the file, if its job is to be durable: nothing is written to it any more.
    pub(crate) fn sync(&mut self) -> std::io::Result<()> {
        self.seal()?;
        if !self.is_synced {
            self.job.sync_file(self.file()?).map_err(std::io::Error::other)?;
            self.is_synced = true;
        }
        Ok(())
    }

    /// Syncs the folders of names that the job has given before as well. Both wait for one flush of the disk, if
    /// possible.
    fn sync_with_folders(&mut self) -> std::io::Result<()> {
        let job = self.job.clone();
        if self.is_synced || !job.has_unsynced_folders() {
            self.sync()?;
            return job.sync_folders().map_err(std::io::Error::other);
        }
        run_both(|| job.sync_folders(), || self.sync().map_err(Error::from)).map(drop).map_err(std::io::Error::other)
    }

    /// Notes that the file was synced through another handle, after [`Self::seal`].
    pub(crate) fn set_synced(&mut self) {
        self.is_synced = true;
    }

    /// Gives the file its name in one step, after all earlier names of the job are on the disk; then makes its own name
    /// durable. An existing file is replaced, or is an error of kind `AlreadyExists`. The file gets the permissions of
    /// the file that it replaces, or those of any new file.
    pub(crate) fn publish(&mut self, replace: bool) -> std::io::Result<()> {
        self.sync_with_folders()?;
        self.publish_in_group(replace)?;
        self.job.sync_folders().map_err(std::io::Error::other)
    }

    /// Publishes like [`Self::publish`], but the name is durable only after [`Job::sync_folders`].
    pub(crate) fn publish_in_group(&mut self, replace: bool) -> std::io::Result<()> {
        self.sync()?;
        if replace {
            std::fs::rename(&self.hidden, &self.target)?;
        } else {
            rename_if_absent(&self.hidden, &self.target)?;
        }
        self.published = true;
        folders().retain(|folder| !self.made_folders.contains(folder));
        self.job.note_name(&self.target);
        Ok(())
    }
}

impl Drop for HiddenFile {
    fn drop(&mut self) {
        if !self.published {
            // Errors can't be reported here; a file that can't be removed stays hidden.
            let _ = std::fs::remove_file(&self.hidden);
            let mut known = folders();
            // Also those of a file that was published and dropped in the meantime.
            let made = known.iter().filter(|made| self.target.starts_with(made)).chain(&self.made_folders);
            remove_folders(&made.cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
            known.retain(|folder| folder.exists());
        }
    }
}

/// Removes folders that were made for a file that was removed, or has never appeared. A folder with other files that
/// have not appeared is removed with the last of these.
pub fn give_up_folders(made: &[PathBuf]) {
    let mut known = folders();
    known.extend(made.iter().cloned());
    remove_folders(made);
    known.retain(|folder| folder.exists());
}

/// Returns true if a file's name is that of a hidden file, which is not complete or was left by a process that was killed.
pub(crate) fn is_hidden_name(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(ENDING) && name.contains(MARK)
}

/// Makes a folder and those above it that are missing, and says which, the outermost first.
pub fn make_folders(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    for folder in missing_folders(folder) {
        match std::fs::create_dir(&folder) {
            Ok(()) => made.push(folder),
            // Another process was faster.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => {
                remove_folders(&made);
                return Err(e);
            }
        }
    }
    Ok(made)
}

/// The missing ones among a folder and its ancestors, the outermost first.
fn missing_folders(folder: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = folder.ancestors().take_while(|f| !f.exists()).map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// Removes folders that [`make_folders`] made, if they are still empty.
pub fn remove_folders(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        // A folder that is not empty by now is used by someone else as well, and stays.
        let _ = std::fs::remove_dir(folder);
    }
}

/// `.NAME.lakerace-RANDOM.tmp`: hidden, and recognizable by its name. A private one is for its owner alone.
fn create_hidden(folder: &Path, target: &Path, is_private: bool) -> std::io::Result<(File, PathBuf)> {
    let mode = if is_private { 0o600 } else { 0o666 };
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // Names have 255 bytes at most.
    let mut end = name.len().min(200);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    loop {
        let hidden = folder.join(format!(".{}{MARK}{:016x}{ENDING}", &name[..end], rand::random::<u64>()));
        let create = || File::options().write(true).create_new(true).mode(mode).open(&hidden);
        match open_or_make_room(create) {
            Ok(file) => return Ok((file, hidden)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// Renames in one step, unless the new name is taken.
pub(crate) fn rename_if_absent(from: &Path, to: &Path) -> std::io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system supports the flag; a hard link does not replace a file either.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests;
