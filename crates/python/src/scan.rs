//! A scan, owned by Python.

use std::sync::{Arc, Mutex};

use arrow::datatypes::SchemaRef;
use lakerace::{Clock, Error, FileIo, Job, JobOptions, JobPlaces, Prices, RangeOptions, ReadOptions, ReadPlan};
use lakerace_format::exported_schema;
use lakerace_io::wait::lock;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::options::Keywords;
use crate::rows::Rows;
use crate::stream::{SCHEMA_CAPSULE, Stream, c_schema};
use crate::{convert, errors, interrupt};

/// A planned read of a location, or of a part of a plan.
#[pyclass(frozen, module = "lakerace._lakerace")]
pub(crate) struct Scan {
    location: String,
    options: ReadOptions,
    limits: lakerace::JobOptions,
    /// The part of a plan that this scan is, as JSON; `None`: all that the options ask for.
    part: Option<String>,
    schema: SchemaRef,
    open: Mutex<OpenedScan>,
}

/// An opened scan and its job. A cancelled job stays cancelled, so the next call opens again.
#[derive(Clone)]
struct OpenedScan {
    scan: Arc<lakerace::Scan>,
    job: Job,
    clock: Arc<Clock>,
}

impl Scan {
    /// As the user wrote it.
    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    fn with_scan(location: String, options: ReadOptions, part: Option<String>, open: OpenedScan) -> Self {
        let (limits, schema) = (open.job.options().clone(), open.scan.schema());
        Self { location, options, limits, part, schema, open: Mutex::new(open) }
    }

    /// The opened scan with a plan of reading.
    fn opened(&self, py: Python<'_>) -> PyResult<OpenedScan> {
        let OpenedScan { scan, job, clock } = self.opened_to_count(py)?;
        if !scan.only_counts() {
            return Ok(OpenedScan { scan, job, clock });
        }
        let (location, options) = (self.location.clone(), self.options.clone());
        let planned = interrupt::run(py, &job, move || scan.planned_again(&location, &options))?;
        let open = OpenedScan { scan: Arc::new(planned), job, clock };
        *lock(&self.open) = open.clone();
        Ok(open)
    }

    /// The opened scan, opened again if its job was cancelled. It may have no plan of reading yet.
    fn opened_to_count(&self, py: Python<'_>) -> PyResult<OpenedScan> {
        let open = lock(&self.open).clone();
        if !open.job.is_cancelled() {
            return Ok(open);
        }
        let job = Job::new(self.limits.clone());
        let mut options = self.options.clone();
        // A scan reads one version of a Delta table, even if there is a later one by now.
        options.at = open.scan.version().map(|version| version.to_string()).or(options.at);
        options.table_id = open.scan.table_id().map(str::to_owned).or(options.table_id);
        let open = OpenedScan::new(py, &self.location, &options, self.part.as_deref(), job)?;
        *lock(&self.open) = open.clone();
        Ok(open)
    }

    /// The batches of this scan and the job that pays for them.
    pub(crate) fn batches(&self, py: Python<'_>) -> PyResult<(lakerace::Batches, Job)> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let batches = interrupt::run(py, &job, move || scan.batches())?;
        Ok((batches, job))
    }

    /// The rows for an upsert, and the job that pays for them.
    pub(crate) fn source_rows(&self, py: Python<'_>) -> PyResult<(lakerace::SourceRows, Job)> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let rows = interrupt::run(py, &job, move || scan.source_rows())?;
        Ok((rows, job))
    }
}

