//! What the parts of a store share.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use lakerace_io::{Error, Result};

use super::catalog::Catalog;
use super::fork;
use super::keeper::Keeper;
use super::queue::Queue;
use super::reader::Reader;
use super::schema;
use super::writer::{Checkpoint, Writer};
use crate::name::normalisation_warning;
use crate::{Compression, Options};

/// Connections that wait for the next read.
const IDLE_READERS: usize = 64;

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) location: String,
    pub(super) path: PathBuf,
    pub(super) options: Options,
    pub(super) catalog: Catalog,
    /// The codec of files that name no other.
    pub(super) compression: Compression,
    /// The length of shared blocks; 0 where there are none.
    pub(super) pack_bytes: usize,
    /// Every use of a connection holds it; a fork takes it.
    pub(super) gate: RwLock<()>,
    pub(super) readers: Mutex<Vec<Reader>>,
    pub(super) queue: Queue,
    pub(super) keeper: Arc<Keeper>,
    /// Snapshots and batches whose connections a fork can't close.
    pub(super) outstanding: AtomicUsize,
    pub(super) is_tainted: AtomicBool,
    /// Those that were not told yet, and those that were.
    warnings: Mutex<(Vec<String>, HashSet<String>)>,
}

impl Inner {
    pub(super) fn open(path: &Path, options: Options) -> Result<Arc<Self>> {
        fork::check(path)?;
        if !path.exists() && (options.read_only || !options.create) {
            return Err(Error::not_found("no such store"));
        }
        let catalog = Catalog::new(&options)?;
        let connection = schema::connect(path, &options, options.create)?;
        schema::prepare(&connection, &options)?;
        let stored: Compression =
            schema::setting(&connection, "compression")?.unwrap_or_default().parse().map_err(|e: Error| {
                Error::unsupported(format!("the store's compression: {}", e.message()))
                    .advice("open it with a newer lakerace")
            })?;
        let pack = schema::setting(&connection, "pack_bytes")?.and_then(|text| text.parse().ok()).unwrap_or(0);
        let pack = options.pack_bytes.unwrap_or(pack);
        if pack > 1 << 20 {
            return Err(
                Error::usage(format!("blocks of {pack} bytes")).advice("take at most 1048576, for example 16384")
            );
        }
        let inner = Arc::new(Self {
            location: path.display().to_string(),
            path: path.to_owned(),
            compression: options.compression.unwrap_or(stored),
            pack_bytes: pack as usize,
            catalog,
            gate: RwLock::default(),
            readers: Mutex::default(),
            queue: Queue::default(),
            keeper: Arc::default(),
            outstanding: AtomicUsize::new(0),
            is_tainted: AtomicBool::new(false),
            warnings: Mutex::default(),
            options,
        });
        drop(connection);
        if is_on_network(path) {
            inner.warn(
                "the store is on a network file system, whose locks SQLite can't rely on: one machine at a time may open it".to_owned(),
            );
        }
        fork::register(&inner);
        Ok(inner)
    }

    /// Begins a use of connections.
    pub(super) fn enter(&self) -> Result<RwLockReadGuard<'_, ()>> {
        if self.is_tainted.load(Ordering::Relaxed) {
            return Err(fork::tainted());
        }
        Ok(self.gate.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs a read on a connection of its own.
    pub(super) fn read<T>(&self, read: impl FnOnce(&mut Reader, &Catalog) -> Result<T>) -> Result<T> {
        let _gate = self.enter()?;
        let mut reader = self.reader()?;
        let done = read(&mut reader, &self.catalog);
        self.give_back(reader);
        self.keeper.tick(self);
        done
    }

    pub(super) fn reader(&self) -> Result<Reader> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(reader) => Ok(reader),
            None => Reader::open(&self.path, &self.options),
        }
    }

    pub(super) fn give_back(&self, reader: Reader) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
    }

    /// Runs `work` in a transaction, with that of other threads. It may run twice.
    pub(super) fn write(&self, mut work: impl FnMut(&mut Writer) -> Result<()> + Send) -> Result<()> {
        let _gate = self.enter()?;
        self.queue.run(&|| self.open_writer(), self.options.busy_timeout, &mut work)
    }

    pub(super) fn open_writer(&self) -> Result<Writer> {
        Writer::open(&self.path, &self.options, Arc::clone(&self.keeper))
    }

    /// Whether the store may be written at all.
    pub(super) fn is_writable(&self) -> Result<()> {
        match self.options.read_only {
            true => Err(Error::usage("the store is open for reading only").advice("open it without read_only")),
            false => Ok(()),
        }
    }

    /// Whether `name` may be put.
    pub(super) fn may_write(&self, name: &str) -> Result<()> {
        self.is_writable()?;
        super::check(name)?;
        if let Some(warning) = normalisation_warning(name) {
            self.warn(warning);
        }
        Ok(())
    }

    pub(super) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        // A store of a million such names has told enough with the first ones.
        if warnings.1.len() < 100 && warnings.1.insert(warning.clone()) {
            warnings.0.push(warning);
        }
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::mem::take(&mut warnings.0);
        all.extend(self.keeper.take_warning());
        all
    }

    /// Moves the log into the file and waits for the disk.
    pub(super) fn flush(&self) -> Result<()> {
        self.is_writable()?;
        let _gate = self.enter()?;
        let writer = self.queue.lease(&|| self.open_writer(), self.options.busy_timeout)?;
        let flushed = self.keeper.apart(|| writer.checkpoint(Checkpoint::Full)).map(drop);
        self.queue.give_back(Some(writer));
        flushed?;
        // With less than `full`, SQLite may leave the file to the kernel.
        std::fs::File::open(&self.path)
            .and_then(|file| rustix::fs::fsync(&file).map_err(Into::into))
            .map_err(Error::from)
    }
}

/// Whether a file is on a file system of another machine.
fn is_on_network(path: &Path) -> bool {
    /// NFS, SMB, CIFS, SMB2, AFS, Ceph, 9P.
    const NETWORKS: [u64; 7] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x00c3_6400, 0x0102_1997];
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(path).is_ok_and(|found| NETWORKS.contains(&((found.f_type as u64) & 0xffff_ffff)));
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (path, NETWORKS);
        false
    }
}
