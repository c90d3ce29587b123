//! Deleting the rows for which a condition is true. Files are not rewritten where the table has deletion vectors.

use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::{Expr, WriteOptions};
use lakerace_io::{Error, Result};

use crate::commit::{PendingCommit, WriteBase, list_text};
use crate::condition_probe::ConditionProbe;
use crate::deletion_vector::commit::{ChangeOutcome, RemovalCommit, RemovalMethod, change};
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::write::PublishedFiles;

/// Hides the rows for which a condition is true.
pub fn delete(table: &Table, condition: &Expr) -> Result<ChangeOutcome> {
    delete_with(table, condition, None, &DeleteOptions::default())
}

/// The options of a delete.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeleteOptions {
    /// A table without deletion vectors gets them, whoever made it.
    pub enables_vectors: bool,
}

/// Hides the rows for which a condition is true, by options. `text` is the condition as SQL, for the log.
pub fn delete_with(
    table: &Table,
    condition: &Expr,
    text: Option<&str>,
    options: &DeleteOptions,
) -> Result<ChangeOutcome> {
    let mut commit = pending(table, table.snapshot(None)?, condition, text, options)?;
    change(&mut commit, PublishedFiles::none(), PublishedFiles::none())
}

/// The rows that a change of a table would delete or replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AffectedRows {
    /// The version that the change would start from.
    pub version: u64,
    /// The number of the rows.
    pub rows: u64,
    /// Files that these rows are in.
    pub files: u64,
}

/// Finds the rows that [`delete_with`] would delete, and writes nothing.
pub fn plan_delete(table: &Table, condition: &Expr, options: &DeleteOptions) -> Result<AffectedRows> {
    let snapshot = table.snapshot(None)?;
    let mut commit = pending(table, snapshot.clone(), condition, None, options)?;
    commit.write_state().map_err(|error| error.at(table.location()))?;
    let (files, rows) = commit.action().rehearse(&snapshot)?;
    Ok(AffectedRows { version: snapshot.version(), rows, files })
}

/// The commit of a delete, before anything is searched.
fn pending(
    table: &Table,
    snapshot: Snapshot,
    condition: &Expr,
    text: Option<&str>,
    options: &DeleteOptions,
) -> Result<PendingCommit<RemovalCommit>> {
    let named = |error: Error| error.at(table.location());
    let probe = ConditionProbe::new(&snapshot, condition).map_err(named)?;
    let removal =
        RemovalMethod::for_snapshot(&snapshot, options.enables_vectors, WriteOptions::default).map_err(named)?;
    let action = RemovalCommit::new(Box::new(probe), UpdateTableOperation::Delete, removal);
    let parameters = text.map(|text| ("predicate", list_text(&[text])));
    let action = action.with_parameters(parameters.into_iter().collect());
    PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(snapshot)), action).map_err(named)
}
