//! Threads of a scope, where the system may start no further one.

use std::sync::mpsc::{RecvError, sync_channel};
use std::thread::{Builder, Result as Joined, Scope, ScopedJoinHandle};

use crate::Error;
use crate::option::THREADS;

/// Work of a scope that has ended already or goes on.
#[derive(Debug)]
pub enum ScopedWork<'scope, T> {
    /// On a thread of its own.
    Thread(ScopedJoinHandle<'scope, Result<T, RecvError>>),
    /// Done by the calling thread.
    Done(T),
}

impl<T> ScopedWork<'_, T> {
    /// Waits for the work.
    ///
    /// # Errors
    /// The payload of its panic.
    pub fn join(self) -> Joined<T> {
        match self {
            Self::Thread(thread) => thread.join()?.map_err(|error| Box::new(error) as _),
            Self::Done(value) => Ok(value),
        }
    }
}

/// Starts work on a thread. Where the system starts none, the calling thread does the work before this returns: so it must wait
/// for nothing that its caller does later.
pub fn spawn_or_run<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedWork<'scope, T> {
    spawn_or_run_by(Builder::new(), scope, work)
}

fn spawn_or_run_by<'scope, T: Send + 'scope>(
    builder: Builder,
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedWork<'scope, T> {
    // A thread that does not start drops its closure, and the work would go with it: the thread is sent the work.
    let (sender, receiver) = sync_channel(1);
    let run = move || receiver.recv().map(|work: Box<dyn FnOnce() -> T + Send + 'scope>| work());
    match builder.spawn_scoped(scope, run) {
        Ok(thread) => {
            let _ = sender.send(Box::new(work));
            ScopedWork::Thread(thread)
        }
        Err(_) => ScopedWork::Done(work()),
    }
}

/// The error for a thread that could not be started.
pub fn not_started(error: &std::io::Error) -> Error {
    Error::unavailable(format!("the system starts no further thread: {error}")).advice(
        format!("raise the limit (ulimit -u, ulimit -v, or the container's), end other programs, or use fewer threads ({THREADS})"),
    )
}

#[cfg(test)]
mod tests;
