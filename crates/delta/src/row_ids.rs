//! Rows by the file that they are in and their number in it: reading them with these ids, and hiding them by these.

pub(crate) mod read;

use std::collections::HashMap;

use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::WriteOptions;
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use crate::commit::{PendingCommit, WriteBase, list_text};
use crate::deletion_vector::commit::{ChangeOutcome, RemovalCommit, RemovalMethod, RowDependency, change};
use crate::probe::RowProbe;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::upsert::by_files;
use crate::write::{AppTransaction, PendingFile, PlannedSchema, PublishedFiles, counts, has_transaction, published};

/// The column of the file's name, in the form of the log.
pub const FILE_COLUMN: &str = "_file";
/// The column of the row's number in its file.
pub const POSITION_COLUMN: &str = "_pos";

/// The probe of a change whose rows are known by their ids. Rows that were added after the version that was read are a
/// conflict.
struct KnownRows {
    version: u64,
}

impl RowProbe for KnownRows {
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        Err(Error::conflict(format!("another writer has added rows after version {}, which was read", self.version))
            .at(snapshot.table().location())
            .advice("run it again"))
    }
}

/// The statement that changes rows by their ids, as recorded in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowStatement {
    /// Its kind.
    pub kind: RowStatementKind,
    /// Conditions that the rows met, in SQL; `None` where they are not known.
    pub conditions: Option<Vec<String>>,
    /// Rows that were hidden for a new row each; `None` where they are not known.
    pub updated_rows: Option<u64>,
}

/// The kind of a [`RowStatement`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowStatementKind {
    /// `DELETE`.
    Delete,
    /// `UPDATE`.
    Update,
    /// `MERGE`.
    #[default]
    Merge,
}

impl RowStatement {
    fn operation(&self) -> UpdateTableOperation {
        match self.kind {
            RowStatementKind::Delete => UpdateTableOperation::Delete,
            RowStatementKind::Update => UpdateTableOperation::Update,
            RowStatementKind::Merge => UpdateTableOperation::Merge,
        }
    }

    /// As Spark writes them: a list as JSON.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        self.conditions.iter().map(|all| ("predicate", list_text(all))).collect()
    }
}

/// Hides rows of a version by the names of their files and their numbers in these, and makes files the table's, in one
/// commit. A writer that has changed the rows or added others in the meantime is a conflict. `planned` are the columns that
/// the files were written for, where the table does not have these yet. `None` where the table has the transaction
/// already.
pub fn commit_rows(
    base: &Snapshot,
    files: Vec<PendingFile>,
    hidden: HashMap<String, Vec<u64>>,
    statement: &RowStatement,
    transaction: Option<&AppTransaction>,
    planned: Option<&PlannedSchema>,
) -> Result<Option<ChangeOutcome>> {
    let table = base.table();
    let named = |error: Error| error.at(table.location());
    let published = published(table, files)?;
    if let Some(transaction) = transaction
        && has_transaction(&table.snapshot_after(base, None)?, transaction)?
    {
        return Ok(None);
    }
    base.check_in_log()?;
    let load = transaction.map(|transaction| counts(base, transaction)).transpose()?;
    let removal = RemovalMethod::for_snapshot(base, false, WriteOptions::default).map_err(named)?;
    let known = KnownRows { version: base.version() };
    let action = RemovalCommit::new(Box::new(known), statement.operation(), removal);
    let action = action.with_parameters(statement.parameters()).depending(RowDependency::Values);
    let mut action = action.with_updated_rows(statement.updated_rows);
    let hidden = hidden.into_iter().map(|(name, rows)| (name, rows.into_iter().collect())).collect();
    action.note(&base.files()?.files, by_files(base, hidden)?, 1);
    let commit =
        PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(base.clone())), action).map_err(named)?;
    let mut commit = commit.planned(planned);
    commit.counts(load);
    change(&mut commit, published, PublishedFiles::none()).map(Some)
}
