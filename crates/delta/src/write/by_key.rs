//! Rows in the order of a table's key, as many of them at a time as memory holds.
//!
//! An upsert walks once through files that are in order, instead of looking up each row, and skips row groups with
//! other keys.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_io::Result;
use lakerace_io::address_space::memory_within;

use crate::key::{KeyColumns, Keys};
use crate::rows::{KeyedRows, OrderedRows, value_bytes};

/// Memory that rows may take until they are sorted and written, unless options say otherwise.
const MEMORY_BYTES: u64 = 512 << 20;
/// The most rows of a piece: a source may return all of its rows in one batch.
const PIECE_ROWS: usize = 131_072;
/// The share of the memory that a piece takes at most, as long as that is enough for [`LEAST_PIECE_ROWS`].
const PIECES_IN_MEMORY: usize = 4;
const LEAST_PIECE_ROWS: usize = 64;
/// Rows that are written at a time.
const SLICE_ROWS: usize = 65_536;

/// Puts rows in order on their way to the files.
pub(super) struct ByKey {
    columns: KeyColumns,
    schema: SchemaRef,
    threads: usize,
    limit_bytes: usize,
    /// The rows that wait.
    rows: KeyedRows,
    /// The largest key of the rows that were written last; none at first.
    last: Keys,
}

/// The result of sorting by key.
pub(super) enum InOrder {
    Rows(RecordBatch),
    /// The next rows are in an order of their own.
    RunEnds,
}

/// The receiver of sorted rows.
type Next<'a> = &'a mut dyn FnMut(InOrder) -> Result<()>;

impl ByKey {
    /// For rows of this schema, of which so many bytes are in memory together. `None` where the key's columns are
    /// missing, or have no order: an upsert by such a key will be an error, writing is not.
    pub fn new(schema: &SchemaRef, key: &[String], threads: usize, memory_bytes: Option<u64>) -> Option<Self> {
        let columns = KeyColumns::new(schema, key).ok()?;
        let limit_bytes =
            usize::try_from(memory_bytes.unwrap_or_else(|| memory_within(MEMORY_BYTES))).unwrap_or(usize::MAX);
        let (rows, last) = (KeyedRows::new(schema.clone(), columns.no_keys(), threads), columns.no_keys());
        Some(Self { columns, schema: schema.clone(), threads, limit_bytes, rows, last })
    }

    /// Takes in a batch. While all rows have come in order, they go to `next` immediately; otherwise sorted rows do
    /// when enough are collected.
    pub fn write(&mut self, batch: &RecordBatch, next: Next<'_>) -> Result<()> {
        let piece_rows = self.piece_rows(batch);
        for first in (0..batch.num_rows()).step_by(piece_rows) {
            let piece = batch.slice(first, piece_rows.min(batch.num_rows() - first));
            // Rows without a key may be in any place: no upsert will look for them.
            let (keys, _) = self.columns.keys_and_nulls(&piece)?;
            if self.rows.len() == 0 && keys.follow(&self.last) {
                self.last = keys.last();
                next(InOrder::Rows(piece))?;
                continue;
            }
            self.rows.push(piece, keys)?;
            self.rows.make_room(self.limit_bytes);
            if self.rows.is_full(self.limit_bytes) {
                self.flush(next)?;
            }
        }
        Ok(())
    }

    /// Rows of a piece of a batch.
    fn piece_rows(&self, batch: &RecordBatch) -> usize {
        let bytes: usize = batch.columns().iter().map(value_bytes).sum();
        let row_bytes = bytes.div_ceil(batch.num_rows().max(1)).max(1);
        (self.limit_bytes / PIECES_IN_MEMORY / row_bytes).clamp(LEAST_PIECE_ROWS, PIECE_ROWS)
    }

    /// Writes the remaining rows.
    pub fn finish(mut self, next: Next<'_>) -> Result<()> {
        self.flush(next)
    }

    fn flush(&mut self, next: Next<'_>) -> Result<()> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        if !self.last.is_empty() {
            next(InOrder::RunEnds)?;
        }
        let none = KeyedRows::new(self.schema.clone(), self.columns.no_keys(), self.threads);
        let sorted = std::mem::replace(&mut self.rows, none).sort();
        self.last = sorted.keys.last();
        let rows = OrderedRows::new(self.schema.clone(), sorted.rows, sorted.order);
        rows.each_batch(SLICE_ROWS, self.threads, &mut |batch| next(InOrder::Rows(batch)))
    }
}

#[cfg(test)]
mod tests;
