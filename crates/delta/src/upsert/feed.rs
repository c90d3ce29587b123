//! The change files of an upsert, for tables with a change data feed: how each row was before and is now.
//!
//! Format: <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-data-files>.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow::compute::{filter_record_batch, not};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use delta_kernel::transaction::WriteState;
use lakerace_format::WriteOptions;
use lakerace_io::{Error, Result};

use crate::changes::CHANGE_TYPE;
use crate::commit::TargetColumns;
use crate::table::Table;
use crate::write::{DataFiles, PublishedFiles, TargetColumn};

/// Writes the changes of rows. Readers read a version with change files from these alone, so that they contain every
/// changed row.
pub(crate) struct ChangeFiles {
    files: DataFiles,
    schema: SchemaRef,
    /// True if any row was replaced. Where all are new, readers learn that by the data files.
    has_updates: bool,
}

/// The change of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowChange {
    Insert,
    Delete,
    Before,
    After,
}

impl RowChange {
    fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Before => "update_preimage",
            Self::After => "update_postimage",
        }
    }
}

impl ChangeFiles {
    /// For rows of these columns.
    pub fn new(
        table: &Table,
        columns: &SchemaRef,
        targets: &TargetColumns,
        state: Arc<WriteState>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
        let kind = Arc::new(Field::new(CHANGE_TYPE, DataType::Utf8, false));
        let fields: Vec<FieldRef> = columns.fields().iter().map(nullable).chain([Arc::clone(&kind)]).collect();
        let schema = Arc::new(Schema::new(fields));
        let mut targets = targets.clone();
        targets.data.push(TargetColumn { logical: Arc::clone(&kind), stored: kind });
        let files = DataFiles::new(table, &schema, &targets, state, options)?.of_changes();
        Ok(Self { files, schema, has_updates: false })
    }

    /// Takes rows in their new state and, where `is_known`, in their old state.
    pub fn upserted(&mut self, old: &RecordBatch, is_known: &BooleanArray, new: &RecordBatch) -> Result<()> {
        let is_new = not(is_known).map_err(unfit)?;
        self.write(RowChange::Before, &filter_record_batch(old, is_known).map_err(unfit)?)?;
        self.write(RowChange::After, &filter_record_batch(new, is_known).map_err(unfit)?)?;
        self.write(RowChange::Insert, &filter_record_batch(new, &is_new).map_err(unfit)?)
    }

    /// Takes rows in their old and in their new state.
    pub fn updated(&mut self, old: &RecordBatch, new: &RecordBatch) -> Result<()> {
        self.write(RowChange::Before, old)?;
        self.write(RowChange::After, new)
    }

    /// Takes new rows.
    pub fn inserted(&mut self, rows: &RecordBatch) -> Result<()> {
        self.write(RowChange::Insert, rows)
    }

    /// Takes deleted rows that nothing replaces.
    pub fn deleted(&mut self, rows: &RecordBatch) -> Result<()> {
        self.write(RowChange::Delete, rows)
    }

    fn write(&mut self, change: RowChange, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.has_updates |= change != RowChange::Insert;
        let kind: ArrayRef =
            Arc::new(StringArray::from_iter_values(std::iter::repeat_n(change.name(), rows.num_rows())));
        let columns = rows.columns().iter().cloned().chain([kind]).collect();
        self.files.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(unfit)?)
    }

    /// Publishes the files, if they contain anything that the data files do not.
    pub fn publish(self) -> Result<PublishedFiles> {
        if self.has_updates { self.files.publish() } else { Ok(PublishedFiles::none()) }
    }
}

fn unfit(error: arrow::error::ArrowError) -> Error {
    Error::internal("changed rows don't fit their schema").because(error)
}