impl OpenedScan {
    fn new(py: Python<'_>, location: &str, options: &ReadOptions, part: Option<&str>, job: Job) -> PyResult<Self> {
        let clock = Arc::new(Clock::start());
        let plan = match part {
            None => None,
            Some(text) => {
                let plan = serde_json::from_str::<ReadPlan>(text);
                Some(plan.map_err(|e| errors::raised(py, &Error::invalid(format!("not a plan of this version: {e}"))))?)
            }
        };
        let scan = {
            let (location, options, job) = (location.to_owned(), options.clone(), job.clone());
            interrupt::run(py, &job.clone(), move || match plan {
                None => lakerace::Scan::open_to_count(&location, &options, &job),
                Some(plan) => lakerace::Scan::with_plan(&location, &options, plan, &job),
            })?
        };
        Ok(Self { scan: Arc::new(scan), job, clock })
    }
}

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (location, options, part=None))]
    fn new(py: Python<'_>, location: String, options: Bound<'_, PyDict>, part: Option<String>) -> PyResult<Self> {
        let keywords = Keywords::new(options);
        let options = keywords.read()?;
        let job = keywords.job(RangeOptions::default())?;
        let limits = job.options().clone();
        // Only consumers that write the scan's rows use the I/O mode of files.
        let of_reads = JobOptions { file_io: FileIo::default(), ..limits.clone() };
        keywords.check_places(&JobPlaces::default().reads(&location), &of_reads)?;
        let open = OpenedScan::new(py, &location, &options, part.as_deref(), job)?;
        Ok(Self::with_scan(location, options, part, open))
    }

    /// A scan that only provides its columns, and scans of the same source: for a Delta table no data file is opened.
    #[staticmethod]
    fn described(py: Python<'_>, location: String, options: Bound<'_, PyDict>) -> PyResult<Self> {
        let keywords = Keywords::new(options);
        let options = keywords.read()?;
        let job = keywords.job(RangeOptions::default())?;
        let clock = Arc::new(Clock::start());
        let scan = {
            let (location, options, job) = (location.clone(), options.clone(), job.clone());
            interrupt::run(py, &job.clone(), move || lakerace::Scan::describe(&location, &options, &job))?
        };
        Ok(Self::with_scan(location, options, None, OpenedScan { scan: Arc::new(scan), job, clock }))
    }

    /// A scan of the same opened source and version, by the columns, the filter and the limit of other options.
    fn narrowed(&self, py: Python<'_>, options: Bound<'_, PyDict>) -> PyResult<Self> {
        let options = Keywords::new(options).read()?;
        let OpenedScan { scan, job, clock } = self.opened_to_count(py)?;
        let scan = {
            let (location, options) = (self.location.clone(), options.clone());
            interrupt::run(py, &job, move || scan.planned_again(&location, &options))?
        };
        Ok(Self::with_scan(self.location.clone(), options, None, OpenedScan { scan: Arc::new(scan), job, clock }))
    }

    /// The plan in words.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        interrupt::run(py, &job, move || Ok(scan.explain().to_string()))
    }

    /// The plan and its prices as a dict.
    fn explain_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let explain = interrupt::run(py, &job, move || Ok(scan.explain()))?;
        convert::to_python(py, &explain)
    }

    /// The number of the Delta table's version that is read; `None` of other sources.
    #[getter]
    fn version(&self) -> Option<u64> {
        lock(&self.open).scan.version()
    }

    /// Raises an error if a file that is to be replaced is one of those that are read.
    fn check_is_no_source(&self, py: Python<'_>, target: String) -> PyResult<()> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let (location, storage) = (self.location.clone(), self.options.storage.clone());
        interrupt::run(py, &job, move || scan.check_is_no_source(&location, &target, &storage))
    }

    /// The id of the Delta table that is read; `None` of other sources.
    #[getter]
    fn table_id(&self) -> Option<String> {
        lock(&self.open).scan.table_id().map(str::to_owned)
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let OpenedScan { scan, job, .. } = self.opened_to_count(py)?;
        interrupt::run(py, &job, move || scan.count())
    }

    /// Rows and checksum.
    fn checksum(&self, py: Python<'_>) -> PyResult<(u64, String)> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let sum = interrupt::run(py, &job, move || scan.checksum())?;
        Ok((sum.rows, sum.to_string()))
    }

    /// Up to `n` parts of the plan as JSON.
    fn parts(&self, py: Python<'_>, n: usize) -> PyResult<Vec<String>> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let parts = interrupt::run(py, &job, move || scan.split(n))?;
        let texts = parts.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
        texts.map_err(|e| errors::raised(py, &Error::unexpected(e)))
    }

    /// The cost of this scan since it was opened, as a dict.
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let open = self.opened_to_count(py)?;
        let rows = open.job.meter().counts().rows_read;
        convert::to_python(py, &open.clock.report(rows, &open.job, &Prices::default()))
    }

    /// Makes a pass over the rows, as tuples or dicts.
    fn rows(&self, py: Python<'_>, named: bool) -> PyResult<Rows> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let batches = interrupt::run(py, &job, move || scan.small_batches())?;
        Ok(Rows::new(py, batches, job, named))
    }

    /// Makes a pass over the rows. The columns `compact` may have types of fewer bytes.
    #[pyo3(signature = (compact=Vec::new()))]
    fn stream(&self, py: Python<'_>, compact: Vec<String>) -> PyResult<Stream> {
        let OpenedScan { scan, job, .. } = self.opened(py)?;
        let batches = interrupt::run(py, &job, move || scan.compact_batches(&compact))?;
        Ok(Stream::new(batches, job))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = c_schema(&exported_schema(&self.schema)).map_err(|error| errors::raised(py, &error))?;
        PyCapsule::new_with_value(py, schema, SCHEMA_CAPSULE)
    }
}
