//! Keys of rows, by their hashes.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_format::suggestions::column_not_found;
use lakerace_io::option::KEY;
use lakerace_io::{Error, Result};

use crate::checksum::row_hashes;

/// Which columns of a schema are the key.
#[derive(Debug, Clone)]
pub(crate) struct KeyProjection {
    columns: Vec<usize>,
    /// The key's columns.
    pub schema: SchemaRef,
}

impl KeyProjection {
    /// # Errors
    /// `NotFound` for a column that the schema lacks.
    pub fn new(schema: &Schema, names: &[String]) -> Result<Self> {
        let known = || schema.fields().iter().map(|field| field.name().as_str());
        let at = |name: &String| schema.index_of(name).map_err(|_| column_not_found(name, known()).at(KEY));
        let columns: Vec<usize> = names.iter().map(at).collect::<Result<_>>()?;
        let schema = Arc::new(schema.project(&columns).map_err(Error::unexpected)?);
        Ok(Self { columns, schema })
    }

    /// The key's columns of a batch.
    pub fn project(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let keys = batch.project(&self.columns).map_err(Error::unexpected)?;
        keys.with_schema(Arc::clone(&self.schema)).map_err(Error::unexpected)
    }

    /// The hash of each row's key.
    pub fn hashes(&self, batch: &RecordBatch) -> Result<Vec<u128>> {
        row_hashes(&batch.project(&self.columns).map_err(Error::unexpected)?)
    }

    /// The key's columns of a schema that has them in the same places.
    pub fn of_schema(&self, schema: &Schema) -> Result<Schema> {
        schema.project(&self.columns).map_err(Error::unexpected)
    }
}
