//! Warnings of jobs as Python warnings.

use std::ffi::{c_int, c_void};

use lakerace::Job;
use lakerace_io::option::Door;
use pyo3::prelude::*;

/// A line of Python code: file, number and module.
pub(crate) type CallerLine = (String, usize, String);

/// Issues the job's new warnings as Python warnings, unless a caller of this part does so. A filter of Python can make
/// errors of them.
pub(crate) fn report(py: Python<'_>, job: &Job) -> PyResult<()> {
    if job.has_reporter() { Ok(()) } else { issue(py, job.take_warnings(), None) }
}

/// Issues the job's new warnings like [`report`], from a thread that may run no code of the caller: then they have the
/// remembered line.
pub(crate) fn report_at(job: &Job, caller: Option<&CallerLine>) -> PyResult<()> {
    let taken = if job.has_reporter() { Vec::new() } else { job.take_warnings() };
    if taken.is_empty() {
        return Ok(());
    }
    // None: Python is shutting down.
    Python::try_attach(|py| issue(py, taken, caller)).unwrap_or(Ok(()))
}

/// Warnings that wait for Python's main thread, and the line that they have.
struct PendingWarnings {
    texts: Vec<String>,
    caller: Option<CallerLine>,
}

/// Issues the job's new warnings on Python's main thread, when it next runs Python code. This thread may be one of a
/// consumer that waits for it with the interpreter's lock, so that it must not wait for the lock.
pub(crate) fn report_later(job: &Job, caller: Option<&CallerLine>) {
    let texts = if job.has_reporter() { Vec::new() } else { job.take_warnings() };
    // SAFETY: the call reads a flag.
    if texts.is_empty() || unsafe { pyo3::ffi::Py_IsInitialized() } == 0 {
        return;
    }
    let pending = Box::into_raw(Box::new(PendingWarnings { texts, caller: caller.cloned() }));
    // SAFETY: the call needs no lock, and hands the box to the one call of `issue_pending`.
    if unsafe { pyo3::ffi::Py_AddPendingCall(Some(issue_pending), pending.cast()) } != 0 {
        // SAFETY: Python has not taken the box.
        let dropped = unsafe { Box::from_raw(pending) };
        tracing::warn!(warnings = ?dropped.texts, "Python has too many pending calls to issue warnings");
    }
}

extern "C" fn issue_pending(pending: *mut c_void) -> c_int {
    // SAFETY: it is the box of `report_later`, which is handed to one call.
    let pending = unsafe { Box::from_raw(pending.cast::<PendingWarnings>()) };
    Python::attach(|py| {
        let texts = pending.texts.iter().map(|text| Door::Python.show(text).into_owned()).collect();
        if let Err(raised) = issue_at(py, texts, pending.caller.as_ref()) {
            raised.write_unraisable(py, None);
        }
    });
    0
}

fn issue_at(py: Python<'_>, texts: Vec<String>, caller: Option<&CallerLine>) -> PyResult<()> {
    py.import("lakerace._warnings")?.call_method1("issue_at", (texts, caller)).map(drop)
}

/// Issues warnings as `lakerace.LakeraceWarning` at the line that called the package.
pub(crate) fn issue(py: Python<'_>, warnings: Vec<String>, caller: Option<&CallerLine>) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let texts: Vec<_> = warnings.iter().map(|warning| Door::Python.show(warning).into_owned()).collect();
    py.import("lakerace._warnings")?.call_method1("issue", (texts, caller)).map(drop)
}

/// The line that called the package. `None` on a thread that runs no code but this package's.
pub(crate) fn caller(py: Python<'_>) -> PyResult<Option<CallerLine>> {
    py.import("lakerace._warnings")?.call_method0("caller")?.extract()
}
