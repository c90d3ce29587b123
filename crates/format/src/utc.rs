//! Instants in UTC, for texts.
//!
//! The offset of a zone has seconds if the zone kept local mean time, as Europe/Berlin did until 1893. ISO 8601 has
//! only hours and minutes, and the arrow crate rounds the offset: the text would denote another instant.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, FieldRef, Schema};
use lakerace_io::{Error, Result};

use crate::nested_types::{map_inner_fields, with_type};

/// The batch with all timestamps that have a zone in UTC, also nested ones and those of dictionaries. Their instants
/// are the same.
///
/// # Errors
/// `Internal` if the arrow crate can't cast a type to itself with another zone.
pub fn with_instants_in_utc(batch: RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let fields: Vec<FieldRef> = schema.fields().iter().map(field_in_utc).collect();
    if fields.iter().zip(schema.fields()).all(|(field, before)| field.data_type() == before.data_type()) {
        return Ok(batch);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let in_utc = |(column, field): (&ArrayRef, &FieldRef)| -> Result<ArrayRef> {
        match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            false => cast_with_options(column, field.data_type(), &options).map_err(Error::unexpected),
        }
    };
    let columns = batch.columns().iter().zip(&fields).map(in_utc).collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &rows).map_err(Error::unexpected)
}

fn field_in_utc(field: &FieldRef) -> FieldRef {
    with_type(field, in_utc(field.data_type()))
}

/// The type with UTC in place of each time zone.
pub(crate) fn in_utc(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("UTC".into())),
        DataType::Dictionary(keys, values) => DataType::Dictionary(keys.clone(), Box::new(in_utc(values))),
        other => map_inner_fields(other, field_in_utc).unwrap_or_else(|| other.clone()),
    }
}
