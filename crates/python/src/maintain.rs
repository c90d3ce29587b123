//! Maintenance of Delta tables.

use std::collections::BTreeMap;

use lakerace::{
    AlterOptions, Clock, CompactOptions, Finding, Job, JobPlaces, Prices, RangeOptions, Report, Result, StorageOptions,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::jobs::DryReport;
use crate::options::Keywords;
use crate::stream::Stream;
use crate::{convert, interrupt};

/// A result and its cost.
#[derive(Serialize)]
struct BilledOutcome<T> {
    #[serde(flatten)]
    made: T,
    #[serde(flatten)]
    report: Report,
}

/// Runs a job on a table; returns the fields that `tell` makes of its result, and the job's cost, as a dict. `tell`
/// also returns the number of written rows.
fn run<T: Send + 'static, S: Serialize>(
    py: Python<'_>,
    keywords: &Keywords<'_>,
    places: &JobPlaces,
    work: impl FnOnce(&StorageOptions, &Job) -> Result<T> + Send + 'static,
    tell: impl FnOnce(T) -> (S, u64),
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let storage = keywords.storage()?;
    let job = keywords.job(RangeOptions::for_copy())?;
    keywords.check_places(places, job.options())?;
    let payer = job.clone();
    let (made, rows) = tell(interrupt::run(py, &job, move || work(&storage, &payer))?);
    convert::to_python(py, &BilledOutcome { made, report: clock.report(rows, &job, &Prices::default()) })
}

#[derive(Serialize)]
struct CompactReport {
    version: Option<u64>,
    commits: u64,
    files_added: u64,
    files_removed: u64,
    file_bytes: u64,
    file_bytes_removed: u64,
    rows_dropped: u64,
    given_up: u64,
}

/// Compacts a table; returns a dict.
#[pyfunction]
pub(crate) fn compact(py: Python<'_>, table: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let options: CompactOptions = keywords.compact()?;
    let places = JobPlaces::default().changes_table(&table);
    let work = move |storage: &StorageOptions, job: &Job| lakerace::compact(&table, &options, storage, job);
    run(py, &keywords, &places, work, |made| {
        let told = CompactReport {
            version: made.version,
            commits: made.commits,
            files_added: made.files_added,
            files_removed: made.files_removed,
            file_bytes: made.bytes_added,
            file_bytes_removed: made.bytes_removed,
            rows_dropped: made.rows_dropped,
            given_up: made.given_up,
        };
        (told, made.rows)
    })
}

/// Finds the files that [`compact`] would rewrite; returns a dict.
#[pyfunction]
pub(crate) fn plan_compact(py: Python<'_>, table: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let (options, storage) = (keywords.compact()?, keywords.storage()?);
    let job = keywords.job(RangeOptions::for_copy())?;
    keywords.check_places(&JobPlaces::default().changes_table(&table), job.options())?;
    let payer = job.clone();
    let planned = interrupt::run(py, &job, move || lakerace::plan_compact(&table, &options, &storage, &payer))?;
    DryReport::tell(py, planned, &clock, &job)
}

#[derive(Serialize)]
struct VacuumReport {
    version: u64,
    files: Vec<String>,
    file_bytes_removed: u64,
    kept: u64,
}

/// Vacuums a table; returns a dict.
#[pyfunction]
pub(crate) fn vacuum(py: Python<'_>, table: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let options = keywords.vacuum()?;
    let places = JobPlaces::default().changes_table(&table);
    let work = move |storage: &StorageOptions, job: &Job| lakerace::vacuum(&table, &options, storage, job);
    run(py, &keywords, &places, work, |made| {
        let told =
            VacuumReport { version: made.version, files: made.files, file_bytes_removed: made.bytes, kept: made.kept };
        (told, 0)
    })
}

#[derive(Serialize)]
struct VerifyReport {
    version: Option<u64>,
    sound: bool,
    entries: u64,
    checkpoints: u64,
    files: u64,
    vectors: u64,
    verified_rows: u64,
    key: Vec<String>,
    orphan_files: u64,
    orphan_bytes: u64,
    findings: Vec<Finding>,
    keys_checked: bool,
    values_checked: bool,
    notes: Vec<String>,
}

