//! Threads of a scope, and the error where the system starts no further one.

pub use lakerace_exec::{ScopedWork, spawn_or_run};

use crate::error::Error;
use crate::option::THREADS;

/// The error for a thread that could not be started.
pub fn not_started(error: &std::io::Error) -> Error {
    Error::unavailable(format!("the system can't start another thread: {error}")).advice(advice_on_shortage())
}

/// The advice where the system has no more threads or memory for the process.
pub(crate) const RAISE_LIMIT: &str =
    "raise the limit, that of ulimit -u, ulimit -v or the container, or end other programs";

/// The advice where a job may do with fewer threads.
pub(crate) fn advice_on_shortage() -> String {
    format!("{RAISE_LIMIT}, or use fewer threads with {THREADS}")
}

#[cfg(test)]
mod tests;
