//! Files of names that are kept for the next opening.
//!
//! A store has a folder, which no other user can read. A file is complete when it gets its name: the table, the version with its
//! commit, and XXH3-64 of its bytes. Who uses a file holds a shared lock of it, and who cleans up removes none that is locked.

use std::fs::{DirBuilder, File, Metadata};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use lakerace_io::wait::OwningProcess;
use lakerace_io::{Error, Result};
use tempfile::TempPath;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use super::VersionId;
use super::base::{FileOwner, NamesFile};
use crate::options::Options;

/// The variable that names the folder of caches.
const VARIABLE: &str = "LAKERACE_CACHE_DIR";

/// The file that an opening locks which reads the table.
const LOCK: &str = "lock";

/// How long an opening waits for another one that reads the same table.
const PATIENCE: Duration = Duration::from_secs(60);

/// Older drafts belong to processes that have ended.
const DRAFT_AGE: Duration = Duration::from_secs(60 * 60);

/// Stores that no one opened for as long lose their folder.
const UNUSED_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The folder of a store; `None` where there is none: files then go with their process.
#[derive(Debug)]
pub(in crate::packs) struct NameCache {
    folder: Option<PathBuf>,
}

/// A file that is being made. Dropped before it is kept, it is gone.
#[derive(Debug)]
pub(super) struct NamesDraft {
    path: TempPath,
    lock: File,
    is_new: bool,
}

impl NamesDraft {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if it is no copy of another one.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }
}

/// The facts in a file's name.
struct NamesTitle {
    table: u128,
    version: u64,
    commit: u64,
    hash: u64,
}

impl NamesTitle {
    fn parse(path: &Path) -> Option<Self> {
        let mut parts = path.file_name()?.to_str()?.strip_suffix(".names")?.split('-');
        let table = u128::from_str_radix(parts.next()?, 16).ok()?;
        let version = parts.next()?.parse().ok()?;
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (commit, hash) = (number()?, number()?);
        parts.next().is_none().then_some(Self { table, version, commit, hash })
    }

    fn name(&self) -> String {
        let Self { table, version, commit, hash } = self;
        format!("{table:032x}-{version:020}-{commit:016x}-{hash:016x}.names")
    }
}

fn table_number(id: &VersionId) -> u128 {
    xxh3_128(id.table.as_bytes())
}

/// The user's folder of caches; `None` where the environment names none.
fn default_folder() -> Option<PathBuf> {
    let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = || {
        let user = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
        user.map(|caches| caches.join("lakerace"))
    };
    named(VARIABLE).or_else(own).map(|folder| folder.join("names"))
}

/// Makes a folder that is the user's alone; false where it is not.
fn is_private(folder: &Path) -> bool {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let own = rustix::process::geteuid().as_raw();
    let is_own = |found: Metadata| found.is_dir() && found.uid() == own && found.mode() & 0o022 == 0;
    made.is_ok() && std::fs::symlink_metadata(folder).is_ok_and(is_own)
}

impl NameCache {
    /// The cache of the store at `url`.
    pub(in crate::packs) fn new(url: &str, options: &Options) -> Self {
        let root = options.cache_folder.clone().or_else(default_folder);
        let folder = root.map(|root| root.join(folder_name(url)));
        Self { folder: folder.filter(|folder| folder.parent().is_some_and(is_private) && is_private(folder)) }
    }

