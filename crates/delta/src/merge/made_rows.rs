//! The rows that a merge has met, and those that it has made.

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use super::clauses::BoundAction;
use crate::deletion_vector::commit::{RemovalCommit, RowDependency};
use crate::row_writer::RowWriter;
use crate::snapshot::Snapshot;

/// The rows of a version's files that a merge has met, by the number of the file.
pub(crate) struct FileRowSets {
    /// True if the file was searched.
    pub searched: Vec<bool>,
    /// Rows that a row of the source matches.
    pub matched: Vec<RoaringTreemap>,
    /// Rows that a clause has updated or deleted.
    pub changed: Vec<RoaringTreemap>,
}

/// The rows that were made so far, and their files.
pub(crate) struct MadeRows {
    pub writer: RowWriter,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    /// Rows that were updated and deleted because no row of the source matches them.
    pub unmatched: (u64, u64),
}

impl MadeRows {
    /// No rows yet, which a writer takes.
    pub fn new(writer: RowWriter) -> Self {
        Self { writer, inserted: 0, updated: 0, deleted: 0, unmatched: (0, 0) }
    }

    /// Updates or deletes those rows that a clause decides on. `old` returns the table's rows that rows are made from.
    pub fn apply(
        &mut self,
        action: &BoundAction,
        rows: &RecordBatch,
        hits: &BooleanArray,
        old: &dyn Fn(&RecordBatch) -> Result<RecordBatch>,
    ) -> Result<()> {
        let count = hits.true_count() as u64;
        match action {
            BoundAction::Delete => {
                self.deleted += count;
                self.writer.deleted(|| old(&hit_rows(rows, hits)?.unwrap_or_else(|| rows.slice(0, 0))))
            }
            BoundAction::Write(values) => {
                let Some(some) = hit_rows(rows, hits)? else { return Ok(()) };
                self.updated += count;
                self.writer.updated(|| old(&some), &values.rows(&some)?)
            }
        }
    }
}

impl FileRowSets {
    /// No rows yet, of so many files.
    pub fn of_files(files: usize) -> Self {
        let none = || vec![RoaringTreemap::new(); files];
        Self { searched: vec![false; files], matched: none(), changed: none() }
    }

    /// Tells a commit which rows go, and on which others the new ones depend.
    pub fn note(
        self,
        commit: &mut RemovalCommit,
        snapshot: &Snapshot,
        depends: RowDependency,
        windows: u64,
    ) -> Result<()> {
        let Self { searched, matched, changed } = self;
        let of_searched = |rows: Vec<RoaringTreemap>| -> Vec<Option<RoaringTreemap>> {
            rows.into_iter().zip(&searched).map(|(rows, is_searched)| is_searched.then_some(rows)).collect()
        };
        let files = &snapshot.files()?.files;
        if depends == RowDependency::Presence {
            commit.note(files, of_searched(matched), windows);
            return Ok(());
        }
        commit.note(files, of_searched(changed), windows);
        commit.watch(files, matched);
        Ok(())
    }
}

/// The rows that a clause decides on; `None` if there are none.
pub(crate) fn hit_rows(rows: &RecordBatch, hits: &BooleanArray) -> Result<Option<RecordBatch>> {
    match hits.true_count() {
        0 => Ok(None),
        count if count == rows.num_rows() => Ok(Some(rows.clone())),
        _ => filter_record_batch(rows, hits).map(Some).map_err(Error::unexpected),
    }
}
