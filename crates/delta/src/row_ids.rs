//! Rows by the file that they are in and their number in it: reading them with these ids, and hiding them by these.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{and_kleene, filter_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::{Batches, Expr, InputFile, ParquetSource, Predicate, WriteOptions};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use crate::commit::{Commit, WriteBase};
use crate::deletion_vector::commit::{Changed, Depends, DvCommit, Removal, change};
use crate::deletion_vector::treemaps;
use crate::probe::Probe;
use crate::snapshot::files::TableFile;
use crate::upsert::by_files;
use crate::write::{AppTransaction, PendingFile, Published, counts, has_transaction, published};
use crate::{Snapshot, Table, VersionSpec};

/// The column of the file's name, as the log has it.
pub const FILE_COLUMN: &str = "_file";
/// The column of the row's number in its file.
pub const POSITION_COLUMN: &str = "_pos";

/// A file of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFile {
    /// Its name in the log.
    pub name: String,
    /// Its place, as plans name it.
    pub url: String,
    /// Its size.
    pub size_bytes: u64,
}

/// The files of a version.
pub fn row_files(snapshot: &Snapshot) -> Result<Vec<RowFile>> {
    let file =
        |file: &TableFile| RowFile { name: file.path.clone(), url: file.object.url(), size_bytes: file.size_bytes };
    Ok(snapshot.files()?.files.iter().map(file).collect())
}

/// The schema of rows with their ids behind them.
pub fn schema_with_ids(snapshot: &Snapshot, columns: &[String]) -> Result<SchemaRef> {
    let field = |name: &String| {
        let found = snapshot.schema().field_with_name(name).cloned();
        found.map_err(|_| Error::not_found(format!("the table has no column {name:?}")).at(snapshot.table().place()))
    };
    let mut fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    fields.push(Field::new(FILE_COLUMN, DataType::Utf8, false));
    fields.push(Field::new(POSITION_COLUMN, DataType::Int64, false));
    Ok(Arc::new(Schema::new(fields)))
}

/// The visible rows of some files of a version for which a filter is true, with their ids behind these columns.
pub fn read_with_ids(
    snapshot: &Snapshot,
    names: &[String],
    columns: &[String],
    filter: Option<&Expr>,
) -> Result<Batches> {
    let all = &snapshot.files()?.files;
    let file = |name: &String| {
        let found = all.iter().find(|file| file.path == *name);
        found.ok_or_else(|| Error::internal(format!("version {} has no file {name}", snapshot.version())))
    };
    let files = names.iter().map(file).collect::<Result<Vec<_>>>()?;
    let hidden = treemaps(snapshot.table(), &files).map_err(|error| snapshot.broken(error))?;
    let inputs = files.iter().map(|file| InputFile {
        object: file.object.clone(),
        constants: file.constants.clone(),
        // With the hidden rows, so that their numbers are those of the file.
        hidden: None,
    });
    let job = snapshot.table().job();
    let source = ParquetSource::open_table(inputs.collect(), snapshot.table_schema(), job)
        .map_err(|error| snapshot.broken(error))?;
    let schema = schema_with_ids(snapshot, columns)?;
    let condition = filter.map(|filter| Condition::new(snapshot, filter, columns)).transpose()?.map(Arc::new);
    let read = condition.as_ref().map_or_else(|| columns.to_vec(), |condition| condition.read.clone());
    let rows: Vec<Arc<Rows>> = names
        .iter()
        .zip(hidden)
        .map(|(name, hidden)| {
            let (name, schema, condition) = (name.clone(), Arc::clone(&schema), condition.clone());
            Arc::new(Rows { name, hidden: hidden.unwrap_or_default(), schema, condition, wanted: columns.len() })
        })
        .collect();
    let batches = source.row_groups().into_iter().flat_map(move |group| {
        let (read, failed) = match source.read_row_group(&group, &read) {
            Ok(read) => (Some(read), None),
            Err(error) => (None, Some(Err(error))),
        };
        let rows = rows.get(group.file).cloned();
        let batches = read.into_iter().flatten().map(move |read| {
            let (first, batch) = read?;
            rows.as_ref().ok_or_else(|| Error::internal("a row group of no file"))?.keep(first, &batch)
        });
        batches.chain(failed)
    });
    Ok(Batches::new(schema, batches))
}

