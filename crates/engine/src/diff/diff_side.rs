//! A side of a comparison.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Field, SchemaRef};
use lakerace_format::{narrowed_batch, value_text, with_uuid_texts, without_dictionaries};
use lakerace_io::option::KEY;
use lakerace_io::{Error, Result};

use super::common_type::has_texts_of_uuids;
use crate::checksum::row_hashes;
use crate::keys::KeyProjection;
use crate::scan::Scan;

/// A side that is read.
pub(super) struct DiffSide {
    pub name: String,
    pub scan: Scan,
    /// The columns of both sides, in the order of the first, and the key.
    columns: Vec<usize>,
    /// The compared columns.
    pub schema: SchemaRef,
    pub key: KeyProjection,
    /// Which compared columns have texts in place of UUIDs, because the other side has texts.
    texts: Vec<usize>,
}

/// A row, by its hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowHash {
    /// The hash of its key.
    pub key: KeyHash,
    /// A part of the hash of all its columns: rows of one key are compared, of which there is one a side.
    pub row: u64,
}

/// Both halves of a key's hash, the lower one first: an integer of 128 bits would align rows at 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyHash {
    pub low: u64,
    pub high: u64,
}

impl KeyHash {
    pub fn new(hash: u128) -> Self {
        Self { low: low_half(hash), high: low_half(hash >> 64) }
    }

    pub fn whole(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}

fn low_half(hash: u128) -> u64 {
    (hash & u128::from(u64::MAX)) as u64
}

impl DiffSide {
    pub fn new(name: &str, scan: Scan, common: &[String], key: &[String]) -> Result<Self> {
        let whole = scan.schema();
        let at = |column: &String| whole.index_of(column).map_err(Error::unexpected);
        let columns = common.iter().map(at).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(without_dictionaries(&whole.project(&columns).map_err(Error::unexpected)?));
        let key = KeyProjection::new(&schema, key).map_err(|error| error.at(name))?;
        Ok(Self { name: name.to_owned(), scan, columns, schema, key, texts: Vec::new() })
    }

    /// Compares UUIDs with texts by their texts.
    pub fn share_texts(first: &mut Self, second: &mut Self) -> Result<()> {
        let texts = |side: &Self, other: &Self| -> Vec<usize> {
            let pairs = side.schema.fields().iter().zip(other.schema.fields()).enumerate();
            pairs.filter(|(_, (own, other))| has_texts_of_uuids(own, other)).map(|(at, _)| at).collect()
        };
        (first.texts, second.texts) = (texts(first, second), texts(second, first));
        for side in [first, second] {
            side.schema = side.with_texts(RecordBatch::new_empty(Arc::clone(&side.schema)))?.schema();
            side.key.schema = Arc::new(side.key.of_schema(&side.schema)?);
        }
        Ok(())
    }

    fn with_texts(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if self.texts.is_empty() {
            return Ok(batch);
        }
        let (mut fields, mut columns) = (batch.schema_ref().fields().to_vec(), batch.columns().to_vec());
        for at in &self.texts {
            let column = with_uuid_texts(batch.project(&[*at]).map_err(Error::unexpected)?)?;
            fields[*at] = Arc::clone(&column.schema_ref().fields()[0]);
            columns[*at] = Arc::clone(column.column(0));
        }
        let schema = arrow::datatypes::Schema::new_with_metadata(fields, batch.schema_ref().metadata().clone());
        RecordBatch::try_new(Arc::new(schema), columns).map_err(Error::unexpected)
    }

    /// The compared columns of a batch.
    ///
    /// # Errors
    /// `Invalid` where a row has null in its key.
    pub fn project(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let batch = batch.project(&self.columns).map_err(Error::unexpected)?;
        let schema = match self.texts.is_empty() {
            true => Arc::clone(&self.schema),
            false => Arc::new(without_dictionaries(batch.schema_ref())),
        };
        let batch = self.with_texts(narrowed_batch(&batch, &schema)?)?;
        self.check_key(&batch)?;
        Ok(batch)
    }

    fn check_key(&self, batch: &RecordBatch) -> Result<()> {
        let keys = self.key.project(batch)?;
        for (field, column) in keys.schema_ref().fields().iter().zip(keys.columns()) {
            if column.logical_null_count() > 0 {
                return Err(Error::invalid(format!("a row has null in the column {:?} of the key", field.name()))
                    .at(&self.name)
                    .advice(format!("exclude such rows with a filter, or choose another key with {KEY}")));
            }
        }
        Ok(())
    }

    /// The hashes of the rows of a batch of compared columns.
    pub fn hashes(&self, batch: &RecordBatch) -> Result<Vec<RowHash>> {
        let pairs = self.key.hashes(batch)?.into_iter().zip(row_hashes(batch)?);
        Ok(pairs.map(|(key, row)| RowHash { key: KeyHash::new(key), row: low_half(row) }).collect())
    }

    /// The error of a key that several rows have. Reads the side again for the key's values.
    pub fn doubled(&self, key: KeyHash) -> Error {
        let values = self.key_of(key.whole()).ok().flatten().unwrap_or_else(|| "a key".to_owned());
        Error::invalid(format!("{values} appears in several rows"))
            .at(&self.name)
            .advice(format!("choose a key that is unique with {KEY}"))
    }

    fn key_of(&self, hash: u128) -> Result<Option<String>> {
        for batch in self.scan.batches()? {
            let batch = self.project(&batch?)?;
            let Some(row) = self.key.hashes(&batch)?.iter().position(|known| *known == hash) else { continue };
            let keys = self.key.project(&batch)?;
            let text = |(field, column): (&Arc<Field>, &Arc<dyn Array>)| {
                let value = value_text(column, row).map_err(Error::unexpected)?;
                Ok(format!("{} = {value}", field.name()))
            };
            let texts = keys.schema_ref().fields().iter().zip(keys.columns()).map(text).collect::<Result<Vec<_>>>()?;
            return Ok(Some(format!("the key {}", texts.join(", "))));
        }
        Ok(None)
    }
}
