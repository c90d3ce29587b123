//! The least and the greatest values of columns, if metadata contain them, in Spark's representation.

use arrow::datatypes::{DataType, Schema, TimeUnit, i256};
use lakerace::{Extremes, Result, Value};

use crate::call::{UNIT, UNIT_OF_NAMES};

/// The first day of the calendar that all versions of Spark and of its files agree on.
const GREGORIAN_DAYS: i64 = -141_427;
const DAY_MICROS: i64 = 86_400_000_000;

/// A record for each column of a list of names: the least and the greatest value as integers, two empty parts where no
/// row has a value, and an empty record where metadata lack them.
pub(crate) fn records(
    schema: &Schema,
    names: &str,
    extremes: impl Fn(&str) -> Result<Option<Extremes>>,
) -> Result<Vec<String>> {
    let mut records = Vec::new();
    for name in names.split(UNIT_OF_NAMES) {
        let record = match (schema.field_with_name(name), extremes(name)?) {
            (Ok(field), Some(extremes)) => {
                let text = |value: Option<Value>| match value {
                    None => Some(String::new()),
                    Some(value) => spark_number(&value, field.data_type()).map(|number| number.to_string()),
                };
                text(extremes.min).zip(text(extremes.max)).map(|(min, max)| format!("{min}{UNIT}{max}"))
            }
            _ => None,
        };
        records.push(record.unwrap_or_default());
    }
    Ok(records)
}

/// A value in Spark's integer representation: days, microseconds, unscaled decimals. `None` for days on which calendars
/// differ.
fn spark_number(value: &Value, data_type: &DataType) -> Option<i256> {
    let number = match value {
        Value::Boolean(is_true) => i256::from_i128(i128::from(*is_true)),
        Value::Integer(number) => *number,
        Value::Float(_) | Value::Bytes(_) => return None,
    };
    let least = |number: i256, least: i64| (number >= i256::from_i128(i128::from(least))).then_some(number);
    match data_type {
        DataType::Date32 => least(number, GREGORIAN_DAYS),
        DataType::Timestamp(unit, _) => {
            let micros = match unit {
                TimeUnit::Second => 1_000_000,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1,
                TimeUnit::Nanosecond => return None,
            };
            least(number.checked_mul(i256::from_i128(micros))?, GREGORIAN_DAYS * DAY_MICROS)
        }
        other if other.is_integer() || other.is_decimal() || *other == DataType::Boolean => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
