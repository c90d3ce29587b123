//! Waiting for other threads, by a job that may be cancelled meanwhile.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::lock::wait;
pub use crate::lock::{CANCEL_POLL, into_value, lock, read_lock, value_mut, wait_briefly, write_lock};
use crate::{Job, Result};

/// The next message; `None` where all senders are gone.
///
/// # Errors
/// `Cancelled`.
pub fn receive<T>(receiver: &Receiver<T>, job: &Job) -> Result<Option<T>> {
    loop {
        match receiver.recv_timeout(CANCEL_POLL) {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => job.check()?,
        }
    }
}

/// Numbered messages, which come in any order, in the order of their numbers: 0, 1, 2, ….
#[derive(Debug)]
pub struct InOrder<T> {
    receiver: Receiver<(u64, T)>,
    early: BTreeMap<u64, T>,
    next: u64,
}

impl<T> InOrder<T> {
    /// The messages of a channel.
    pub const fn new(receiver: Receiver<(u64, T)>) -> Self {
        Self { receiver, early: BTreeMap::new(), next: 0 }
    }

    /// How many were taken.
    pub const fn taken(&self) -> u64 {
        self.next
    }

    /// Waits for the next message; `None` where all senders are gone without it.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn take(&mut self, job: &Job) -> Result<Option<T>> {
        loop {
            if let Some(message) = self.early.remove(&self.next) {
                self.next += 1;
                return Ok(Some(message));
            }
            match receive(&self.receiver, job)? {
                Some((number, message)) => drop(self.early.insert(number, message)),
                None => return Ok(None),
            }
        }
    }
}

/// A value that threads change, and wait for others to change.
#[derive(Debug, Default)]
pub struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Watched<T> {
    /// Nobody waits yet.
    pub const fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Condvar::new() }
    }

    /// The value. Who changes it tells the others by [`Self::notify_all`].
    pub fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.value)
    }

    /// Has all who wait look at the value.
    pub fn notify_all(&self) {
        self.changed.notify_all();
    }

    /// Lets the lock go until somebody notifies.
    pub fn wait<'a>(&self, value: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        wait(&self.changed, value)
    }

    /// Lets the lock go until somebody notifies, or for [`CANCEL_POLL`].
    pub fn wait_briefly<'a>(&self, value: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        wait_briefly(&self.changed, value)
    }

    /// Waits until `is_over` says so, and gives the lock.
    ///
    /// # Errors
    /// That of `is_over`; `Cancelled`.
    pub fn wait_until(&self, job: &Job, mut is_over: impl FnMut(&T) -> Result<bool>) -> Result<MutexGuard<'_, T>> {
        let mut value = self.lock();
        while !is_over(&value)? {
            job.check()?;
            value = self.wait_briefly(value);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
