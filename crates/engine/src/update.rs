//! Setting columns of a Delta table's rows.

use lakerace_delta::{AffectedRows, ChangeOutcome, Table, UpdateOptions, UpdateStatement};
use lakerace_io::{Job, Result, StorageOptions};

use crate::delta::open_table;
use crate::dry_run::{DryRun, plural};
use crate::filter::{AssignmentText, RunTime, parse_filter_at};

/// An update as text. All its `now()` are the same time.
#[derive(Debug, Clone)]
pub struct UpdateTexts {
    /// The new values of columns.
    pub assignments: Vec<AssignmentText>,
    /// The SQL expression that is true of the rows; all rows without one.
    pub condition: Option<String>,
}

/// Sets columns of the rows of a Delta table for which a SQL expression is true, or of all rows, in one commit.
///
/// # Errors
/// Those of [`lakerace_delta::update`], and `Usage` for a text that can't be parsed.
pub fn update(
    table: &str,
    texts: &UpdateTexts,
    options: &UpdateOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<ChangeOutcome> {
    let statement = statement(texts)?;
    lakerace_delta::update(&open_table(table, storage, job)?, &statement, options)
}

/// Finds the rows that [`update`] would set, checks their new values, and writes nothing.
///
/// # Errors
/// Those of [`update`].
pub fn plan_update(
    table: &str,
    texts: &UpdateTexts,
    options: &UpdateOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<DryRun> {
    let statement = statement(texts)?;
    let table = open_table(table, storage, job)?;
    Ok(planned(&table, lakerace_delta::plan_update(&table, &statement, options)?))
}

fn statement(texts: &UpdateTexts) -> Result<UpdateStatement> {
    let time = RunTime::now();
    let condition = texts.condition.as_deref().map(|text| parse_filter_at(text, time)).transpose()?;
    let assignments = texts.assignments.iter().map(|text| text.parsed(time)).collect::<Result<_>>()?;
    Ok(UpdateStatement { assignments, condition, condition_text: texts.condition.clone() })
}

fn planned(table: &Table, plan: AffectedRows) -> DryRun {
    let place = table.location();
    let would = match plan.rows {
        0 => format!("would change nothing: no row of {place} is to be updated"),
        rows => format!("would update {} of {place}", plural(rows, "row")),
    };
    DryRun { rows: Some(plan.rows), files: Some(plan.files), ..DryRun::new(would, Some(plan.version)) }
}
