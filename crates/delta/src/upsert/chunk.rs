//! As many rows of a source as fit into memory, in the order of their keys, one row a key.

use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use lakerace_io::{Error, Result};

use super::gather::gather;
use super::operator::MergeOperators;
use crate::key::{KeyColumns, KeySet, Keys};

/// What becomes of rows of one source that have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDuplicate {
    /// The last one counts. Where a column has an operator, the rows are merged by it in their order.
    #[default]
    Last,
    /// They are an error that names the first two.
    Error,
}

impl FromStr for OnDuplicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "last" => Ok(Self::Last),
            "error" => Ok(Self::Error),
            other => {
                Err(Error::usage(format!("{other:?} does not say what becomes of duplicates"))
                    .advice("say last or error"))
            }
        }
    }
}

/// Collects rows until they are many enough for a [`Chunk`].
#[derive(Debug)]
pub(crate) struct ChunkBuilder {
    columns: KeyColumns,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    keys: Keys,
    first_row: Option<u64>,
    rows: usize,
    batch_bytes: usize,
    threads: usize,
}

/// Rows in the order of their keys, which are distinct.
#[derive(Debug)]
pub(crate) struct Chunk {
    schema: SchemaRef,
    rows: Rows,
    keys: Arc<KeySet>,
    /// The bytes of the rows' values, about.
    row_bytes: usize,
    /// The row of each key, numbered over all batches. `None`: all rows of all batches as they come.
    order: Option<Vec<u32>>,
}

/// Batches whose rows are numbered one behind the other.
#[derive(Debug)]
struct Rows {
    batches: Vec<RecordBatch>,
    /// The number of the first row of each.
    firsts: Vec<u32>,
    /// The batch of every row whose number is a multiple of [`HINT_ROWS`]: to find a row's own batch takes few steps from it.
    hints: Vec<u32>,
}

/// Rows between those whose batch is kept.
const HINT_ROWS: usize = 4096;

/// What sorting needs beside each row and its key, in bytes: the row, and the sorted key.
const SORTING_BYTES_PER_ROW: usize = 4 + 16;

impl ChunkBuilder {
    /// No rows yet, of a source with this schema. Errors will count its rows from `first_row`, or not name any.
    pub fn new(columns: KeyColumns, schema: SchemaRef, first_row: Option<u64>) -> Self {
        let keys = columns.no_keys();
        Self { columns, schema, batches: Vec::new(), keys, first_row, rows: 0, batch_bytes: 0, threads: 1 }
    }

    /// Sorts on so many threads, where it were one.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Takes in a batch of the source's schema. Errors are those of [`KeyColumns::keys`].
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let first_row = self.first_row.unwrap_or(0) + self.rows as u64;
        self.keys.append(self.columns.keys(&batch, first_row)?);
        self.rows += batch.num_rows();
        self.batch_bytes += batch.columns().iter().map(value_bytes).sum::<usize>();
        self.batches.push(batch);
        Ok(())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The memory that the rows take once they are sorted, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.batch_bytes
            + self.keys.memory_bytes()
            + self.rows * SORTING_BYTES_PER_ROW
            + KeySet::lookup_bytes(self.rows)
    }

    /// Whether no more should be pushed: the rows take `limit_bytes`, or are as many as can be counted.
    pub fn is_full(&self, limit_bytes: usize) -> bool {
        self.memory_bytes() >= limit_bytes || self.rows >= (u32::MAX / 2) as usize
    }

    /// Sorts the rows and makes one of those with the same key.
    ///
    /// Errors: `Invalid` for a key that comes twice where that is to be one, and those of the operators.
    pub fn finish(self, on_duplicate: OnDuplicate, operators: &MergeOperators) -> Result<Chunk> {
        let Self { columns, schema, batches, keys, first_row, rows: count, batch_bytes, threads } = self;
        let mut rows = Rows::new(batches);
        let (keys, sorted) = keys.sorted(threads);
        let repeated = keys.repeated();
        if repeated.is_empty() {
            return Ok(Chunk {
                schema,
                rows,
                keys: Arc::new(KeySet::new(keys)),
                row_bytes: batch_bytes,
                order: sorted,
            });
        }
        let mut order = sorted.unwrap_or_else(|| (0..count as u32).collect());
        if let (OnDuplicate::Error, Some(two)) = (on_duplicate, repeated.first()) {
            let number = |row: u32| first_row.map(|first| first + u64::from(row));
            let who = match (number(order[two.start]), number(order[two.start + 1])) {
                (Some(first), Some(second)) => format!("rows {first} and {second}"),
                _ => "two rows".to_owned(),
            };
            let key = rows.describe(order[two.start], &columns);
            return Err(Error::invalid(format!("{who} have the same key, {key}"))
                .advice("leave one out, or let the last one count"));
        }
        if operators.combine_rows() {
            let merged = merged_rows(&schema, &rows, &order, &repeated, operators)?;
            for (row, range) in repeated.iter().enumerate() {
                order[range.end - 1] = (count + row) as u32;
            }
            rows.push(merged);
        }
        let kept = kept_rows(order.len(), &repeated);
        let order = kept.iter().map(|row| order[*row as usize]).collect();
        Ok(Chunk {
            schema,
            rows,
            keys: Arc::new(KeySet::new(keys.take(&kept))),
            row_bytes: batch_bytes,
            order: Some(order),
        })
    }
}

