//! Files in a directory of the local file system, as any program sees them.
//!
//! Names are walked from the directory's own handle, one part after the other, and no part may be a symbolic link: nothing outside of the
//! directory is reached. A content appears by a rename.

mod walk;

use std::fs::File;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::name::{check_name, composed, normalisation_warning, not_found, shown, taken};
use crate::{
    Batch, Compacted, Content, Damage, Durability, Each, Home, IfExists, Options, PutOptions, Reads, Sink, Stat,
    Verified, Write,
};

/// A store in a directory.
#[derive(Debug, Clone)]
pub(crate) struct DirectoryHome(Arc<Root>);

#[derive(Debug)]
struct Root {
    location: String,
    path: PathBuf,
    handle: OwnedFd,
    is_read_only: bool,
    is_durable: bool,
    warnings: Mutex<Vec<String>>,
}

/// What hidden files begin and end with; they are not listed.
const HIDDEN: (&str, &str) = (".lakerace-files-", ".tmp");

/// Hidden files that are older were left by a process that was killed.
const LEFT_OVER: Duration = Duration::from_secs(3600);

fn is_hidden(part: &str) -> bool {
    part.starts_with(HIDDEN.0) && part.ends_with(HIDDEN.1)
}

impl DirectoryHome {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let location = path.display().to_string();
        let refuse = |what: &str| {
            Err(Error::unsupported(format!("a directory has no {what}: its files are as they are"))
                .at(&location)
                .advice("take a SQLite store for that"))
        };
        if options.compression.is_some_and(|compression| compression != crate::Compression::default()) {
            return refuse("compression");
        }
        if options.encrypt || !options.transforms.is_empty() {
            return refuse("transforms");
        }
        if options.pack_bytes.unwrap_or(0) > 0 {
            return refuse("blocks");
        }
        if !path.exists() && options.create && !options.read_only {
            std::fs::create_dir_all(path).map_err(|e| Error::from(e).at(&location))?;
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let handle = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| failed(e, &location))?;
        Ok(Self(Arc::new(Root {
            location,
            path: path.to_owned(),
            handle,
            is_read_only: options.read_only,
            is_durable: options.durability == Durability::Full,
            warnings: Mutex::default(),
        })))
    }
}

fn failed(error: Errno, place: &str) -> Error {
    match error {
        Errno::LOOP => Error::invalid("a part of the name is a symbolic link: a store follows none").at(place),
        other => Error::from(std::io::Error::from(other)).at(place),
    }
}

