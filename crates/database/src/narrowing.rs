//! Values as a target keeps them that has fewer digits, or no place for some.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, make_array};
use arrow::compute::nullif;
use arrow::datatypes::{
    DataType, Field, Float16Type, Float32Type, Float64Type, Schema, TimeUnit, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use lakerace_io::{Error, Result};

/// A batch with other columns, whose types may be others.
pub(crate) fn with_columns(batch: &RecordBatch, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    let schema = batch.schema();
    let fields = schema
        .fields()
        .iter()
        .zip(&columns)
        .map(|(field, column)| Field::clone(field).with_data_type(column.data_type().clone()).with_nullable(true));
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map_err(Error::unexpected)
}

/// Replaces NaN in floats by null; other columns are returned unchanged.
pub(crate) fn nan_as_null(array: &ArrayRef) -> Result<ArrayRef> {
    let is_nan: BooleanArray = match array.data_type() {
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().iter().map(|v| Some(v.is_some_and(f64::is_nan))).collect()
        }
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().iter().map(|v| Some(v.is_some_and(f32::is_nan))).collect()
        }
        DataType::Float16 => {
            array.as_primitive::<Float16Type>().iter().map(|v| Some(v.is_some_and(|v| v.is_nan()))).collect()
        }
        _ => return Ok(Arc::clone(array)),
    };
    nullif(array, &is_nan).map_err(Error::unexpected)
}

/// Timestamps cut to milliseconds, also in lists, structs and maps.
pub(crate) fn whole_milliseconds(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => Ok(cut::<TimestampMicrosecondType>(array, 1000)),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Ok(cut::<TimestampNanosecondType>(array, 1_000_000)),
        _ => {
            let data = array.to_data();
            if data.child_data().is_empty() {
                return Ok(Arc::clone(array));
            }
            let child = |child: &arrow::array::ArrayData| -> Result<_> {
                Ok(whole_milliseconds(&make_array(child.clone()))?.to_data())
            };
            let children = data.child_data().iter().map(child).collect::<Result<Vec<_>>>()?;
            data.clone().into_builder().child_data(children).build().map(make_array).map_err(Error::unexpected)
        }
    }
}

fn cut<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, per_millisecond: i64) -> ArrayRef {
    let times: &PrimitiveArray<T> = array.as_primitive::<T>();
    let cut: PrimitiveArray<T> = times.unary(|value| value.div_euclid(per_millisecond).saturating_mul(per_millisecond));
    Arc::new(cut.with_data_type(array.data_type().clone()))
}

#[cfg(test)]
mod tests;
