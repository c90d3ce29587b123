//! Setting columns of a Delta table's rows.

use lakerace_delta::{AffectedRows, ChangeOutcome, ColumnAssignment, Table, UpdateOptions, UpdateStatement};
use lakerace_io::{Job, Result, StorageOptions};

use crate::delta::open_table;
use crate::dry_run::{DryRun, plural};
use crate::filter::parse_filter;

/// Sets columns of the rows of a Delta table for which a SQL expression is true, or of all rows, in one commit.
///
/// # Errors
/// Those of [`lakerace_delta::update`], and `Usage` for a condition that can't be parsed.
pub fn update(
    table: &str,
    assignments: Vec<ColumnAssignment>,
    condition: Option<&str>,
    options: &UpdateOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<ChangeOutcome> {
    let statement = statement(assignments, condition)?;
    lakerace_delta::update(&open_table(table, storage, job)?, &statement, options)
}

/// Finds the rows that [`update`] would set, checks their new values, and writes nothing.
///
/// # Errors
/// Those of [`update`].
pub fn plan_update(
    table: &str,
    assignments: Vec<ColumnAssignment>,
    condition: Option<&str>,
    options: &UpdateOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<DryRun> {
    let statement = statement(assignments, condition)?;
    let table = open_table(table, storage, job)?;
    Ok(planned(&table, lakerace_delta::plan_update(&table, &statement, options)?))
}

fn statement(assignments: Vec<ColumnAssignment>, condition: Option<&str>) -> Result<UpdateStatement> {
    let condition_text = condition.map(str::to_owned);
    Ok(UpdateStatement { assignments, condition: condition.map(parse_filter).transpose()?, condition_text })
}

fn planned(table: &Table, plan: AffectedRows) -> DryRun {
    let place = table.location();
    let would = match plan.rows {
        0 => format!("would change nothing: no row of {place} is to be updated"),
        rows => format!("would update {} of {place}", plural(rows, "row")),
    };
    DryRun { rows: Some(plan.rows), files: Some(plan.files), ..DryRun::new(would, Some(plan.version)) }
}
