//! Keys of rows, by their hashes.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_format::Batches;
use lakerace_io::{Error, Result};

use crate::checksum::row_hashes;

/// Keys that are held in memory at most; each takes about a hundred bytes.
pub(super) const MOST_KEYS: usize = 1 << 20;

pub(super) fn internal(error: arrow::error::ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// Which columns of a schema are the key.
#[derive(Debug, Clone)]
pub(super) struct Key {
    columns: Vec<usize>,
    pub schema: SchemaRef,
}

impl Key {
    pub fn new(schema: &Schema, names: &[String]) -> Result<Self> {
        let columns: Vec<usize> =
            names.iter().map(|name| schema.index_of(name)).collect::<Result<_, _>>().map_err(internal)?;
        let schema = Arc::new(schema.project(&columns).map_err(internal)?);
        Ok(Self { columns, schema })
    }

    /// The key's columns.
    pub fn of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let keys = batch.project(&self.columns).map_err(internal)?;
        keys.with_schema(Arc::clone(&self.schema)).map_err(internal)
    }

    /// The hash of each row's key.
    pub fn hashes(&self, batch: &RecordBatch) -> Result<Vec<u128>> {
        row_hashes(&self.of(batch)?)
    }
}

/// The rows of a batch that a test takes.
pub(super) fn kept(batch: &RecordBatch, is_kept: impl FnMut(usize) -> bool) -> Result<RecordBatch> {
    let mask: BooleanArray = (0..batch.num_rows()).map(is_kept).map(Some).collect();
    filter_record_batch(batch, &mask).map_err(internal)
}

/// Keys of rows that have gone, unless rows with them have come.
#[derive(Debug, Default)]
pub(super) struct Gone {
    batches: Vec<(RecordBatch, Vec<u128>)>,
    pub len: usize,
}

impl Gone {
    /// Adds keys, with their hashes.
    pub fn add(&mut self, keys: RecordBatch, hashes: Vec<u128>) {
        self.len += hashes.len();
        self.batches.push((keys, hashes));
    }

    /// The columns of the keys; `None` where there is no key.
    pub fn schema(&self) -> Option<SchemaRef> {
        self.batches.first().map(|(keys, _)| keys.schema())
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
