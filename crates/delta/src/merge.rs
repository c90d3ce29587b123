//! Merging a source into a table by key, with clauses that say what becomes of the rows of both.
//!
//! The rows of the source are sorted into windows by key, as those of an upsert are ([`crate::upsert`]), except that all rows of
//! a key stay. For each window, the rows of the table that have its keys are found and read, and joined with the rows of the source a
//! batch at a time. The first clause whose condition is true of a pair decides. Rows of the source whose key the table lacks,
//! or that have no key at all, go through the clauses of inserts. After the last window, the remaining rows of the table go
//! through the clauses of rows that no row of the source matches.
//!
//! All of this is one commit. If another writer changes a row that was matched, or adds one that might be, it is made
//! again from the newest version.

mod attempt;
mod clauses;
mod made_rows;
mod names;
mod parameters;
mod plan;
mod unkeyed_rows;
mod unmatched;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::datatypes::Schema;
use lakerace_format::{Expr, WriteOptions};
use lakerace_io::address_space::memory_within;
use lakerace_io::memory_limit::check_memory;
use lakerace_io::option::VERIFY_TABLE;
use lakerace_io::{Error, ErrorKind, Result};

use self::attempt::MergeAttempt;
use self::plan::{MergePlan, used_columns};
use self::unkeyed_rows::UnkeyedRows;
use crate::commit::latest;
use crate::deletion_vector::commit::ChangeOutcome;
use crate::new_values::ColumnAssignment;
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::upsert::{SourceRows, counted};

/// A merge of a source into a table.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeStatement {
    /// Columns of the table, each with the column of the source that it is equal to.
    pub on: Vec<(String, String)>,
    /// The name by which expressions know the table.
    pub target_alias: String,
    /// The name by which they know the source.
    pub source_alias: String,
    /// The clauses for pairs of rows.
    pub matched: Vec<MergeClause>,
    /// The clauses for rows of the source that no row of the table matches. They only set values.
    pub not_matched: Vec<MergeClause>,
    /// The clauses for rows of the table that no row of the source matches.
    pub not_matched_by_source: Vec<MergeClause>,
}

/// The fate of the rows for which a condition is true.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    /// The condition; `None`: it is true.
    pub condition: Option<Expr>,
    /// The condition as SQL, for the log and for errors.
    pub condition_text: Option<String>,
    /// The fate of the rows.
    pub action: MergeAction,
}

/// The fate of rows.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// Columns of the table get these values. The others keep theirs, and are null in new rows.
    Set(Vec<ColumnAssignment>),
    /// Columns of the table get the values of the source's columns of the same name, except for these.
    SetAll {
        /// The columns of the source that are left out.
        except: Vec<String>,
    },
    /// They are deleted.
    Delete,
}

/// The options of a merge.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// A table without deletion vectors gets them when rows have to be hidden, even if another tool made it.
    pub enables_vectors: bool,
    /// Approximate bytes that rows, keys and buffers may take in memory. The rest goes to temporary files on the local
    /// disk.
    pub memory_bytes: u64,
    /// The options of new files.
    pub write: WriteOptions,
}

/// Memory of a merge, unless options say otherwise.
const MEMORY_BYTES: u64 = 1 << 30;
/// The most times that rows are made again because another writer has changed their base.
const REMAKES: u32 = 100;

impl Default for MergeOptions {
    fn default() -> Self {
        Self { enables_vectors: false, memory_bytes: memory_within(MEMORY_BYTES), write: WriteOptions::default() }
    }
}

/// The outcome of a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeOutcome {
    /// The files that were written, and the version that was made; `None`: there was nothing to do.
    pub changed: ChangeOutcome,
    /// The version that it started from.
    pub from_version: u64,
    /// Rows of the source.
    pub source_rows: u64,
    /// Rows of the source that were inserted.
    pub inserted: u64,
    /// Rows of the table that were updated.
    pub updated: u64,
    /// Rows of the table that were deleted.
    pub deleted: u64,
}

/// Merges rows into a table, in one commit.
///
/// # Errors
/// `Usage` without a clause or a key, and for names that both sides have; `NotFound` for a column that neither has; `Invalid` where
/// several rows of the source change one row of the table, for values that do not fit, and for rows that violate a constraint;
/// `Unsupported` for key columns without an equality that all engines agree on; `Conflict` where another writer has changed
/// the table's schema in the meantime.
pub fn merge(
    table: &Table,
    rows: impl Into<SourceRows>,
    statement: &MergeStatement,
    options: &MergeOptions,
) -> Result<MergeOutcome> {
    run(table, rows.into(), statement, options, false)
}

/// Makes the rows of a merge like [`merge`], and writes nothing.
///
/// # Errors
/// Those of [`merge`].
pub fn plan_merge(
    table: &Table,
    rows: impl Into<SourceRows>,
    statement: &MergeStatement,
    options: &MergeOptions,
) -> Result<MergeOutcome> {
    run(table, rows.into(), statement, options, true)
}

