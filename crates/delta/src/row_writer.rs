//! Writing the rows of a change that replaces others: new files, and change files where the table has a change data feed.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_format::WriteOptions;
use lakerace_io::Result;

use crate::commit::PendingCommit;
use crate::constraint::RowChecks;
use crate::deletion_vector::commit::RemovalCommit;
use crate::snapshot::Snapshot;
use crate::upsert::ChangeFiles;
use crate::write::{DataFiles, PublishedFiles, SortedFiles};

/// The options of the files of a change.
pub(crate) struct RowWriterOptions {
    /// The options of new files.
    pub write: WriteOptions,
    /// Bytes of rows that are sorted by the table's key together; `None`: as many as a write sorts.
    pub sort_bytes: Option<u64>,
    /// True if change files get the rows as they were and as they are.
    pub feeds: bool,
    /// True if rows are only checked, and nothing is written.
    pub is_dry: bool,
}

/// Writes the rows of a change. If it is dropped before [`Self::publish`], all files are removed.
pub(crate) struct RowWriter {
    target: WriterOutput,
    changes: Option<ChangeFiles>,
}

enum WriterOutput {
    Files(Box<SortedFiles>),
    /// The rows are held against the constraints of the table, if it has any.
    Checked(Option<RowChecks>),
}

impl RowWriter {
    /// A writer of rows of this schema for a commit that follows a version.
    pub fn new(
        snapshot: &Snapshot,
        commit: &PendingCommit<RemovalCommit>,
        schema: &SchemaRef,
        options: &RowWriterOptions,
    ) -> Result<Self> {
        let table = snapshot.table();
        let state = commit.write_state()?;
        let targets = commit.targets(&state)?;
        let checks = commit.row_checks(schema, &targets)?;
        if options.is_dry {
            return Ok(Self { target: WriterOutput::Checked(checks), changes: None });
        }
        let changes = || ChangeFiles::new(table, schema, &targets, state.clone(), &options.write);
        let changes = options.feeds.then(changes).transpose()?;
        let new_files = |_: bool| -> Result<DataFiles> {
            Ok(DataFiles::new(table, schema, &targets, state, &options.write)?.checked_by(checks))
        };
        let (key, threads) = (snapshot.key(), table.job().options().threads);
        let files = SortedFiles::new(schema, &key, threads, options.sort_bytes, new_files)?;
        Ok(Self { target: WriterOutput::Files(Box::new(files)), changes })
    }

    /// Returns true if [`Self::updated`] and [`Self::deleted`] need the rows as they were.
    pub fn needs_old_rows(&self) -> bool {
        self.changes.is_some()
    }

    /// Takes rows as they are, and as they were if change files need that.
    pub fn updated(&mut self, before: impl FnOnce() -> Result<RecordBatch>, after: &RecordBatch) -> Result<()> {
        if let Some(changes) = &mut self.changes {
            changes.updated(&before()?, after)?;
        }
        self.write(after)
    }

    /// Takes new rows.
    pub fn inserted(&mut self, rows: &RecordBatch) -> Result<()> {
        if let Some(changes) = &mut self.changes {
            changes.inserted(rows)?;
        }
        self.write(rows)
    }

    /// Takes deleted rows if change files need them.
    pub fn deleted(&mut self, rows: impl FnOnce() -> Result<RecordBatch>) -> Result<()> {
        match &mut self.changes {
            Some(changes) => changes.deleted(&rows()?),
            None => Ok(()),
        }
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        match &mut self.target {
            WriterOutput::Files(files) => files.write(rows),
            WriterOutput::Checked(checks) => checks.as_ref().map_or(Ok(()), |checks| checks.check(rows)),
        }
    }

    /// Makes the files visible, which are not the table's yet: those of its rows, and those of the changes.
    pub fn publish(self) -> Result<(PublishedFiles, PublishedFiles)> {
        let changes = self.changes.map_or_else(|| Ok(PublishedFiles::none()), ChangeFiles::publish)?;
        match self.target {
            WriterOutput::Files(files) => Ok((files.publish()?, changes)),
            WriterOutput::Checked(_) => Ok((PublishedFiles::none(), changes)),
        }
    }
}
