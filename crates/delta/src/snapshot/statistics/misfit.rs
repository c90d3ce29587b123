//! Bounds and null counts of the log that are not of their columns' types, or can't be. delta-rs can't open a table with some
//! of them, and other readers take them for unknown.

use arrow::datatypes::{DataType, Fields, Schema};
use lakerace_format::is_variant;
use lakerace_format::schema_text::print_type;
use serde_json::Value;

/// How far a bound of a decimal may be beyond the decimal's digits: delta-rs writes the nearest double.
const DOUBLE_SLACK: f64 = 1e-9;

/// The reason why statistics do not fit the columns of a table, after the words "the statistics"; `None`: they fit, or are
/// no statistics at all. `stored` has the columns' names in statistics, and `logical` the table's own.
///
/// A value of another form is left alone where some reader takes it: numbers as texts, integers with a point.
pub(crate) fn misfit(text: &str, logical: &Schema, stored: &Schema) -> Option<String> {
    let statistics: Value = serde_json::from_str(text).ok()?;
    let columns = NamedColumns { logical: logical.fields(), stored: stored.fields() };
    let bound = |kind: &str| {
        let (column, value, data_type) = columns.first_unfit(&statistics[kind], &is_bound)?;
        let data_type = print_type(data_type);
        Some(format!("have {value} as {kind} of {column}, which must be a value of {data_type}"))
    };
    let count = || {
        let (column, value, data_type) = columns.first_unfit(&statistics["nullCount"], &|count, _| count.is_i64())?;
        let form = if data_type.is_nested() { "an object of its fields" } else { "a count" };
        Some(format!("have {value} as nullCount of {column}, which must be {form}"))
    };
    let rows = statistics["numRecords"].as_i64();
    let excess = || {
        let is_possible = |count: &Value| count.as_i64().zip(rows).is_none_or(|(count, rows)| count <= rows);
        let (column, count, _) = columns.first_unfit(&statistics["nullCount"], &|count, _| is_possible(count))?;
        Some(format!("have {count} as nullCount of {column}, but {} as numRecords", rows?))
    };
    ["minValues", "maxValues"].into_iter().find_map(bound).or_else(count).or_else(excess)
}

/// Columns, or the fields of a struct, by both of their names.
#[derive(Clone, Copy)]
struct NamedColumns<'a> {
    logical: &'a Fields,
    stored: &'a Fields,
}

impl<'a> NamedColumns<'a> {
    /// The first value that does not fit its column: the column's name, the value, and the column's type.
    fn first_unfit<'v>(
        self,
        values: &'v Value,
        fits: &dyn Fn(&Value, &DataType) -> bool,
    ) -> Option<(String, &'v Value, &'a DataType)> {
        let values = values.as_object()?;
        self.logical.iter().zip(self.stored).find_map(|(logical, stored)| {
            let value = values.get(stored.name()).filter(|value| !value.is_null())?;
            let found = |data_type| Some((logical.name().clone(), value, data_type));
            match (logical.data_type(), stored.data_type()) {
                // The bounds of a variant are texts.
                (DataType::Struct(fields), DataType::Struct(stored)) if !is_variant(stored) => {
                    if !value.is_object() {
                        return found(logical.data_type());
                    }
                    let inner = NamedColumns { logical: fields, stored };
                    let (field, value, data_type) = inner.first_unfit(value, fits)?;
                    Some((format!("{}.{field}", logical.name()), value, data_type))
                }
                _ if fits(value, logical.data_type()) => None,
                _ => found(logical.data_type()),
            }
        })
    }
}

/// Returns true if some reader takes a bound for a value of a type.
fn is_bound(value: &Value, data_type: &DataType) -> bool {
    let number = || number(value);
    match data_type {
        DataType::Boolean => value.is_boolean(),
        DataType::Int8 => number().is_some_and(|n| is_within(n, i8::MIN.into(), i8::MAX.into())),
        DataType::Int16 => number().is_some_and(|n| is_within(n, i16::MIN.into(), i16::MAX.into())),
        DataType::Int32 => number().is_some_and(|n| is_within(n, i32::MIN.into(), i32::MAX.into())),
        DataType::Int64 => number().is_some_and(|n| is_within(n, i64::MIN.into(), i64::MAX.into())),
        DataType::Float32 | DataType::Float64 => number().is_some(),
        DataType::Decimal128(precision, scale) => {
            let most = 10f64.powi(i32::from(*precision) - i32::from(*scale)) * (1.0 + DOUBLE_SLACK);
            number().is_some_and(|n| n.as_double().abs() <= most)
        }
        DataType::Date32 | DataType::Timestamp(..) => value.as_str().is_some_and(is_moment),
        DataType::Utf8 => !value.is_array() && !value.is_object(),
        _ => true,
    }
}

/// A number of a bound, exactly if it is whole.
#[derive(Clone, Copy)]
enum BoundNumber {
    Whole(i128),
    Double(f64),
}

impl BoundNumber {
    fn as_double(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Double(double) => double,
        }
    }
}

fn number(value: &Value) -> Option<BoundNumber> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    text.parse().map(BoundNumber::Whole).or_else(|_| text.parse().map(BoundNumber::Double)).ok()
}

/// Returns true if a number is whole and between two others. A fraction is that of no value of the column, and readers differ
/// in what they make of it.
fn is_within(number: BoundNumber, least: i128, most: i128) -> bool {
    match number {
        BoundNumber::Whole(whole) => (least..=most).contains(&whole),
        BoundNumber::Double(double) => double.fract() == 0.0 && (least as f64..=most as f64).contains(&double),
    }
}

/// Returns true for a date, which a time with or without a zone may follow: `2024-02-29`, `-0044-03-15T12:00:00.5+01:00`.
fn is_moment(text: &str) -> bool {
    let unsigned = text.trim().trim_start_matches(['+', '-']);
    let mut parts = unsigned.splitn(3, '-');
    let number = |part: Option<&str>| part.filter(|part| is_digits(part)).and_then(|part| part.parse::<u32>().ok());
    let (year, month) = (number(parts.next()), number(parts.next()));
    let Some((day, time)) = parts.next().map(|rest| rest.split_at(rest.len().min(2))) else { return false };
    let (Some(year), Some(month), Some(day)) = (year, month, number(Some(day))) else { return false };
    // The Julian calendar, which Spark once had, has more leap years.
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day) && (time.is_empty() || is_time(time))
}

/// Returns true for a time of a day, with the mark before it.
fn is_time(text: &str) -> bool {
    let Some(time) = text.strip_prefix(['T', 't', ' ']) else { return false };
    let zone = time.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.'));
    let (clock, zone) = time.split_at(zone.unwrap_or(time.len()));
    let mut parts = clock.split(':');
    let is_part = |part: Option<&str>, most: f64| {
        part.is_none_or(|part| part.parse::<f64>().is_ok_and(|part| (0.0..most).contains(&part)))
    };
    let is_clock = is_part(parts.next(), 25.0) && is_part(parts.next(), 60.0) && is_part(parts.next(), 61.0);
    is_clock && parts.next().is_none() && !zone.contains(char::is_control)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
