//! The files of this machine that are the store itself: an import skips them, and an export does not replace them.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lakerace_io::{Error, Result};

/// The suffixes of the files that SQLite keeps next to a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The home of a store's own files.
#[derive(Debug)]
pub(crate) enum StorePaths {
    /// In memory, or on another machine.
    Elsewhere,
    /// In a SQLite file.
    File(PathBuf),
    /// In a directory, whose files are the store's.
    Directory(PathBuf),
    /// In a folder of packs.
    Packs(PathBuf),
}

impl StorePaths {
    /// An existing SQLite file. The names of the files next to it derive from the name after links are resolved.
    pub(crate) fn file(path: &Path) -> Self {
        Self::File(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// The directory of a store; a change of the current directory does not change it.
    pub(crate) fn directory(path: &Path) -> Self {
        Self::Directory(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Returns true if a file of this name is the store's, or one next to it.
    pub(crate) fn is_file(&self, name: &OsStr, found: &Metadata) -> bool {
        let Self::File(path) = self else { return false };
        let beside = BESIDE.iter().find(|ending| name.as_encoded_bytes().ends_with(ending.as_bytes()));
        let is = |ending: &str| {
            let mut own = OsString::from(path);
            own.push(ending);
            is_same(found, Path::new(&own))
        };
        is("") || beside.is_some_and(|ending| is(ending))
    }

    /// An error where `path` is a file of the store.
    pub(crate) fn refuse(&self, path: &Path) -> Result<()> {
        let is_own = std::fs::metadata(path).is_ok_and(|found| self.is_file(path.as_os_str(), &found));
        match is_own {
            true => {
                Err(Error::usage("the path is the store's own file").at(path.display()).advice("choose another file"))
            }
            false => Ok(()),
        }
    }

    /// The folder that an import of `tree` skips: the store, or, for a tree in the store, the part that the import
    /// writes.
    pub(crate) fn passed_over(&self, tree: &Path, prefix: &str) -> Result<Option<PathBuf>> {
        let is_of_store = |root: &Path| match (std::fs::canonicalize(tree), std::fs::canonicalize(root)) {
            (Ok(tree), Ok(root)) => tree.starts_with(root),
            _ => false,
        };
        match self {
            Self::Elsewhere | Self::File(_) => Ok(None),
            Self::Directory(root) if is_of_store(root) => Ok(Some(root.join(prefix))),
            Self::Packs(root) if is_of_store(root) => Err(Error::usage("the directory is part of the store")
                .at(tree.display())
                .advice("choose another directory")),
            Self::Directory(root) | Self::Packs(root) => Ok(Some(root.clone())),
        }
    }

    /// The store's name of a path of this machine, where files of its directory are the store's.
    pub(crate) fn name_of(&self, path: &Path) -> Option<String> {
        let Self::Directory(root) = self else { return None };
        let path = std::path::absolute(path).ok()?;
        let path = match std::fs::canonicalize(&path) {
            Ok(path) => path,
            Err(_) => std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?),
        };
        let below = path.strip_prefix(std::fs::canonicalize(root).ok()?).ok()?;
        below.to_str().filter(|name| !name.is_empty()).map(str::to_owned)
    }
}

/// Returns true if a path leads to a file or folder that was found.
pub(crate) fn is_same(found: &Metadata, path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
}