/// The rows of one file.
struct Rows {
    name: String,
    /// Those that are deleted.
    hidden: RoaringTreemap,
    schema: SchemaRef,
    condition: Option<Arc<Condition>>,
    /// Columns that are wanted; those that only the filter needs stand behind them.
    wanted: usize,
}

impl Rows {
    /// The rows of a batch that are neither deleted nor left out by the filter, with their ids.
    fn keep(&self, first: u64, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let positions = Int64Array::from_iter_values((first..).take(rows).map(|row| row as i64));
        let names = StringArray::from_iter_values(std::iter::repeat_n(&self.name, rows));
        let ids: [ArrayRef; 2] = [Arc::new(names), Arc::new(positions)];
        let columns = batch.columns().iter().take(self.wanted).cloned().chain(ids).collect();
        let all = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::unexpected)?;
        let visible = BooleanBuffer::collect_bool(rows, |row| !self.hidden.contains(first + row as u64));
        let visible = BooleanArray::new(visible, None);
        let kept = match &self.condition {
            None => visible,
            Some(condition) => and_kleene(&condition.matches(batch)?, &visible).map_err(Error::unexpected)?,
        };
        filter_record_batch(&all, &kept).map_err(Error::unexpected)
    }
}

/// A filter of rows that are read with more columns than are wanted.
struct Condition {
    predicate: Predicate,
    /// The columns that are wanted, and those of the filter behind them.
    read: Vec<String>,
    /// Where the filter's columns are among these.
    places: Vec<usize>,
}

impl Condition {
    fn new(snapshot: &Snapshot, filter: &Expr, columns: &[String]) -> Result<Self> {
        let named = |error: Error| error.at(snapshot.table().place());
        let predicate = Predicate::bind(filter, snapshot.schema()).map_err(named)?;
        let (mut read, mut places) = (columns.to_vec(), Vec::new());
        for at in predicate.columns() {
            let name = snapshot.schema().field(*at).name();
            let place = read.iter().position(|known| known == name).unwrap_or_else(|| {
                read.push(name.clone());
                read.len() - 1
            });
            places.push(place);
        }
        Ok(Self { predicate, read, places })
    }

    /// Whether it is true of each row.
    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.predicate.evaluate(&batch.project(&self.places).map_err(Error::unexpected)?)
    }
}

/// What is known of the rows to hide: all of the version that they were read from.
struct Known {
    version: u64,
}

impl Probe for Known {
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        Err(Error::conflict(format!("another writer has added rows behind version {}, which was read", self.version))
            .at(snapshot.table().place())
            .advice("run it again"))
    }
}

/// The statement that changes rows by their ids, as the log tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowStatement {
    /// Its kind.
    pub kind: RowStatementKind,
    /// Conditions that the rows met, in SQL; `None` where they are not known.
    pub conditions: Option<Vec<String>>,
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
        self.conditions.iter().map(|all| ("predicate", serde_json::Value::from(all.clone()).to_string())).collect()
    }
}

/// Hides rows of a version by the names of their files and their numbers in these, and makes files the table's, in one commit. A writer that has changed the rows or added others
/// meanwhile is a conflict. `None` where the table has the transaction already.
pub fn commit_rows(
    table: &Table,
    version: u64,
    files: Vec<PendingFile>,
    hidden: HashMap<String, Vec<u64>>,
    statement: &RowStatement,
    transaction: Option<&AppTransaction>,
) -> Result<Option<Changed>> {
    let named = |error: Error| error.at(table.place());
    let published = published(table, files)?;
    if let Some(transaction) = transaction
        && has_transaction(table, transaction)?
    {
        return Ok(None);
    }
    let snapshot = table.snapshot(Some(VersionSpec::Version(version)))?;
    let load = transaction.map(|transaction| counts(&snapshot, transaction)).transpose()?;
    let removal = Removal::of(&snapshot, false, WriteOptions::default).map_err(named)?;
    let hide = DvCommit::new(Box::new(Known { version }), statement.operation(), removal);
    let mut hide = hide.with_parameters(statement.parameters()).depending(Depends::Values);
    let hidden = hidden.into_iter().map(|(name, rows)| (name, rows.into_iter().collect())).collect();
    hide.note(&snapshot.files()?.files, by_files(&snapshot, hidden)?, 1);
    let mut commit = Commit::new(table.clone(), WriteBase::Existing(Box::new(snapshot)), hide).map_err(named)?;
    commit.counts(load);
    change(&mut commit, published, Published::none()).map(Some)
}
