//! Dates, times and durations that are stored as ISO 8601, as strict workbooks do.

use arrow::datatypes::TimeUnit;

use super::cells::{CellValue, DAY_MS};
use super::number_format::MomentKind;
use crate::calendar::days_from_civil;
use crate::text::value;

/// Milliseconds in an hour, a minute and a second.
const UNITS_MS: [(char, f64); 3] = [('H', 3_600_000.0), ('M', 60_000.0), ('S', 1000.0)];

/// A value by its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum IsoValue {
    /// A date, a time or both.
    Moment(CellValue),
    /// Days.
    Duration(f64),
}

/// The value of a text such as `2024-02-29`, `2024-02-29T12:30:00`, `12:30:00` and `PT26H30M`, rounded to milliseconds. A `Z`
/// at its end is left out, as workbooks have no zones. `None` for all others.
pub(super) fn iso_value(text: &str, kind: MomentKind, is_1904: bool) -> Option<IsoValue> {
    let text = text.trim();
    if let Some(duration) = text.strip_prefix("PT") {
        return Some(IsoValue::Duration(duration_days(duration)?));
    }
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, Some(clock)),
        None if text.contains(':') => ("", Some(text)),
        None => (text, None),
    };
    let ms = clock.map(clock_ms);
    if date.is_empty() {
        return Some(IsoValue::Moment(CellValue::Time(ms??.min(DAY_MS - 1))));
    }
    let days = value::date(date.as_bytes()).filter(|days| is_in_calendar(*days))?;
    let ms = match ms {
        Some(ms) => ms?,
        None if kind == MomentKind::Date || kind == MomentKind::Unknown => {
            return Some(IsoValue::Moment(CellValue::Date(days)));
        }
        None => 0,
    };
    Some(IsoValue::Moment(match kind {
        // A time of day alone is on the first day of the workbook.
        MomentKind::Time if is_first_day(days, is_1904) && ms < DAY_MS => CellValue::Time(ms),
        MomentKind::Date if ms == 0 => CellValue::Date(days),
        _ => CellValue::Timestamp(days * DAY_MS + ms),
    }))
}

/// Returns true for years of four digits.
fn is_in_calendar(days: i64) -> bool {
    (days_from_civil(1, 1, 1)..days_from_civil(9999, 12, 31) + 1).contains(&days)
}

fn is_first_day(days: i64, is_1904: bool) -> bool {
    match is_1904 {
        true => days == days_from_civil(1904, 1, 1),
        false => days == days_from_civil(1899, 12, 30) || days == days_from_civil(1899, 12, 31),
    }
}

/// The milliseconds of `HH:MM[:SS[.fraction]]`.
fn clock_ms(clock: &str) -> Option<i64> {
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let ms = value::time(whole.as_bytes(), TimeUnit::Millisecond)?;
    if fraction.is_empty() || !fraction.bytes().all(|digit| digit.is_ascii_digit()) || whole.len() < 8 && whole != clock
    {
        return None;
    }
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(4);
    let tenths = digits.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(ms + (tenths + 5) / 10)
}

/// The days of `[nH][nM][n.nS]`.
fn duration_days(text: &str) -> Option<f64> {
    let (mut rest, mut ms, mut units) = (text, 0.0, UNITS_MS.iter());
    while !rest.is_empty() {
        let end = rest.find(|character: char| character.is_ascii_uppercase())?;
        let unit = rest[end..].chars().next()?;
        let (_, size) = units.find(|(letter, _)| *letter == unit)?;
        let number = &rest[..end];
        if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' && unit == 'S') {
            return None;
        }
        ms += number.parse::<f64>().ok()? * size;
        rest = &rest[end + 1..];
    }
    // Longer ones have no text.
    (!text.is_empty() && ms < 1e15).then_some(ms / DAY_MS as f64)
}

#[cfg(test)]
mod tests;
