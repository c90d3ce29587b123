//! A job that several calls share, owned by Python.

use std::sync::Mutex;

use lakerace::{Clock, Job, JobOptions, Prices};
use lakerace_io::option::Door;
use lakerace_io::wait::lock;
use pyo3::exceptions::{PyRuntimeError, PyRuntimeWarning};
use pyo3::prelude::*;

use crate::convert;

/// One bill, one cancellation and one progress for all calls with the same `job`.
#[pyclass(frozen, name = "Job", module = "lakerace._lakerace")]
pub(crate) struct SharedJob {
    job: Job,
    clock: Clock,
    has_limits: bool,
    /// The jobs of scans whose rows a call writes: they were there before.
    linked: Mutex<Vec<Job>>,
}

impl SharedJob {
    /// A job of the command, with the limits that its flags set.
    pub(crate) fn of_command(job: &Job) -> Self {
        Self { job: job.clone(), clock: Clock::start(), has_limits: true, linked: Mutex::default() }
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    /// Cancels the job of a scan together with this one, and includes its progress.
    pub(crate) fn link(&self, job: &Job) {
        lock(&self.linked).push(job.clone());
        // The job was cancelled before.
        if self.job.is_cancelled() {
            job.cancel();
        }
    }

    /// The limits that calls start from; `None`: their own defaults.
    pub(crate) fn limits(&self) -> Option<&JobOptions> {
        self.has_limits.then(|| self.job.options())
    }
}

#[pymethods]
impl SharedJob {
    #[new]
    fn new() -> Self {
        Self {
            job: Job::new(JobOptions::default()),
            clock: Clock::start(),
            has_limits: false,
            linked: Mutex::default(),
        }
    }

    /// Asks all calls to stop, and returns immediately.
    fn cancel(&self) {
        self.job.cancel();
        lock(&self.linked).iter().for_each(Job::cancel);
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.job.is_cancelled()
    }

    /// The cost of all calls so far, as a dict.
    fn report(&self, py: Python<'_>, rows: u64) -> PyResult<Py<PyAny>> {
        convert::to_python(py, &self.clock.report(rows, &self.job, &Prices::default()))
    }

    /// The share of the plan that is done (`None` without a plan), rows done, bytes read and bytes written.
    fn progress(&self) -> (Option<f64>, u64, u64, u64) {
        let job = lock(&self.linked).last().unwrap_or(&self.job).clone();
        let meter = job.meter();
        let counts = meter.counts();
        (meter.progress(), meter.rows_done(), counts.bytes_read, counts.bytes_written)
    }

    /// Issues the job's warnings as Python warnings.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        warn(py, &self.job)
    }
}

/// Issues the job's warnings as Python warnings.
pub(crate) fn warn(py: Python<'_>, job: &Job) -> PyResult<()> {
    for warning in job.warnings() {
        let text = std::ffi::CString::new(Door::Python.show(&warning).into_owned())
            .map_err(|_| PyRuntimeError::new_err("a warning contains a null byte"))?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)?;
    }
    Ok(())
}
