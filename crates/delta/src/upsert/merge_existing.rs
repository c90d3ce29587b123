//! Rows that are made from a source's and the table's: columns that the source does not have keep their values, and
//! others are merged by their operators.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, GenericByteViewArray, RecordBatch, RecordBatchOptions, new_null_array,
};
use arrow::compute::interleave;
use arrow::datatypes::{ByteViewType, DataType, Field, FieldRef, Schema, SchemaRef};
use lakerace_format::{DeletedRows, InputFile, ParquetSource, ReadRequest, Source, TableSchema};
use lakerace_io::{Error, Result};

use super::feed::ChangeFiles;
use super::key_windows::Match;
use super::operator::MergeOperators;
use super::sorted_chunk::SortedChunk;
use crate::snapshot::files::TableFile;
use crate::snapshot::{Snapshot, row_counts};

/// The conversion of a window's rows to rows of the table.
pub(crate) struct RowMerge<'a> {
    pub snapshot: &'a Snapshot,
    /// The table's columns, as they will be.
    pub table_schema: &'a Arc<TableSchema>,
    /// The columns that are written: the source's, then those that it does not have.
    pub schema: &'a SchemaRef,
    pub operators: &'a MergeOperators,
    /// Bytes that rows of the table may take in memory.
    pub memory_bytes: usize,
}

/// Files with the rows of them that a window has keys of.
pub(crate) struct FilesWithRows<'a> {
    pub files: Vec<(&'a TableFile, Vec<Match>)>,
}

/// Rows that are merged at a time at most.
const SLICE_ROWS: usize = 65_536;
/// The parts of the memory of which a batch of old rows takes one.
const BATCHES_IN_MEMORY: u64 = 4;
/// Bytes in memory for a byte of a file, where nothing better is known.
const EXPANSION: u64 = 4;