/// Verifies a table; returns a dict.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, table: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let options = keywords.verify()?;
    let places = JobPlaces::default().changes_table(&table);
    let work = move |storage: &StorageOptions, job: &Job| lakerace::verify(&table, &options, storage, job);
    run(py, &keywords, &places, work, |made| {
        let told = VerifyReport {
            version: made.version,
            sound: made.is_sound(),
            keys_checked: made.has_checked_keys(),
            values_checked: made.values_checked,
            entries: made.entries,
            checkpoints: made.checkpoints,
            files: made.files,
            vectors: made.vectors,
            verified_rows: made.rows,
            key: made.key,
            orphan_files: made.orphan_files,
            orphan_bytes: made.orphan_bytes,
            findings: made.findings,
            notes: made.notes,
        };
        (told, 0)
    })
}

/// The versions of a table, as a list of dicts.
#[pyfunction]
pub(crate) fn history(py: Python<'_>, table: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let storage = keywords.storage()?;
    let job = keywords.job(RangeOptions::default())?;
    keywords.check_places(&JobPlaces::default().reads_table(&table), job.options())?;
    let payer = job.clone();
    let limit = keywords.number("limit")?.map(|limit| limit as usize);
    let told = interrupt::run(py, &job, move || lakerace::history(&table, limit, &storage, &payer))?;
    convert::to_python(py, &told)
}

#[derive(Serialize)]
struct AlterReport {
    version: Option<u64>,
    properties: BTreeMap<String, String>,
    features_added: Vec<String>,
    reader_features_added: Vec<String>,
}

/// Changes of a table, as a dict has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TableChanges {
    set: BTreeMap<String, String>,
    unset: Vec<String>,
    add_columns: Vec<String>,
    rename: BTreeMap<String, String>,
    drop: Vec<String>,
    types: BTreeMap<String, String>,
    comments: BTreeMap<String, String>,
    constraints: BTreeMap<String, String>,
    dry_run: bool,
}

impl TableChanges {
    fn options(self) -> lakerace::Result<AlterOptions> {
        let mut options = AlterOptions {
            set: self.set,
            unset: self.unset,
            rename_columns: self.rename,
            drop_columns: self.drop,
            comments: self.comments,
            constraints: self.constraints,
            dry_run: self.dry_run,
            ..AlterOptions::default()
        };
        for text in &self.add_columns {
            options.add_columns.extend(lakerace::parse_new_columns(text)?);
        }
        for (column, text) in self.types {
            options.column_types.insert(column, lakerace::parse_type(&text)?);
        }
        Ok(options)
    }
}

/// Changes the columns, properties and constraints of a table; returns a dict.
#[pyfunction]
pub(crate) fn alter(
    py: Python<'_>,
    table: String,
    changes: TableChanges,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let places = JobPlaces::default().changes_table(&table);
    let work = move |storage: &StorageOptions, job: &Job| lakerace::alter(&table, &changes.options()?, storage, job);
    run(py, &keywords, &places, work, |made| {
        let lakerace::Altered { version, properties, features_added, reader_features_added } = made;
        (AlterReport { version, properties, features_added, reader_features_added }, 0)
    })
}

#[derive(Serialize)]
struct RestoreReport {
    version: Option<u64>,
    restored_version: u64,
    files_added: u64,
    files_removed: u64,
}

/// Restores a version of a table; returns a dict.
#[pyfunction]
pub(crate) fn restore(py: Python<'_>, table: String, at: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let keywords = Keywords::new(options);
    let places = JobPlaces::default().changes_table(&table);
    let work = move |storage: &StorageOptions, job: &Job| lakerace::restore(&table, &at, storage, job);
    run(py, &keywords, &places, work, |made| {
        let told = RestoreReport {
            version: made.version,
            restored_version: made.restored,
            files_added: made.files_added,
            files_removed: made.files_removed,
        };
        (told, 0)
    })
}

/// The changes of a table's rows, as a stream.
#[pyfunction]
pub(crate) fn changes(py: Python<'_>, table: String, options: Bound<'_, PyDict>) -> PyResult<Stream> {
    let keywords = Keywords::new(options);
    let storage = keywords.storage()?;
    let job = keywords.job(RangeOptions::default())?;
    keywords.check_places(&JobPlaces::default().reads_table(&table), job.options())?;
    let payer = job.clone();
    let (from, to) = (keywords.number("first")?.unwrap_or(0), keywords.number("last")?);
    let batches = interrupt::run(py, &job, move || lakerace::changes(&table, from, to, &storage, &payer))?;
    Ok(Stream::new(batches, job))
}
