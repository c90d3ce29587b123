//! Threads of one machine, as many as the system starts.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Threads that do the same work. Without [`Self::join`], they go on when this is dropped.
#[derive(Debug)]
pub struct WorkerThreads(Vec<JoinHandle<()>>);

impl WorkerThreads {
    /// Starts up to `count` threads, each with its number in its name. Where the system starts fewer, those do all: the caller
    /// does the work itself where there is none.
    pub fn start(name: &str, count: usize, work: impl Fn() + Send + Sync + 'static) -> Self {
        let work = Arc::new(work);
        let start = |number| {
            let work = Arc::clone(&work);
            spawn(&format!("{name}-{number}"), move || work())
        };
        Self((0..count).map_while(start).collect())
    }

    /// The number of threads that have started.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the system has started none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until all have ended. Their panics have become outcomes already.
    pub fn join(&mut self) {
        for thread in self.0.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(not(test))]
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(work).ok()
}

/// As without tests, by the schedule of a test and with the faults that it asks for.
#[cfg(test)]
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    let started = crate::schedule::new_thread()?;
    let builder = Builder::new().name(name.to_owned());
    builder.spawn(move || started.run(work)).ok()
}
