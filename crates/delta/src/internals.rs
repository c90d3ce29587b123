//! Parts that the benches of this crate measure, each with its plain alternative. Not a stable interface.

use std::sync::Arc;

use arrow::array::RecordBatch;
use lakerace_io::Result;

use crate::key::{KeySet, Keys};
use crate::rows::{KeyedRows, gather};

/// Sorts keys on so many threads, and returns the rows in their order.
pub fn sort(keys: Vec<u64>, threads: usize) -> Option<Vec<u32>> {
    Keys::Narrow(keys).sorted(threads).1
}

/// Keys to be found among those of a table.
pub struct Lookup(KeySet);

impl Lookup {
    /// For distinct keys in order.
    pub fn new(keys: Vec<u64>) -> Self {
        Self(KeySet::new(Keys::Narrow(keys)))
    }

    /// The number of rows of a batch that have one of the keys.
    pub fn count(&self, batch: &BatchKeys) -> usize {
        let mut count = 0;
        self.0.find(&batch.0, |_, _| count += 1);
        count
    }
}

/// The keys of a batch.
pub struct BatchKeys(Keys);

impl BatchKeys {
    /// In the order of rows.
    pub fn new(keys: Vec<u64>) -> Self {
        Self(Keys::Narrow(keys))
    }
}

/// Sorts the rows of batches by their keys, and returns them in batches of so many rows.
pub fn sort_rows(batches: &[(RecordBatch, Vec<u64>)], batch_rows: usize) -> Result<usize> {
    let Some((first, _)) = batches.first() else { return Ok(0) };
    let schema = first.schema();
    let mut rows = KeyedRows::new(Arc::clone(&schema), Keys::Narrow(Vec::new()), 1);
    for (batch, keys) in batches {
        rows.push(batch.clone(), Keys::Narrow(keys.clone()))?;
    }
    let sorted = rows.sort();
    let order = sorted.order.unwrap_or_else(|| (0..sorted.rows.len() as u32).collect());
    order
        .chunks(batch_rows)
        .try_fold(0, |rows, chunk| Ok(rows + sorted.rows.gather(&schema, chunk.iter().copied())?.num_rows()))
}

/// The rows of batches at these places, as the upsert gathers rows that are not packed.
pub fn gather_rows(batches: &[RecordBatch], at: &[(usize, usize)]) -> Option<RecordBatch> {
    gather(&batches.first()?.schema(), batches, at).ok()
}
