//! A local folder that is made, or replaced, in one step.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path as FilePath, PathBuf};

use lakerace_io::object_store::path::Path;
use lakerace_io::open_files::open_or_make_room;
use lakerace_io::option::MODE;
use lakerace_io::{
    Error, IfExists, JobStore, KeptPermissions, Output, Result, Unpublished, WriteMode, hold, make_folders,
    remove_folders, remove_orphaned_files,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::marker::is_marker;
use crate::file_format::FileFormat;

/// Endings of other files that replacing a folder may remove: those that Spark puts next to its own.
const OTHER_ENDINGS: [&str; 2] = [".crc", "_SUCCESS"];

/// Complete files that are being synced while others are written, at most. Each is open.
const FILES_ENDING: usize = 8;

/// A hidden folder next to its target.
pub(super) struct StagedFolder {
    store: JobStore,
    hidden: PathBuf,
    /// The hidden folder, which is held while it is open.
    handle: File,
    target: PathBuf,
    /// The permissions of the folder that is replaced.
    permissions: Option<KeptPermissions>,
    replaces: bool,
    /// Names of its files, in order.
    names: Vec<String>,
    /// Complete files that may not be on the disk yet, the oldest first.
    ending: VecDeque<Unpublished>,
    /// Folders made on the way to the target, outermost first.
    made: Vec<PathBuf>,
    is_published: bool,
}

impl StagedFolder {
    /// Returns true if the folder exists and holds anything.
    pub(super) fn holds_files(store: &JobStore, path: &Path) -> Result<bool> {
        let folder = file_path(path);
        match fs::read_dir(&folder) {
            Ok(mut entries) => Ok(entries.next().transpose()?.is_some()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) if e.kind() == ErrorKind::NotADirectory => Err(not_a_folder().at(store.url(path))),
            Err(e) => Err(Error::from(e).at(store.url(path))),
        }
    }

    /// Fails where the folder holds files that the mode does not replace. Returns true if it holds any.
    pub(super) fn check(store: &JobStore, path: &Path, mode: WriteMode) -> Result<bool> {
        if !Self::holds_files(store, path)? {
            return Ok(false);
        }
        if mode != WriteMode::Overwrite {
            return Err(exists().at(store.url(path)));
        }
        let target = fs::canonicalize(file_path(path)).unwrap_or_else(|_| file_path(path));
        check_replaceable(&target).map_err(|e| e.at(store.url(path)))?;
        Ok(true)
    }

    /// Makes the hidden folder.
    pub(super) fn create(store: &JobStore, path: &Path, mode: WriteMode) -> Result<Self> {
        let url = store.url(path);
        // A link to a folder stays a link to it.
        let target = fs::canonicalize(file_path(path)).unwrap_or_else(|_| file_path(path));
        let replaces = mode == WriteMode::Overwrite;
        Self::check(store, path, mode)?;
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(Error::usage("the target has no name").at(url).advice("name a folder inside of it"));
        };
        let made = make_folders(parent).map_err(|e| Error::from(e).at(&url))?;
        let mut hidden_name = OsString::from(".");
        hidden_name.push(name);
        hidden_name.push(format!(".lakerace-{:016x}.tmp", rand::random::<u64>()));
        let hidden = parent.join(hidden_name);
        remove_orphaned_files(parent);
        let permissions = KeptPermissions::read(&target);
        // The replacement of an existing folder is private until it gets the permissions of that folder.
        let mode = if permissions.is_some() { 0o700 } else { 0o777 };
        let open = |folder| open_or_make_room(|| File::open(folder));
        let handle = match DirBuilder::new().mode(mode).create(&hidden).and_then(|()| open(&hidden)) {
            Ok(handle) => handle,
            Err(e) => {
                let _ = fs::remove_dir(&hidden);
                remove_folders(&made);
                return Err(Error::from(e).at(url));
            }
        };
        hold(&handle);
        let (store, names, ending) = (store.clone(), Vec::new(), VecDeque::new());
        Ok(Self { store, hidden, handle, target, permissions, replaces, names, ending, made, is_published: false })
    }

    /// A new file of this name.
    pub(super) fn output(&mut self, name: &str) -> Result<Output> {
        let hidden = self.hidden.to_str().ok_or_else(|| Error::usage("the target's name is not valid UTF-8"))?;
        let path = Path::parse(format!("{hidden}/{name}"))
            .map_err(|e| Error::from_source(lakerace_io::ErrorKind::Usage, e))?;
        self.names.push(name.to_owned());
        Output::create(&self.store, &path, IfExists::Error)
    }

    /// Takes a complete file. The hidden folder has no readers, so the file gets its name when it is on the disk.
    pub(super) fn add(&mut self, output: Unpublished) -> Result<()> {
        self.ending.push_back(output);
        self.end_files(FILES_ENDING)
    }

    /// Gives the complete files their names, except for the last `left` ones.
    fn end_files(&mut self, left: usize) -> Result<()> {
        while self.ending.len() > left {
            self.ending.pop_front().map_or(Ok(()), Unpublished::publish_in_group)?;
        }
        Ok(())
    }

    /// Renames the folder to its name when all of it is on the disk; returns the paths of its files.
    pub(super) fn publish(mut self) -> Result<Vec<String>> {
        self.end_files(0)?;
        let target = self.target.display().to_string();
        if let Some(permissions) = self.permissions {
            permissions.give_to(&self.handle).map_err(|e| Error::from(e).at(&target))?;
        }
        self.store.job.note_folder(&self.hidden);
        self.store.job.sync_folders()?;
        // Renaming a folder replaces an empty one, and no other.
        match fs::rename(&self.hidden, &self.target) {
            Ok(()) => {
                self.is_published = true;
                self.sync_name()?;
            }
            Err(e) if matches!(e.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
                if !self.replaces {
                    return Err(exists().at(target));
                }
                self.exchange().map_err(|e| e.at(target))?;
            }
            Err(e) if e.kind() == ErrorKind::NotADirectory => return Err(not_a_folder().at(target)),
            Err(e) => return Err(Error::from(e).at(target)),
        }
        Ok(self.names.iter().map(|name| self.target.join(name).display().to_string()).collect())
    }

    fn exchange(&mut self) -> Result<()> {
        check_replaceable(&self.target)?;
        renameat_with(CWD, &self.hidden, CWD, &self.target, RenameFlags::EXCHANGE).map_err(|e| match e {
            rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP => {
                Error::unsupported("this file system can't replace a folder atomically")
                    .advice("remove the folder first, or write to a new one")
            }
            e => Error::from(std::io::Error::from(e)),
        })?;
        self.is_published = true;
        // The name becomes durable before the old files are removed.
        self.sync_name()?;
        // The copy is complete: files of the old folder that can't be removed stay in the hidden folder.
        let _ = fs::remove_dir_all(&self.hidden);
        Ok(())
    }

    /// Puts the name that the folder has now on the disk, and those of the folders that were made above it.
    fn sync_name(&self) -> Result<()> {
        self.made.iter().chain([&self.target]).for_each(|path| self.store.job.note_name(path));
        self.store.job.sync_folders()
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if !self.is_published {
            // Errors can't be reported here; files that can't be removed stay hidden.
            let _ = fs::remove_dir_all(&self.hidden);
            remove_folders(&self.made);
        }
    }
}

