//! The shared state of the parts of a store.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};

use super::catalog::StoreCatalog;
use super::connect::{connect, connect_to_read, sync};
use super::connections::StoreConnections;
use super::fork;
use super::queue::WorkIsolation;
use super::reader::StoreReader;
use super::schema;
use super::writer::{CheckpointMode, StoreWriter};
use crate::name::{check_name, normalisation_warning};
use crate::options::{Compression, Options};

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) location: String,
    pub(super) catalog: StoreCatalog,
    /// The codec of files that name no other.
    pub(super) compression: Compression,
    /// The length of shared blocks; 0 where there are none.
    pub(super) pack_bytes: usize,
    pub(super) connections: Arc<StoreConnections>,
    /// The warnings that are not yet reported, and all earlier ones.
    warnings: Mutex<(Vec<String>, HashSet<String>)>,
}

impl Inner {
    pub(super) fn open(path: &Path, options: Options) -> Result<Arc<Self>> {
        let location = path.display().to_string();
        // An absolute path: later connections open the same file after a change of the process's current directory.
        let path = &std::path::absolute(path)?;
        fork::check(path)?;
        if !path.exists() && (options.read_only || !options.create) {
            return Err(Error::not_found("the store does not exist"));
        }
        let catalog = StoreCatalog::new(&options)?;
        let connection = match options.read_only {
            true => connect_to_read(path, &options)?.0,
            false => connect(path, &options, options.create)?,
        };
        // The resolved path: SQLite follows links at each opening, and they may change.
        let path = &path.canonicalize().unwrap_or_else(|_| path.clone());
        schema::prepare(&connection, &options)?;
        let stored: Compression =
            schema::setting(&connection, "compression")?.unwrap_or_default().parse().map_err(|e: Error| {
                Error::unsupported(format!("the store's compression: {}", e.message()))
                    .advice("open it with a newer version of lakerace")
            })?;
        let pack = schema::setting(&connection, "pack_bytes")?.and_then(|text| text.parse().ok()).unwrap_or(0);
        let pack = options.pack_bytes.unwrap_or(pack);
        if pack > 1 << 20 {
            return Err(Error::usage(format!("blocks of {pack} bytes are too large"))
                .advice("choose at most 1048576, for example 16384"));
        }
        let inner = Arc::new(Self {
            location,
            compression: options.compression.unwrap_or(stored),
            pack_bytes: pack as usize,
            catalog,
            connections: Arc::new(StoreConnections::new(path, options)),
            warnings: Mutex::default(),
        });
        drop(connection);
        if is_on_network(path) {
            inner.warn(
                "the store is on a network file system, where SQLite's locks are not reliable: open it on one machine \
                 at a time"
                    .to_owned(),
            );
        }
        fork::register(&inner.connections);
        Ok(inner)
    }

    /// Runs a read on a separate connection.
    pub(super) fn read<T>(&self, read: impl FnOnce(&mut StoreReader, &StoreCatalog) -> Result<T>) -> Result<T> {
        let connections = &self.connections;
        let _gate = connections.enter()?;
        let mut reader = connections.reader()?;
        let done = read(&mut reader, &self.catalog);
        let done = reader.check().and(done);
        connections.give_back(reader);
        connections.read_lock.tick(&connections.path, &connections.options);
        done
    }

    /// Runs `work` in a transaction, with that of other threads. It may run twice.
    pub(super) fn write(&self, work: impl FnMut(&mut StoreWriter) -> Result<()> + Send) -> Result<()> {
        self.connections.write(WorkIsolation::Others, work)
    }

    /// Runs `work` in a separate transaction. Reads through other connections see the state that it changes.
    pub(super) fn write_alone(&self, work: impl FnMut(&mut StoreWriter) -> Result<()> + Send) -> Result<()> {
        self.connections.write(WorkIsolation::Alone, work)
    }

    /// Returns an error if `name` may not be put.
    pub(super) fn may_write(&self, name: &str) -> Result<()> {
        self.connections.is_writable()?;
        check_name(name)?;
        if let Some(warning) = normalisation_warning(name) {
            self.warn(warning);
        }
        Ok(())
    }

    pub(super) fn warn(&self, warning: String) {
        let mut warnings = lock(&self.warnings);
        // A store with a million such names reports only the first ones.
        if warnings.1.len() < 100 && warnings.1.insert(warning.clone()) {
            warnings.0.push(warning);
        }
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        let mut warnings = lock(&self.warnings);
        let mut all = std::mem::take(&mut warnings.0);
        all.extend(self.connections.read_lock.take_warning());
        all
    }

    /// Moves the log into the file and waits for the disk.
    pub(super) fn flush(&self) -> Result<()> {
        let connections = &self.connections;
        connections.is_writable()?;
        let _gate = connections.enter()?;
        connections.checkpoint(CheckpointMode::Full)?;
        let reader = connections.reader()?;
        // With less than `full`, SQLite may leave the file to the kernel.
        let synced = sync(&reader.connection);
        connections.give_back(reader);
        synced
    }
}

/// Returns true if a file is on a file system of another machine.
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
