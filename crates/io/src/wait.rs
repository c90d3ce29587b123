//! Waiting for other threads, by a job that may be cancelled in the meantime.

use std::sync::mpsc::{Receiver, RecvTimeoutError};

pub use lakerace_exec::{
    CANCEL_POLL, OwningProcess, ProcessLocal, WatchedValue, into_value, lock, read_lock, value_mut, wait_briefly,
    write_lock,
};

use crate::error::Result;
use crate::job::Job;

/// The next message; `None` if all senders were dropped.
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

#[cfg(test)]
mod tests;
