//! Files in a directory of the local file system, as any program sees them.
//!
//! Names are walked from the directory's own handle, one part after the other, and no part may be a symbolic link: nothing outside of the
//! directory is reached. A content appears by a rename.

mod append;
mod batch;
mod root;
mod staged;
mod syncs;
mod walk;

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use self::batch::DirectoryBatch;
use self::root::StoreRoot;
use self::staged::StagedFile;
use self::syncs::FolderSyncs;
use crate::home::{
    CompactOutcome, ContentSink, Damage, Each, FileVersion, Home, IfExists, PendingAppend, Progress, PutOptions,
    RandomAccessFile, Reads, Stat, VerifyOutcome, Write, WriteBatch,
};
use crate::name::{composed, shown};
use crate::options::{Durability, Options};
use crate::stream::go_on;

/// A store in a directory.
#[derive(Debug, Clone)]
pub(crate) struct DirectoryHome(Arc<StoreRoot>);

/// Hidden files that are older were left by a process that was killed.
const LEFT_OVER: Duration = Duration::from_secs(3600);

impl DirectoryHome {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let location = path.display().to_string();
        let refuse = |what: &str| {
            Err(Error::unsupported(format!("a directory store has no {what}: it holds plain files"))
                .at(&location)
                .advice("use a SQLite store for that"))
        };
        if options.compression.is_some_and(|compression| compression != crate::options::Compression::default()) {
            return refuse("compression");
        }
        if options.encrypt || !options.transforms.is_empty() {
            return refuse("transforms");
        }
        if options.pack_bytes.unwrap_or(0) > 0 {
            return refuse("blocks");
        }
        let syncs = FolderSyncs::new(options.durability == Durability::Full);
        if !path.exists() && options.create && !options.read_only {
            make_directory(path, &syncs).map_err(|e| e.at(&location))?;
        }
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let handle = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|e| Error::from(std::io::Error::from(e)).at(&location))?;
        Ok(Self(Arc::new(StoreRoot {
            location,
            handle,
            is_read_only: options.read_only,
            syncs,
            warnings: Mutex::default(),
        })))
    }
}

/// Makes the directory of a store and those above it that are missing.
fn make_directory(path: &Path, syncs: &FolderSyncs) -> Result<()> {
    let absolute = std::path::absolute(path).map_err(Error::from)?;
    for made in lakerace_io::make_folders(&absolute).map_err(Error::from)? {
        if let Some(parent) = made.parent().filter(|_| syncs.is_durable()) {
            syncs.note(&File::open(parent).map_err(Error::from)?.into())?;
        }
    }
    syncs.sync()
}

struct DirectoryFile(File, u64);

impl RandomAccessFile for DirectoryFile {
    fn size(&self) -> u64 {
        self.1
    }

    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let len = (out.len() as u64).min(self.1.saturating_sub(offset)) as usize;
        self.0.read_exact_at(&mut out[..len], offset).map(|()| len).map_err(Error::from)
    }
}

impl Reads for DirectoryHome {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        let (file, size) = self.0.read(name).map_err(|e| e.at(&self.0.location))?;
        let size = usize::try_from(size)
            .map_err(|_| Error::unsupported("the content does not fit into memory").at(shown(name)))?;
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

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        let (file, size) = self.0.read(name).map_err(|e| e.at(&self.0.location))?;
        Ok(Box::new(DirectoryFile(file, size)))
    }
}

impl Home for DirectoryHome {
    fn location(&self) -> &str {
        &self.0.location
    }

    fn put(&self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        let mut staged = StagedFile::new(self, name, options)?;
        staged.append(data)?;
        staged.publish()
    }

    fn create(&self, name: &str, options: &PutOptions) -> Result<Box<dyn Write>> {
        Ok(Box::new(StagedFile::new(self, name, options)?))
    }

    fn version(&self, name: &str) -> Result<Option<FileVersion>> {
        self.0.version(name)
    }

    fn append_in_place(&self, name: &str, tail: &mut dyn PendingAppend, options: &PutOptions) -> Result<bool> {
        self.0.append(name, tail, options).map(|()| true)
    }

