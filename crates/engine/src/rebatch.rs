//! Batches of a given number of rows.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use lakerace_format::Batches;
use lakerace_io::option::BATCH_ROWS;
use lakerace_io::{Error, Result};

/// Sources make batches of their own size and have them sliced, where more rows than this are asked for.
pub(crate) const SOURCE_BATCH_ROWS: usize = 64 << 10;

/// Cuts rows into batches of exactly `rows` rows, the last one perhaps fewer: large batches are sliced without a copy,
/// small ones are joined. `usize::MAX` makes one batch of all rows, in memory.
pub(crate) fn rebatch(batches: Batches, rows: usize) -> Batches {
    let schema = SchemaRef::clone(batches.schema());
    let rows = rows.max(1);
    Batches::new(schema, RebatchedRows { batches: Some(batches), waiting: VecDeque::new(), waiting_rows: 0, rows })
}

struct RebatchedRows {
    /// `None` once it has ended.
    batches: Option<Batches>,
    waiting: VecDeque<RecordBatch>,
    waiting_rows: usize,
    rows: usize,
}

impl Iterator for RebatchedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.waiting_rows < self.rows
            && let Some(batches) = &mut self.batches
        {
            match batches.next() {
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(Ok(batch)) => {
                    self.waiting_rows += batch.num_rows();
                    self.waiting.push_back(batch);
                }
                Some(Err(error)) => return Some(Err(error)),
                None => self.batches = None,
            }
        }
        if self.waiting_rows == 0 { None } else { Some(self.take()) }
    }
}

impl RebatchedRows {
    /// The next `rows` rows, or all that wait.
    fn take(&mut self) -> Result<RecordBatch> {
        let mut parts = Vec::new();
        let mut missing = self.rows.min(self.waiting_rows);
        while missing > 0 {
            let batch =
                self.waiting.pop_front().ok_or_else(|| Error::internal("fewer rows are waiting than were counted"))?;
            let rows = batch.num_rows().min(missing);
            if rows < batch.num_rows() {
                self.waiting.push_front(batch.slice(rows, batch.num_rows() - rows));
            }
            missing -= rows;
            self.waiting_rows -= rows;
            parts.push(batch.slice(0, rows));
        }
        match parts.as_slice() {
            [one] => Ok(one.clone()),
            [first, ..] => concat_batches(&first.schema(), &parts).map_err(|e| {
                Error::unsupported("the batches can't be joined")
                    .because(e)
                    .advice(format!("set fewer rows per batch with {BATCH_ROWS}"))
            }),
            [] => Err(Error::internal("a batch without rows")),
        }
    }
}

#[cfg(test)]
mod tests;