impl Root {
    fn warn(&self, warning: String) {
        let mut warnings = lock(&self.warnings);
        if warnings.len() < 100 && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    fn is_writable(&self) -> Result<()> {
        match self.is_read_only {
            true => Err(Error::usage("the store is open for reading only").advice("open it without read_only")),
            false => Ok(()),
        }
    }

    fn may_write(&self, name: &str, options: &PutOptions) -> Result<()> {
        self.is_writable()?;
        check_name(name)?;
        if name.split('/').any(is_hidden) {
            return Err(Error::invalid("names of this form are for files that are being written").at(shown(name)));
        }
        if options.metadata.is_some()
            || options.compression.is_some_and(|wanted| wanted != crate::Compression::default())
        {
            return Err(Error::unsupported("a directory keeps neither metadata nor compressed contents")
                .at(shown(name))
                .advice("take a SQLite store for that"));
        }
        if let Some(warning) = normalisation_warning(name) {
            self.warn(warning);
        }
        Ok(())
    }

    /// The directory that a name is in, made where `create` says so, and the name's last part.
    fn parent<'a>(&self, name: &'a str, create: bool) -> Result<Option<(OwnedFd, &'a str)>> {
        check_name(name)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let (folders, last) = name.rsplit_once('/').unwrap_or(("", name));
        let mut at = self.handle.try_clone().map_err(Error::from)?;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            at = match rustix::fs::openat(&at, part, flags, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) if create => {
                    match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(e) => return Err(failed(e, &shown(name))),
                    }
                    rustix::fs::openat(&at, part, flags, Mode::empty()).map_err(|e| failed(e, &shown(name)))?
                }
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::NOTDIR) => {
                    let is_link = rustix::fs::statat(&at, part, AtFlags::SYMLINK_NOFOLLOW)
                        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
                    match is_link {
                        true => return Err(failed(Errno::LOOP, &shown(name))),
                        false if create => {
                            return Err(Error::conflict("a file has the name of a folder of this one").at(shown(name)));
                        }
                        false => return Ok(None),
                    }
                }
                Err(e) => return Err(failed(e, &shown(name))),
            };
        }
        Ok(Some((at, last)))
    }

    /// The file of a name with its size and time; `None` where there is none.
    fn find(&self, name: &str) -> Result<Option<(File, Stat)>> {
        let Some((folder, last)) = self.parent(name, false)? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&folder, last, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(failed(e, &shown(name))),
        };
        let found = file.metadata().map_err(Error::from)?;
        if !found.is_file() {
            return Ok(None);
        }
        let stat = stat_of(name, found.len(), found.modified().ok());
        Ok(Some((file, stat)))
    }

    fn read(&self, name: &str) -> Result<(File, u64)> {
        let (file, stat) = self.find(name)?.ok_or_else(|| not_found(name))?;
        Ok((file, stat.size))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.is_writable()?;
        let (folder, last) = self.parent(name, false)?.ok_or_else(|| not_found(name))?;
        match rustix::fs::unlinkat(&folder, last, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::ISDIR | Errno::PERM) => return Err(not_found(name)),
            Err(e) => return Err(failed(e, &shown(name))),
        }
        self.remove_empty_folders(name);
        Ok(())
    }

    /// Folders are there for their files only.
    fn remove_empty_folders(&self, name: &str) {
        let mut folder = name;
        while let Some((outer, _)) = folder.rsplit_once('/') {
            folder = outer;
            let Ok(Some((parent, last))) = self.parent(folder, false) else { return };
            if rustix::fs::unlinkat(&parent, last, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }

    fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.may_write(to, &PutOptions::default())?;
        self.read(from)?;
        if from == to {
            return Ok(());
        }
        let (source, old) = self.parent(from, false)?.ok_or_else(|| not_found(from))?;
        let (target, new) = self.parent(to, true)?.ok_or_else(|| not_found(to))?;
        publish(&source, old, &target, new, if_exists, to)?;
        self.remove_empty_folders(from);
        Ok(())
    }
}

fn stat_of(name: &str, size: u64, modified: Option<SystemTime>) -> Stat {
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Stat {
        name: name.to_owned(),
        size,
        mtime_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        checksum: None,
        encoding: "none".to_owned(),
        metadata: None,
    }
}

/// Gives a file its name in one step.
fn publish(source: &OwnedFd, old: &str, target: &OwnedFd, new: &str, if_exists: IfExists, name: &str) -> Result<()> {
    let renamed = match if_exists {
        IfExists::Replace => rustix::fs::renameat(source, old, target, new),
        IfExists::Error => match rustix::fs::renameat_with(source, old, target, new, RenameFlags::NOREPLACE) {
            // Not every file system knows the flag; a hard link does not replace either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(source, old, target, new, AtFlags::empty())
                    .and_then(|()| rustix::fs::unlinkat(source, old, AtFlags::empty()))
            }
            other => other,
        },
    };
    match renamed {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(taken(name)),
        Err(Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY) => {
            Err(Error::conflict("a folder has this name").at(shown(name)))
        }
        Err(e) => Err(failed(e, &shown(name))),
    }
}

/// A hidden file that gets its name when it is complete.
struct Staged {
    home: DirectoryHome,
    name: String,
    options: PutOptions,
    folder: OwnedFd,
    hidden: Option<String>,
    file: File,
}

