//! The connections of a store, which all its threads share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use lakerace_io::wait::{lock, read_lock};
use lakerace_io::{Error, Result};

use super::queue::{WorkIsolation, WriteQueue};
use super::read_lock::ReadLockHolder;
use super::reader::StoreReader;
use super::statement::pragma;
use super::writer::{CheckpointMode, StoreWriter};
use crate::options::Options;
use crate::sqlite_error::is_disk_full;

/// The approximate bytes of the log of a removal.
const LOG_BYTES: u64 = 1 << 20;

/// Connections that wait for the next read.
const IDLE_READERS: usize = 64;

#[derive(Debug)]
pub(super) struct StoreConnections {
    pub(super) path: PathBuf,
    pub(super) options: Options,
    /// Every use of a connection holds it; a fork takes it.
    pub(super) gate: RwLock<()>,
    pub(super) readers: Mutex<Vec<StoreReader>>,
    pub(super) queue: WriteQueue,
    pub(super) read_lock: Arc<ReadLockHolder>,
    /// Snapshots and batches whose connections a fork can't close.
    pub(super) outstanding: AtomicUsize,
    /// True if they are the parent's of this process.
    pub(super) is_tainted: AtomicBool,
}

impl StoreConnections {
    /// None is open yet.
    pub(super) fn new(path: &Path, options: Options) -> Self {
        Self {
            path: path.to_owned(),
            options,
            gate: RwLock::default(),
            readers: Mutex::default(),
            queue: WriteQueue::default(),
            read_lock: Arc::default(),
            outstanding: AtomicUsize::new(0),
            is_tainted: AtomicBool::new(false),
        }
    }

    /// Begins a use of connections.
    pub(super) fn enter(&self) -> Result<RwLockReadGuard<'_, ()>> {
        if self.is_tainted.load(Ordering::Relaxed) {
            return Err(tainted());
        }
        Ok(read_lock(&self.gate))
    }

    pub(super) fn reader(&self) -> Result<StoreReader> {
        let idle = lock(&self.readers).pop();
        match idle {
            Some(reader) if reader.check().is_ok() => Ok(reader),
            _ => StoreReader::open(&self.path, &self.options),
        }
    }

    pub(super) fn give_back(&self, reader: StoreReader) {
        let mut readers = lock(&self.readers);
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
    }

    /// Runs `work` in a transaction, with that of other threads where `isolation` says so. It may run twice then.
    pub(super) fn write(
        &self,
        isolation: WorkIsolation,
        mut work: impl FnMut(&mut StoreWriter) -> Result<()> + Send,
    ) -> Result<()> {
        let _gate = self.enter()?;
        let mut run = || self.queue.run(&|| self.open_writer(), self.options.busy_timeout, isolation, &mut work);
        match run() {
            // A checkpoint may move the log's content to the file; then the log starts over in its allocated space.
            Err(e) if is_disk_full(&e) && self.checkpoint(CheckpointMode::Restart).is_ok() => match run() {
                Err(e) if is_disk_full(&e) => Err(self.full(e)),
                done => done,
            },
            Err(e) if is_disk_full(&e) => Err(self.full(e)),
            done => done,
        }
    }

    /// The error of a full disk, with the space that removing files requires: pages that are only in the log need their
    /// place in the file.
    fn full(&self, error: Error) -> Error {
        let pages = |reader: &StoreReader| {
            Ok::<_, Error>((
                pragma(&reader.connection, "PRAGMA page_count")?,
                pragma(&reader.connection, "PRAGMA page_size")?,
            ))
        };
        let whole =
            self.reader().and_then(|reader| pages(&reader)).map_or(0, |(count, bytes)| (count * bytes).max(0) as u64);
        let now = std::fs::metadata(&self.path).map_or(0, |found| found.len());
        let needed = whole.saturating_sub(now) + LOG_BYTES;
        let advice = format!(
            "free {} MB elsewhere on its disk; then remove files from the store and compact it, which releases their \
             space",
            needed.div_ceil(1 << 20)
        );
        Error::unavailable(error.message().to_owned()).advice(advice)
    }

    fn open_writer(&self) -> Result<StoreWriter> {
        StoreWriter::open(&self.path, &self.options, Arc::clone(&self.read_lock))
    }

    /// Takes the writer away for longer: all others wait until it is given back to the queue.
    pub(super) fn lease(&self) -> Result<Box<StoreWriter>> {
        self.queue.lease(&|| self.open_writer(), self.options.busy_timeout)
    }

    /// Moves the log into the file, as far as readers allow it.
    pub(super) fn checkpoint(&self, how: CheckpointMode) -> Result<()> {
        let mut writer = self.lease()?;
        let checked = writer.check_log();
        let moved = checked.and_then(|()| self.read_lock.apart(|| writer.checkpoint(how)).map(drop));
        self.queue.give_back(Some(writer));
        moved
    }

    /// Returns an error if the store is read-only.
    pub(super) fn is_writable(&self) -> Result<()> {
        match self.options.read_only {
            true => Err(Error::usage("the store is open read-only").advice("open it without read_only")),
            false => Ok(()),
        }
    }
}

/// The error of a child whose parent's connections could not be closed.
pub(super) fn tainted() -> Error {
    Error::usage("this process was forked while a snapshot, a batch or a long read of the store was open")
        .advice("end them before the fork, or start child processes by spawn")
}