    /// Waits until no other opening of the store reads the table, for a while.
    pub(super) fn alone(&self) -> Result<Option<File>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let Ok(file) = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK)) else {
            return Ok(None);
        };
        let start = Instant::now();
        while file.try_lock().is_err() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(file))
    }

    fn files(&self) -> Vec<PathBuf> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let listed = std::fs::read_dir(folder).into_iter().flatten();
        listed.filter_map(|found| found.ok().map(|found| found.path())).collect()
    }

    /// The newest file of the table up to the version of `id`. One that is damaged is removed.
    pub(super) fn newest(&self, id: &VersionId) -> Result<Option<(VersionId, NamesFile)>> {
        let table = table_number(id);
        let titled = |path: PathBuf| NamesTitle::parse(&path).map(|title| (title, path));
        let mut known: Vec<_> = self.files().into_iter().filter_map(titled).collect();
        let is_of = |title: &NamesTitle| title.version < id.version || Some(title.commit) == id.commit;
        known.retain(|(title, _)| title.table == table && title.version <= id.version && is_of(title));
        known.sort_by_key(|(title, _)| std::cmp::Reverse(title.version));
        for (title, path) in known {
            let Some(lock) = shared(&path) else { continue };
            match hash(&path) {
                Ok(hash) if hash == title.hash => {
                    // Marks the file as in use for the cleanup; the file is valid even if this fails.
                    let _ = lock.set_modified(SystemTime::now());
                    let version =
                        VersionId { table: id.table.clone(), version: title.version, commit: Some(title.commit) };
                    return Ok(Some((version, NamesFile::new(path, FileOwner::Locked(lock)))));
                }
                _ => drop(std::fs::remove_file(&path)),
            }
        }
        Ok(None)
    }

    /// A file to be written: a copy of another one, or a new one.
    pub(super) fn draft(&self, from: Option<&NamesFile>) -> Result<NamesDraft> {
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        let make = || {
            let made = tempfile::Builder::new().prefix(".").suffix(".draft").tempfile_in(&folder)?;
            if let Some(from) = from {
                std::fs::copy(from.path(), made.path())?;
            }
            let (lock, path) = made.into_parts();
            lock.try_lock_shared()?;
            Ok(NamesDraft { path, lock, is_new: from.is_none() })
        };
        make().map_err(|e: std::io::Error| Error::from(e).at(folder.display()))
    }

    /// Keeps a file that is written: by the version that it is, or as long as the process uses it.
    pub(super) fn keep(&self, draft: NamesDraft, id: Option<&VersionId>) -> Result<NamesFile> {
        let NamesDraft { path, lock, .. } = draft;
        let failed = |e: std::io::Error| Error::from(e);
        let of = id.and_then(|id| Some((id, id.commit?)));
        let (Some(folder), Some((id, commit))) = (&self.folder, of) else {
            let path = path.keep().map_err(|e| failed(e.error))?;
            return Ok(NamesFile::new(path, FileOwner::Own(OwningProcess::current(), lock)));
        };
        let title =
            NamesTitle { table: table_number(id), version: id.version, commit, hash: hash(&path).map_err(failed)? };
        let kept = folder.join(title.name());
        path.persist(&kept).map_err(|e| failed(e.error))?;
        self.clean(&title);
        Ok(NamesFile::new(kept, FileOwner::Locked(lock)))
    }

    /// Removes unused files: older versions, drafts of processes that have ended, and folders of unused stores.
    fn clean(&self, kept: &NamesTitle) {
        for path in self.files() {
            let is_unused = match NamesTitle::parse(&path) {
                Some(title) => {
                    let is_other = title.version == kept.version && title.commit != kept.commit;
                    title.table != kept.table || title.version < kept.version || is_other
                }
                // A name without a commit is that of an older release.
                None if has_end(&path, "names") => true,
                None => has_end(&path, "draft") && is_older(&path, DRAFT_AGE),
            };
            if is_unused {
                remove(&path);
            }
        }
        let siblings = self.folder.as_deref().and_then(Path::parent).and_then(|root| std::fs::read_dir(root).ok());
        let folders = siblings.into_iter().flatten().flatten().map(|found| found.path());
        for folder in folders.filter(|folder| is_of_a_store(folder)) {
            let files: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().flatten().collect();
            let is_unused = |path: &Path| is_own(path) && is_older(path, UNUSED_AGE);
            if files.iter().all(|file| is_unused(&file.path())) && is_older(&folder, UNUSED_AGE) {
                files.iter().for_each(|file| remove(&file.path()));
                // A folder that is not empty stays.
                let _ = std::fs::remove_dir(&folder);
            }
        }
    }
}

/// The name of a store's folder.
fn folder_name(url: &str) -> String {
    format!("{:032x}", xxh3_128(url.as_bytes()))
}

/// Returns true if a folder has such a name. Others next to it are not ours.
fn is_of_a_store(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if a file in such a folder has one of the names that are given there.
fn is_own(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == LOCK) || has_end(path, "names") || has_end(path, "draft")
}

fn has_end(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|own| own == end)
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = std::fs::symlink_metadata(path).and_then(|found| found.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed > age))
}

/// A file with a shared lock of it; `None` where it is gone.
fn shared(path: &Path) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    file.try_lock_shared().ok()?;
    let (own, named) = (file.metadata().ok()?, std::fs::symlink_metadata(path).ok()?);
    // Another process may have removed it before it was locked.
    ((own.dev(), own.ino()) == (named.dev(), named.ino())).then_some(file)
}

/// Removes a file that no one uses. What stays is removed another time.
fn remove(path: &Path) {
    if File::open(path).is_ok_and(|file| file.try_lock().is_ok()) {
        let _ = std::fs::remove_file(path);
    }
}

fn hash(path: &Path) -> std::io::Result<u64> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Xxh3Default::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest()),
            len => hash.update(&buffer[..len]),
        }
    }
}
