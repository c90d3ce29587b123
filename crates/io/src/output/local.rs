//! A local file under way: hidden next to its target until it is complete.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvError;
use std::thread::JoinHandle;

use bytes::Bytes;
use lakerace_exec::{ProcessLocal, SemaphorePermit, WeightedSemaphore, spawn_with};

use super::IfExists;
use super::hidden_file::{HiddenFile, are_many_open};
use super::orphaned_files::remove_orphaned_files;
use super::uring::{self, Ring};
use super::writer_thread::WriteBehind;
use crate::error::{Error, Result};
use crate::file_io::FileIo;
use crate::job::Job;
use crate::meter::RequestKind;
use crate::open_files::FileShares;
use crate::option::MODE;
use crate::path::file_path;
use crate::store::object::JobStore;

/// Smaller writes are gathered to this size. A file that is not longer is written in one blocking write, for any
/// requested way.
const GATHERED_BYTES: usize = 1 << 20;

/// Limit of files of this process that are synced by separate threads concurrently; the thread that publishes a file
/// syncs each other one.
const SYNC_THREADS: usize = 16;

static SYNC_THREADS_IN_USE: ProcessLocal<WeightedSemaphore> =
    ProcessLocal::new(|| WeightedSemaphore::new(SYNC_THREADS as u64));

#[derive(Debug)]
pub(super) struct LocalFile {
    /// Declared before the file, which may be closed only when no write is under way.
    writer: Option<LocalWriter>,
    syncing: Option<SyncThread>,
    hidden: HiddenFile,
    if_exists: IfExists,
    gathered: Vec<u8>,
    /// Bytes of the file that were written; the gathered bytes come next.
    written: u64,
    /// The limit of bytes by which the caller may be ahead of a separate writing thread; `None`: no such thread.
    behind_bytes: Option<usize>,
    job: Job,
}

/// Writes the file while the caller continues.
#[derive(Debug)]
enum LocalWriter {
    Ring(Box<Ring>),
    Behind(WriteBehind),
}

impl LocalWriter {
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        match self {
            Self::Ring(ring) => ring.write(bytes),
            Self::Behind(behind) => behind.write(bytes),
        }
    }

    /// Waits until everything is written, and returns the length of the file.
    fn finish(self) -> Result<u64> {
        match self {
            Self::Ring(ring) => ring.finish(),
            Self::Behind(behind) => behind.finish(),
        }
    }
}

/// A thread that writes the rest of a file, syncs it, and returns its length.
#[derive(Debug)]
struct SyncThread(Option<JoinHandle<Result<Result<u64>, RecvError>>>);

impl SyncThread {
    /// Starts a thread for a file that is complete. Returns the writer if there are too many such threads, or none can
    /// be started.
    fn begin(file: &File, written: u64, writer: Option<WriteBehind>, job: &Job) -> Result<Self, Option<WriteBehind>> {
        // Each thread has a separate handle.
        let most = SYNC_THREADS.min(FileShares::of_process().complete) as u64;
        let begun = SemaphorePermit::try_acquire_within(&*SYNC_THREADS_IN_USE, 1, most).zip(file.try_clone().ok());
        let Some((permit, file)) = begun else { return Err(writer) };
        let job = job.clone();
        let thread = spawn_with("lakerace-sync", writer, move |writer| {
            let written = writer.map_or(Ok(written), WriteBehind::finish)?;
            job.sync_file(&file)?;
            drop(permit);
            Ok(written)
        });
        thread.map(|thread| Self(Some(thread)))
    }

    fn join(mut self) -> Result<u64> {
        let ended = self.0.take().and_then(|thread| thread.join().ok()?.ok());
        ended.unwrap_or_else(|| Err(Error::internal("a thread that syncs a file panicked")))
    }
}

impl Drop for SyncThread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // The file is given up: its error does not matter.
            let _ = thread.join();
        }
    }
}

impl LocalFile {
    pub(super) fn create(store: &JobStore, path: &object_store::path::Path, if_exists: IfExists) -> Result<Self> {
        let target = resolve_link(file_path(path));
        check_target(&target, if_exists)?;
        // Folders of tables have many files, and vacuum removes their orphaned files.
        if let (Some(folder), true) = (target.parent(), if_exists != IfExists::ErrorAtEnd) {
            remove_orphaned_files(folder);
        }
        let job = store.job.clone();
        let hidden = HiddenFile::create(target, &job)?;
        let file = hidden.file()?;
        job.begin_file(|wanted| uring::probe(file, wanted));
        let (gathered, behind_bytes) = (Vec::new(), None);
        Ok(Self { writer: None, syncing: None, hidden, if_exists, gathered, written: 0, behind_bytes, job })
    }