impl Staged {
    fn new(home: &DirectoryHome, name: &str, options: &PutOptions) -> Result<Self> {
        home.0.may_write(name, options)?;
        let (folder, _) = home.0.parent(name, true)?.ok_or_else(|| not_found(name))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let hidden = format!("{}{:016x}{}", HIDDEN.0, rand::random::<u64>(), HIDDEN.1);
        let file = rustix::fs::openat(&folder, hidden.as_str(), flags, Mode::from_raw_mode(0o666))
            .map_err(|e| failed(e, &shown(name)))?;
        let (home, name, options) = (home.clone(), name.to_owned(), options.clone());
        Ok(Self { home, name, options, folder, hidden: Some(hidden), file: file.into() })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| Error::from(e).at(shown(&self.name)))
    }

    fn publish(&mut self) -> Result<()> {
        let place = |e: Errno| failed(e, &shown(&self.name));
        if let Some(mtime_ms) = self.options.mtime_ms {
            let time = Timespec { tv_sec: mtime_ms.div_euclid(1000), tv_nsec: mtime_ms.rem_euclid(1000) * 1_000_000 };
            rustix::fs::futimens(&self.file, &Timestamps { last_access: time, last_modification: time })
                .map_err(place)?;
        }
        if self.home.0.is_durable {
            rustix::fs::fsync(&self.file).map_err(place)?;
        }
        let Some(hidden) = &self.hidden else { return Ok(()) };
        let last = self.name.rsplit('/').next().unwrap_or(&self.name);
        publish(&self.folder, hidden, &self.folder, last, self.options.if_exists, &self.name)?;
        self.hidden = None;
        if self.home.0.is_durable {
            rustix::fs::fsync(&self.folder).map_err(place)?;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            // One that can't be removed stays hidden, until the store is compacted.
            let _ = rustix::fs::unlinkat(&self.folder, hidden.as_str(), AtFlags::empty());
            self.home.0.remove_empty_folders(&self.name);
        }
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.append(bytes)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.publish()
    }
}

/// Contents are staged as they come, and named one after the other at the end.
struct DirectoryBatch {
    home: DirectoryHome,
    work: Vec<Op>,
}

enum Op {
    Put(Box<Staged>),
    Remove(String),
    Rename(String, String, IfExists),
}

impl Batch for DirectoryBatch {
    fn put(&mut self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        let mut staged = Staged::new(&self.home, name, options)?;
        staged.append(data)?;
        self.work.push(Op::Put(Box::new(staged)));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.work.push(Op::Remove(name.to_owned()));
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.work.push(Op::Rename(from.to_owned(), to.to_owned(), if_exists));
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Self { home, work } = *self;
        work.into_iter().try_for_each(|op| match op {
            Op::Put(mut staged) => staged.publish(),
            Op::Remove(name) => home.0.remove(&name),
            Op::Rename(from, to, if_exists) => home.0.rename(&from, &to, if_exists),
        })
    }
}

struct Open(File, u64);

impl Content for Open {
    fn size(&self) -> u64 {
        self.1
    }

    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let len = (out.len() as u64).min(self.1.saturating_sub(offset)) as usize;
        self.0.read_exact_at(&mut out[..len], offset).map(|()| len).map_err(Error::from)
    }
}

impl Reads for DirectoryHome {
    fn get(&self, name: &str, sink: &mut dyn Sink) -> Result<usize> {
        let (file, size) = self.0.read(name).map_err(|e| e.at(&self.0.location))?;
        let size = usize::try_from(size).map_err(|_| Error::unsupported("a content beyond memory").at(shown(name)))?;
        fill(&file, sink.begin(size)?).map_err(|e| Error::from(e).at(shown(name)))?;
        Ok(size)
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|at| names[*at]);
        for at in order {
            match self.0.find(names[at])? {
                None => each(at, None)?,
                Some((file, stat)) => {
                    let mut bytes = vec![0; stat.size as usize];
                    file.read_exact_at(&mut bytes, 0).map_err(|e| Error::from(e).at(shown(names[at])))?;
                    each(at, Some(&bytes))?;
                }
            }
        }
        Ok(())
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        Ok(self.0.find(name)?.map(|(_, stat)| stat))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        walk::list(&self.0, prefix, from, limit)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Content>> {
        let (file, size) = self.0.read(name).map_err(|e| e.at(&self.0.location))?;
        Ok(Box::new(Open(file, size)))
    }
}

