//! Merging a source into a Delta table by key.

use lakerace_delta::{
    MergeAction, MergeClause, MergeOptions, MergeOutcome, MergeStatement, SourceRows, Table, merge as merge_into,
};
use lakerace_format::{CompareOp, Expr};
use lakerace_io::{Error, Job, Result, StorageOptions};

use crate::delta::open_table;
use crate::dry_run::{DryRun, plural};
use crate::filter::{RunTime, parse_filter, parse_filter_at, parse_new_value};

/// The clauses of a merge, and the names that their expressions use.
#[derive(Debug, Clone, Default)]
pub struct MergeTexts {
    /// Columns that both sides have by the same name, by which they are joined; with neither these nor a condition: the
    /// table's key.
    pub on: Vec<String>,
    /// A condition of equalities by which they are joined, such as `target.id = source.id and target.day = source.day`.
    pub condition: Option<String>,
    /// The name of the table.
    pub target_alias: String,
    /// The name of the source.
    pub source_alias: String,
    /// The clauses for pairs of rows.
    pub matched: Vec<MergeClauseText>,
    /// The clauses for rows of the source that no row of the table matches.
    pub not_matched: Vec<MergeClauseText>,
    /// The clauses for rows of the table that no row of the source matches.
    pub not_matched_by_source: Vec<MergeClauseText>,
}

/// A clause of a merge.
#[derive(Debug, Clone)]
pub struct MergeClauseText {
    /// A SQL expression; `None`: true of all rows.
    pub condition: Option<String>,
    /// The fate of the rows.
    pub action: MergeActionText,
}

/// The fate of the rows of a clause.
#[derive(Debug, Clone)]
pub enum MergeActionText {
    /// Columns get the values of SQL expressions.
    Set(Vec<(String, String)>),
    /// Columns get the values of the source's columns of the same name, except for these.
    SetAll(Vec<String>),
    /// The rows are deleted.
    Delete,
}

/// Merges rows into a Delta table, in one commit.
///
/// # Errors
/// Those of [`lakerace_delta::merge`], `Usage` for texts that can't be parsed, and `Unsupported` for a condition of other parts
/// than equalities.
pub fn merge_rows(
    table: &str,
    rows: SourceRows,
    texts: &MergeTexts,
    options: &MergeOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<MergeOutcome> {
    merge_into(&open_table(table, storage, job)?, rows, &statement(texts)?, options)
}

/// Makes the rows of a merge like [`merge_rows`], and writes nothing.
///
/// # Errors
/// Those of [`merge_rows`].
pub fn plan_merge_rows(
    table: &str,
    rows: SourceRows,
    texts: &MergeTexts,
    options: &MergeOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<(DryRun, MergeOutcome)> {
    let (table, statement) = (open_table(table, storage, job)?, statement(texts)?);
    let outcome = lakerace_delta::plan_merge(&table, rows, &statement, options)?;
    Ok((planned(&table, &outcome), outcome))
}

fn planned(table: &Table, outcome: &MergeOutcome) -> DryRun {
    let MergeOutcome { inserted, updated, deleted, .. } = *outcome;
    let place = table.location();
    let rows = inserted + updated + deleted;
    let would = match rows {
        0 => format!("would change nothing: no clause applies to a row of {place} or of the source"),
        _ => format!(
            "would insert {}, update {} and delete {} of {place}",
            plural(inserted, "row"),
            plural(updated, "row"),
            plural(deleted, "row")
        ),
    };
    DryRun { rows: Some(rows), ..DryRun::new(would, Some(outcome.from_version)) }
}

fn statement(texts: &MergeTexts) -> Result<MergeStatement> {
    let MergeTexts { target_alias, source_alias, .. } = texts;
    let on = match (&texts.condition, texts.on.as_slice()) {
        (None, names) => names.iter().map(|name| (name.clone(), name.clone())).collect(),
        (Some(condition), []) => joined_columns(condition, target_alias, source_alias)?,
        (Some(_), _) => {
            return Err(Error::usage("a merge is joined by columns (on) or by a condition (predicate), not by both"));
        }
    };
    let time = RunTime::now();
    let clauses = |clauses: &[MergeClauseText]| {
        clauses.iter().map(|clause| parsed(clause, target_alias, time)).collect::<Result<Vec<_>>>()
    };
    Ok(MergeStatement {
        on,
        target_alias: target_alias.clone(),
        source_alias: source_alias.clone(),
        matched: clauses(&texts.matched)?,
        not_matched: clauses(&texts.not_matched)?,
        not_matched_by_source: clauses(&texts.not_matched_by_source)?,
    })
}

fn parsed(clause: &MergeClauseText, target_alias: &str, time: RunTime) -> Result<MergeClause> {
    let parse = |text: &String| parse_filter_at(text, time).map_err(|error| error.at(format!("{text:?}")));
    let assignment =
        |(column, value): &(String, String)| parse_new_value(column_name(column, target_alias), value, time);
    Ok(MergeClause {
        condition: clause.condition.as_ref().map(parse).transpose()?,
        condition_text: clause.condition.clone(),
        action: match &clause.action {
            MergeActionText::Delete => MergeAction::Delete,
            MergeActionText::SetAll(except) => {
                let except = except.iter().map(|name| column_name(name, target_alias).to_owned());
                MergeAction::SetAll { except: except.collect() }
            }
            MergeActionText::Set(updates) => MergeAction::Set(updates.iter().map(assignment).collect::<Result<_>>()?),
        },
    })
}

/// The name of a column that is written with the name of its table, or in backticks, as delta-rs takes it.
fn column_name<'a>(text: &'a str, alias: &str) -> &'a str {
    let name = text.strip_prefix(alias).and_then(|rest| rest.strip_prefix('.')).unwrap_or(text);
    let quoted = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
    quoted.filter(|name| !name.is_empty() && !name.contains('`')).unwrap_or(name)
}

/// The columns of the table and of the source that a condition says are equal.
fn joined_columns(text: &str, target_alias: &str, source_alias: &str) -> Result<Vec<(String, String)>> {
    let place = |error: Error| error.at(format!("{text:?}"));
    let mut parts = vec![parse_filter(text).map_err(place)?];
    let mut columns = Vec::new();
    while let Some(part) = parts.pop() {
        match (equal_columns(&part, target_alias, source_alias), part) {
            (Some(pair), _) => columns.push(pair),
            (None, Expr::And(inner)) => parts.extend(inner),
            (None, _) => return Err(place(other_condition())),
        }
    }
    // The last part was taken first.
    columns.reverse();
    Ok(columns)
}

fn equal_columns(part: &Expr, target_alias: &str, source_alias: &str) -> Option<(String, String)> {
    let Expr::Compare { op: CompareOp::Eq, left, right } = part else { return None };
    let (Expr::Column(left), Expr::Column(right)) = (left.as_ref(), right.as_ref()) else { return None };
    let column = |name: &str, alias: &str| Some(name.strip_prefix(alias)?.strip_prefix('.')?.to_owned());
    let pair = |target: &str, source: &str| Some((column(target, target_alias)?, column(source, source_alias)?));
    pair(left, right).or_else(|| pair(right, left))
}

fn other_condition() -> Error {
    Error::unsupported(
        "a merge is joined by equalities of a column of the table and a column of the source, joined by AND",
    )
    .advice("write it such as target.id = source.id, and put other conditions into the clauses")
}

#[cfg(test)]
mod tests;
