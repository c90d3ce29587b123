//! Dates and times from text.

use crate::calendar::{days_from_civil, is_date};

/// Nanoseconds in a day.
pub const DAY_NS: i128 = 86_400_000_000_000;

/// Days since 1970-01-01 of `YYYY-MM-DD` in the proleptic Gregorian calendar; years may be signed and longer. `None`
/// for other texts.
pub fn parse_date(text: &str) -> Option<i32> {
    let text = text.trim();
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut parts = rest.split('-');
    let year = digits(parts.next()?, 4, 7)?;
    let month = digits(parts.next()?, 1, 2)?;
    let day = digits(parts.next()?, 1, 2)?;
    if parts.next().is_some() {
        return None;
    }
    let year = if negative { -year } else { year };
    is_date(year, month, day).then(|| i32::try_from(days_from_civil(year, month, day)).ok())?
}

/// A timestamp: nanoseconds since 1970-01-01 00:00:00 and whether an offset was given (then they count in UTC).
/// Forms: a date alone, or a date, a space or `T`, `HH:MM[:SS[.fraction]]`, and perhaps `Z` or `±HH[:MM]`.
pub fn parse_timestamp(text: &str) -> Option<(i128, bool)> {
    let text = text.trim();
    let Some(split) = text.find(['T', 't', ' ']) else {
        return Some((i128::from(parse_date(text)?) * DAY_NS, false));
    };
    let days = i128::from(parse_date(&text[..split])?);
    let rest = text[split + 1..].trim_start();
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
        None => (rest, None),
        Some(at) => (&rest[..at], Some(&rest[at..])),
    };
    let wall = days * DAY_NS + i128::from(parse_time(clock)?);
    match offset {
        None => Some((wall, false)),
        Some(offset) => Some((wall - offset_ns(offset)?, true)),
    }
}

/// Nanoseconds since midnight of `HH:MM[:SS[.fraction]]`. Digits after the ninth of the fraction must be zeros.
pub fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim();
    let mut parts = text.split(':');
    let hour = digits(parts.next()?, 1, 2)?;
    let minute = digits(parts.next()?, 2, 2)?;
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(part) => match part.split_once('.') {
            None => (digits(part, 2, 2)?, 0),
            Some((second, fraction)) => (digits(second, 2, 2)?, fraction_ns(fraction)?),
        },
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction)
}

fn offset_ns(text: &str) -> Option<i128> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest = text.get(1..)?;
    let (hours, minutes) = match rest.split_once(':') {
        Some((hours, minutes)) => (digits(hours, 1, 2)?, digits(minutes, 2, 2)?),
        None if rest.len() == 4 => (digits(&rest[..2], 2, 2)?, digits(&rest[2..], 2, 2)?),
        None => (digits(rest, 1, 2)?, 0),
    };
    if hours > 18 || minutes > 59 {
        return None;
    }
    Some(sign * i128::from(hours * 60 + minutes) * 60_000_000_000)
}

fn fraction_ns(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (head, tail) = text.split_at(text.len().min(9));
    if tail.bytes().any(|b| b != b'0') {
        return None;
    }
    let value: i64 = head.parse().ok()?;
    Some(value * 10i64.pow(9 - head.len() as u32))
}

/// A number that consists of `least` to `most` ASCII digits.
fn digits(text: &str, least: usize, most: usize) -> Option<i64> {
    let fits = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
