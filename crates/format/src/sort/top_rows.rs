//! The first rows of an order, of more rows than stay in memory.

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch, UInt32Array, UInt64Array};
use arrow::compute::{take, take_record_batch};
use arrow::datatypes::Schema;
use lakerace_io::{Error, Result};

use super::row_sorter::{RowSorter, SortedBatches};
use crate::own_texts::with_own_texts;

/// Bytes up to which part of a larger array is not copied.
const LEAST_PART_BYTES: usize = 64 << 10;
/// Rows that may wait in addition to twice those that are wanted, before the others are dropped.
const WAITING_ROWS: u64 = 8192;

/// Sorts rows by their keys, and gives the first ones. Rows that can't be among these are dropped early.
///
/// Rows with equal keys keep their order.
pub struct TopRows {
    schema: Schema,
    limit_bytes: u64,
    /// The number of rows that are wanted.
    limit: u64,
    sorter: RowSorter,
    /// Rows in the sorter.
    waiting: u64,
    /// A key that as many rows as are wanted do not exceed: a later row with this key, or a greater one, is not wanted.
    bound: Option<Vec<u8>>,
}

impl TopRows {
    /// The first `limit` rows of those of this schema, of which approximately `limit_bytes` stay in memory.
    pub fn new(schema: &Schema, limit: u64, limit_bytes: u64) -> Self {
        let sorter = RowSorter::new(schema, limit_bytes);
        Self { schema: schema.clone(), limit_bytes, limit, sorter, waiting: 0, bound: None }
    }

    /// A key that as many rows as are wanted do not exceed; `None` before there are so many. A later row with this key, or a
    /// greater one, is not wanted.
    pub fn bound(&self) -> Option<&[u8]> {
        self.bound.as_deref()
    }

    /// Adds rows, with a key for each.
    pub fn push(&mut self, rows: &RecordBatch, keys: BinaryArray) -> Result<()> {
        let wanted = self.wanted_rows(&keys);
        if wanted.len() == keys.len() {
            return self.add(rows, keys);
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let rows = take_record_batch(rows, &wanted).map_err(Error::unexpected)?;
        let keys = take(&keys, &wanted, None).map_err(Error::unexpected)?;
        self.add(&rows, keys.as_binary::<i32>().clone())
    }

    /// The rows of a batch, ascending, that may be among the first ones: those before the bound, and of these the first ones of
    /// the batch, which make the next bound.
    fn wanted_rows(&mut self, keys: &BinaryArray) -> UInt32Array {
        let mut wanted: Vec<u32> = match &self.bound {
            None => (0..keys.len() as u32).collect(),
            Some(bound) => {
                // Most rows come after the bound, which a word tells.
                let word = first_word(bound);
                let is_before = |row: &u32| {
                    let key = keys.value(*row as usize);
                    first_word(key) <= word && key < bound.as_slice()
                };
                (0..keys.len() as u32).filter(is_before).collect()
            }
        };
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if wanted.len() > limit {
            // Of equal keys, the first rows are wanted.
            wanted.select_nth_unstable_by_key(limit, |row| (keys.value(*row as usize), *row));
            wanted.truncate(limit);
            // No later row is wanted that comes after so many.
            self.bound = wanted.iter().map(|row| keys.value(*row as usize)).max().map(<[u8]>::to_vec);
            wanted.sort_unstable();
        }
        wanted.into()
    }

    fn add(&mut self, rows: &RecordBatch, keys: BinaryArray) -> Result<()> {
        self.waiting += rows.num_rows() as u64;
        self.sorter.push(&with_own_rows(rows)?, keys)?;
        let twice = self.limit.saturating_mul(2);
        let room = if self.sorter.is_crowded() { twice } else { twice.saturating_add(WAITING_ROWS) };
        if self.waiting > room { self.drop_others() } else { Ok(()) }
    }

    /// Drops the rows that are not among the first ones so far.
    fn drop_others(&mut self) -> Result<()> {
        let sorter = std::mem::replace(&mut self.sorter, RowSorter::new(&self.schema, self.limit_bytes));
        let mut sorted = sorter.finish()?;
        self.waiting = 0;
        while self.waiting < self.limit
            && let Some((rows, keys)) = sorted.next_with_keys()?
        {
            let left = usize::try_from(self.limit - self.waiting).unwrap_or(usize::MAX);
            let (rows, keys) = match left < keys.len() {
                true => (first(&rows, left)?, BinaryArray::from_iter_values((0..left).map(|row| keys.value(row)))),
                false => (rows, keys),
            };
            self.waiting += keys.len() as u64;
            if self.waiting == self.limit {
                self.bound = Some(keys.value(keys.len() - 1).to_vec());
            }
            self.sorter.push(&rows, keys)?;
        }
        Ok(())
    }

    /// The first rows in order.
    pub fn finish(self) -> Result<FirstRows> {
        Ok(FirstRows { sorted: self.sorter.finish()?, left: self.limit })
    }
}

/// The first eight bytes of a key, as a number that sorts like them; zeros take the place of bytes that a key does not have.
#[inline(always)]
fn first_word(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

/// A copy of the first rows of a batch.
fn first(rows: &RecordBatch, count: usize) -> Result<RecordBatch> {
    let places: UInt64Array = (0..count as u64).collect();
    take_record_batch(rows, &places).map_err(Error::unexpected)
}

/// The batch without parts of larger arrays, which would stay in memory as a whole.
fn with_own_rows(batch: &RecordBatch) -> Result<RecordBatch> {
    let batch = with_own_texts(batch)?;
    let bytes_of = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(usize::MAX);
    let bytes = batch.columns().iter().map(bytes_of).fold(0, usize::saturating_add);
    let is_part = batch.get_array_memory_size() / 2 > bytes.saturating_add(LEAST_PART_BYTES);
    if is_part { first(&batch, batch.num_rows()) } else { Ok(batch) }
}

/// The first rows of an order.
pub struct FirstRows {
    sorted: SortedBatches,
    /// Rows that are still wanted.
    left: u64,
}

impl FirstRows {
    /// The next rows in order.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.left == 0 {
            return Ok(None);
        }
        let Some(batch) = self.sorted.next_batch()? else { return Ok(None) };
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(batch.num_rows());
        self.left -= wanted as u64;
        Ok(Some(if wanted < batch.num_rows() { batch.slice(0, wanted) } else { batch }))
    }
}

#[cfg(test)]
mod tests;
