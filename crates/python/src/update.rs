//! Updates of a table's rows.

use lakerace::{AssignmentText, Clock, JobPlaces, Prices, RangeOptions, UpdateTexts};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::jobs::{ChangeReport, DryReport};
use crate::options::Keywords;
use crate::{convert, interrupt};

/// Columns, and the expressions of their values.
type Updates = Vec<(String, String)>;

/// Sets columns of the rows of a Delta table for which a condition is true; returns a dict.
#[pyfunction]
pub(crate) fn update(
    py: Python<'_>,
    table: String,
    updates: Updates,
    condition: Option<String>,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let (storage, options) = (keywords.storage()?, keywords.update()?);
    let texts = texts(updates, condition);
    let job = keywords.job(RangeOptions::for_copy())?;
    keywords.check_places(&JobPlaces::default().changes_table(&table), job.options())?;
    let payer = job.clone();
    let update = move || lakerace::update(&table, &texts, &options, &storage, &payer);
    let changed = interrupt::run(py, &job, update)?;
    let report = clock.report(changed.written.rows, &job, &Prices::default());
    convert::to_python(py, &ChangeReport::new(&changed, report, &job))
}

/// Checks an update like [`update`], and writes nothing.
#[pyfunction]
pub(crate) fn plan_update(
    py: Python<'_>,
    table: String,
    updates: Updates,
    condition: Option<String>,
    options: Bound<'_, PyDict>,
) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let (storage, options) = (keywords.storage()?, keywords.update()?);
    let texts = texts(updates, condition);
    let job = keywords.job(RangeOptions::for_copy())?;
    keywords.check_places(&JobPlaces::default().changes_table(&table), job.options())?;
    let payer = job.clone();
    let plan = move || lakerace::plan_update(&table, &texts, &options, &storage, &payer);
    DryReport::tell(py, interrupt::run(py, &job, plan)?, &clock, &job)
}

fn texts(updates: Updates, condition: Option<String>) -> UpdateTexts {
    let assignments = updates.into_iter().map(|(column, value)| AssignmentText::Named { column, value });
    UpdateTexts { assignments: assignments.collect(), condition }
}
