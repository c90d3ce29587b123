//! Rows of batches against rows as the reference implementation prints them.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampNanosecondType,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::Value;

/// The first difference between a row of an array and the value that is expected.
pub fn difference(array: &ArrayRef, row: usize, expected: &Value) -> Option<String> {
    if array.is_null(row) && !matches!(array.data_type(), DataType::Union(..)) {
        return (!expected.is_null()).then(|| format!("null, not {expected}"));
    }
    let integer = |value: i64| (expected.as_i64() != Some(value)).then(|| format!("{value}, not {expected}"));
    let float = |value: f64, digits: f64| {
        let close = |wanted: f64| wanted == value || (wanted - value).abs() <= value.abs() * digits;
        (!expected.as_f64().is_some_and(close)).then(|| format!("{value}, not {expected}"))
    };
    let text = |value: &str| (expected.as_str() != Some(value)).then(|| format!("{value:?}, not {expected}"));
    match array.data_type() {
        DataType::Boolean => {
            let value = array.as_boolean().value(row);
            (expected.as_bool() != Some(value)).then(|| format!("{value}, not {expected}"))
        }
        DataType::Int8 => integer(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => integer(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => integer(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => integer(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(row).into(), 1e-6),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row), 1e-13),
        DataType::Utf8View => text(array.as_string_view().value(row)),
        DataType::BinaryView => {
            let bytes: Vec<Value> = array.as_binary_view().value(row).iter().map(|byte| Value::from(*byte)).collect();
            (expected.as_array() != Some(&bytes)).then(|| format!("{bytes:?}, not {expected}"))
        }
        DataType::Decimal128(_, scale) => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            // JSON's numbers are doubles.
            let number = value as f64 / 10f64.powi((*scale).into());
            let close = |wanted: f64| (wanted - number).abs() <= number.abs() * 1e-15;
            (!expected.as_f64().is_some_and(close)).then(|| format!("{value} at scale {scale}, not {expected}"))
        }
        DataType::Date32 => {
            let value = array.as_primitive::<Date32Type>().value_as_date(row)?.to_string();
            text(&value)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let value = array.as_primitive::<TimestampNanosecondType>().value_as_datetime(row)?;
            let digits = format!("{:09}", value.and_utc().timestamp_subsec_nanos());
            let digits = if digits.trim_end_matches('0').is_empty() { "0" } else { digits.trim_end_matches('0') };
            text(&format!("{}.{digits}", value.format("%Y-%m-%d %H:%M:%S")))
        }
        DataType::List(_) => items(&array.as_list::<i32>().value(row), expected),
        DataType::Map(..) => {
            let pairs = array.as_map().value(row);
            let expected = expected.as_array().cloned().unwrap_or_default();
            if pairs.len() != expected.len() {
                return Some(format!("{} pairs, not {expected:?}", pairs.len()));
            }
            expected.iter().enumerate().find_map(|(nth, pair)| {
                difference(pairs.column(0), nth, &pair["key"])
                    .or_else(|| difference(pairs.column(1), nth, &pair["value"]))
            })
        }
        DataType::Struct(fields) => fields.iter().zip(array.as_struct().columns()).find_map(|(field, column)| {
            difference(column, row, &expected[field.name()]).map(|found| format!("{}: {found}", field.name()))
        }),
        DataType::Union(..) => {
            let union = array.as_union();
            let value = union.value(row);
            if value.is_null(0) {
                return (!expected.is_null() && !expected["value"].is_null()).then(|| format!("null, not {expected}"));
            }
            if expected["tag"].as_i64() != Some(union.type_id(row).into()) {
                return Some(format!("member {}, not {expected}", union.type_id(row)));
            }
            difference(&value, 0, &expected["value"])
        }
        other => Some(format!("rows of {other} can't be compared")),
    }
}

fn items(items: &ArrayRef, expected: &Value) -> Option<String> {
    let expected = expected.as_array()?;
    if items.len() != expected.len() {
        return Some(format!("{} items, not {}", items.len(), expected.len()));
    }
    expected.iter().enumerate().find_map(|(nth, item)| difference(items, nth, item))
}

/// A row as text, for messages.
pub fn shown(array: &ArrayRef, row: usize) -> String {
    ArrayFormatter::try_new(array, &FormatOptions::default())
        .map_or_else(|e| e.to_string(), |f| f.value(row).to_string())
}
