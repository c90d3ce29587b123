//! Values of cells.

use std::fmt::Write;

use arrow::datatypes::{DataType, TimeUnit};
use calamine::CellErrorType;

use super::number_format::MomentKind;
use super::texts::{SheetTexts, TextId};
use crate::calendar::civil_from_days;

/// Milliseconds in a day: Excel's own resolution of times.
pub(super) const DAY_MS: i64 = 86_400_000;

/// The first whole number that may stand for another one, as a double does not hold all after it.
const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;

/// The first number that no integer of 64 bits is.
const IDENTIFIERS_END: f64 = 18_446_744_073_709_551_616.0;

/// The days from 1899-12-30, where serial numbers after February 1900 start, to 1970-01-01.
const DAYS_TO_1970: i64 = 25_569;

/// The days from 1900's first serial number to 1904's.
const DAYS_TO_1904: f64 = 1462.0;

/// The serial number of 10000-01-01, the first that Excel refuses.
const SERIAL_END: f64 = 2_958_466.0;

/// The value of a cell that is not empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CellValue {
    /// A number.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// Days since 1970-01-01.
    Date(i64),
    /// Milliseconds since 1970-01-01T00:00:00.
    Timestamp(i64),
    /// Milliseconds since midnight.
    Time(i64),
    /// A text.
    Text(TextId),
    /// A bad value.
    Bad(BadCell),
}

/// The reason for a cell without a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BadCell {
    /// An error of Excel.
    Error(ExcelError),
    /// A formula whose value is not stored.
    Uncalculated,
    /// A number with the format of a date that is no date.
    NoDate(f64),
    /// A text of ISO 8601 that is no date, time or duration.
    NoMoment(TextId),
    /// A number whose text is none, or that is not finite.
    NoNumber(TextId),
}

/// Characters of a bad text that an error shows.
const SHOWN_CHARACTERS: usize = 40;

impl BadCell {
    /// The cell in an error.
    pub fn shown(&self, texts: &SheetTexts) -> String {
        let start = |id: &TextId| texts.get(*id).chars().take(SHOWN_CHARACTERS).collect::<String>();
        match self {
            Self::Error(error) => format!("the error {}", error.0),
            Self::Uncalculated => "a formula without a stored value".to_owned(),
            Self::NoDate(number) => format!("the number {number}, which is no date of Excel"),
            Self::NoMoment(text) => format!("the date {:?}, which is none of ISO 8601 without a zone", start(text)),
            Self::NoNumber(text) => format!("the number {:?}, which is not finite, or none", start(text)),
        }
    }
}

/// An error value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExcelError(pub &'static str);

impl From<CellErrorType> for ExcelError {
    fn from(error: CellErrorType) -> Self {
        Self(match error {
            CellErrorType::Div0 => "#DIV/0!",
            CellErrorType::NA => "#N/A",
            CellErrorType::Name => "#NAME?",
            CellErrorType::Null => "#NULL!",
            CellErrorType::Num => "#NUM!",
            CellErrorType::Ref => "#REF!",
            CellErrorType::Value => "#VALUE!",
            CellErrorType::GettingData => "#GETTING_DATA",
        })
    }
}

impl CellValue {
    /// The moment of a serial number, by the parts that its format shows.
    pub fn of_serial(serial: f64, kind: MomentKind, is_1904: bool) -> Self {
        let is_time = matches!(kind, MomentKind::Time);
        let ms = (serial * DAY_MS as f64).round() as i64;
        if is_time && (0..DAY_MS).contains(&ms) && serial >= 0.0 {
            return Self::Time(ms);
        }
        let Some(ms) = serial_ms(serial, is_1904) else { return Self::Bad(BadCell::NoDate(serial)) };
        let is_midnight = ms.rem_euclid(DAY_MS) == 0;
        match kind {
            // A time of day in a cell that shows a date must not be lost.
            MomentKind::Date | MomentKind::Unknown if is_midnight => Self::Date(ms.div_euclid(DAY_MS)),
            _ => Self::Timestamp(ms),
        }
    }

    /// Appends the value as text, as text formats write it. Nothing is appended for bad values.
    pub fn write_text(&self, texts: &SheetTexts, out: &mut String) {
        match *self {
            Self::Number(number) => write_number(number, out),
            Self::Boolean(value) => out.push_str(if value { "true" } else { "false" }),
            Self::Date(days) => write_date(days, out),
            Self::Timestamp(ms) => {
                write_date(ms.div_euclid(DAY_MS), out);
                out.push('T');
                write_time(ms.rem_euclid(DAY_MS), out);
            }
            Self::Time(ms) => write_time(ms, out),
            Self::Text(id) => out.push_str(texts.get(id)),
            Self::Bad(_) => {}
        }
    }
}

