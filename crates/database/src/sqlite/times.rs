//! Dates and times as ISO texts of any year.

use std::fmt::Write;

use arrow::datatypes::TimeUnit;
use lakerace_format::calendar::{civil_from_days, days_from_civil, fraction_digits, is_date, units_per_second};

pub(super) const SECONDS_PER_DAY: i64 = 86_400;
/// No offset of a text is so large.
pub(super) const MAX_OFFSET_SECONDS: i64 = SECONDS_PER_DAY;

/// Writes `2024-02-29`; years beyond four digits have a sign.
pub(super) fn write_date(days: i64, text: &mut String) {
    let (year, month, day) = civil_from_days(days);
    // Writing to a String can't fail.
    let _ = match year {
        0..=9999 => write!(text, "{year:04}"),
        _ if year < 0 => write!(text, "-{:04}", -year),
        _ => write!(text, "+{year}"),
    };
    let _ = write!(text, "-{month:02}-{day:02}");
}

/// Writes `12:34:56.000001` of units since midnight.
pub(super) fn write_time(value: i64, unit: TimeUnit, text: &mut String) {
    let per_second = units_per_second(unit);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let _ = write!(text, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let digits = fraction_digits(unit) as usize;
    if digits > 0 {
        let _ = write!(text, ".{fraction:0digits$}");
    }
}

/// Writes `2024-02-29T12:34:56.000001`, with `Z` after an instant.
pub(super) fn write_timestamp(value: i64, unit: TimeUnit, is_utc: bool, text: &mut String) {
    let per_day = SECONDS_PER_DAY * units_per_second(unit);
    write_date(value.div_euclid(per_day), text);
    text.push('T');
    write_time(value.rem_euclid(per_day), unit, text);
    if is_utc {
        text.push('Z');
    }
}

/// Days since 1970-01-01 of a date.
pub(super) fn parse_date(text: &str) -> Option<i64> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut parts = unsigned.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    // No unit of 64 bits reaches a year of more digits, and arithmetic on one would overflow.
    if parts.next().is_some() || !(4..=12).contains(&year.len()) || month.len() != 2 || day.len() != 2 {
        return None;
    }
    if sign == 1 && !text.starts_with('+') && year.len() != 4 {
        return None;
    }
    let (year, month, day) = (sign * number(year)?, number(month)?, number(day)?);
    is_date(year, month, day).then(|| days_from_civil(year, month, day))
}

/// Units since midnight of a time. More digits than the unit has are not taken.
pub(super) fn parse_time(text: &str, unit: TimeUnit) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    if text.ends_with('.') {
        return None;
    }
    let mut parts = clock.split(':');
    let (hours, minutes) = (parts.next()?, parts.next()?);
    let seconds = parts.next().unwrap_or("00");
    if parts.next().is_some() || [hours, minutes, seconds].iter().any(|part| part.len() != 2) {
        return None;
    }
    let (hours, minutes, seconds) = (number(hours)?, number(minutes)?, number(seconds)?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let digits = fraction_digits(unit) as usize;
    let (kept, lost) = fraction.split_at_checked(digits).unwrap_or((fraction, ""));
    if lost.bytes().any(|digit| digit != b'0') {
        return None;
    }
    let scale = 10i64.pow(u32::try_from(digits - kept.len()).ok()?);
    let fraction = if kept.is_empty() { 0 } else { number(kept)? * scale };
    Some((hours * 3600 + minutes * 60 + seconds) * units_per_second(unit) + fraction)
}

/// Units since 1970-01-01 00:00:00 of a timestamp, and whether it names an offset, which is taken away. Date and time are parted
/// by `T` or a blank; a date alone is its midnight.
pub(super) fn parse_timestamp(text: &str, unit: TimeUnit) -> Option<(i64, bool)> {
    let Some(at) = text.find(['T', ' ']) else {
        let days = parse_date(text)?;
        return Some((days.checked_mul(SECONDS_PER_DAY)?.checked_mul(units_per_second(unit))?, false));
    };
    let (date, clock) = (&text[..at], &text[at + 1..]);
    let (clock, offset) = match clock.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, Some(0)),
        None => match clock.rfind(['+', '-']) {
            Some(at) => (&clock[..at], Some(offset_seconds(&clock[at..])?)),
            None => (clock, None),
        },
    };
    let of_day = parse_time(clock, unit)? - offset.unwrap_or(0) * units_per_second(unit);
    let midnight =
        parse_date(date)?.checked_mul(SECONDS_PER_DAY).and_then(|time| time.checked_mul(units_per_second(unit)));
    match midnight {
        Some(midnight) => Some((midnight.checked_add(of_day)?, offset.is_some())),
        None => {
            // The first nanoseconds of 64 bits are in a day whose midnight is before them.
            let per_day = i128::from(SECONDS_PER_DAY * units_per_second(unit));
            let value = i128::from(parse_date(date)?) * per_day + i128::from(of_day);
            Some((i64::try_from(value).ok()?, offset.is_some()))
        }
    }
}

fn offset_seconds(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest = &text[1..];
    let (hours, minutes) = match (rest.len(), rest.split_once(':')) {
        (5, Some(parts)) => parts,
        (4, None) => rest.split_at_checked(2)?,
        (2, None) => (rest, "00"),
        _ => return None,
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests;
