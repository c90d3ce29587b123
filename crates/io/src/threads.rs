//! Threads of a scope, and the error where the system starts no further one.

pub use lakerace_exec::{ScopedWork, spawn_or_run};

use crate::Error;
use crate::option::THREADS;

/// The error for a thread that could not be started.
pub fn not_started(error: &std::io::Error) -> Error {
    Error::unavailable(format!("the system can't start another thread: {error}")).advice(advice_on_shortage())
}

/// The advice where the system has no more threads or memory for the process.
pub(crate) fn advice_on_shortage() -> String {
    format!(
        "raise the limit, that of ulimit -u, ulimit -v or the container, end other programs, or use fewer threads with \
         {THREADS}"
    )
}

#[cfg(test)]
mod tests;
