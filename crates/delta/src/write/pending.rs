//! Writing from several processes: each writes files, and one makes all of them the table's, in one commit.

use std::collections::HashMap;

use arrow::array::{RecordBatch, StructArray};
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lakerace_format::{WriteOptions, Written};
use lakerace_io::{Error, Result, WriteMode};
use serde::{Deserialize, Serialize};

use super::files::DataFiles;
use super::memory::limited;
use super::planned_schema::PlannedSchema;
use super::published::{AddedFile, PublishedFiles};
use super::replace::{Replaced, ReplacedPartitions};
use super::replace_where::ReplacedWhere;
use super::sorted_files::SortedFiles;
use crate::commit::{CommitAction, LoadRows, PendingCommit, WriteBase};
use crate::protocol::check_defaults;
use crate::snapshot::Snapshot;
use crate::table::Table;

/// A file that a process has written. It is visible in the table's folder, and no part of the table yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingFile {
    /// Its name in the log.
    name: String,
    rows: u64,
    size_bytes: u64,
    /// Milliseconds since 1970.
    modified: i64,
    /// By the stored names of partition columns.
    partition_values: HashMap<String, Option<String>>,
    /// A stream of Arrow IPC, as base64.
    statistics: String,
}

impl PendingFile {
    /// Its rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn from_file(file: &AddedFile) -> Result<Self> {
        let batch = RecordBatch::from(file.statistics.clone());
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).map_err(Error::unexpected)?;
        writer.write(&batch).and_then(|()| writer.finish()).map_err(Error::unexpected)?;
        drop(writer);
        Ok(Self {
            name: file.name.clone(),
            rows: file.rows,
            size_bytes: file.size_bytes,
            modified: file.modified,
            partition_values: file.partition_values.clone(),
            statistics: BASE64_STANDARD.encode(bytes),
        })
    }

    fn added(self) -> Result<AddedFile> {
        let bytes = BASE64_STANDARD.decode(&self.statistics).map_err(Error::unexpected)?;
        let mut reader = StreamReader::try_new(bytes.as_slice(), None).map_err(Error::unexpected)?;
        let batch = reader.next().transpose().map_err(Error::unexpected)?;
        let batch = batch.ok_or_else(|| Error::internal(format!("the statistics of {} are gone", self.name)))?;
        Ok(AddedFile {
            name: self.name,
            rows: self.rows,
            size_bytes: self.size_bytes,
            modified: self.modified,
            partition_values: self.partition_values,
            statistics: StructArray::from(batch),
        })
    }
}

/// Writes files for a version of a table that exists. If it is dropped before [`Self::finish`], all of them are
/// removed.
pub struct TableFileWriter {
    files: SortedFiles,
}

impl TableFileWriter {
    /// Starts to write batches of this schema.
    pub fn begin(base: &Snapshot, schema: &SchemaRef, options: &WriteOptions) -> Result<Self> {
        let table = base.table();
        let named = |error: Error| error.at(table.location());
        check_defaults(base, schema).map_err(named)?;
        let key = base.key();
        let commit = PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(base.clone())), WriteMode::Append)?;
        let state = commit.write_state().map_err(named)?;
        let targets = commit.targets(&state).map_err(named)?;
        let new_files = |is_sorted: bool| -> Result<DataFiles> {
            let options = limited(options, schema.fields().len(), is_sorted)?;
            let files = DataFiles::new(table, schema, &targets, state, &options)?;
            Ok(files.checked_by(commit.row_checks(schema, &targets)?))
        };
        let threads = table.job().options().threads;
        let files = SortedFiles::new(schema, &key, threads, options.memory_bytes, new_files).map_err(named)?;
        Ok(Self { files })
    }

    /// Writes a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.files.write(batch)
    }

    /// Ends the files, which [`commit_files`] makes the table's, or [`discard_files`] removes.
    pub fn finish(self) -> Result<Vec<PendingFile>> {
        hand_over(self.files.publish()?)
    }
}

/// Hands files over to the process that commits them, whose entry of the log can't sync files of another process.
pub(crate) fn hand_over(mut published: PublishedFiles) -> Result<Vec<PendingFile>> {
    published.sync_names()?;
    let pending = published.files().iter().map(PendingFile::from_file).collect::<Result<Vec<_>>>()?;
    published.written();
    Ok(pending)
}