    fn batch(&self) -> Result<Box<dyn WriteBatch>> {
        self.0.is_writable()?;
        Ok(Box::new(DirectoryBatch::new(self)))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.0.remove(name)?;
        self.0.sync()
    }

    fn remove_prefix(&self, prefix: &str) -> Result<u64> {
        self.0.is_writable()?;
        let found = walk::list(&self.0, prefix, "", usize::MAX)?;
        found.iter().try_for_each(|file| self.0.remove(&file.name))?;
        self.0.sync()?;
        Ok(found.len() as u64)
    }

    fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.0.rename(from, to, if_exists)?;
        self.0.sync()
    }

    fn copy(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let (mut file, _) = self.0.read(from)?;
        if from == to {
            return Ok(());
        }
        let mut staged = StagedFile::new(self, to, &PutOptions { if_exists, ..PutOptions::default() })?;
        std::io::copy(&mut file, &mut staged.file).map_err(|e| Error::from(e).at(shown(to)))?;
        staged.publish()
    }

    fn set_metadata(&self, name: &str, _metadata: Option<&str>) -> Result<()> {
        Err(Error::unsupported("a directory store keeps no metadata")
            .at(shown(name))
            .advice("use a SQLite store for that"))
    }

    fn snapshot(&self) -> Result<Box<dyn Reads>> {
        Err(Error::unsupported("a directory store has no snapshots")
            .at(&self.0.location)
            .advice("use a SQLite store for that"))
    }

    fn verify(&self, progress: Progress<'_>) -> Result<VerifyOutcome> {
        let mut verified = VerifyOutcome::default();
        for stat in walk::list(&self.0, "", "", usize::MAX)? {
            go_on(progress(verified.files, verified.bytes))?;
            verified.files += 1;
            if let Some(composed) = composed(&stat.name)
                && self.stat(&composed)?.is_some()
            {
                verified.alike.push((stat.name.clone(), composed));
            }
            match self.get(&stat.name, &mut Vec::new()) {
                Ok(size) => verified.bytes += size as u64,
                // Removed in the meantime.
                Err(e) if e.kind() == ErrorKind::NotFound => verified.files -= 1,
                // A content that can't be read may be whole.
                Err(e) if !is_damage(&e) => return Err(e),
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

    fn compact(&self, _: Progress<'_>) -> Result<CompactOutcome> {
        self.0.is_writable()?;
        let bytes = walk::list(&self.0, "", "", usize::MAX)?.iter().map(|file| file.size).sum();
        let orphans = walk::remove_hidden(&self.0, LEFT_OVER)?;
        Ok(CompactOutcome { bytes_before: bytes, bytes_after: bytes, rewritten: 0, orphans })
    }

    fn flush(&self) -> Result<()> {
        match self.0.syncs.is_durable() {
            true => Ok(()),
            false => sync_all(&self.0),
        }
    }

    fn train(&self) -> Result<u32> {
        Err(Error::unsupported("a directory store has no dictionary")
            .at(&self.0.location)
            .advice("use a SQLite store for that"))
    }

    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0.warnings))
    }
}

/// Makes all files durable by a sync of the whole file system, as no record of the new files is kept.
#[cfg(target_os = "linux")]
fn sync_all(root: &StoreRoot) -> Result<()> {
    rustix::fs::syncfs(&root.handle).map_err(|e| root.failed(e, &root.location))
}

/// Makes all files durable by a sync of all file systems: systems other than Linux can't sync a single one.
#[cfg(not(target_os = "linux"))]
fn sync_all(_: &StoreRoot) -> Result<()> {
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

/// Returns true if an error of reading a content means that the content is damaged, not that it can't be accessed.
fn is_damage(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    let from_system = cause.and_then(std::io::Error::raw_os_error).map(Errno::from_raw_os_error);
    error.kind() == ErrorKind::Corrupt || from_system.is_some_and(|e| [Errno::IO, Errno::BADMSG].contains(&e))
}
