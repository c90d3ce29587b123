//! Removing all rows of a table.

use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_io::{Result, WriteMode};

use crate::commit::scan_rows::{chosen, scan_rows};
use crate::commit::{CommitAction, PendingCommit, WriteBase, list_text};
use crate::snapshot::Snapshot;

/// Removes all rows of a table, including those that other writers have added after the version `base`: its files are
/// removed from the log, and none is read. Returns the version that was made; `None` where there were no files.
pub fn truncate(base: &Snapshot) -> Result<Option<u64>> {
    let table = base.table();
    base.check_in_log()?;
    let mut commit = PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(base.clone())), TruncateCommit)?;
    commit.run(&[]).map_err(|(error, _)| error.at(table.location()))
}

struct TruncateCommit;

impl CommitAction for TruncateCommit {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        (UpdateTableOperation::Delete, vec![("predicate", list_text(&["true"]))])
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        WriteMode::Overwrite.check(snapshot)
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        let mut has_files = false;
        for batch in scan_rows(snapshot)? {
            if let Some(files) = chosen(&batch, vec![true; batch.num_rows()])? {
                update.remove_files(files);
                has_files = true;
            }
        }
        Ok(has_files)
    }
}
