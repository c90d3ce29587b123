//! The jobs that are functions: copy, schema, checksum.

use lakerace::{
    Batches, Clock, CopyOptions, DryRun, Error, FileIo, Job, JobPlaces, Prices, RangeOptions, SourceRows,
    UpsertOptions, Written,
};
use lakerace_io::option::{DRY_RUN, Door, FOLLOW};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::errors::raised;
use crate::foreign_stream::import;
use crate::options::Keywords;
use crate::scan::Scan;
use crate::{convert, interrupt};

/// The outcome and the cost of a copy.
#[derive(Serialize)]
struct CopyReport {
    #[serde(flatten)]
    report: lakerace::Report,
    files: Vec<String>,
    file_bytes: u64,
    version: Option<u64>,
    made_nullable: Vec<String>,
    rejected: u64,
    skipped: u64,
    checksum: Option<String>,
    io: Option<FileIo>,
}

/// The plan and the cost of a job that was only checked.
#[derive(Serialize)]
pub(crate) struct DryReport {
    planned: DryRun,
    #[serde(flatten)]
    report: lakerace::Report,
}

impl DryReport {
    /// The report of a plan, as a dict.
    pub(crate) fn tell(py: Python<'_>, planned: DryRun, clock: &Clock, job: &Job) -> PyResult<Py<PyAny>> {
        convert::to_python(py, &Self { planned, report: clock.report(0, job, &Prices::default()) })
    }
}

/// Checks a copy like [`copy`], and writes nothing.
#[pyfunction]
pub(crate) fn plan_copy(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: String,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let options: CopyOptions = keywords.copy()?;
    let places = places_of_copy(source, &target, &options);
    let plan = move |source: CopySource, job: &Job| match source {
        CopySource::Location(location) => lakerace::plan_copy(&location, &target, &options, job),
        CopySource::Rows(batches) => lakerace::plan_write(batches.schema().clone(), &target, &options, job),
    };
    let (planned, job) = with_source(py, source, &keywords, &places, plan)?;
    DryReport::tell(py, planned, &clock, &job)
}

/// The source of a copy: a location, or rows of the caller.
enum CopySource {
    Location(String),
    Rows(Batches),
}

/// Runs a job with the source of a copy, in places that are checked first.
fn with_source<T: Send + 'static>(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    keywords: &Keywords<'_>,
    places: &JobPlaces,
    run: impl FnOnce(CopySource, &Job) -> lakerace::Result<T> + Send + 'static,
) -> PyResult<(T, Job)> {
    let (source, job) = match source.extract::<String>() {
        Ok(location) => (CopySource::Location(location), keywords.job(RangeOptions::for_copy())?),
        Err(_) => {
            let (batches, job) = rows_of_stream(py, source, keywords)?;
            (CopySource::Rows(batches), job)
        }
    };
    keywords.check_places(places, job.options())?;
    let payer = job.clone();
    Ok((interrupt::run(py, &job, move || run(source, &payer))?, job))
}

/// The places of a copy.
fn places_of_copy(source: &Bound<'_, PyAny>, target: &str, options: &CopyOptions) -> JobPlaces {
    let places = places_of_source(source).writes(target);
    // A target is read back to be verified, and to find the state of an incremental copy.
    let reads_back = options.load.verify || options.load.since.is_some();
    let places = if reads_back { places.reads(target) } else { places };
    let dead_letter = options.load.dead_letter.as_deref().map(std::path::Path::to_string_lossy);
    dead_letter.into_iter().fold(places, |places, file| places.writes(&file))
}

