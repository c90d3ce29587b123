//! Rows in another order than the original one.

use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_exec::{CancelToken, PoolOptions, consume_ordered};
use lakerace_format::is_large_row;
use lakerace_io::Result;

use super::NumberedRows;

/// Rows, and the order in which they are returned.
#[derive(Debug)]
pub(crate) struct OrderedRows {
    schema: SchemaRef,
    rows: NumberedRows,
    /// Numbers of rows. `None`: all rows of all batches in the original order.
    order: Option<Vec<u32>>,
}

/// Bytes of a batch of rows that is put together, at most, unless it is one row.
const SLICE_BYTES: usize = 32 << 20;
/// Batches that each thread puts together ahead of their visits.
const SLICES_OF_EACH: usize = 2;
/// The least number of batches that large rows are gathered into: several are in progress at a time.
const LARGE_SLICES: usize = 16;

impl OrderedRows {
    /// These rows of `rows`, which have this schema; without an order, all of them in the original one.
    pub fn new(schema: SchemaRef, rows: NumberedRows, order: Option<Vec<u32>>) -> Self {
        Self { schema, rows, order }
    }

    /// No rows.
    pub fn none(schema: SchemaRef) -> Self {
        Self::new(schema, NumberedRows::new(None), None)
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn len(&self) -> usize {
        self.order.as_ref().map_or(self.rows.len(), Vec::len)
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
            Some(order) => self.rows.cut(order[range.clone()].iter().copied(), most_rows, self.slice_bytes()),
            None => self.rows.cut(range.start as u32..range.end as u32, most_rows, self.slice_bytes()),
        };
        parts.into_iter().map(moved).collect()
    }

    fn slice_bytes(&self) -> usize {
        let (bytes, rows) = (self.rows.bytes(), self.rows.len().max(1));
        let is_large = is_large_row((bytes / rows) as u64, self.schema.fields().len());
        if is_large { SLICE_BYTES.min(bytes / LARGE_SLICES) } else { SLICE_BYTES }
    }

    /// All rows in order, in batches of at most `batch_rows`.
    pub fn batches(&self, batch_rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let (as_they_are, slices) = self.slices(batch_rows);
        as_they_are.into_iter().map(Ok).chain(slices.into_iter().map(|slice| self.slice(slice)))
    }

    /// Visits the batches of [`Self::batches`]. They are gathered on so many threads, ahead of the visits.
    pub fn each_batch(
        &self,
        batch_rows: usize,
        threads: usize,
        visit: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let (as_they_are, slices) = self.slices(batch_rows);
        as_they_are.into_iter().try_for_each(&mut *visit)?;
        let threads = threads.min(slices.len());
        let options =
            PoolOptions { thread_name: "lakerace-gather", threads, window: SLICES_OF_EACH * threads, joins: true };
        let source = slices.into_iter().map(Ok);
        consume_ordered(options, &CancelToken::default(), source, |slice| self.slice(slice), visit)
    }

    /// All rows in order: original batches, or slices to be gathered.
    fn slices(&self, batch_rows: usize) -> (Vec<RecordBatch>, Vec<Range<usize>>) {
        let batch_rows = batch_rows.max(1);
        if self.order.is_none() && !self.rows.is_packed() {
            let pieces = self.rows.batches().iter().flat_map(|batch| pieces(batch, batch_rows));
            return (pieces.collect(), Vec::new());
        }
        (Vec::new(), self.cut(0..self.len(), batch_rows))
    }
}

/// Splits a batch into pieces of at most so many rows.
fn pieces(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(rows);
    starts.map(|start| batch.slice(start, rows.min(batch.num_rows() - start))).collect()
}
