//! Deleting the rows for which a condition is true. Files are not rewritten where the table has deletion vectors.

use arrow::array::{Array, RecordBatch};
use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::predicate::ColumnStatistics;
use lakerace_format::{Expr, Predicate, WriteOptions};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use crate::commit::{PendingCommit, WriteBase, list_text};
use crate::deletion_vector::commit::{ChangeOutcome, RemovalCommit, RemovalMethod, change};
use crate::probe::{FileLookup, RowProbe, StatsPredicate, by_file};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::statistics::FileStatistics;
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

/// The changes that a delete would make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletePlan {
    /// The version that it would start from.
    pub version: u64,
    /// Rows that it would delete.
    pub rows: u64,
    /// Files that these rows are in.
    pub files: u64,
}

/// Finds the rows that [`delete_with`] would delete, and writes nothing.
pub fn plan_delete(table: &Table, condition: &Expr, options: &DeleteOptions) -> Result<DeletePlan> {
    let snapshot = table.snapshot(None)?;
    let mut commit = pending(table, snapshot.clone(), condition, None, options)?;
    commit.write_state().map_err(|error| error.at(table.location()))?;
    let (files, rows) = commit.action().rehearse(&snapshot)?;
    Ok(DeletePlan { version: snapshot.version(), rows, files })
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
    let predicate = Predicate::bind(condition, snapshot.schema()).map_err(named)?;
    let names = predicate.columns().iter().map(|at| snapshot.schema().field(*at).name().clone()).collect();
    let removal =
        RemovalMethod::for_snapshot(&snapshot, options.enables_vectors, WriteOptions::default).map_err(named)?;
    let action =
        RemovalCommit::new(Box::new(DeleteCondition { predicate, names }), UpdateTableOperation::Delete, removal);
    let parameters = text.map(|text| ("predicate", list_text(&[text])));
    let action = action.with_parameters(parameters.into_iter().collect());
    PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(snapshot)), action).map_err(named)
}

/// A condition as a probe.
struct DeleteCondition {
    predicate: Predicate,
    names: Vec<String>,
}

impl DeleteCondition {
    /// Adds the rows of a batch for which the condition is true.
    fn find_in(&self, found: &mut RoaringTreemap, first_row: u64, batch: &RecordBatch) -> Result<()> {
        let matches = self.predicate.evaluate(batch)?;
        let is_valid = |row: &usize| matches.nulls().is_none_or(|nulls| nulls.is_valid(*row));
        let rows = matches.values().set_indices().filter(is_valid).map(|row| first_row + row as u64);
        found.append(rows).map_err(|e| Error::internal("rows were found out of order").because(e))?;
        Ok(())
    }
}

impl StatsPredicate for DeleteCondition {
    fn may_be_in(&self, statistics: &dyn ColumnStatistics) -> bool {
        self.predicate.can_match(statistics).is_ok()
    }

    fn places_in(&self, _: &dyn ColumnStatistics) -> u64 {
        // A range of values, or a few.
        if self.predicate.decided_by().is_empty() { u64::MAX } else { 0 }
    }
}

impl RowProbe for DeleteCondition {
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        let may_match = |file: &TableFile| self.may_be_in(&FileStatistics { file, columns: snapshot.columns() });
        let wanted: Vec<usize> = (0..files.len()).filter(|number| may_match(files[*number])).collect();
        let kept: Vec<&TableFile> = wanted.iter().map(|number| files[*number]).collect();
        let look = FileLookup { snapshot, columns: self.names.clone(), sought: self };
        let found = look.through(&kept, &|found, first_row, batch| self.find_in(found, first_row, batch))?;
        let mut all = vec![None; files.len()];
        for (number, rows) in wanted.into_iter().zip(by_file(kept.len(), found)) {
            all[number] = rows;
        }
        Ok(all)
    }
}
