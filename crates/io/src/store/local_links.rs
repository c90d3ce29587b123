//! Symbolic links in folders of this machine: files that are read through links, and files that several links lead to.
//!
//! The store's own listing never descends into a link, so that objects are removed only by their own names.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path as FilePath, PathBuf};

use object_store::path::Path;

use super::error::store_error;
use super::local::{LocalEntry, location_of, not_a_file, read_folder};
use crate::error::{Error, Result};
use crate::meter::RequestKind;
use crate::path::{file_path, is_hidden_name};
use crate::store::object::JobStore;
use crate::store::object_info::ObjectInfo;

impl JobStore {
    /// Lists like [`Self::list_unless`], for reading: links to folders are followed, each of them once, except for
    /// those to a folder above them or with a hidden name (`.x`, `_x`, `~$x`). Files may be found by two names; see
    /// [`Self::without_doubles`].
    pub fn list_linked_unless(
        &self,
        prefix: &Path,
        stop: impl Fn(&Path) -> bool + Send + 'static,
    ) -> Result<Option<Vec<ObjectInfo>>> {
        if !self.has_local_files() {
            return self.list_unless(prefix, stop);
        }
        self.job.check()?;
        self.job.meter().count(RequestKind::List, 1);
        let mut walk = LinkedWalk { store: self, stop, found: Vec::new(), links: Vec::new(), followed: HashSet::new() };
        let root = file_path(prefix);
        if !root.is_dir() {
            return Ok(Some(Vec::new()));
        }
        if !walk.tree(root)? {
            return Ok(None);
        }
        let mut found = walk.found;
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Some(found))
    }

    /// Leaves out files of a folder that are among the others by their own name, and were found again by a link to a
    /// folder.
    pub fn without_doubles(&self, root: &Path, found: Vec<ObjectInfo>) -> Vec<ObjectInfo> {
        let folder_of = |path: &Path| path.as_ref().rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let real = |folder: &str| std::fs::canonicalize(format!("/{folder}")).unwrap_or_else(|_| folder.into());
        if !self.has_local_files() {
            return found;
        }
        let real_root = real(root.as_ref());
        let mut folders: HashMap<String, (PathBuf, bool)> = HashMap::new();
        for info in &found {
            folders.entry(folder_of(&info.path)).or_insert_with_key(|folder| {
                let below = folder.strip_prefix(root.as_ref()).unwrap_or(folder).trim_start_matches('/');
                let own = if below.is_empty() { real_root.clone() } else { real_root.join(below) };
                let real = real(folder);
                let is_own = real == own;
                (real, is_own)
            });
        }
        if folders.values().all(|(_, is_own)| *is_own) {
            return found;
        }
        let file = |info: &ObjectInfo| {
            let (real, is_own) = folders.get(&folder_of(&info.path)).cloned().unwrap_or_default();
            (real.join(info.path.filename().unwrap_or_default()), is_own)
        };
        let mut seen: HashSet<PathBuf> = found.iter().map(file).filter(|(_, is_own)| *is_own).map(|(f, _)| f).collect();
        let is_first = |info: &ObjectInfo| {
            let (real, is_own) = file(info);
            is_own || seen.insert(real)
        };
        found.into_iter().filter(is_first).collect()
    }

    /// Fails for a pipe, a socket or a device among files that were listed, before it is opened. A listing shows them as empty
    /// files, which a reader of text would not even open.
    pub fn check_regular(&self, found: &[ObjectInfo]) -> Result<()> {
        if !self.has_local_files() {
            return Ok(());
        }
        let is_special = |info: &&ObjectInfo| {
            info.size_bytes == 0 && std::fs::metadata(file_path(&info.path)).is_ok_and(|found| !found.is_file())
        };
        match found.iter().find(is_special) {
            None => Ok(()),
            Some(info) => Err(Error::from(not_a_file()).at(self.url(&info.path))),
        }
    }

    /// The files that these paths lead to, independent of their names. Empty for other stores than the local disk.
    pub fn file_ids<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> FileIds {
        if !self.has_local_files() {
            return FileIds::default();
        }
        let id = |path: &Path| std::fs::metadata(file_path(path)).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        FileIds(paths.into_iter().filter_map(id).collect())
    }

    /// Returns true if removing `path` removes a plain file, and none of `others`: not a link, a pipe or a device. True on other
    /// stores, where an object has one name.
    pub fn is_removable(&self, path: &Path, others: &FileIds) -> bool {
        if !self.has_local_files() {
            return true;
        }
        std::fs::symlink_metadata(file_path(path))
            .is_ok_and(|metadata| metadata.is_file() && !others.0.contains(&(metadata.dev(), metadata.ino())))
    }
}

/// Files of this machine by device and inode: links, hard links, mounts and names that differ in case lead to the same one.
#[derive(Debug, Default)]
pub struct FileIds(HashSet<(u64, u64)>);

struct LinkedWalk<'a, S> {
    store: &'a JobStore,
    stop: S,
    found: Vec<ObjectInfo>,
    links: Vec<PathBuf>,
    /// Links by their real place: one that is reached by two names is followed once.
    followed: HashSet<PathBuf>,
}

impl<S: Fn(&Path) -> bool> LinkedWalk<'_, S> {
    /// Walks a folder, then the links in it. False where the walk was stopped.
    fn tree(&mut self, root: PathBuf) -> Result<bool> {
        if !self.folders(root)? {
            return Ok(false);
        }
        while !self.links.is_empty() {
            let mut links = std::mem::take(&mut self.links);
            links.sort_unstable();
            for link in links {
                if self.leads_on(&link) && !self.folders(link)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn folders(&mut self, root: PathBuf) -> Result<bool> {
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            self.store.job.check()?;
            let named = |e| store_error(e, &format!("{}", folder.display()));
            for entry in read_folder(&folder).map_err(named)? {
                match entry.map_err(named)? {
                    LocalEntry::Folder(path) => folders.push(path),
                    LocalEntry::Link(path) => self.links.push(path),
                    // A dead link is listed, so that its reader gets an error.
                    LocalEntry::File(meta) | LocalEntry::DeadLink(meta) => {
                        if (self.stop)(&meta.location) {
                            return Ok(false);
                        }
                        self.found.push(meta.into());
                    }
                }
            }
        }
        Ok(true)
    }

    /// Returns true if a link is to be followed: a new one, and not to a folder above it, which would never end.
    fn leads_on(&mut self, link: &FilePath) -> bool {
        let (Some(folder), Some(name)) = (link.parent(), link.file_name()) else { return false };
        let hidden = name.to_str().is_none_or(is_hidden_name);
        let (Ok(folder), Ok(target)) = (std::fs::canonicalize(folder), std::fs::canonicalize(link)) else {
            return false;
        };
        !hidden && !folder.starts_with(&target) && location_of(link).is_ok() && self.followed.insert(folder.join(name))
    }
}

#[cfg(test)]
mod tests;
