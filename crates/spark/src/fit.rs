//! Types that the Java side has no vector for, as those that it has.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use lakerace::{Error, ErrorKind, Result};

/// The most digits that Spark's decimals have.
const SPARK_DIGITS: u8 = 38;

/// The schema of the batches that Java gets.
pub(crate) fn fitted_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(fitted_field).collect::<Vec<_>>()))
}

fn fitted_field(field: &FieldRef) -> FieldRef {
    let fitted = fitted(field.data_type());
    Arc::new(Field::new(field.name(), fitted, field.is_nullable()))
}

/// The type that Java reads for this one: the same type where Java reads it directly.
fn fitted(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Float16 => DataType::Float32,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Date64 => DataType::Date32,
        DataType::Decimal256(digits, scale) if *digits <= SPARK_DIGITS => DataType::Decimal128(*digits, *scale),
        DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale) if *scale < 0 => {
            DataType::Decimal128(widened(*digits, *scale), 0)
        }
        DataType::Decimal128(digits, scale) if *scale < 0 => DataType::Decimal128(widened(*digits, *scale), 0),
        DataType::RunEndEncoded(_, values) => fitted(values.data_type()),
        DataType::Dictionary(keys, values) => match fitted(values) {
            same if same == **values && !same.is_nested() => DataType::Dictionary(keys.clone(), values.clone()),
            other => other,
        },
        DataType::List(item) | DataType::ListView(item) => DataType::List(fitted_field(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => DataType::LargeList(fitted_field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(fitted_field(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(fitted_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(fitted_field(entries), *sorted),
        other => other.clone(),
    }
}

/// The digits of a decimal of negative scale when its trailing zeros are written out.
fn widened(digits: u8, scale: i8) -> u8 {
    digits.saturating_add(scale.unsigned_abs()).min(SPARK_DIGITS)
}

/// A batch with the columns of a fitted schema. A value that does not fit is an error.
pub(crate) fn fit(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        let named = |e: arrow::error::ArrowError| {
            Error::from_source(ErrorKind::Invalid, e).at(format!("column {:?}", field.name()))
        };
        cast_with_options(column, field.data_type(), &options).map_err(named)
    });
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    // Nullability is the source's promise, which Spark already has from the plan.
    let nullable = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = Arc::new(Schema::new(nullable.collect::<Vec<_>>()));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new_with_options(schema, columns, &rows).map_err(Error::unexpected)
}

#[cfg(test)]
mod tests;
