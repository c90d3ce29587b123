//! Nested values as JSON texts, exactly.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder, make_array, new_null_array};
use arrow::compute::{CastOptions, cast_with_options, max, min};
use arrow::datatypes::{DataType, Field, FieldRef, Float16Type, Float32Type, Float64Type, Int64Type, Schema, TimeUnit};
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::record_batch::RecordBatch;
use lakerace_format::calendar::units_per_second;
use lakerace_format::{map_inner_fields, values_of_json};
use lakerace_io::option::{COLUMNS, WHERE};
use lakerace_io::{Error, ErrorKind, Result};

/// The name of the one column of the rows that arrow-json writes.
const NAME: &str = "v";
const FRONT: &str = "{\"v\":";

/// The seconds since 1970 of the years 0 to 9999, both ends included.
const PLAIN_YEARS: (i64, i64) = (-62_167_219_200, 253_402_300_799);
const SECONDS_PER_DAY: i64 = 86_400;

/// An error for a nested type whose values can't be written, or not be read again.
pub(super) fn check(data_type: &DataType) -> Result<()> {
    values(&texts(&new_null_array(data_type, 1))?, data_type).map(drop)
}

/// The type whose JSON represents a nested type: a duration is an integer of its units, a dictionary its values, and an
/// instant is in UTC.
fn stored(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| -> FieldRef {
        let data_type = stored(field.data_type());
        Arc::new(Field::clone(field).with_data_type(data_type))
    };
    match data_type {
        DataType::Duration(_) => DataType::Int64,
        DataType::Dictionary(_, values) => stored(values),
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("UTC".into())),
        other => map_inner_fields(other, field).unwrap_or_else(|| other.clone()),
    }
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options).map_err(|error| Error::from_source(ErrorKind::Invalid, error))
}

/// JSON of each value; null of a null.
pub(super) fn texts(array: &ArrayRef) -> Result<StringArray> {
    if !is_finite(array) {
        return Err(Error::unsupported("a nested number is not finite, and JSON has no such number"));
    }
    let array = &cast(array, &stored(array.data_type()))?;
    if !has_plain_years(array)? {
        return Err(Error::unsupported("a nested date or time is outside of the years 0 to 9999 and has no text form")
            .advice(format!("exclude the column with {COLUMNS}, or its row with {WHERE}")));
    }
    let failed =
        |error: arrow::error::ArrowError| Error::unsupported("the value can't be written as JSON").because(error);
    let schema = Schema::new(vec![Field::new(NAME, array.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(array)]).map_err(failed)?;
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
    writer.write(&batch).map_err(failed)?;
    writer.finish().map_err(failed)?;
    let lines = String::from_utf8(writer.into_inner()).map_err(|_| Error::internal("the JSON is not valid UTF-8"))?;
    let mut texts = StringBuilder::with_capacity(array.len(), lines.len());
    for (row, line) in lines.lines().enumerate() {
        let value = line.strip_prefix(FRONT).and_then(|line| line.strip_suffix('}'));
        let value = value.ok_or_else(|| Error::internal("a JSON row has an unexpected form"))?;
        if array.is_null(row) { texts.append_null() } else { texts.append_value(value) }
    }
    Ok(texts.finish())
}

/// The values of JSON texts.
pub(super) fn values(texts: &StringArray, data_type: &DataType) -> Result<ArrayRef> {
    let read = values_of_json(texts, &Field::new(NAME, stored(data_type), true))?;
    cast(&read, data_type)
}

fn is_finite(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().all(f64::is_finite),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().all(f32::is_finite),
        DataType::Float16 => array.as_primitive::<Float16Type>().iter().flatten().all(|float| float.is_finite()),
        _ => array.to_data().child_data().iter().all(|child| is_finite(&make_array(child.clone()))),
    }
}

/// Returns true if all dates and times have texts that can be read.
fn has_plain_years(array: &ArrayRef) -> Result<bool> {
    let units = match array.data_type() {
        DataType::Timestamp(unit, _) => *unit,
        DataType::Date64 => TimeUnit::Millisecond,
        DataType::Date32 => TimeUnit::Second,
        _ => {
            let data = array.to_data();
            for child in data.child_data() {
                if !has_plain_years(&make_array(child.clone()))? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
    };
    let is_date = *array.data_type() == DataType::Date32;
    let integers = if is_date { cast(array, &DataType::Int32)? } else { Arc::clone(array) };
    let integers = cast(&integers, &DataType::Int64)?;
    let integers = integers.as_primitive::<Int64Type>();
    let seconds =
        |value: i64| if is_date { value * SECONDS_PER_DAY } else { value.div_euclid(units_per_second(units)) };
    let (first, last) = PLAIN_YEARS;
    let (least, most) = (min(integers).map(seconds), max(integers).map(seconds));
    Ok(least.is_none_or(|least| least >= first) && most.is_none_or(|most| most <= last))
}

#[cfg(test)]
mod tests;