/// The milliseconds from 1970 to a serial number; `None` where Excel has no date.
fn serial_ms(serial: f64, is_1904: bool) -> Option<i64> {
    let end = if is_1904 { SERIAL_END - DAYS_TO_1904 } else { SERIAL_END };
    if !(0.0..end).contains(&serial) {
        return None;
    }
    let days = match serial {
        _ if is_1904 => serial + DAYS_TO_1904,
        // Excel has a day of 1900-02-29, which was not: the days before it have numbers that are one less.
        _ if serial < 60.0 => serial + 1.0,
        _ if serial < 61.0 => return None,
        _ => serial,
    };
    Some((days * DAY_MS as f64).round() as i64 - DAYS_TO_1970 * DAY_MS)
}

/// Returns true if a number is whole, and no other whole number has the same double.
pub(super) fn is_exact_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < FIRST_INEXACT && !(number == 0.0 && number.is_sign_negative())
}

/// Returns true if a number is whole, and may stand for another one.
pub(super) fn is_inexact_integer(number: f64) -> bool {
    number.abs() >= FIRST_INEXACT
}

/// The shortest text that reads back as the same number. Whole numbers have no point.
fn write_number(number: f64, out: &mut String) {
    let size = number.abs();
    let is_usual = size == 0.0 || (1e-15..1e15).contains(&size) || is_exact_integer(number);
    if is_usual {
        let _ = write!(out, "{number}");
    } else {
        out.push_str(zmij::Buffer::new().format(number));
    }
}

fn write_date(days: i64, out: &mut String) {
    let (year, month, day) = civil_from_days(days);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

/// Appends a time of day or a duration, with milliseconds where it has any.
fn write_time(ms: i64, out: &mut String) {
    let seconds = ms / 1000;
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if ms % 1000 != 0 {
        let _ = write!(out, ".{:03}", ms % 1000);
    }
}

/// The text of a duration in days: `26:30:00`, as Excel shows it by `[h]:mm:ss`.
pub(super) fn duration_text(days: f64) -> String {
    let ms = (days.abs() * DAY_MS as f64).round() as i64;
    let mut text = String::from(if days < 0.0 && ms > 0 { "-" } else { "" });
    write_time(ms, &mut text);
    text
}

/// The kinds of values in a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ValueKinds {
    boolean: bool,
    integer: bool,
    float: bool,
    /// Numbers with a fraction.
    fraction: bool,
    /// Whole numbers of the size of identifiers that may stand for others.
    inexact: bool,
    date: bool,
    timestamp: bool,
    time: bool,
    text: bool,
}

impl ValueKinds {
    /// Adds a value. Bad ones have no kind.
    pub fn add(&mut self, value: &CellValue) {
        match value {
            CellValue::Number(number) if is_exact_integer(*number) => self.integer = true,
            CellValue::Number(number) => {
                self.float = true;
                self.fraction |= number.fract() != 0.0;
                self.inexact |= is_inexact_integer(*number) && number.abs() < IDENTIFIERS_END;
            }
            CellValue::Boolean(_) => self.boolean = true,
            CellValue::Date(_) => self.date = true,
            CellValue::Timestamp(_) => self.timestamp = true,
            CellValue::Time(_) => self.time = true,
            CellValue::Text(_) => self.text = true,
            CellValue::Bad(_) => {}
        }
    }

    /// Returns true if all numbers are whole, and some may stand for others: they may have been identifiers.
    pub fn has_rounded_integers(self) -> bool {
        self.inexact && !self.fraction
    }

    /// The type that all values fit. Without any value it is text.
    pub fn data_type(self) -> DataType {
        let (number, moment) = (self.integer || self.float, self.date || self.timestamp);
        match (self.text, self.boolean, number, moment, self.time) {
            (false, true, false, false, false) => DataType::Boolean,
            (false, false, true, false, false) if self.float => DataType::Float64,
            (false, false, true, false, false) => DataType::Int64,
            (false, false, false, true, false) if self.timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            (false, false, false, true, false) => DataType::Date32,
            (false, false, false, false, true) => DataType::Time64(TimeUnit::Microsecond),
            _ => DataType::Utf8View,
        }
    }
}

#[cfg(test)]
mod tests;
