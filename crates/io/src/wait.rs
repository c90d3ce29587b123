//! Waiting for other threads, by a job that may be cancelled meanwhile.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

pub use lakerace_exec::{CANCEL_POLL, WatchedValue, into_value, lock, read_lock, value_mut, wait_briefly, write_lock};

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

#[cfg(test)]
mod tests;
