//! A connection that makes the reads of others cheap.
//!
//! Most of the cost of a small read is taking and releasing a lock of the file. While one connection of the process
//! holds the lock, the others need no system call for it. The [`ReadLockHolder`] is that connection: it holds a read
//! transaction while reads come in quick succession, renews it every [`RENEW`] of them, and ends it when none came for
//! [`IDLE`]. The results of other reads do not depend on it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use lakerace_io::wait::lock;

use super::reader::StoreReader;
use crate::options::Options;

const RENEW: u32 = 256;

const IDLE: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(super) struct ReadLockHolder {
    reads: AtomicU32,
    reader: Mutex<Option<Box<StoreReader>>>,
    is_watched: AtomicBool,
    warning: Mutex<Option<String>>,
}

impl ReadLockHolder {
    fn lock(&self) -> MutexGuard<'_, Option<Box<StoreReader>>> {
        lock(&self.reader)
    }

    /// Counts a read of the store at `path`.
    pub(super) fn tick(self: &Arc<Self>, path: &Path, options: &Options) {
        if self.reads.fetch_add(1, Ordering::Relaxed) % RENEW != RENEW - 1 {
            return;
        }
        let Ok(mut reader) = self.reader.try_lock() else { return };
        let mut held = match reader.take() {
            Some(held) => held,
            None => match StoreReader::open(path, options) {
                Ok(made) => Box::new(made),
                // Reads are as right without it.
                Err(_) => return,
            },
        };
        held.end();
        if held.begin().is_ok() {
            *reader = Some(held);
            drop(reader);
            self.watch();
        }
    }

    /// Starts a thread that ends the transaction when no reads come.
    fn watch(self: &Arc<Self>) {
        if self.is_watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let holder = Arc::downgrade(self);
        let started = std::thread::Builder::new().name("lakerace-files".to_owned()).spawn(move || watch(&holder));
        if started.is_err() {
            self.is_watched.store(false, Ordering::Release);
            *self.lock() = None;
        }
    }

    /// Runs `call` while the holder has no transaction: the log can be emptied.
    pub(super) fn apart<T>(&self, call: impl FnOnce() -> T) -> T {
        let mut reader = self.lock();
        if let Some(reader) = &mut *reader {
            reader.end();
        }
        call()
    }

    /// Closes the connection before a fork; false if another thread uses it.
    pub(super) fn close(&self, before: impl FnOnce(&rusqlite::Connection)) -> bool {
        let Ok(mut reader) = self.reader.try_lock() else { return false };
        if let Some(mut reader) = reader.take() {
            reader.end();
            before(&reader.connection);
        }
        true
    }

    /// A child has no threads of its parent's.
    pub(super) fn is_forked(&self) {
        self.is_watched.store(false, Ordering::Release);
    }

    pub(super) fn warn(&self, warning: String) {
        lock(&self.warning).get_or_insert(warning);
    }

    pub(super) fn take_warning(&self) -> Option<String> {
        lock(&self.warning).take()
    }
}

fn watch(holder: &Weak<ReadLockHolder>) {
    let mut seen = None;
    loop {
        std::thread::sleep(IDLE);
        let Some(holder) = holder.upgrade() else { return };
        let reads = holder.reads.load(Ordering::Relaxed);
        if seen == Some(reads) {
            let mut reader = holder.lock();
            // The connection stays for the next time.
            if let Some(reader) = &mut *reader {
                reader.end();
            }
            holder.is_watched.store(false, Ordering::Release);
            return;
        }
        seen = Some(reads);
    }
}
