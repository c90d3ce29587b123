//! Rows that are collected to be sorted by their keys.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_io::Result;

use super::{NumberedRows, PackedBatch, RowPacking};
use crate::key::{KeySet, Keys};

/// Rows with their keys.
#[derive(Debug)]
pub(crate) struct KeyedRows {
    schema: SchemaRef,
    rows: NumberedRows,
    /// In the order of the rows.
    keys: Keys,
    threads: usize,
}

/// Rows by their keys.
#[derive(Debug)]
pub(crate) struct SortedRows {
    /// In order; those of the same key are as many as there are rows.
    pub keys: Keys,
    pub rows: NumberedRows,
    /// The row of each key; those of the same key in their own order. `None`: the rows are in order.
    pub order: Option<Vec<u32>>,
}

/// Bytes that sorting needs next to each row and its key: the row, and the sorted key.
pub(crate) const SORTING_BYTES_PER_ROW: usize = 4 + 16;

impl KeyedRows {
    /// No rows yet, of this schema, and no keys. Rows are packed and sorted on so many threads.
    pub fn new(schema: SchemaRef, no_keys: Keys, threads: usize) -> Self {
        let packing = RowPacking::new(&schema, threads).map(Arc::new);
        Self::packed_by(schema, no_keys, threads, packing)
    }

    /// As [`Self::new`], packed in this way; not at all where there is none.
    pub fn packed_by(schema: SchemaRef, no_keys: Keys, threads: usize, packing: Option<Arc<RowPacking>>) -> Self {
        Self { schema, rows: NumberedRows::new(packing), keys: no_keys, threads }
    }

    /// Appends a batch, and a key for each of its rows.
    pub fn push(&mut self, batch: RecordBatch, keys: Keys) -> Result<()> {
        if !keys.follow(&self.keys) {
            self.rows.pack()?;
        }
        self.rows.push_by_keys(batch, keys, &mut self.keys)
    }

    /// Appends a batch that was packed with the layout of these rows, with its keys.
    pub fn push_packed(&mut self, batch: PackedBatch) -> Result<()> {
        self.rows.pack()?;
        self.rows.push_packed(batch, &mut self.keys)
    }

    /// Returns true if rows are packed, because they are not in the order of their keys.
    pub fn is_packed(&self) -> bool {
        self.rows.is_packed()
    }

    /// Reserves room for the keys of as many rows like these as fit into `limit_bytes`. A list that grows would be
    /// moved repeatedly, and touch three times the memory.
    pub fn make_room(&mut self, limit_bytes: usize) {
        let rows = self.len();
        if rows == 0 || !self.keys.is_at_capacity() {
            return;
        }
        let most = limit_bytes / (self.memory_bytes() / rows).max(1);
        // Rows are not all alike.
        self.keys.reserve((most + most / 16).saturating_sub(rows));
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The approximate bytes of all values.
    pub fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// The memory of the rows once they are sorted and looked up, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let rows = self.rows.len();
        self.rows.bytes() + self.keys.memory_bytes() + rows * SORTING_BYTES_PER_ROW + KeySet::lookup_bytes(rows)
    }

    /// Returns true if no more should be pushed: the rows take `limit_bytes`, or are as many as can be counted.
    pub fn is_full(&self, limit_bytes: usize) -> bool {
        self.memory_bytes() >= limit_bytes || self.rows.len() >= (u32::MAX / 2) as usize
    }

    /// Sorts the rows.
    pub fn sort(self) -> SortedRows {
        let (keys, order) = self.keys.sorted(self.threads);
        SortedRows { keys, rows: self.rows, order }
    }
}