impl Home for DirectoryHome {
    fn location(&self) -> &str {
        &self.0.location
    }

    fn put(&self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        let mut staged = Staged::new(self, name, options)?;
        staged.append(data)?;
        staged.publish()
    }

    fn create(&self, name: &str, options: &PutOptions) -> Result<Box<dyn Write>> {
        Ok(Box::new(Staged::new(self, name, options)?))
    }

    fn batch(&self) -> Result<Box<dyn Batch>> {
        self.0.is_writable()?;
        Ok(Box::new(DirectoryBatch { home: self.clone(), work: Vec::new() }))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.0.remove(name)
    }

    fn remove_prefix(&self, prefix: &str) -> Result<u64> {
        self.0.is_writable()?;
        let found = walk::list(&self.0, prefix, "", usize::MAX)?;
        found.iter().try_for_each(|file| self.0.remove(&file.name))?;
        Ok(found.len() as u64)
    }

    fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.0.rename(from, to, if_exists)
    }

    fn copy(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let (mut file, _) = self.0.read(from)?;
        if from == to {
            return Ok(());
        }
        let mut staged = Staged::new(self, to, &PutOptions { if_exists, ..PutOptions::default() })?;
        std::io::copy(&mut file, &mut staged.file).map_err(|e| Error::from(e).at(shown(to)))?;
        staged.publish()
    }

    fn set_metadata(&self, name: &str, _metadata: Option<&str>) -> Result<()> {
        Err(Error::unsupported("a directory keeps no metadata").at(shown(name)).advice("take a SQLite store for that"))
    }

    fn snapshot(&self) -> Result<Box<dyn Reads>> {
        Err(Error::unsupported("a directory has no snapshots")
            .at(&self.0.location)
            .advice("take a SQLite store for that"))
    }

    fn verify(&self) -> Result<Verified> {
        let mut verified = Verified::default();
        for stat in walk::list(&self.0, "", "", usize::MAX)? {
            verified.files += 1;
            if let Some(composed) = composed(&stat.name)
                && self.stat(&composed)?.is_some()
            {
                verified.alike.push((stat.name.clone(), composed));
            }
            match self.get(&stat.name, &mut Vec::new()) {
                Ok(size) => verified.bytes += size as u64,
                Err(e) => {
                    verified.damage.push(Damage {
                        name: Some(stat.name),
                        between: None,
                        problem: e.message().to_owned(),
                    });
                }
            }
        }
        Ok(verified)
    }

    fn compact(&self) -> Result<Compacted> {
        self.0.is_writable()?;
        let bytes = walk::list(&self.0, "", "", usize::MAX)?.iter().map(|file| file.size).sum();
        let orphans = walk::remove_hidden(&self.0, LEFT_OVER)?;
        Ok(Compacted { bytes_before: bytes, bytes_after: bytes, rewritten: 0, orphans })
    }

    fn flush(&self) -> Result<()> {
        match self.0.is_durable {
            true => Ok(()),
            false => sync_all(&self.0),
        }
    }

    fn train(&self) -> Result<u32> {
        Err(Error::unsupported("a directory has no dictionary")
            .at(&self.0.location)
            .advice("take a SQLite store for that"))
    }

    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0.warnings))
    }
}

/// Makes all files durable: of the whole file system, as nothing tells which files are new.
#[cfg(target_os = "linux")]
fn sync_all(root: &Root) -> Result<()> {
    rustix::fs::syncfs(&root.handle).map_err(|e| failed(e, &root.location))
}

/// Makes all files durable, of all file systems: other systems than Linux do not sync one alone.
#[cfg(not(target_os = "linux"))]
fn sync_all(_: &Root) -> Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Reads a file from its start into memory that need not be zeroed before.
fn fill(file: &File, out: &mut [MaybeUninit<u8>]) -> std::io::Result<()> {
    let mut at = 0;
    while at < out.len() {
        match rustix::io::pread(file, &mut out[at..], at as u64) {
            Ok(([], _)) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok((read, _)) => at += read.len(),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
