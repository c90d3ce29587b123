//! As many rows of a source as fit into memory, in the order of their keys, one row a key.

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_io::{Error, Result};

use super::operator::MergeOperators;
use super::rows::Rows;
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
    rows: Rows,
    keys: Keys,
    first_row: Option<u64>,
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

/// Bytes of a batch of rows that is put together, at most, unless it is one row.
const SLICE_BYTES: usize = 32 << 20;
/// What sorting needs beside each row and its key, in bytes: the row, and the sorted key.
const SORTING_BYTES_PER_ROW: usize = 4 + 16;

impl ChunkBuilder {
    /// No rows yet, of a source with this schema. Errors will count its rows from `first_row`, or not name any.
    pub fn new(columns: KeyColumns, schema: SchemaRef, first_row: Option<u64>) -> Self {
        let keys = columns.no_keys();
        Self { columns, schema, rows: Rows::new(1), keys, first_row, threads: 1 }
    }

    /// Packs and sorts on so many threads, where it were one. To be called before any row is there.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, rows: Rows::new(threads), ..self }
    }

    /// Takes in a batch of the source's schema. Errors are those of [`KeyColumns::keys`].
    pub fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let first_row = self.first_row.unwrap_or(0) + self.rows.len() as u64;
        let keys = self.columns.keys(&batch, first_row)?;
        if !keys.follow(&self.keys) {
            self.rows.pack(&self.schema)?;
        }
        let keys = self.rows.push_by_keys(batch, keys)?;
        self.keys.append(keys);
        Ok(())
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The memory that the rows take once they are sorted, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let rows = self.rows.len();
        self.rows.bytes() + self.keys.memory_bytes() + rows * SORTING_BYTES_PER_ROW + KeySet::lookup_bytes(rows)
    }

    /// Whether no more should be pushed: the rows take `limit_bytes`, or are as many as can be counted.
    pub fn is_full(&self, limit_bytes: usize) -> bool {
        self.memory_bytes() >= limit_bytes || self.rows.len() >= (u32::MAX / 2) as usize
    }

    /// Sorts the rows and makes one of those with the same key.
    ///
    /// Errors: `Invalid` for a key that comes twice where that is to be one, and those of the operators.
    pub fn finish(self, on_duplicate: OnDuplicate, operators: &MergeOperators) -> Result<Chunk> {
        let Self { columns, schema, mut rows, keys, first_row, threads } = self;
        let (count, row_bytes) = (rows.len(), rows.bytes());
        let (keys, sorted) = keys.sorted(threads);
        let repeated = keys.repeated();
        if repeated.is_empty() {
            return Ok(Chunk { schema, rows, keys: Arc::new(KeySet::new(keys)), row_bytes, order: sorted });
        }
        let mut order = sorted.unwrap_or_else(|| (0..count as u32).collect());
        if let (OnDuplicate::Error, Some(two)) = (on_duplicate, repeated.first()) {
            let number = |row: u32| first_row.map(|first| first + u64::from(rows.origin(row)));
            let who = match (number(order[two.start]), number(order[two.start + 1])) {
                (Some(first), Some(second)) => format!("rows {first} and {second}"),
                _ => "two rows".to_owned(),
            };
            let key = rows.describe(&schema, order[two.start], &columns)?;
            return Err(Error::invalid(format!("{who} have the same key, {key}"))
                .advice("leave one out, or let the last one count"));
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
        Ok(Chunk { schema, rows, keys: Arc::new(KeySet::new(keys.take(&kept))), row_bytes, order: Some(order) })
    }
}

/// Of rows in order, the last one of each key.
fn kept_rows(rows: usize, repeated: &[Range<usize>]) -> Vec<u32> {
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
    pub fn slice(&self, range: Range<usize>) -> Result<RecordBatch> {
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

    /// The rows `range` of the order in ranges of up to `most_rows` rows, which can be put together one by one.
    pub fn cut(&self, range: Range<usize>, most_rows: usize) -> Vec<Range<usize>> {
        let moved = |part: Range<usize>| part.start + range.start..part.end + range.start;
        let parts = match &self.order {
            Some(order) => self.rows.cut(order[range.clone()].iter().copied(), most_rows, SLICE_BYTES),
            None => self.rows.cut(range.start as u32..range.end as u32, most_rows, SLICE_BYTES),
        };
        parts.into_iter().map(moved).collect()
    }

    /// All rows in order, in batches of at most `batch_rows`.
    pub fn sorted(&self, batch_rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let (as_they_are, slices) = self.batches(batch_rows);
        as_they_are.into_iter().map(Ok).chain(slices.into_iter().map(|slice| self.slice(slice)))
    }

    /// Visits what [`Self::sorted`] gives. Batches are put together on so many threads, ahead of the visits.
    pub fn each_sorted(
        &self,
        batch_rows: usize,
        threads: usize,
        visit: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let (as_they_are, slices) = self.batches(batch_rows);
        as_they_are.into_iter().try_for_each(&mut *visit)?;
        let threads = threads.min(slices.len());
        if threads <= 1 {
            return slices.into_iter().try_for_each(|slice| visit(self.slice(slice)?));
        }
        let slices = &slices;
        std::thread::scope(|scope| {
            let mut gatherers = Vec::with_capacity(threads);
            for number in 0..threads {
                // One batch waits while the next is put together.
                let (sender, batches) = sync_channel(1);
                let mut mine = slices.iter().skip(number).step_by(threads);
                // Nobody takes a batch behind an error.
                let work = move || mine.try_for_each(|slice| sender.send(self.slice(slice.clone())).ok());
                gatherers.push((scope.spawn(work), batches));
            }
            let visited = (0..slices.len()).try_for_each(|number| match gatherers[number % threads].1.recv() {
                Ok(batch) => visit(batch?),
                Err(_) => Err(Error::internal("a thread that puts rows in order ended")),
            });
            let ended = gatherers.into_iter().try_for_each(|(gatherer, batches)| {
                drop(batches);
                gatherer.join().map(|_| ()).map_err(|_| Error::internal("a thread that puts rows in order panicked"))
            });
            ended.and(visited)
        })
    }

    /// All rows in order: batches that are as they came, or slices to be put together.
    fn batches(&self, batch_rows: usize) -> (Vec<RecordBatch>, Vec<Range<usize>>) {
        let batch_rows = batch_rows.max(1);
        match self.order {
            None => (self.rows.batches().iter().flat_map(|batch| pieces(batch, batch_rows)).collect(), Vec::new()),
            Some(_) => (Vec::new(), self.cut(0..self.rows(), batch_rows)),
        }
    }

    /// The same keys, without their rows.
    pub fn keys_alone(&self) -> Self {
        let (schema, keys) = (Arc::clone(&self.schema), Arc::clone(&self.keys));
        Self { schema, rows: Rows::new(1), keys, row_bytes: 0, order: None }
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