impl RowMerge<'_> {
    /// The rows of a window, merged with those of the table, in order. `changes` takes them with the rows that they replace.
    pub fn rows(
        &self,
        window: &SortedChunk,
        found: &FilesWithRows<'_>,
        write: &mut dyn FnMut(&RecordBatch) -> Result<()>,
        mut changes: Option<&mut ChangeFiles>,
    ) -> Result<()> {
        let fields = self.old_fields(changes.is_some());
        // All other rows of a file are left out, up to its last one.
        let touched: Vec<&TableFile> = found.files.iter().map(|(file, _)| *file).collect();
        let counts = row_counts::count(self.snapshot, &touched)?;
        let step = self.step_rows(found, &counts, &fields);
        for start in (0..window.rows()).step_by(step) {
            let range = start..(start + step).min(window.rows());
            let old = self.old(found, &counts, &range, &fields)?;
            if let (Some(changes), Some(rows)) = (&mut changes, old.repeated()?) {
                changes.deleted(&rows)?;
            }
            for slice in window.sorted().cut(range, SLICE_ROWS) {
                let before = old.rows(slice.clone())?;
                let rows = self.merged(&window.sorted().slice(slice.clone())?, &before)?;
                write(&rows)?;
                if let Some(changes) = &mut changes {
                    changes.upserted(&before, &old.has_row(slice), &rows)?;
                }
            }
        }
        Ok(())
    }

    /// The columns that are read of the table: all, in their order, or those that the written ones depend on.
    fn old_fields(&self, all: bool) -> Vec<FieldRef> {
        let needs = |field: &&FieldRef| all || self.operators.for_column(field.name()).needs_old();
        self.schema.fields().iter().filter(needs).cloned().collect()
    }

    /// Keys whose rows of the table fit into memory.
    fn step_rows(&self, found: &FilesWithRows<'_>, counts: &[u64], fields: &[FieldRef]) -> usize {
        let fixed: u64 = fields.iter().map(|field| width(field.data_type())).sum();
        let bytes = found.files.iter().fold(0u64, |bytes, (file, _)| bytes.saturating_add(file.size_bytes));
        let rows = counts.iter().fold(0u64, |all, rows| all.saturating_add(*rows));
        let row_bytes = fixed + EXPANSION * bytes / rows.max(1);
        (self.memory_bytes as u64 / row_bytes.max(1)).clamp(1024, u64::from(u32::MAX)) as usize
    }

    /// The rows of the table whose keys are in a range.
    fn old(
        &self,
        found: &FilesWithRows<'_>,
        counts: &[u64],
        range: &Range<usize>,
        fields: &[FieldRef],
    ) -> Result<ExistingRows> {
        let is_in = |key: u32| range.contains(&(key as usize));
        let (mut inputs, mut keys) = (Vec::new(), Vec::new());
        for ((file, matches), count) in found.files.iter().zip(counts) {
            let wanted: Vec<Match> = matches.iter().copied().filter(|(_, key)| is_in(*key)).collect();
            let Some((last, _)) = wanted.last() else { continue };
            let rows = (*count).max(last + 1);
            let hidden = DeletedRows::all_but(wanted.iter().map(|(row, _)| *row), rows)?;
            let (object, constants) = (file.object.clone(), file.constants.clone());
            inputs.push(InputFile { object, constants, hidden: Some(Arc::new(hidden)), stated_rows: file.rows });
            keys.extend(wanted.iter().map(|(_, key)| *key));
        }
        let columns = fields.iter().map(|field| field.name().clone()).collect();
        let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.iter().map(nullable).collect::<Vec<_>>()));
        let (mut batches, mut places, mut repeated, mut number) =
            (Vec::new(), vec![NOWHERE; range.len()], Vec::new(), 0);
        if !inputs.is_empty() {
            let job = self.snapshot.table().job();
            let source = ParquetSource::open_table(inputs, self.table_schema, job)
                .map_err(|error| self.snapshot.broken(error))?;
            let batch_rows = source.batch_rows_within(self.memory_bytes as u64 / BATCHES_IN_MEMORY);
            let plan = source.plan(&ReadRequest { columns: Some(columns), batch_rows, ..ReadRequest::default() })?;
            for batch in source.read(&plan)? {
                let batch = without_pages(batch?)?;
                for row in 0..batch.num_rows() {
                    let key = keys.get(number).ok_or_else(other_rows)?;
                    // If the table has a key more than once, its last row counts.
                    let place = (batches.len() as u32 + 1, row as u32);
                    let before = std::mem::replace(&mut places[*key as usize - range.start], place);
                    repeated.extend((before != NOWHERE).then_some(before));
                    number += 1;
                }
                batches.push(batch);
            }
        }
        if number != keys.len() {
            return Err(other_rows());
        }
        Ok(ExistingRows { schema, batches, first_key: range.start, places, repeated })
    }

    /// Rows of the source as rows of the table.
    fn merged(&self, new: &RecordBatch, old: &RecordBatch) -> Result<RecordBatch> {
        let needed = (0..old.num_columns())
            .filter(|at| self.operators.for_column(old.schema_ref().field(*at).name()).needs_old());
        let old = old.project(&needed.collect::<Vec<_>>()).map_err(unfit)?;
        let rows = new.num_rows();
        let column = |name: &str, data_type: &DataType| match new.column_by_name(name) {
            Some(column) => Arc::clone(column),
            // A null is no news.
            None => new_null_array(data_type, rows),
        };
        let fresh = old.schema_ref().fields().iter().map(|field| column(field.name(), field.data_type())).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let fresh = RecordBatch::try_new_with_options(old.schema(), fresh, &options).map_err(unfit)?;
        let merged = match old.num_columns() {
            0 => fresh,
            _ => self.operators.merge_where(&vec![true; rows], &old, &fresh)?,
        };
        let columns = self.schema.fields().iter().map(|field| match merged.column_by_name(field.name()) {
            Some(merged) => Arc::clone(merged),
            None => column(field.name(), field.data_type()),
        });
        let columns: Vec<ArrayRef> = columns.collect();
        for (field, column) in self.schema.fields().iter().zip(&columns) {
            if !field.is_nullable() && column.null_count() > 0 {
                let message = format!("the new rows do not have the column {:?}, which the table needs", field.name());
                return Err(Error::invalid(message).advice("add the column to the rows"));
            }
        }
        RecordBatch::try_new_with_options(Arc::clone(self.schema), columns, &options).map_err(unfit)
    }
}