fn run(
    table: &Table,
    rows: SourceRows,
    statement: &MergeStatement,
    options: &MergeOptions,
    is_dry: bool,
) -> Result<MergeOutcome> {
    let named = |error: Error| error.at(table.location());
    let source = rows.location().map_or_else(|| "the source".to_owned(), str::to_owned);
    let at_source = |error: Error| match (error.kind(), error.location()) {
        (ErrorKind::Invalid, None) => error.at(source.clone()),
        _ => error,
    };
    let mut snapshot = table.snapshot(None)?;
    let statement = &with_key(statement, &snapshot).map_err(named)?;
    let source_schema = Arc::clone(rows.schema());
    let used = used_columns(&snapshot, &source_schema, statement).map_err(named)?;
    let rows = rows.only(&used);
    let plan = MergePlan::new(&snapshot, (&source_schema, rows.schema()), &used, statement).map_err(named)?;
    let plan = Arc::new(plan);
    check_memory(options.memory_bytes, snapshot.schema().fields().len().max(used.len())).map_err(named)?;
    warn_of_key(&snapshot, statement, &source_schema);
    let (batches, source_rows) = counted(rows.batches()?);
    let unkeyed = UnkeyedRows::new(&plan);
    let windows = plan.gather(unkeyed.set_aside(batches), options, table.job()).map_err(at_source)?;
    let source_rows = source_rows.load(Ordering::Relaxed);
    for _ in 0..REMAKES {
        let attempt = MergeAttempt { snapshot: &snapshot, plan: &plan, statement, options, source_rows, is_dry };
        if let Some(outcome) = attempt.run(&windows, &unkeyed)? {
            return Ok(outcome);
        }
        snapshot = latest(&snapshot)?;
    }
    Err(named(Error::conflict(format!("other writers have changed the same rows {REMAKES} times")))
        .advice("run it again when they are done"))
}

/// The statement, joined by the table's key if it names no columns.
fn with_key(statement: &MergeStatement, snapshot: &Snapshot) -> Result<MergeStatement> {
    let mut statement = statement.clone();
    if statement.on.is_empty() {
        statement.on = snapshot.key().into_iter().map(|column| (column.clone(), column)).collect();
    }
    if statement.on.is_empty() {
        return Err(Error::usage("no columns are given that a merge joins by, and the table has no key")
            .advice("name the columns by which rows of the source and of the table are matched"));
    }
    let MergeStatement { target_alias, source_alias, .. } = &statement;
    if target_alias == source_alias || target_alias.is_empty() || source_alias.is_empty() {
        return Err(Error::usage(format!(
            "the table is named {target_alias:?}, and the source {source_alias:?}: each needs its own name"
        )));
    }
    if statement.matched.is_empty() && statement.not_matched.is_empty() && statement.not_matched_by_source.is_empty() {
        return Err(Error::usage("the merge has no clause").advice("say what becomes of rows that match or do not"));
    }
    Ok(statement)
}

/// Warns of a merge that may give two rows the same key of the table.
fn warn_of_key(snapshot: &Snapshot, statement: &MergeStatement, source: &Schema) {
    let key = snapshot.key();
    let joins_key = statement.on.len() == key.len() && statement.on.iter().all(|(target, _)| key.contains(target));
    let inserts_others = !joins_key && !statement.not_matched.is_empty();
    if key.is_empty() || !(inserts_others || sets_key(statement, source, &key)) {
        return;
    }
    let table = snapshot.table();
    let (place, key) = (table.location(), key.join(", "));
    table.job().warn(&format!(
        "{place}: the merge does not check that keys of the table ({key}) stay distinct and not null; {} finds such rows",
        VERIFY_TABLE.on(place)
    ));
}

/// Returns true if rows of the table may get another key.
fn sets_key(statement: &MergeStatement, source: &Schema, key: &[String]) -> bool {
    // A column that gets the value that it is joined by keeps its own.
    let is_kept = |column: &String, value: &Expr| {
        let is_same = |(target, source): &(String, String)| {
            target == column && *value == Expr::Column(format!("{}.{source}", statement.source_alias))
        };
        statement.on.iter().any(is_same)
    };
    let own = |column: &String| Expr::Column(format!("{}.{column}", statement.source_alias));
    let sets = |clause: &MergeClause| match &clause.action {
        MergeAction::Delete => false,
        MergeAction::Set(assignments) => {
            assignments.iter().any(|one| key.contains(&one.column) && !is_kept(&one.column, &one.value))
        }
        MergeAction::SetAll { except } => key.iter().any(|column| {
            source.index_of(column).is_ok() && !except.contains(column) && !is_kept(column, &own(column))
        }),
    };
    statement.matched.iter().chain(&statement.not_matched_by_source).any(sets)
}
