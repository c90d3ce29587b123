//! Types from a sample of the rows.
//!
//! A column is of the first of these types that all of its sampled values fit, nulls left out: bool (`true`, `false`),
//! int64, float64, date32 (`YYYY-MM-DD`), timestamp (to microseconds, or nanoseconds where they are written; UTC where
//! all values have an offset), else text. A column without any value is text. Kept as text, so that nothing is lost:
//! numbers with a leading zero or plus (`007`, `+49`), whole numbers next to floats or beyond 64 bits that a double does not
//! hold exactly, and numbers with more digits than a double keeps (see [`keeps_digits`]). Blanks around values other than text
//! don't matter.
//!
//! A value after the sample that would have led to another type is a bad row: see [`is_integer`] and its like.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};

use super::float_digits::keeps_digits;
use super::value;

/// The type of a column's values so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InferredType {
    boolean: bool,
    integer: bool,
    /// Integers that a double does not hold exactly.
    wide_integer: bool,
    float: bool,
    date: bool,
    /// Timestamps without and with an offset, and with a finer fraction than microseconds.
    local: bool,
    instant: bool,
    nanoseconds: bool,
    text: bool,
}

impl InferredType {
    /// Adds a value, without blanks around it.
    pub fn update(&mut self, field: &[u8]) {
        match field {
            [] => {}
            [b't' | b'f' | b'T' | b'F', ..] if is_boolean(field) && value::boolean(field).is_some() => {
                self.boolean = true;
            }
            _ => {
                let kind = number_kind(field).or_else(|| time_kind(field));
                let kind = kind.unwrap_or(Self { text: true, ..Self::default() });
                self.boolean |= kind.boolean;
                self.integer |= kind.integer;
                self.wide_integer |= kind.wide_integer;
                self.float |= kind.float;
                self.date |= kind.date;
                self.local |= kind.local;
                self.instant |= kind.instant;
                self.nanoseconds |= kind.nanoseconds;
                self.text |= kind.text;
            }
        }
    }

    /// Adds a value that only text holds.
    pub fn update_as_text(&mut self) {
        self.text = true;
    }

    /// True where no further value changes the type.
    pub fn is_text(self) -> bool {
        self.text
    }

