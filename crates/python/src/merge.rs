//! Merges of a source into a table.

use lakerace::{
    Clock, DryRun, Job, MergeActionText, MergeClauseText, MergeOptions, MergeOutcome, MergeTexts, Prices, SourceRows,
    StorageOptions,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::jobs::{ChangeReport, rows_of};
use crate::options::Keywords;
use crate::{convert, interrupt};

/// A clause: the rows that it is for, its action, its condition, its values, and the columns that are left out.
type Clause = (String, String, Option<String>, Vec<(String, String)>, Vec<String>);
/// The columns or the condition that the sides are joined by, and the names of table and source.
type Join = (Vec<String>, Option<String>, String, String);

/// The outcome and the cost of a merge.
#[derive(Serialize)]
struct MergeReport {
    #[serde(flatten)]
    change: ChangeReport,
    source_rows: u64,
    inserted: u64,
    updated: u64,
    deleted: u64,
    planned: Option<DryRun>,
}

/// Merges a location, a [`Scan`](crate::scan::Scan) or an object with `__arrow_c_stream__` into a Delta table; returns a dict.
#[pyfunction]
pub(crate) fn merge(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    join: Join,
    clauses: Vec<Clause>,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    merged(py, table, source, texts(join, clauses), options, |table, rows, texts, options, storage, job| {
        Ok((lakerace::merge_rows(table, rows, texts, options, storage, job)?, None))
    })
}

/// Makes the rows of a merge like [`merge`], and writes nothing.
#[pyfunction]
pub(crate) fn plan_merge(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    join: Join,
    clauses: Vec<Clause>,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    merged(py, table, source, texts(join, clauses), options, |table, rows, texts, options, storage, job| {
        let (planned, outcome) = lakerace::plan_merge_rows(table, rows, texts, options, storage, job)?;
        Ok((outcome, Some(planned)))
    })
}

/// The outcome of a merge, and its plan where it is only checked.
type Merged = lakerace::Result<(MergeOutcome, Option<DryRun>)>;

fn merged(
    py: Python<'_>,
    table: String,
    source: &Bound<'_, PyAny>,
    texts: MergeTexts,
    options: Bound<'_, PyDict>,
    run: fn(&str, SourceRows, &MergeTexts, &MergeOptions, &StorageOptions, &Job) -> Merged,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let (options, read) = (keywords.merge_by_key()?, keywords.upsert()?);
    let (rows, job) = rows_of(py, &table, source, &keywords, &read)?;
    let payer = job.clone();
    let storage = read.read.storage;
    let (outcome, planned) = interrupt::run(py, &job, move || run(&table, rows, &texts, &options, &storage, &payer))?;
    let MergeOutcome { changed, source_rows, inserted, updated, deleted, .. } = outcome;
    let report = clock.report(inserted + updated + deleted, &job, &Prices::default());
    let change = ChangeReport::new(&changed, report, &job);
    convert::to_python(py, &MergeReport { change, source_rows, inserted, updated, deleted, planned })
}

fn texts((on, condition, target_alias, source_alias): Join, clauses: Vec<Clause>) -> MergeTexts {
    let mut texts = MergeTexts { on, condition, target_alias, source_alias, ..MergeTexts::default() };
    for (rows, action, condition, updates, except) in clauses {
        let action = match action.as_str() {
            "delete" => MergeActionText::Delete,
            "set_all" => MergeActionText::SetAll(except),
            _ => MergeActionText::Set(updates),
        };
        let clauses = match rows.as_str() {
            "matched" => &mut texts.matched,
            "not_matched" => &mut texts.not_matched,
            _ => &mut texts.not_matched_by_source,
        };
        clauses.push(MergeClauseText { condition, action });
    }
    texts
}
