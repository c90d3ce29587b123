//! Listing a directory in the order of names.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use lakerace_io::{Error, Result};

use super::{Root, is_hidden, stat_of};
use crate::Stat;
use crate::name::shown;

/// Files whose names begin with `prefix` and are not less than `from`, in the order of their names' bytes.
pub(super) fn list(root: &Root, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
    let mut found = Vec::new();
    let mut walk = Walk { root, prefix, from, limit, found: &mut found };
    walk.folder(&root.path, "")?;
    Ok(found)
}

struct Walk<'a> {
    root: &'a Root,
    prefix: &'a str,
    from: &'a str,
    limit: usize,
    found: &'a mut Vec<Stat>,
}

impl Walk<'_> {
    /// Lists a folder whose names begin with `below`, which is empty or ends in `/`.
    fn folder(&mut self, path: &Path, below: &str) -> Result<()> {
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !below.is_empty() => return Ok(()),
            Err(e) => return Err(Error::from(e).at(path.display())),
        };
        // A folder stands where its files stand: behind its name comes a slash.
        let mut names: Vec<(String, bool)> = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| Error::from(e).at(path.display()))?;
            let kind = entry.file_type().map_err(|e| Error::from(e).at(path.display()))?;
            let Ok(part) = entry.file_name().into_string() else {
                self.root.warn(format!("{}: a name that is not UTF-8 is passed over", entry.path().display()));
                continue;
            };
            match kind.is_dir() {
                true => names.push((format!("{below}{part}/"), true)),
                false if kind.is_file() && !is_hidden(&part) => names.push((format!("{below}{part}"), false)),
                false if kind.is_symlink() => {
                    self.root.warn(format!("{}: symbolic links are passed over", shown(&format!("{below}{part}"))));
                }
                false => {}
            }
        }
        names.sort_unstable();
        for (name, is_folder) in names {
            if self.found.len() >= self.limit {
                return Ok(());
            }
            match is_folder {
                true if self.may_hold(&name) => self.folder(&self.root.path.join(&name), &name)?,
                false if name.starts_with(self.prefix) && name.as_str() >= self.from => self.file(&name)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a folder may have files that are wanted.
    fn may_hold(&self, folder: &str) -> bool {
        let is_below = folder.starts_with(self.prefix) || self.prefix.starts_with(folder);
        is_below && (folder >= self.from || self.from.starts_with(folder))
    }

    fn file(&mut self, name: &str) -> Result<()> {
        match std::fs::symlink_metadata(self.root.path.join(name)) {
            Ok(found) if found.is_file() => {
                self.found.push(stat_of(name, found.size(), found.modified().ok()));
                Ok(())
            }
            Ok(_) => Ok(()),
            // Removed meanwhile.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Error::from(e).at(shown(name))),
        }
    }
}

/// Removes hidden files that were left by killed processes, and says how many.
pub(super) fn remove_hidden(root: &Root, older_than: Duration) -> Result<u64> {
    let (mut folders, mut removed) = (vec![root.path.clone()], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| Error::from(e).at(folder.display()))? {
            let entry = entry.map_err(Error::from)?;
            let kind = entry.file_type().map_err(Error::from)?;
            if kind.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let is_old = || {
                let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
                age.is_some_and(|age| age > older_than)
            };
            if entry.file_name().to_str().is_some_and(is_hidden) && is_old() {
                std::fs::remove_file(entry.path()).map_err(|e| Error::from(e).at(entry.path().display()))?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}