/// Copies a location, a [`Scan`] or an object with `__arrow_c_stream__` to `target`; returns a dict.
#[pyfunction]
pub(crate) fn copy(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: String,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let options: CopyOptions = keywords.copy()?;
    let places = places_of_copy(source, &target, &options);
    let copy = move |source: CopySource, job: &Job| match source {
        CopySource::Location(location) => lakerace::copy(&location, &target, &options, job),
        CopySource::Rows(batches) => lakerace::write(batches, &target, &options, job),
    };
    let (written, job) = with_source(py, source, &keywords, &places, copy)?;
    let report = clock.report(written.rows, &job, &Prices::default());
    let Written { files, bytes: file_bytes, version, made_nullable, rejected, skipped, checksum, .. } = written;
    let io = job.file_io();
    convert::to_python(
        py,
        &CopyReport { report, files, file_bytes, version, made_nullable, rejected, skipped, checksum, io },
    )
}

/// The outcome and the cost of a sync.
#[derive(Serialize)]
struct SyncReport {
    #[serde(flatten)]
    report: lakerace::Report,
    #[serde(flatten)]
    synced: lakerace::Synced,
}

/// Brings a target to the last version of a Delta table, and continues where `follow` is true; returns a dict.
#[pyfunction]
pub(crate) fn sync(py: Python<'_>, table: String, target: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let (options, interval) = keywords.sync()?;
    let job = keywords.job(RangeOptions::for_copy())?;
    keywords.check_places(&JobPlaces::default().reads_table(&table).writes(&target), job.options())?;
    let payer = job.clone();
    let synced = interrupt::run(py, &job, move || match interval {
        None => lakerace::sync(&table, &target, &options, &payer),
        Some(interval) => lakerace::follow(&table, &target, &options, interval, &payer, |_| {}),
    })?;
    let report = clock.report(synced.upserted + synced.deleted, &job, &Prices::default());
    convert::to_python(py, &SyncReport { report, synced })
}

/// Checks a sync like [`sync`], and writes nothing.
#[pyfunction]
pub(crate) fn plan_sync(
    py: Python<'_>,
    table: String,
    target: String,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let (options, interval) = keywords.sync()?;
    if interval.is_some() {
        let error = Error::usage(format!("{FOLLOW}: a dry run does not continue"));
        return Err(raised(py, &error.advice(format!("omit {FOLLOW} or {DRY_RUN}"))));
    }
    let job = keywords.job(RangeOptions::for_copy())?;
    keywords.check_places(&JobPlaces::default().reads_table(&table).writes(&target), job.options())?;
    let payer = job.clone();
    let planned = interrupt::run(py, &job, move || lakerace::plan_sync(&table, &target, &options, &payer))?;
    DryReport::tell(py, planned, &clock, &job)
}

/// The outcome and the cost of an upsert, an update or a delete.
#[derive(Serialize)]
pub(crate) struct ChangeReport {
    #[serde(flatten)]
    report: lakerace::Report,
    version: Option<u64>,
    rows_hidden: u64,
    files_added: u64,
    files_removed: u64,
    files_rewritten: u64,
    bytes_replaced: u64,
    bytes_rewritten: u64,
    files_probed: u64,
    vectors: u64,
    windows: u64,
    io: Option<FileIo>,
}

impl ChangeReport {
    pub(crate) fn new(changed: &lakerace::ChangeOutcome, report: lakerace::Report, job: &Job) -> Self {
        Self {
            io: job.file_io(),
            report,
            version: changed.written.version,
            rows_hidden: changed.hidden,
            files_added: changed.written.files.len() as u64,
            files_removed: changed.removed,
            files_rewritten: changed.rewritten,
            bytes_replaced: changed.bytes_replaced,
            bytes_rewritten: changed.bytes_rewritten,
            files_probed: changed.probed,
            vectors: changed.vectors,
            windows: changed.windows,
        }
    }
}

/// Upserts a location, a [`Scan`] or an object with `__arrow_c_stream__` into a Delta table; returns a dict.
#[pyfunction]
pub(crate) fn upsert(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    changed(py, table, source, options, |changed| changed.written.rows, lakerace::upsert_rows)
}

