//! Keys of rows that have gone.

use std::collections::HashSet;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_format::Batches;
use lakerace_io::{Error, Result};

/// Keys that are held in memory at most; each takes approximately a hundred bytes.
///
/// Tests of this crate reach the limit with few rows.
pub(super) const MOST_KEYS: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// The rows of a batch that a test takes.
pub(super) fn kept(batch: &RecordBatch, is_kept: impl FnMut(usize) -> bool) -> Result<RecordBatch> {
    let mask: BooleanArray = (0..batch.num_rows()).map(is_kept).map(Some).collect();
    filter_record_batch(batch, &mask).map_err(Error::unexpected)
}

/// Keys of deleted rows, unless rows with them were inserted.
#[derive(Debug, Default)]
pub(super) struct DeletedKeys {
    batches: Vec<(RecordBatch, Vec<u128>)>,
    pub len: usize,
}

impl DeletedKeys {
    /// Adds keys, with their hashes.
    pub fn add(&mut self, keys: RecordBatch, hashes: Vec<u128>) {
        self.len += hashes.len();
        self.batches.push((keys, hashes));
    }

    /// The columns of the keys; `None` where there is no key.
    pub fn schema(&self) -> Option<SchemaRef> {
        self.batches.first().map(|(keys, _)| keys.schema())
    }

    /// The hashes of all keys.
    pub fn hashes(&self) -> HashSet<u128> {
        self.batches.iter().flat_map(|(_, hashes)| hashes).copied().collect()
    }

    /// Each key once that `is_back` does not know.
    pub fn batches(self, schema: SchemaRef, is_back: impl Fn(u128) -> bool + Send + 'static) -> Batches {
        let mut seen = HashSet::new();
        let batches = self
            .batches
            .into_iter()
            .map(move |(keys, hashes)| kept(&keys, |row| !is_back(hashes[row]) && seen.insert(hashes[row])));
        Batches::new(schema, batches)
    }
}