    pub(super) fn write(&mut self, bytes: Bytes) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            return writer.write(bytes);
        }
        if self.gather(&bytes) {
            return Ok(());
        }
        self.writer = self.begin_writer()?;
        if let Some(writer) = &mut self.writer {
            writer.write(Bytes::from(std::mem::take(&mut self.gathered)))?;
            return writer.write(bytes);
        }
        self.flush()?;
        if bytes.len() < GATHERED_BYTES {
            self.gathered.extend_from_slice(&bytes);
            return Ok(());
        }
        self.job.check()?;
        self.send(&bytes)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.written = writer.finish()?;
        }
        self.job.check()?;
        if !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            self.send(&gathered)?;
            self.gathered = gathered;
            self.gathered.clear();
        }
        Ok(())
    }

    /// Ends like [`Self::end`], but a separate thread may continue with its bytes, and with the sync.
    pub(super) fn leave(&mut self) -> Result<()> {
        if self.syncing.is_some() {
            return Ok(());
        }
        if are_many_open() {
            return self.end();
        }
        let behind = match self.writer.take() {
            Some(LocalWriter::Behind(behind)) => {
                behind.close();
                Some(behind)
            }
            other => {
                self.writer = other;
                self.flush()?;
                self.gathered = Vec::new();
                None
            }
        };
        if !self.job.is_durable() {
            self.writer = behind.map(LocalWriter::Behind);
            return Ok(());
        }
        self.hidden.seal()?;
        match SyncThread::begin(self.hidden.file()?, self.written, behind, &self.job) {
            Ok(thread) => self.syncing = Some(thread),
            Err(behind) => self.writer = behind.map(LocalWriter::Behind),
        }
        Ok(())
    }

    /// Writes the rest of a file that nothing follows in, and puts it on the disk. While it waits for its name, it holds no buffer.
    pub(super) fn end(&mut self) -> Result<()> {
        if let Some(thread) = self.syncing.take() {
            self.written = thread.join()?;
            self.hidden.set_synced();
        }
        self.flush()?;
        self.gathered = Vec::new();
        self.hidden.sync()?;
        self.hidden.close_if_many();
        Ok(())
    }

    pub(super) fn write_behind(&mut self, limit_bytes: usize) {
        self.behind_bytes = Some(limit_bytes);
    }

    pub(super) fn made_folders(&self) -> &[PathBuf] {
        self.hidden.made_folders()
    }

    /// Makes it visible; `in_group`: its name is synced by [`Job::sync_folders`].
    pub(super) fn publish(&mut self, in_group: bool) -> Result<()> {
        let replace = self.if_exists == IfExists::Replace;
        let outcome = if in_group { self.hidden.publish_in_group(replace) } else { self.hidden.publish(replace) };
        match outcome {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(exists()),
            other => Ok(other?),
        }
    }

    /// Returns true if a write is kept for later.
    fn gather(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() >= GATHERED_BYTES {
            return false;
        }
        if self.gathered.capacity() == 0 {
            self.gathered.reserve_exact(GATHERED_BYTES);
        }
        let has_room = self.gathered.len() + bytes.len() <= GATHERED_BYTES;
        if has_room {
            self.gathered.extend_from_slice(bytes);
        }
        has_room
    }

    /// Makes the writer of the file, unless it is to be written immediately.
    fn begin_writer(&self) -> Result<Option<LocalWriter>> {
        let (file, target, job) = (self.hidden.file()?, self.hidden.target(), &self.job);
        match (job.begin_file(|wanted| uring::probe(file, wanted)), self.behind_bytes) {
            (FileIo::Auto | FileIo::Sync, None) => Ok(None),
            (io @ (FileIo::Auto | FileIo::Sync), Some(limit_bytes)) => {
                let may_pass = io == FileIo::Auto;
                Ok(WriteBehind::begin(file, target, self.written, limit_bytes, may_pass, job)?.map(LocalWriter::Behind))
            }
            (io, _) => {
                let is_direct = io == FileIo::UringDirect;
                Ok(Ring::begin(file, target, self.written, is_direct, job)?.map(Box::new).map(LocalWriter::Ring))
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.hidden.file()?.write_all_at(bytes, self.written)?;
        self.written += bytes.len() as u64;
        self.job.meter().count_file(RequestKind::Put, self.hidden.target());
        self.job.meter().wrote_bytes(bytes.len() as u64);
        Ok(())
    }
}

/// A link is written through, not replaced.
fn resolve_link(target: PathBuf) -> PathBuf {
    match target.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => std::fs::canonicalize(&target).unwrap_or(target),
        _ => target,
    }
}

fn check_target(target: &Path, if_exists: IfExists) -> Result<()> {
    match std::fs::metadata(target) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            Err(Error::invalid("one of the folders in this path is a file").caused_by(e))
        }
        Err(e) => Err(e.into()),
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::invalid("is a folder").advice("give the name of a file, or remove the folder"))
        }
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::unsupported("is not a regular file, so it can't be replaced atomically"))
        }
        Ok(_) if if_exists.is_error() => Err(exists()),
        Ok(_) => Ok(()),
    }
}

fn exists() -> Error {
    Error::conflict("it already exists")
        .advice(format!("remove it, choose another name, or replace it with {}", MODE.to("overwrite")))
}