/// Deletes the rows of a Delta table that have the key of a row of a source, which is as for [`upsert`]; returns a
/// dict.
#[pyfunction]
pub(crate) fn delete_keys(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    changed(py, table, source, options, |changed| changed.hidden, lakerace::delete_keys_rows)
}

/// Runs a change of a table by the rows of a source.
fn changed(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
    count: fn(&lakerace::ChangeOutcome) -> u64,
    change: fn(&str, SourceRows, &UpsertOptions, &Job) -> lakerace::Result<lakerace::ChangeOutcome>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let options = keywords.upsert()?;
    let (rows, job) = rows_of(py, &table, source, &keywords, &options)?;
    let payer = job.clone();
    let changed = interrupt::run(py, &job, move || change(&table, rows, &options, &payer))?;
    let report = clock.report(count(&changed), &job, &Prices::default());
    convert::to_python(py, &ChangeReport::new(&changed, report, &job))
}

/// Checks an upsert like [`upsert`], and writes nothing.
#[pyfunction]
pub(crate) fn plan_upsert(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    auto_compact: bool,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    planned(py, table, source, options, move |table, rows, options, job| {
        lakerace::plan_upsert_rows(table, rows, options, auto_compact, job)
    })
}

/// Checks a delete like [`delete_keys`], and writes nothing.
#[pyfunction]
pub(crate) fn plan_delete_keys(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    planned(py, table, source, options, lakerace::plan_delete_keys_rows)
}

/// Plans a change of a table by the rows of a source.
fn planned(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
    plan: impl FnOnce(&str, SourceRows, &UpsertOptions, &Job) -> lakerace::Result<DryRun> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let options = keywords.upsert()?;
    let (rows, job) = rows_of(py, &table, source, &keywords, &options)?;
    let payer = job.clone();
    let planned = interrupt::run(py, &job, move || plan(&table, rows, &options, &payer))?;
    DryReport::tell(py, planned, &clock, &job)
}

/// Checks a delete like [`delete`], and writes nothing.
#[pyfunction]
pub(crate) fn plan_delete(
    py: Python<'_>,
    table: String,
    condition: String,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let (storage, options) = (keywords.read()?.storage, keywords.delete()?);
    let job = keywords.job(RangeOptions::default())?;
    keywords.check_places(&JobPlaces::default().changes_table(&table), job.options())?;
    let payer = job.clone();
    let plan = move || lakerace::plan_delete(&table, &condition, &options, &storage, &payer);
    DryReport::tell(py, interrupt::run(py, &job, plan)?, &clock, &job)
}

/// Plans an upsert: in words, and as a dict.
#[pyfunction]
pub(crate) fn explain_upsert(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
) -> PyResult<(String, Py<PyAny>)> {
    let keywords = Keywords::new(options);
    let options = keywords.upsert()?;
    let (rows, job) = rows_of(py, &table, source, &keywords, &options)?;
    let payer = job.clone();
    let plan = move || lakerace::explain_upsert_rows(&table, rows, &options, &payer);
    let plan = interrupt::run(py, &job, plan)?;
    Ok((Door::Python.show(&plan.to_string()).into_owned(), convert::to_python(py, &plan)?))
}

/// The rows of a source for a table, and the job that pays for them.
pub(crate) fn rows_of(
    py: Python<'_>,
    table: &str,
    source: &Bound<'_, PyAny>,
    keywords: &Keywords<'_>,
    options: &UpsertOptions,
) -> PyResult<(SourceRows, Job)> {
    let places = places_of_source(source).changes_table(table);
    if let Ok(location) = source.extract::<String>() {
        let job = keywords.job(RangeOptions::for_copy())?;
        keywords.check_places(&places, job.options())?;
        let (payer, table, options) = (job.clone(), table.to_owned(), options.clone());
        let open = move || lakerace::read_for_table(&table, &location, &options, &payer);
        return Ok((interrupt::run(py, &job, open)?, job));
    }
    let (rows, job) = match source.cast::<Scan>() {
        Ok(scan) => {
            let (rows, job) = scan.get().source_rows(py)?;
            (rows, keywords.job_of_scan(&job)?)
        }
        Err(_) => (import(source)?.into(), keywords.job(RangeOptions::for_copy())?),
    };
    keywords.check_places(&places, job.options())?;
    Ok((rows, job))
}

