//! As many rows of a source as fit into memory, in the order of their keys: one row a key, or all.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_io::option::{Choice, ON_DUPLICATE};
use lakerace_io::{Error, Result};

use super::operator::MergeOperators;
use crate::key::{KeyColumns, KeySet, Keys};
use crate::rows::{KeyedRows, NumberedRows, OrderedRows, PackedBatch, RowPacking, SortedRows};

/// The treatment of rows of one source that have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDuplicate {
    /// The last one counts. Where a column has an operator, the rows are merged by it in their order.
    #[default]
    Last,
    /// They are an error that names the first two.
    Error,
}

impl Choice for OnDuplicate {
    const CHOICES: &'static [(&'static str, Self)] = &[("last", Self::Last), ("error", Self::Error)];
}

/// The rows of a chunk that have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EqualKeys {
    /// They become one row, or are an error.
    One(OnDuplicate),
    /// All of them stay, in their order.
    All,
}

impl From<OnDuplicate> for EqualKeys {
    fn from(on_duplicate: OnDuplicate) -> Self {
        Self::One(on_duplicate)
    }
}

/// Collects rows until they are many enough for a [`SortedChunk`].
#[derive(Debug)]
pub(crate) struct ChunkBuilder {
    columns: KeyColumns,
    rows: KeyedRows,
    first_row: Option<u64>,
}

/// Prepares batches for a [`ChunkBuilder`], on several threads, while the builder is elsewhere.
pub(crate) struct ChunkReader {
    columns: KeyColumns,
    packing: Option<Arc<RowPacking>>,
}

/// Rows with their keys.
pub(crate) enum ReadRows {
    Whole(RecordBatch, Keys),
    Packed(PackedBatch),
}

impl ChunkReader {
    /// A reader of rows of this schema, on so many threads.
    pub fn new(columns: KeyColumns, schema: &SchemaRef, threads: usize) -> Self {
        Self { columns, packing: RowPacking::new(schema, threads).map(Arc::new) }
    }

    /// Reads a batch on a thread of this number, packing its rows if `packs`. Errors are those of [`KeyColumns::keys`].
    pub fn read(&self, batch: RecordBatch, first_row: u64, packs: bool, thread: usize) -> Result<ReadRows> {
        let keys = self.columns.keys(&batch, first_row)?;
        match self.packing.as_ref().filter(|_| packs) {
            Some(packing) => packing.pack_alone(&batch, Some(&keys), thread).map(ReadRows::Packed),
            None => Ok(ReadRows::Whole(batch, keys)),
        }
    }
}

/// Rows in the order of their keys, and the distinct keys.
#[derive(Debug)]
pub(crate) struct SortedChunk {
    rows: OrderedRows,
    keys: Arc<KeySet>,
    /// The place of the first row of each key, and the number of rows. `None`: each key has one row.
    starts: Option<Vec<u32>>,
    /// The approximate bytes of the rows' values.
    row_bytes: usize,
}

impl ChunkBuilder {
    /// No rows yet, of a source with this schema, to be packed and sorted on so many threads. Errors count its rows
    /// from `first_row`, or name none.
    pub fn new(columns: KeyColumns, schema: SchemaRef, first_row: Option<u64>, threads: usize) -> Self {
        let rows = KeyedRows::new(schema, columns.no_keys(), threads);
        Self { columns, rows, first_row }
    }

    /// As [`Self::new`], of rows that are packed in this way.
    pub fn packed_by(reader: &ChunkReader, schema: SchemaRef, first_row: u64, threads: usize) -> Self {
        let (columns, packing) = (reader.columns.clone(), reader.packing.clone());
        let rows = KeyedRows::packed_by(schema, columns.no_keys(), threads, packing);
        Self { columns, rows, first_row: Some(first_row) }
    }

