//! A checksum of a set of rows that does not depend on their order, format, batches or physical types.
//!
//! Each cell becomes a 64-bit word ([`words`]), each row the 128-bit XXH3 of its cells' words by position, and the
//! checksum is the wrapping sum of these. `docs/checksum.md` is its definition; keep them the same.

mod numbers;
mod value_hash;

use std::fmt;

use arrow::array::RecordBatch;
use lakerace_exec::map_with_states;
use lakerace_format::Batches;
use lakerace_io::{Error, Job, Result};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use self::value_hash::words;

/// Row count and order-independent checksum of a set of rows; see `docs/checksum.md` for its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checksum {
    /// Rows.
    pub rows: u64,
    /// The sum.
    pub sum: u128,
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.sum)
    }
}

/// Words of this many bytes are worked on at a time: they stay in the second-level cache.
const CHUNK_BYTES: usize = 256 << 10;

/// Row count and checksum of any batches, on `job`'s threads.
pub fn checksum(batches: Batches, job: &Job) -> Result<Checksum> {
    let mut sums = vec![Checksum::default(); job.options().threads.max(1)];
    map_with_states(&mut sums, batches, |sum, batch| {
        job.check()?;
        *sum = sum.and(of_batch(&batch?)?);
        Ok::<_, Error>(())
    })?;
    Ok(sums.into_iter().fold(Checksum::default(), Checksum::and))
}

impl Checksum {
    /// Adds two sums: that of both sets of rows together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { rows: self.rows + other.rows, sum: self.sum.wrapping_add(other.sum) }
    }

    /// Subtracts a sum: that of the rows that are left without those of `other`.
    pub(crate) fn without(self, other: Self) -> Self {
        Self { rows: self.rows - other.rows, sum: self.sum.wrapping_sub(other.sum) }
    }
}

/// The checksum of one batch.
pub(crate) fn of_batch(batch: &RecordBatch) -> Result<Checksum> {
    let mut sum = 0u128;
    each_row(batch, |row| sum = sum.wrapping_add(row))?;
    Ok(Checksum { rows: batch.num_rows() as u64, sum })
}

/// The hash of each row: a checksum is their sum.
pub(crate) fn row_hashes(batch: &RecordBatch) -> Result<Vec<u128>> {
    let mut hashes = Vec::with_capacity(batch.num_rows());
    each_row(batch, |row| hashes.push(row))?;
    Ok(hashes)
}

fn each_row(batch: &RecordBatch, mut take: impl FnMut(u128)) -> Result<()> {
    let (rows, columns) = (batch.num_rows(), batch.num_columns());
    let chunk_rows = (CHUNK_BYTES / 8 / columns.max(1)).max(1);
    let mut column_words = Vec::with_capacity(chunk_rows.min(rows));
    // Row by row, the words of a row side by side as little-endian bytes.
    let mut row_words = vec![0u8; chunk_rows.min(rows) * columns * 8];
    for start in (0..rows).step_by(chunk_rows) {
        let length = chunk_rows.min(rows - start);
        for (number, column) in batch.columns().iter().enumerate() {
            column_words.clear();
            words(&column.slice(start, length), &mut column_words)
                .map_err(|e| e.at(format!("column {:?}", batch.schema_ref().field(number).name())))?;
            let cells = row_words[number * 8..].chunks_mut(columns * 8);
            for (cell, word) in cells.zip(&column_words) {
                cell[..8].copy_from_slice(&word.to_le_bytes());
            }
        }
        if columns == 0 {
            (0..length).for_each(|_| take(xxh3_128(&[])));
            continue;
        }
        for row in row_words[..length * columns * 8].chunks_exact(columns * 8) {
            take(xxh3_128(row));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
