//! Conditions that keep every value of a column from a literal on, in a form that an index serves.
//!
//! Values that do not fit the column's type are kept, so that they are reported. Values a little below the literal may
//! be kept, too.

use arrow::datatypes::TimeUnit;
use lakerace_format::Literal;
use lakerace_format::calendar::units_per_second;
use rusqlite::types::Value;

use super::infer::TypedColumn;
use super::kind::{StorageClass, TypeAffinity};
use super::times::{MAX_OFFSET_SECONDS, parse_timestamp, write_date};

const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_MINUTE: i64 = 60;
const SECONDS_PER_DAY: i64 = 86_400;
/// Below every digit, and above the signs of years beyond four digits and above all numbers. It is no number itself, which a column of
/// numbers would make one of.
const BELOW_DIGITS: &str = "/";

/// A condition with its parameters.
struct BoundCondition<'a> {
    column: &'a str,
    parameters: &'a mut Vec<Value>,
}

/// The condition that keeps all values of a column that are at least a literal; `None` where SQLite can't express it.
pub(super) fn at_least(column: &TypedColumn, literal: &Literal, parameters: &mut Vec<Value>) -> Option<String> {
    let kind = StorageClass::for_type(column.field.data_type()).ok()?;
    let mut bound = BoundCondition { column: &column.compared, parameters };
    match kind {
        StorageClass::Integer | StorageClass::UnsignedLong => bound.numbers(column.affinity, whole(literal)?),
        StorageClass::Real => {
            let floor = whole(literal)?;
            let is_wide = *column.field.data_type() == arrow::datatypes::DataType::Float64;
            bound.numbers(column.affinity, rounded_down(floor, if is_wide { 50 } else { 9 }))
        }
        // Floats stand for the digits that they print.
        StorageClass::Decimal { .. } => bound.numbers(column.affinity, rounded_down(whole(literal)?, 50)),
        StorageClass::Text => match literal {
            Literal::Text(text) => Some(bound.texts(text)),
            _ => None,
        },
        StorageClass::Date => {
            let day = i64::try_from(nanoseconds(literal)?.div_euclid(NANOSECONDS_PER_SECOND)).ok()?;
            let day = day.div_euclid(SECONDS_PER_DAY);
            let from = format!("{} >= ?", bound.column);
            bound.parameters.push(Value::Text(text_of_day(day)?));
            let others = bound.others(column, day);
            Some(format!("({from} OR {others})"))
        }
        StorageClass::Timestamp { unit, is_utc } => {
            let nanoseconds = nanoseconds(literal)?;
            let seconds = i64::try_from(nanoseconds.div_euclid(NANOSECONDS_PER_SECOND)).ok()?;
            let times = if is_utc { bound.instants(seconds)? } else { bound.times(seconds, "")? };
            let others = bound.others(column, units(nanoseconds, unit)?);
            Some(format!("({times} OR {others})"))
        }
        StorageClass::Null
        | StorageClass::Boolean
        | StorageClass::Bytes
        | StorageClass::Time(_)
        | StorageClass::Duration
        | StorageClass::Json => None,
    }
}

impl BoundCondition<'_> {
    /// Numbers from a whole one on. Texts and bytes are above all numbers.
    fn numbers(&mut self, affinity: TypeAffinity, from: i128) -> Option<String> {
        // A column of texts would make the parameter one.
        if affinity == TypeAffinity::Text {
            return None;
        }
        self.parameters.push(Value::Integer(clamp(from)));
        Some(format!("{} >= ?", self.column))
    }

    /// Texts from one on by their bytes, and numbers, which are below all texts.
    fn texts(&mut self, from: &str) -> String {
        self.parameters.push(Value::Text(from.to_owned()));
        format!("({0} >= ? OR {0} < '')", self.column)
    }

    /// Dates and times that are no plain texts: years with a sign, and numbers, which are units where the user has named the type.
    fn others(&mut self, column: &TypedColumn, units: i64) -> String {
        let below = format!("{} < '{BELOW_DIGITS}'", self.column);
        if !column.is_given || column.affinity == TypeAffinity::Text {
            return below;
        }
        self.parameters.push(Value::Integer(units));
        format!("({} >= ? AND {below})", self.column)
    }

    /// Times on a wall clock, each alternative with a further condition. A date is followed by a blank, a `T` or nothing.
    fn times(&mut self, seconds: i64, and: &str) -> Option<String> {
        let minute = seconds.div_euclid(SECONDS_PER_MINUTE) * SECONDS_PER_MINUTE;
        let day = text_of_day(minute.div_euclid(SECONDS_PER_DAY))?;
        let of_day = minute.rem_euclid(SECONDS_PER_DAY);
        let clock = format!("{:02}:{:02}", of_day / 3600, of_day / 60 % 60);
        let with_blank = if of_day == 0 { day.clone() } else { format!("{day} {clock}") };
        for text in [format!("{day}T{clock}"), with_blank, format!("{day}T")] {
            self.parameters.push(Value::Text(text));
        }
        let column = self.column;
        Some(format!("({column} >= ?{and}) OR ({column} >= ? AND {column} < ?{and})"))
    }

    /// Instants, whose texts are in any zone. Those in UTC end in `Z`.
    fn instants(&mut self, seconds: i64) -> Option<String> {
        let column = self.column;
        let in_utc = self.times(seconds, &format!(" AND {column} GLOB '*[Zz]'"))?;
        let others = self.times(seconds - MAX_OFFSET_SECONDS, &format!(" AND NOT {column} GLOB '*[Zz]'"))?;
        Some(format!("{in_utc} OR {others}"))
    }
}

/// The text of a day, at most the last one without a sign; `None` for years before 0.
fn text_of_day(day: i64) -> Option<String> {
    let mut text = String::new();
    write_date(day, &mut text);
    match text.as_bytes().first()? {
        b'-' => None,
        b'+' => Some("9999-12-31".to_owned()),
        _ => Some(text),
    }
}

/// The highest whole number that a literal is not below.
fn whole(literal: &Literal) -> Option<i128> {
    match literal {
        Literal::Number { digits, scale } => {
            Some(10i128.checked_pow(u32::from(*scale)).map_or(-1, |unit| digits.div_euclid(unit)))
        }
        Literal::Float(float) if float.is_finite() => Some(float.floor() as i128),
        _ => None,
    }
}

/// Below a number by more than its share of 1 in 2^`bits`.
fn rounded_down(number: i128, bits: u32) -> i128 {
    number.saturating_sub((number.saturating_abs() >> bits) + 1)
}

fn clamp(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

/// Nanoseconds since 1970 of a literal.
fn nanoseconds(literal: &Literal) -> Option<i128> {
    match literal {
        Literal::Date(day) => Some(i128::from(*day) * i128::from(SECONDS_PER_DAY) * NANOSECONDS_PER_SECOND),
        Literal::Timestamp { nanoseconds, .. } => Some(*nanoseconds),
        Literal::Text(text) => parse_timestamp(text, TimeUnit::Nanosecond).map(|(nanoseconds, _)| nanoseconds.into()),
        _ => None,
    }
}

/// The units of a time, rounded down.
fn units(nanoseconds: i128, unit: TimeUnit) -> Option<i64> {
    let nanoseconds_per_unit = NANOSECONDS_PER_SECOND / i128::from(units_per_second(unit));
    i64::try_from(nanoseconds.div_euclid(nanoseconds_per_unit)).ok()
}