/// The place of a key that the table does not have: a row of nulls in front of all batches.
const NOWHERE: (u32, u32) = (0, 0);

/// Rows of the table.
struct ExistingRows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    first_key: usize,
    /// The place of a key's row: the batch, counted from 1, and the row in it.
    places: Vec<(u32, u32)>,
    /// The places of further rows of keys that the table has more than once.
    repeated: Vec<(u32, u32)>,
}

impl ExistingRows {
    /// The rows of a range of keys; nulls for those that the table does not have.
    fn rows(&self, keys: Range<usize>) -> Result<RecordBatch> {
        self.at(self.places(keys))
    }

    /// Which keys of a range the table has.
    fn has_row(&self, keys: Range<usize>) -> BooleanArray {
        self.places(keys).iter().map(|place| Some(*place != NOWHERE)).collect()
    }

    /// Further rows of keys that the table has more than once.
    fn repeated(&self) -> Result<Option<RecordBatch>> {
        (!self.repeated.is_empty()).then(|| self.at(&self.repeated)).transpose()
    }

    fn places(&self, keys: Range<usize>) -> &[(u32, u32)] {
        &self.places[keys.start - self.first_key..keys.end - self.first_key]
    }

    fn at(&self, places: &[(u32, u32)]) -> Result<RecordBatch> {
        let at: Vec<(usize, usize)> = places.iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
        let column = |(number, field): (usize, &FieldRef)| {
            let none = new_null_array(field.data_type(), 1);
            let arrays = std::iter::once(none.as_ref()).chain(self.batches.iter().map(|b| b.column(number).as_ref()));
            interleave(&arrays.collect::<Vec<_>>(), &at).map_err(unfit)
        };
        let columns = self.schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(unfit)
    }
}

/// A copy of a batch whose texts do not share memory with pages: a few rows of each page would keep all pages in
/// memory.
fn without_pages(batch: RecordBatch) -> Result<RecordBatch> {
    let own = |column: &ArrayRef| -> ArrayRef {
        if let Some(texts) = column.as_string_view_opt()
            && is_wasteful(texts)
        {
            return Arc::new(texts.gc());
        }
        match column.as_binary_view_opt() {
            Some(bytes) if is_wasteful(bytes) => Arc::new(bytes.gc()),
            _ => Arc::clone(column),
        }
    };
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), batch.columns().iter().map(own).collect(), &options)
        .map_err(unfit)
}

fn is_wasteful<T: ByteViewType>(values: &GenericByteViewArray<T>) -> bool {
    let held: usize = values.data_buffers().iter().map(|buffer| buffer.capacity()).sum();
    held > 2 * values.total_buffer_bytes_used()
}

/// Bytes of a value in memory, at least.
fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::Utf8View | DataType::BinaryView => 16,
        DataType::Struct(fields) => fields.iter().map(|field: &Arc<Field>| width(field.data_type())).sum(),
        other => other.primitive_width().unwrap_or(4) as u64,
    }
}

/// Files gave other rows than were asked for, up to the last one that the log knows of.
fn other_rows() -> Error {
    Error::corrupt("a file has more rows than the log says").advice("nothing was changed; restore the table's log")
}

fn unfit(error: arrow::error::ArrowError) -> Error {
    Error::internal("merged rows don't fit their schema").because(error)
}