/// The place of a source; rows in memory have none.
fn places_of_source(source: &Bound<'_, PyAny>) -> JobPlaces {
    let places = JobPlaces::default();
    match (source.extract::<String>(), source.cast::<Scan>()) {
        (Ok(location), _) => places.reads(&location),
        (Err(_), Ok(scan)) => places.reads(scan.get().location()),
        (Err(_), Err(_)) => places,
    }
}

/// The rows of a scan, or of another Arrow stream, and the job that accounts for both the read and the write.
fn rows_of_stream(py: Python<'_>, source: &Bound<'_, PyAny>, keywords: &Keywords<'_>) -> PyResult<(Batches, Job)> {
    match source.cast::<Scan>() {
        Ok(scan) => {
            let (batches, job) = scan.get().batches(py)?;
            Ok((batches, keywords.job_of_scan(&job)?))
        }
        Err(_) => Ok((import(source)?, keywords.job(RangeOptions::for_copy())?)),
    }
}

/// Deletes the rows of a Delta table for which a condition is true; returns a dict.
#[pyfunction]
pub(crate) fn delete(
    py: Python<'_>,
    table: String,
    condition: String,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let storage = keywords.read()?.storage;
    let options = keywords.delete()?;
    let job = keywords.job(RangeOptions::default())?;
    keywords.check_places(&JobPlaces::default().changes_table(&table), job.options())?;
    let payer = job.clone();
    let delete = move || lakerace::delete(&table, &condition, &options, &storage, &payer);
    let changed = interrupt::run(py, &job, delete)?;
    let report = clock.report(changed.hidden, &job, &Prices::default());
    convert::to_python(py, &ChangeReport::new(&changed, report, &job))
}

/// Columns, format, rows, files and bytes of a location, as a dict.
#[pyfunction]
pub(crate) fn schema(py: Python<'_>, location: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let options = keywords.read()?;
    let job = keywords.job(RangeOptions::default())?;
    keywords.check_places(&JobPlaces::default().reads(&location), job.options())?;
    let payer = job.clone();
    let schema = interrupt::run(py, &job, move || lakerace::schema(&location, &options, &payer))?;
    convert::to_python(py, &schema)
}

/// Raises the error of options that apply to none of the locations that a job reads and writes.
#[pyfunction]
pub(crate) fn check_places(reads: Vec<String>, writes: Vec<String>, options: Bound<'_, PyDict>) -> PyResult<()> {
    let keywords = Keywords::new(options);
    let job = keywords.job(RangeOptions::default())?;
    let places = reads.iter().fold(JobPlaces::default(), |places, location| places.reads(location));
    let places = writes.iter().fold(places, |places, location| places.writes(location));
    keywords.check_places(&places, job.options())
}

/// Checks a location; returns a dict.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, location: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let storage = keywords.storage()?;
    let job = keywords.job(RangeOptions::default())?;
    keywords.check_places(&JobPlaces::default().reads(&location).writes(&location), job.options())?;
    let payer = job.clone();
    let found = interrupt::run(py, &job, move || lakerace::check(&location, &storage, &payer))?;
    convert::to_python(py, &found)
}

/// Rows and checksum of an object with `__arrow_c_stream__`.
#[pyfunction]
pub(crate) fn checksum(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
) -> PyResult<(u64, String)> {
    let job = Keywords::new(options).job(RangeOptions::default())?;
    let batches = import(source)?;
    let payer = job.clone();
    let sum = interrupt::run(py, &job, move || lakerace::checksum(batches, &payer))?;
    Ok((sum.rows, sum.to_string()))
}
