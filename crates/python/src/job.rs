//! A job that several calls share, owned by Python.

use std::sync::Mutex;

use lakerace::{Clock, Job, JobOptions, Prices};
use lakerace_io::wait::lock;
use pyo3::prelude::*;

use crate::{convert, warnings};

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
        Self { job: job.with_reporter(), clock: Clock::start(), has_limits: true, linked: Mutex::default() }
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

    /// Only jobs of the command come with limits.
    fn is_of_command(&self) -> bool {
        self.has_limits
    }
}

#[pymethods]
impl SharedJob {
    /// `has_reporter`: the caller issues the warnings by `warn`; the calls themselves issue none.
    #[new]
    #[pyo3(signature = (has_reporter=false))]
    fn new(has_reporter: bool) -> Self {
        let job = Job::new(JobOptions::default());
        Self {
            job: if has_reporter { job.with_reporter() } else { job },
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

    /// True if the calls with this job issue no warnings themselves.
    #[getter]
    fn has_reporter(&self) -> bool {
        self.job.has_reporter()
    }

    /// Issues the warnings of all calls so far as Python warnings, unless the command prints them.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_of_command() {
            return Ok(());
        }
        warnings::issue(py, self.take_warnings(), None)
    }

    /// The warnings of all calls so far that no one has taken.
    fn take_warnings(&self) -> Vec<String> {
        let linked = lock(&self.linked).clone();
        std::iter::once(&self.job).chain(&linked).flat_map(Job::take_warnings).collect()
    }

    /// Adds a warning of the package to those of the calls.
    fn add_warning(&self, text: &str) {
        self.job.warn(text);
    }
}
