//! Dates and times as ISO 8601.

use arrow::datatypes::TimeUnit;
use lakerace_format::calendar::{civil_from_days, days_from_civil, fraction_digits, is_date, units_per_second};

const DAY_SECONDS: i64 = 86_400;

/// Appends `YYYY-MM-DD` of days since 1970-01-01.
///
/// # Errors
/// A year beyond those of four digits.
pub(super) fn write_date(out: &mut Vec<u8>, days: i64) -> Result<(), String> {
    let (year, month, day) = civil_from_days(days);
    if !(0..=9999).contains(&year) {
        return Err("the year does not have four digits".to_owned());
    }
    digits(out, year as u64, 4);
    out.push(b'-');
    digits(out, month as u64, 2);
    out.push(b'-');
    digits(out, day as u64, 2);
    Ok(())
}

/// Appends a date, `T` and a time with as many digits as the unit has, and `Z` where it is an instant.
pub(super) fn write_timestamp(out: &mut Vec<u8>, value: i64, unit: TimeUnit, is_instant: bool) -> Result<(), String> {
    let per_second = units_per_second(unit);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    write_date(out, seconds.div_euclid(DAY_SECONDS))?;
    out.push(b'T');
    clock(out, seconds.rem_euclid(DAY_SECONDS) as u64, fraction as u64, unit);
    if is_instant {
        out.push(b'Z');
    }
    Ok(())
}

/// Appends `HH:MM:SS` of nanoseconds since midnight, with as many digits after a point as the unit has.
///
/// # Errors
/// A time that is not within a day.
pub(super) fn write_clock(out: &mut Vec<u8>, nanoseconds: i64, unit: TimeUnit) -> Result<(), String> {
    let within_day = u64::try_from(nanoseconds).ok().filter(|value| *value < DAY_SECONDS as u64 * 1_000_000_000);
    let nanoseconds = within_day.ok_or("the time is not within a day")?;
    let fraction = nanoseconds % 1_000_000_000 / (1_000_000_000 / units_per_second(unit) as u64);
    clock(out, nanoseconds / 1_000_000_000, fraction, unit);
    Ok(())
}

fn clock(out: &mut Vec<u8>, seconds: u64, fraction: u64, unit: TimeUnit) {
    digits(out, seconds / 3600, 2);
    out.push(b':');
    digits(out, seconds / 60 % 60, 2);
    out.push(b':');
    digits(out, seconds % 60, 2);
    let width = fraction_digits(unit) as usize;
    if width > 0 {
        out.push(b'.');
        digits(out, fraction, width);
    }
}

fn digits(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let start = out.len();
    out.resize(start + width, b'0');
    for place in out[start..].iter_mut().rev() {
        *place = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// Parses a plain ISO 8601 text with at most nine digits of a fraction. Returns the days of its `YYYY-MM-DD`, the
/// nanoseconds in the day, and whether an offset of zero follows. `None` if the text has another form.
pub(super) fn quick_timestamp(text: &[u8]) -> Option<(i64, i64, bool)> {
    let number = |from: usize, to: usize| {
        text.get(from..to)?
            .iter()
            .try_fold(0_i64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    };
    let is_at = |at: usize, byte: u8| text.get(at) == Some(&byte);
    let days = quick_date(text.get(..10)?)?;
    if text.len() < 19 || !is_at(10, b'T') || !is_at(13, b':') || !is_at(16, b':') {
        return None;
    }
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let has_zone = text.last() == Some(&b'Z');
    let end = text.len() - usize::from(has_zone);
    let fraction = match end - 19 {
        0 => 0,
        length @ 2..=10 if is_at(19, b'.') => number(20, end)? * 10_i64.pow(10 - length as u32),
        _ => return None,
    };
    Some((days, (hour * 3600 + minute * 60 + second) * 1_000_000_000 + fraction, has_zone))
}

/// The days of `YYYY-MM-DD`. `None` where the text is anything else.
pub(super) fn quick_date(text: &[u8]) -> Option<i64> {
    if text.len() != 10 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let number = |from: usize, to: usize| {
        text[from..to]
            .iter()
            .try_fold(0_i64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    is_date(year, month, day).then(|| days_from_civil(year, month, day))
}

#[cfg(test)]
mod tests;
