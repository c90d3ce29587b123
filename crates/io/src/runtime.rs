//! Runtimes of tokio on systems that limit threads.
//!
//! A runtime panics if its first thread does not start. If a later one does not, its work waits for ever, including
//! blocking calls, which run on further threads. A runtime of this module has a thread for these from the start on.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use lakerace_exec::{CANCEL_POLL, ProcessLocal, lock};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, Result};
use crate::panics;
use crate::threads::RAISE_LIMIT;

/// Threads of the I/O runtime: requests wait far more than they compute.
const IO_THREADS: usize = 2;
/// Threads for calls that block, such as those of credentials and names of hosts.
const BLOCKING_THREADS: usize = 16;
/// Threads for blocking calls stay: the first one must.
const KEEP_ALIVE: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The number of attempts to start a thread.
const STARTS: usize = 100;

/// The I/O runtime of this process, started on first use. A forked process, which has no threads of its parent, starts
/// its own.
pub fn runtime() -> Result<&'static Handle> {
    static RUNTIME: ProcessLocal<OnceLock<Result<Runtime>>> = ProcessLocal::new(OnceLock::new);
    let started = RUNTIME.get_or_init(|| start_runtime("lakerace-io", IO_THREADS));
    started.as_ref().map(Runtime::handle).map_err(Error::clone)
}

/// Starts a runtime with this many threads.
pub(crate) fn start_runtime(name: &str, threads: usize) -> Result<Runtime> {
    start(name, threads).map_err(|text| not_started(name, &text))
}

fn not_started(name: &str, text: &str) -> Error {
    Error::unavailable(format!("the threads of {name} could not be started: {text}")).advice(RAISE_LIMIT)
}

fn start(name: &str, threads: usize) -> std::result::Result<Runtime, String> {
    check_threads(threads + 1)?;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).max_blocking_threads(BLOCKING_THREADS).thread_keep_alive(KEEP_ALIVE);
    let started = panics::caught(|| builder.thread_name(name).enable_all().build());
    let runtime = started.map_err(|_| no_thread())?.map_err(|error| error.to_string())?;
    match start_blocking_thread(&runtime) {
        Ok(()) => Ok(runtime),
        Err(text) => {
            runtime.shutdown_background();
            Err(text)
        }
    }
}

/// Starts a thread for calls that block. Other parts of the process may have taken those that were there.
fn start_blocking_thread(runtime: &Runtime) -> std::result::Result<(), String> {
    let (sender, receiver) = sync_channel(STARTS);
    for _ in 0..STARTS {
        let sender = sender.clone();
        let asked = panics::caught(|| runtime.spawn_blocking(move || sender.send(()).is_ok()));
        asked.map_err(|_| no_thread())?;
        if receiver.recv_timeout(CANCEL_POLL).is_ok() {
            return Ok(());
        }
    }
    Err(no_thread())
}

fn no_thread() -> String {
    "the system can't start another thread".to_owned()
}

/// Checks that the system starts this many threads at a time.
fn check_threads(count: usize) -> std::result::Result<(), String> {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let mut threads = Vec::with_capacity(count);
    let mut outcome = Ok(());
    for _ in 0..count {
        let wait = Arc::clone(&wait);
        // The channel has no message: the thread ends with the sender.
        match std::thread::Builder::new().spawn(move || lock(&wait).recv().is_ok()) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                outcome = Err(error.to_string());
                break;
            }
        }
    }
    drop(release);
    threads.into_iter().for_each(|thread| drop(thread.join()));
    outcome
}

#[cfg(test)]
mod tests;