/// Allows replacing a folder, which removes its whole content, only if it contains only data files, in partitions at
/// most.
fn check_replaceable(folder: &FilePath) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        let is_partition = kind.is_dir() && name.contains('=') && !name.starts_with(['.', '_']);
        if is_partition {
            check_replaceable(&entry.path())?;
            continue;
        }
        let is_data =
            FileFormat::of_file_name(&name).is_some() || OTHER_ENDINGS.iter().any(|ending| name.ends_with(ending));
        let is_own = is_marker(&name) || name.contains(".lakerace-") && name.ends_with(".tmp");
        if !(kind.is_file() || kind.is_symlink()) || !(is_data || is_own) {
            return Err(Error::invalid(format!(
                "the folder contains {name:?}, which is not a data file, and replacing the folder would remove it"
            ))
            .advice("write to another folder, or remove this file yourself"));
        }
    }
    Ok(())
}

fn exists() -> Error {
    Error::conflict("the folder already exists and is not empty").advice(format!(
        "choose another folder, or use {} or {}",
        MODE.to("append"),
        MODE.to("overwrite")
    ))
}

fn not_a_folder() -> Error {
    Error::conflict("the target is a file, not a folder").advice("choose a folder, or remove the file")
}

fn file_path(path: &Path) -> PathBuf {
    PathBuf::from(format!("/{path}"))
}
