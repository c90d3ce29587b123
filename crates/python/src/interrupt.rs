//! Long work with the GIL released and Ctrl-C heard.

use std::time::{Duration, Instant};

use lakerace::{Error, Job, Result};
use lakerace_exec::{CancelToken, Interruption, ProducerThreads, ValueSender};
use pyo3::prelude::*;

use crate::{errors, warnings};

/// The interval at which a waiting thread looks for signals.
pub(crate) const SIGNAL_POLL: Duration = Duration::from_millis(100);

/// Runs `work` on a separate thread and waits for it. A signal whose handler raises cancels `job`, waits until the work
/// has cleaned up, and raises; a second one does not wait. The job's warnings are issued at the end.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    job: &Job,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let run = [move |sender: &ValueSender<T, Error>| Ok(sender.send(Ok(work()?), 1)?)];
    // Only the job ends the work: its outcome is also waited for after a cancellation.
    let outcome = ProducerThreads::start("lakerace-job", 1, &CancelToken::default(), run)
        .map_err(|e| errors::raised(py, &lakerace_io::threads::not_started(&e)))?;
    let mut interrupted: Option<PyErr> = None;
    while !py.detach(|| outcome.wait_within(SIGNAL_POLL)) {
        if let Err(raised) = py.check_signals() {
            job.cancel();
            if interrupted.is_some() {
                return Err(raised);
            }
            interrupted = Some(raised);
        }
    }
    let outcome = outcome.take().and_then(|outcome| outcome.ok_or_else(|| Interruption::Ended.into()));
    let reported = warnings::report(py, job);
    match interrupted {
        Some(interrupted) => Err(interrupted),
        // An error takes precedence over a warning that a filter has made one of.
        None => outcome.map_err(|error| errors::raised(py, &error)).and_then(|done| reported.map(|()| done)),
    }
}

/// Looks for signals from within a loop that runs on the calling thread with the interpreter released.
pub(crate) struct SignalWatch {
    looked: Instant,
    calls: u32,
    raised: Option<PyErr>,
}

/// Calls between two reads of the clock.
const CALLS: u32 = 64;

impl SignalWatch {
    pub(crate) fn new() -> Self {
        Self { looked: Instant::now(), calls: 0, raised: None }
    }

    /// An error where a signal's handler has raised; seldom more than a count.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.calls += 1;
        if !self.calls.is_multiple_of(CALLS) || self.looked.elapsed() < SIGNAL_POLL {
            return Ok(());
        }
        self.looked = Instant::now();
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => Ok(()),
            Err(raised) => {
                self.raised = Some(raised);
                Err(Error::cancelled())
            }
        }
    }

    /// The outcome of the loop: an exception of a handler takes precedence.
    pub(crate) fn end<T>(self, py: Python<'_>, outcome: Result<T>) -> PyResult<T> {
        match self.raised {
            Some(raised) => Err(raised),
            None => outcome.map_err(|error| errors::raised(py, &error)),
        }
    }
}