impl Rows {
    fn new(batches: Vec<RecordBatch>) -> Self {
        let mut rows = Self { batches: Vec::with_capacity(batches.len() + 1), firsts: Vec::new(), hints: Vec::new() };
        batches.into_iter().for_each(|batch| rows.push(batch));
        rows
    }

    fn push(&mut self, batch: RecordBatch) {
        let last = self.firsts.last().zip(self.batches.last());
        let first = last.map_or(0, |(first, batch)| first + batch.num_rows() as u32);
        let end = first as usize + batch.num_rows();
        self.hints.resize(end.div_ceil(HINT_ROWS), self.batches.len() as u32);
        self.firsts.push(first);
        self.batches.push(batch);
    }

    /// The batch of a row, and the row in it.
    fn place(&self, row: u32) -> (usize, usize) {
        let mut batch = self.hints[row as usize / HINT_ROWS] as usize;
        while self.firsts.get(batch + 1).is_some_and(|first| *first <= row) {
            batch += 1;
        }
        (batch, (row - self.firsts[batch]) as usize)
    }

    /// These rows, in this order.
    fn gather(&self, schema: &SchemaRef, rows: impl Iterator<Item = u32>) -> Result<RecordBatch> {
        let at: Vec<(usize, usize)> = rows.map(|row| self.place(row)).collect();
        gather(schema, &self.batches, &at).map_err(broken)
    }

    /// The key of a row, for people.
    fn describe(&self, row: u32, columns: &KeyColumns) -> String {
        let (batch, row) = self.place(row);
        let value = |name: &str| {
            let array = self.batches[batch].column_by_name(name)?;
            let value = arrow::util::display::array_value_to_string(array, row).ok()?;
            Some(format!("{name} = {value}"))
        };
        columns.names().filter_map(value).collect::<Vec<_>>().join(", ")
    }
}

/// The bytes of an array's own values. What else is in buffers that it shares with other arrays, they account for.
fn value_bytes(array: &ArrayRef) -> usize {
    let views = |used: usize| array.len() * size_of::<u128>() + used;
    match array.data_type() {
        DataType::Utf8View => views(array.as_string_view().total_buffer_bytes_used()),
        DataType::BinaryView => views(array.as_binary_view().total_buffer_bytes_used()),
        // Layouts that have no such size are taken for all they hold.
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

/// Of rows in order, the last one of each key.
fn kept_rows(rows: usize, repeated: &[std::ops::Range<usize>]) -> Vec<u32> {
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

/// One row for each range of rows with the same key.
fn merged_rows(
    schema: &SchemaRef,
    rows: &Rows,
    order: &[u32],
    repeated: &[std::ops::Range<usize>],
    operators: &MergeOperators,
) -> Result<RecordBatch> {
    let take = |of: &dyn Fn(&std::ops::Range<usize>) -> usize| {
        rows.gather(schema, repeated.iter().map(|range| order[of(range)]))
    };
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

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::internal(format!("rows can't be put in order: {error}"))
}

impl Chunk {
    /// The keys, in order.
    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// The source's columns.
    #[cfg(test)]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many rows, and keys, there are.
    pub fn rows(&self) -> usize {
        self.keys.keys().len()
    }

    /// The bytes of the rows' values, about.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The rows `range` of the order.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Result<RecordBatch> {
        match &self.order {
            Some(order) => self.rows.gather(&self.schema, order[range].iter().copied()),
            None => self.rows.gather(&self.schema, range.start as u32..range.end as u32),
        }
    }

    /// The rows at these places of the order.
    pub fn take(&self, places: &[u32]) -> Result<RecordBatch> {
        let row = |place: &u32| self.order.as_ref().map_or(*place, |order| order[*place as usize]);
        self.rows.gather(&self.schema, places.iter().map(row))
    }

    /// All rows in order, in batches of at most `batch_rows`.
    pub fn sorted(&self, batch_rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let batch_rows = batch_rows.max(1);
        let as_they_are: Vec<RecordBatch> = match self.order {
            None => self.rows.batches.iter().flat_map(|batch| pieces(batch, batch_rows)).collect(),
            Some(_) => Vec::new(),
        };
        let in_order = if self.order.is_some() { self.rows() } else { 0 };
        let starts = (0..in_order).step_by(batch_rows);
        as_they_are
            .into_iter()
            .map(Ok)
            .chain(starts.map(move |start| self.slice(start..(start + batch_rows).min(in_order))))
    }

    /// The same keys, without their rows.
    pub fn keys_alone(&self) -> Self {
        let (schema, keys) = (Arc::clone(&self.schema), Arc::clone(&self.keys));
        Self { schema, rows: Rows::new(Vec::new()), keys, row_bytes: 0, order: None }
    }
}

/// A batch in pieces of at most so many rows.
fn pieces(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(rows);
    starts.map(|start| batch.slice(start, rows.min(batch.num_rows() - start))).collect()
}

#[cfg(test)]
#[path = "chunk_tests.rs"]
mod tests;