    /// The type that all values fit.
    pub fn data_type(self) -> DataType {
        let number = self.integer || self.float;
        let time = self.date || self.local || self.instant;
        let unit = if self.nanoseconds { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
        match (self.text, self.boolean, number, time) {
            (false, true, false, false) => DataType::Boolean,
            (false, false, true, false) if self.float && self.wide_integer => DataType::Utf8View,
            (false, false, true, false) if self.float => DataType::Float64,
            (false, false, true, false) => DataType::Int64,
            (false, false, false, true) => match (self.local || self.date, self.instant) {
                (true, false) if !self.local => DataType::Date32,
                (true, false) => DataType::Timestamp(unit, None),
                (false, true) => DataType::Timestamp(unit, Some(Arc::from("UTC"))),
                // Wall-clock times and instants have no common type.
                _ => DataType::Utf8View,
            },
            _ => DataType::Utf8View,
        }
    }
}

fn number_kind(field: &[u8]) -> Option<InferredType> {
    let float = InferredType { float: true, ..InferredType::default() };
    let unsigned = field.strip_prefix(b"-").unwrap_or(field);
    match unsigned {
        b"NaN" | b"nan" | b"inf" | b"Inf" | b"infinity" | b"Infinity" => return Some(float),
        [b'0', next, ..] if next.is_ascii_digit() => return None,
        // The sign of zero is a float's.
        b"0" if field.len() > 1 => return Some(float),
        [first, ..] if first.is_ascii_digit() || *first == b'.' => {}
        _ => return None,
    }
    if let Some(integer) = value::int64(field, 0, field.len()) {
        let wide_integer = i128::from(integer) != (integer as f64) as i128;
        return Some(InferredType { integer: true, wide_integer, ..InferredType::default() });
    }
    let parsed = value::float64(field, 0, field.len()).filter(|p| p.is_finite())?;
    // A whole number must be read back as the same one.
    let is_whole = unsigned.iter().all(u8::is_ascii_digit);
    let is_exact = || format!("{:.0}", parsed.abs()).as_bytes() == unsigned;
    let is_kept = if is_whole { is_exact() } else { keeps_digits(unsigned, parsed.abs()) };
    is_kept.then_some(float)
}

/// Returns true if a text that parses as an integer is one in an inferred column as well.
#[inline(always)]
pub(crate) fn is_integer(field: &[u8]) -> bool {
    match field {
        [b'1'..=b'9', ..] | b"0" => true,
        [b'-', first, ..] => matches!(first, b'1'..=b'9'),
        _ => false,
    }
}

/// Returns true if a text that parses as this float is one in an inferred column as well.
#[inline(always)]
pub(crate) fn is_float(field: &[u8], parsed: f64) -> bool {
    // Whole numbers with fewer digits are exact, and a point is not a digit.
    let is_kept = |unsigned: &[u8]| {
        unsigned.len() < 16
            || (unsigned.contains(&b'.') && (unsigned.len() == 16 || keeps_digits(unsigned, parsed.abs())))
    };
    (parsed.is_normal() && is_plain_number(field, is_kept)) || is_float_at_all(field)
}

/// Returns true if a number of JSON that parses as this float is one in a column whose type was given: whole numbers are exact, of
/// others the float is the nearest one.
#[inline(always)]
pub(crate) fn is_nearest_float(field: &[u8], parsed: f64) -> bool {
    let is_whole = |unsigned: &[u8]| unsigned.iter().all(u8::is_ascii_digit);
    let is_exact = |unsigned: &[u8]| unsigned.len() < 16 || !is_whole(unsigned);
    (parsed.is_finite() && parsed != 0.0 && is_plain_number(field, is_exact)) || is_float_at_all(field)
}

/// Returns true if a field is written like a number, and `is_kept` is true of it without its sign.
#[inline(always)]
fn is_plain_number(field: &[u8], is_kept: impl Fn(&[u8]) -> bool) -> bool {
    let unsigned = if field.first() == Some(&b'-') { &field[1..] } else { field };
    let is_plain = match unsigned {
        [b'0', next, ..] => !next.is_ascii_digit(),
        [first, ..] => first.is_ascii_digit() || *first == b'.',
        [] => false,
    };
    is_plain && is_kept(unsigned)
}

#[cold]
#[inline(never)]
fn is_float_at_all(field: &[u8]) -> bool {
    number_kind(field).is_some_and(|kind| !kind.wide_integer)
}

/// Returns true if a text is a number some of whose digits a float loses.
pub(crate) fn loses_digits(field: &[u8]) -> bool {
    let is_number = |parsed: &f64| field.iter().any(u8::is_ascii_digit) && is_nearest_float(field, *parsed);
    value::float64(field, 0, field.len()).is_some_and(|parsed| is_number(&parsed) && !is_float(field, parsed))
}

/// Returns true if a text that parses as a boolean is one in an inferred column as well: `t` and `1` are not.
pub(crate) fn is_boolean(field: &[u8]) -> bool {
    field.len() > 1
}

/// The type that is inferred from a single value.
pub(crate) fn type_of(field: &[u8]) -> DataType {
    let mut inferred = InferredType::default();
    inferred.update(field.trim_ascii());
    inferred.data_type()
}

fn time_kind(field: &[u8]) -> Option<InferredType> {
    if value::date(field).is_some() {
        return Some(InferredType { date: true, ..InferredType::default() });
    }
    let (nanoseconds, offset) = match value::timestamp(field, TimeUnit::Microsecond) {
        Some((_, offset)) => (false, offset),
        None => (true, value::timestamp(field, TimeUnit::Nanosecond)?.1),
    };
    Some(InferredType { local: offset.is_none(), instant: offset.is_some(), nanoseconds, ..InferredType::default() })
}

#[cfg(test)]
mod tests;