    /// Appends a batch of the source's schema. Errors are those of [`KeyColumns::keys`].
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let first_row = self.first_row.unwrap_or(0) + self.rows.len() as u64;
        let keys = self.columns.keys(&batch, first_row)?;
        self.rows.push(batch, keys)
    }

    /// Appends rows that were read by the reader of this builder.
    pub fn push_read(&mut self, rows: ReadRows) -> Result<()> {
        match rows {
            ReadRows::Whole(batch, keys) => self.rows.push(batch, keys),
            ReadRows::Packed(batch) => self.rows.push_packed(batch),
        }
    }

    /// Returns true if rows are packed, because they are not in the order of their keys.
    pub fn is_packed(&self) -> bool {
        self.rows.is_packed()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// See [`KeyedRows::make_room`].
    pub fn make_room(&mut self, limit_bytes: usize) {
        self.rows.make_room(limit_bytes);
    }

    /// Returns true if no more should be pushed: the rows take `limit_bytes`, or are as many as can be counted.
    pub fn is_full(&self, limit_bytes: usize) -> bool {
        self.rows.is_full(limit_bytes)
    }

    /// The memory that the rows take once they are sorted, in bytes.
    #[cfg(test)]
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
    }

    /// Sorts the rows. Those with the same key become one, unless all of them stay.
    ///
    /// Errors: `Invalid` for a key that occurs twice where that is an error, and those of the operators.
    pub fn finish(self, equal_keys: impl Into<EqualKeys>, operators: &MergeOperators) -> Result<SortedChunk> {
        let Self { columns, rows, first_row } = self;
        let (count, row_bytes, schema) = (rows.len(), rows.bytes(), Arc::clone(rows.schema()));
        let SortedRows { keys, mut rows, order: sorted } = rows.sort();
        let chunk = |rows, keys, order| {
            let rows = OrderedRows::new(Arc::clone(&schema), rows, order);
            SortedChunk { rows, keys: Arc::new(KeySet::new(keys)), starts: None, row_bytes }
        };
        let repeated = keys.repeated();
        if repeated.is_empty() {
            return Ok(chunk(rows, keys, sorted));
        }
        let EqualKeys::One(on_duplicate) = equal_keys.into() else {
            let mut starts = first_rows(count, &repeated);
            let keys = keys.take(&starts);
            starts.push(count as u32);
            return Ok(SortedChunk { starts: Some(starts), ..chunk(rows, keys, sorted) });
        };
        let mut order = sorted.unwrap_or_else(|| (0..count as u32).collect());
        if let (OnDuplicate::Error, Some(two)) = (on_duplicate, repeated.first()) {
            let number = |row: u32| first_row.map(|first| first + u64::from(rows.origin(row)));
            let who = match (number(order[two.start]), number(order[two.start + 1])) {
                (Some(first), Some(second)) => format!("rows {first} and {second}"),
                _ => "two rows".to_owned(),
            };
            let key = rows.describe(&schema, order[two.start], &columns)?;
            return Err(Error::invalid(format!("{who} have the same key, {key}"))
                .advice(format!("exclude one, or keep the last one with {}", ON_DUPLICATE.to("last"))));
        }
        if operators.combine_rows() {
            let merged = merged_rows(&schema, &rows, &order, &repeated, operators)?;
            for (row, range) in repeated.iter().enumerate() {
                order[range.end - 1] = (count + row) as u32;
            }
            rows.push(merged)?;
        }
        let kept = kept_rows(order.len(), &repeated);
        let order = kept.iter().map(|row| order[*row as usize]).collect();
        Ok(chunk(rows, keys.take(&kept), Some(order)))
    }
}

/// Keeps the last row of each key among rows in order.
pub(super) fn kept_rows(rows: usize, repeated: &[Range<usize>]) -> Vec<u32> {
    let mut kept = Vec::with_capacity(rows);
    let mut next = 0;
    for range in repeated {
        kept.extend(next as u32..range.start as u32);
        kept.push(range.end as u32 - 1);
        next = range.end;
    }
    kept.extend(next as u32..rows as u32);
    kept
}

/// The place of the first row of each key among rows in order.
fn first_rows(rows: usize, repeated: &[Range<usize>]) -> Vec<u32> {
    let mut starts = Vec::with_capacity(rows);
    let mut next = 0;
    for range in repeated {
        starts.extend(next as u32..=range.start as u32);
        next = range.end;
    }
    starts.extend(next as u32..rows as u32);
    starts
}

/// Makes a row for each range of rows with the same key.
fn merged_rows(
    schema: &SchemaRef,
    rows: &NumberedRows,
    order: &[u32],
    repeated: &[Range<usize>],
    operators: &MergeOperators,
) -> Result<RecordBatch> {
    let take = |of: &dyn Fn(&Range<usize>) -> usize| rows.gather(schema, repeated.iter().map(|range| order[of(range)]));
    let mut merged = take(&|range| range.start)?;
    let most = repeated.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    for nth in 1..most {
        // Keys that have no row any more keep what they have: their last row counts as no match.
        let has_row: Vec<bool> = repeated.iter().map(|range| nth < range.len()).collect();
        let next = take(&|range| (range.start + nth).min(range.end - 1))?;
        merged = operators.merge_where(&has_row, &merged, &next)?;
    }
    Ok(merged)
}

impl SortedChunk {
    /// The keys, in order.
    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// The source's columns.
    #[cfg(test)]
    pub fn schema(&self) -> &SchemaRef {
        self.rows.schema()
    }

    /// The number of keys, which is that of rows unless all rows of a key stay.
    pub fn rows(&self) -> usize {
        self.keys.keys().len()
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.starts.as_ref().and_then(|starts| starts.last()).map_or(self.rows(), |rows| *rows as usize)
    }

    /// The places of the rows of a key, by its number.
    pub fn places_of(&self, key: u32) -> Range<u32> {
        match &self.starts {
            None => key..key + 1,
            Some(starts) => starts[key as usize]..starts[key as usize + 1],
        }
    }

    /// The approximate bytes of the rows' values.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The rows, in the order of the keys.
    pub fn sorted(&self) -> &OrderedRows {
        &self.rows
    }

    /// Keys without rows, which would have this schema.
    pub fn of_keys(schema: SchemaRef, keys: KeySet) -> Self {
        Self { rows: OrderedRows::none(schema), keys: Arc::new(keys), starts: None, row_bytes: 0 }
    }

    /// Keeps the keys, without their rows.
    pub fn keys_alone(&self) -> Self {
        let rows = OrderedRows::none(Arc::clone(self.rows.schema()));
        Self { rows, keys: Arc::clone(&self.keys), starts: None, row_bytes: 0 }
    }
}

#[cfg(test)]
mod tests;