/// A transaction of an application: the log keeps the last number of each name (`txn`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppTransaction {
    /// The application's name.
    pub name: String,
    /// Grows from one of its transactions to the next.
    pub number: u64,
}

/// The parts of a commit of files in addition to these.
#[derive(Debug, Clone, Copy, Default)]
pub struct FilesCommit<'a> {
    /// The commit takes effect once.
    pub transaction: Option<&'a AppTransaction>,
    /// The columns that the files were written for, where the table does not have these yet.
    pub planned: Option<&'a PlannedSchema>,
    /// The operation that the log names in place of a write.
    pub operation: Option<&'a str>,
}

/// Commits files, which were written for the version `base`, in one commit. `None` where there is nothing to commit: an
/// append without rows and without a transaction changes nothing, or the table has this transaction or a later one already.
/// The files are then removed. They are also removed after an error, unless it is unknown whether the commit exists.
pub fn commit_files(
    base: &Snapshot,
    files: Vec<PendingFile>,
    replaced: Replaced,
    options: &FilesCommit<'_>,
) -> Result<Option<Written>> {
    let FilesCommit { transaction, planned, .. } = *options;
    if planned.is_some_and(PlannedSchema::replaces) && replaced != Replaced::Table {
        return Err(Error::internal("other columns in place of a table whose rows stay"));
    }
    let published = published(base.table(), files)?;
    if let Some(transaction) = transaction
        && has_transaction(&base.table().snapshot_after(base, None)?, transaction)?
    {
        return Ok(None);
    }
    let removes_none = match replaced {
        Replaced::Nothing => true,
        Replaced::Partitions => !base.partition_columns().is_empty(),
        Replaced::Where(_) | Replaced::Table => false,
    };
    if removes_none && transaction.is_none() && planned.is_none() && published.rows() == 0 {
        return Ok(None);
    }
    base.check_in_log()?;
    let load = transaction.map(|transaction| counts(base, transaction)).transpose()?;
    let written = match replaced {
        Replaced::Nothing => commit(base, WriteMode::Append, load, options, published),
        Replaced::Partitions if !base.partition_columns().is_empty() => {
            let partitions = ReplacedPartitions::from_files(base, published.files())?;
            commit(base, partitions, load, options, published)
        }
        Replaced::Where(condition) => {
            let mut partitions = ReplacedWhere::new(base, condition)?;
            partitions.check_files(base, published.files())?;
            commit(base, partitions, load, options, published)
        }
        Replaced::Partitions | Replaced::Table => commit(base, WriteMode::Overwrite, load, options, published),
    };
    written.map(Some)
}

fn commit<S: CommitAction>(
    base: &Snapshot,
    action: S,
    load: Option<LoadRows>,
    options: &FilesCommit<'_>,
    mut published: PublishedFiles,
) -> Result<Written> {
    let commit = PendingCommit::new(base.table().clone(), WriteBase::Existing(Box::new(base.clone())), action)?;
    let mut commit = commit.planned(options.planned).called(options.operation);
    commit.counts(load);
    match commit.run(published.files()) {
        Ok(version) => Ok(Written { version, ..published.written() }),
        Err((error, outcome)) => {
            published.abort(outcome);
            Err(error)
        }
    }
}

/// Makes the count of a transaction for the log, from a version on that does not have it.
pub(crate) fn counts(snapshot: &Snapshot, transaction: &AppTransaction) -> Result<LoadRows> {
    let before = LoadRows::counted(snapshot, &transaction.name)?;
    Ok(LoadRows { name: transaction.name.clone(), before, after: transaction.number })
}

/// Returns true if a version has a transaction, or a later one, already.
pub fn has_transaction(snapshot: &Snapshot, transaction: &AppTransaction) -> Result<bool> {
    let counted = LoadRows::counted(snapshot, &transaction.name)?;
    Ok(counted.is_some_and(|counted| counted >= transaction.number))
}

/// Removes files that are not to be the table's.
pub fn discard_files(table: &Table, files: Vec<PendingFile>) -> Result<()> {
    drop(published(table, files)?);
    Ok(())
}

/// Files as those of a write of this process: dropped, they are removed, unless the log gets them.
pub(crate) fn published(table: &Table, files: Vec<PendingFile>) -> Result<PublishedFiles> {
    let mut published = PublishedFiles::removed();
    for file in files {
        let file = file.added()?;
        let object = table.object(&file.name)?;
        published.push(file, object, Vec::new());
    }
    Ok(published)
}
