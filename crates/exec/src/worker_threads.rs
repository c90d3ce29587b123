//! Threads of one machine, as many as the system starts.

use std::sync::Arc;
use std::sync::mpsc::{RecvError, sync_channel};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Threads that do the same work. Without [`Self::join`], they continue after this is dropped.
#[derive(Debug)]
pub struct WorkerThreads(Vec<JoinHandle<()>>);

impl WorkerThreads {
    /// Starts up to `count` threads, each with its number in its name. Where the system starts fewer, those do all: the caller
    /// does the work itself where there is none.
    pub fn start(name: &str, count: usize, work: impl Fn() + Send + Sync + 'static) -> Self {
        let work = Arc::new(work);
        let start = |number| {
            let work = Arc::clone(&work);
            spawn(&format!("{name}-{number}"), move || work()).ok()
        };
        Self((0..count).map_while(start).collect())
    }

    /// The number of threads that have started.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the system has started none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until all have ended. Their panics have become outcomes already.
    pub fn join(&mut self) {
        self.0.drain(..).for_each(join);
    }
}

/// Starts a thread that works on a value. Where the system starts none, the value is given back.
///
/// # Errors
/// The value.
pub fn spawn_with<V: Send + 'static, T: Send + 'static>(
    name: &str,
    value: V,
    work: impl FnOnce(V) -> T + Send + 'static,
) -> Result<JoinHandle<Result<T, RecvError>>, V> {
    // A thread that does not start drops its closure: the thread is sent the value.
    let (sender, receiver) = sync_channel(1);
    let Ok(thread) = spawn(name, move || receiver.recv().map(work)) else { return Err(value) };
    let _ = sender.send(value);
    Ok(thread)
}

/// Waits until a thread has ended, whose panics have become outcomes.
pub(crate) fn join(thread: JoinHandle<()>) {
    #[cfg(test)]
    if crate::schedule::is_scheduled() {
        // The schedule waits for all of its threads.
        return;
    }
    let _ = thread.join();
}

pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    #[cfg(test)]
    let work = crate::schedule::scheduled(work).ok_or(std::io::ErrorKind::WouldBlock)?;
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Starts a thread of a scope; `None` where the system starts none.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    builder: Builder,
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    #[cfg(test)]
    let work = crate::schedule::scheduled(work)?;
    builder.spawn_scoped(scope, work).ok()
}

#[cfg(test)]
mod tests;
