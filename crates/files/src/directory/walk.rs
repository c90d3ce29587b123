//! Lists a directory in the order of names, from its handle: the process's current directory may change.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lakerace_io::{Error, Result};
use rustix::fs::{AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;

use super::root::{FOLDER, StoreRoot, is_hidden, stat_of};
use crate::home::Stat;
use crate::name::shown;

/// Files whose names begin with `prefix` and are not less than `from`, in the order of their names' bytes.
pub(super) fn list(root: &StoreRoot, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
    root.is_there()?;
    let walk = FolderWalk { root, prefix, from };
    let mut found = Vec::new();
    // Folders above the prefix have names that are not wanted, and may have many.
    let below = &prefix[..prefix.rfind('/').map_or(0, |at| at + 1)];
    let is_path = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0') && !is_hidden(part);
    if !below.is_empty() && !below[..below.len() - 1].split('/').all(is_path) {
        return Ok(found);
    }
    let Some(folder) = open(root, below.as_bytes()).map_err(|e| root.failed(e, below))? else { return Ok(found) };
    let mut levels = vec![walk.level(folder, below.to_owned())?];
    while found.len() < limit
        && let Some(level) = levels.last_mut()
    {
        let Some((part, is_folder)) = level.entries.next() else {
            levels.pop();
            continue;
        };
        let name = format!("{}{part}", level.below);
        if is_folder {
            if walk.may_hold(&name)
                && let Some(folder) = walk.folder(&level.folder, &part, &name)?
            {
                levels.push(walk.level(folder, name)?);
            }
        } else if name.starts_with(prefix) && name.as_str() >= from {
            found.extend(walk.file(&level.folder, &part, &name)?);
        }
    }
    Ok(found)
}

struct FolderWalk<'a> {
    root: &'a StoreRoot,
    prefix: &'a str,
    from: &'a str,
}

/// A folder that is being listed: its names begin with `below`, which is empty or ends in `/`.
struct WalkLevel {
    folder: OwnedFd,
    below: String,
    /// Parts of names that are left, those of folders with a `/` at the end.
    entries: std::vec::IntoIter<(String, bool)>,
}

impl FolderWalk<'_> {
    fn level(&self, folder: OwnedFd, below: String) -> Result<WalkLevel> {
        // A folder is sorted at the place of its files: by its name and a slash.
        let mut entries: Vec<(String, bool)> = Vec::new();
        each_entry(&folder, &mut |part, kind| {
            let Ok(text) = std::str::from_utf8(part) else {
                let place = shown_path(self.root, &format!("{below}{}", String::from_utf8_lossy(part)));
                self.root.warn(format!("{place}: skipped, because its name is not valid UTF-8"));
                return Ok(());
            };
            match kind {
                FileType::Directory if !is_hidden(text) => entries.push((format!("{text}/"), true)),
                FileType::RegularFile if !is_hidden(text) => entries.push((text.to_owned(), false)),
                FileType::Symlink => {
                    self.root
                        .warn(format!("{}: skipped, because it is a symbolic link", shown(&format!("{below}{text}"))));
                }
                _ => {}
            }
            Ok(())
        })
        .map_err(|e| e.at(shown_path(self.root, &below)))?;
        entries.sort_unstable();
        Ok(WalkLevel { folder, below, entries: entries.into_iter() })
    }

    /// Opens a folder; `None` where it was removed in the meantime.
    fn folder(&self, at: &OwnedFd, part: &str, name: &str) -> Result<Option<OwnedFd>> {
        match rustix::fs::openat(at, part.trim_end_matches('/'), FOLDER, Mode::empty()) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(e) => Err(Error::from(std::io::Error::from(e)).at(shown_path(self.root, name))),
        }
    }

    /// Returns true if a folder may have files that are wanted.
    fn may_hold(&self, folder: &str) -> bool {
        let is_below = folder.starts_with(self.prefix) || self.prefix.starts_with(folder);
        is_below && (folder >= self.from || self.from.starts_with(folder))
    }

    /// A file's properties; `None` where it was removed in the meantime.
    fn file(&self, at: &OwnedFd, part: &str, name: &str) -> Result<Option<Stat>> {
        match rustix::fs::statat(at, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => {
                Ok(Some(stat_of(name, u64::try_from(found.st_size).unwrap_or(0), modified(&found))))
            }
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.root.failed(e, name)),
        }
    }
}

/// A path for a message.
fn shown_path(root: &StoreRoot, name: &str) -> String {
    Path::new(&root.location).join(name).display().to_string()
}

fn modified(found: &rustix::fs::Stat) -> Option<SystemTime> {
    let since = Duration::new(u64::try_from(found.st_mtime).ok()?, u32::try_from(found.st_mtime_nsec).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// Calls `each` with the names and kinds in a folder.
fn each_entry(folder: &OwnedFd, each: &mut dyn FnMut(&[u8], FileType) -> Result<()>) -> Result<()> {
    let failed = |e: Errno| Error::from(std::io::Error::from(e));
    let entries = match Dir::read_from(folder) {
        Ok(entries) => entries,
        Err(Errno::NOENT) => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            // The folder was removed in the meantime.
            Err(Errno::NOENT) => return Ok(()),
            Err(e) => return Err(failed(e)),
        };
        let (part, mut kind) = (entry.file_name(), entry.file_type());
        if [c".", c".."].contains(&part) {
            continue;
        }
        // Some file systems do not report the kinds of entries.
        if kind == FileType::Unknown {
            match rustix::fs::statat(folder, part, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => kind = FileType::from_raw_mode(found.st_mode),
                Err(Errno::NOENT) => continue,
                Err(e) => return Err(failed(e)),
            }
        }
        each(part.to_bytes(), kind)?;
    }
    Ok(())
}

/// Removes hidden files that were left by killed processes, and says how many.
pub(super) fn remove_hidden(root: &StoreRoot, older_than: Duration) -> Result<u64> {
    let (mut folders, mut removed) = (vec![Vec::new()], 0);
    while let Some(below) = folders.pop() {
        let failed =
            |e: Errno| Error::from(std::io::Error::from(e)).at(shown_path(root, &String::from_utf8_lossy(&below)));
        let Some(folder) = open(root, &below).map_err(failed)? else { continue };
        let mut hidden = Vec::new();
        each_entry(&folder, &mut |part, kind| {
            match kind {
                FileType::Directory => folders.push([&below, part, b"/"].concat()),
                _ if std::str::from_utf8(part).is_ok_and(is_hidden) => hidden.push(part.to_vec()),
                _ => {}
            }
            Ok(())
        })?;
        for part in hidden {
            let is_old = rustix::fs::statat(&folder, part.as_slice(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
                modified(&found).and_then(|time| time.elapsed().ok()).is_some_and(|age| age > older_than)
            });
            if is_old {
                rustix::fs::unlinkat(&folder, part.as_slice(), AtFlags::empty()).map_err(failed)?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Opens the folder whose names begin with `below`; `None` where there is none.
fn open(root: &StoreRoot, below: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    let mut at = rustix::io::fcntl_dupfd_cloexec(&root.handle, 0)?;
    for part in below.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        at = match rustix::fs::openat(&at, part, FOLDER, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => return Ok(None),
            Err(e) => return Err(e),
        };
    }
    Ok(Some(at))
}
