//! Single values as text, which [`crate::text::value`] reads back as the same values.

use arrow::datatypes::{TimeUnit, i256};

use crate::calendar::{civil_from_days, fraction_digits, units_per_second};

/// The two digits of every number below a hundred.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

/// Seconds in a day.
const DAY: i64 = 86_400;

/// Digits of the longest number of 64 bits.
const MAX_DIGITS: usize = 20;

pub(super) fn unsigned(mut n: u64, out: &mut Vec<u8>) {
    // Room after the digits, so that as many bytes can always be copied: that is faster than their exact number.
    let mut digits = [0; 2 * MAX_DIGITS];
    let mut at = MAX_DIGITS;
    while n >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(n % 100) as usize]);
        n /= 100;
    }
    if n >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[n as usize]);
    } else {
        at -= 1;
        digits[at] = b'0' + n as u8;
    }
    if let Some(fixed) = digits[at..].first_chunk::<MAX_DIGITS>() {
        out.extend_from_slice(fixed);
        out.truncate(out.len() - at);
    }
}

pub(super) fn signed(n: i64, out: &mut Vec<u8>) {
    if n < 0 {
        out.push(b'-');
    }
    unsigned(n.unsigned_abs(), out);
}

/// The shortest text that reads back as the same number, with a point or an exponent, so that it is seen to be one.
pub(super) fn float64(n: f64, out: &mut Vec<u8>) {
    if short_float(n, out) {
        return;
    }
    if n.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(n).as_bytes());
    } else {
        not_finite(n, out);
    }
}

/// Prints a float that has up to four digits after the point, as most that people write. Says whether it has.
///
/// If a text of at most 15 digits reads back as the number, no other one of as many digits does, so that it is the shortest
/// once its trailing zeros are gone.
fn short_float(n: f64, out: &mut Vec<u8>) -> bool {
    const SCALE: f64 = 1e4;
    let scaled = (n.abs() * SCALE).round_ties_even();
    // Not for zero, whose sign would be lost, nor for numbers with an exponent in their shortest text.
    if !(10.0..1e15).contains(&scaled) || scaled / SCALE != n.abs() {
        return false;
    }
    if n < 0.0 {
        out.push(b'-');
    }
    let (whole, fraction) = (scaled as u64 / 10_000, scaled as usize % 10_000);
    unsigned(whole, out);
    let [a, b] = PAIRS[fraction / 100];
    let [c, d] = PAIRS[fraction % 100];
    out.extend_from_slice(&[b'.', a, b, c, d]);
    let zeros = if fraction % 10 != 0 {
        0
    } else if fraction % 100 != 0 {
        1
    } else if fraction % 1000 != 0 {
        2
    } else {
        3
    };
    out.truncate(out.len() - zeros);
    true
}

/// Prints like [`float64`], shortest among 32-bit floats.
pub(super) fn float32(n: f32, out: &mut Vec<u8>) {
    if n.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(n).as_bytes());
    } else {
        not_finite(f64::from(n), out);
    }
}

fn not_finite(n: f64, out: &mut Vec<u8>) {
    let text: &[u8] = match (n.is_nan(), n > 0.0) {
        (true, _) => b"NaN",
        (false, true) => b"inf",
        (false, false) => b"-inf",
    };
    out.extend_from_slice(text);
}

/// An unscaled number with `scale` digits after the point.
pub(super) fn decimal128(n: i128, scale: i8, out: &mut Vec<u8>) {
    let magnitude = n.unsigned_abs();
    let places = u32::from(scale.max(0).unsigned_abs());
    if n < 0 {
        out.push(b'-');
    }
    match (u64::try_from(magnitude), 10u64.checked_pow(places)) {
        (Ok(small), Some(one)) if scale >= 0 => {
            unsigned(small / one, out);
            if places > 0 {
                out.push(b'.');
                padded(small % one, places as usize, out);
            }
        }
        _ => with_point(&magnitude.to_string(), scale, out),
    }
}

/// Prints like [`decimal128`].
pub(super) fn decimal256(n: i256, scale: i8, out: &mut Vec<u8>) {
    let text = n.to_string();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if digits.len() < text.len() {
        out.push(b'-');
    }
    with_point(digits, scale, out);
}

/// Digits with a point `scale` before their end.
fn with_point(digits: &str, scale: i8, out: &mut Vec<u8>) {
    let places = usize::from(scale.max(0).unsigned_abs());
    let zeros = (places + 1).saturating_sub(digits.len());
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(places));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole.as_bytes() });
    if places > 0 {
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', zeros.saturating_sub(1)));
        out.extend_from_slice(fraction.as_bytes());
    } else if digits != "0" {
        out.extend(std::iter::repeat_n(b'0', usize::from(scale.unsigned_abs())));
    }
}

/// A number with leading zeros up to a width.
fn padded(mut n: u64, width: usize, out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + width, b'0');
    for digit in out[from..].iter_mut().rev() {
        *digit = b'0' + (n % 10) as u8;
        n /= 10;
    }
}

fn two(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&PAIRS[n.rem_euclid(100) as usize]);
}

/// Days since 1970-01-01 as `YYYY-MM-DD`; years that four digits don't hold have a sign.
pub(super) fn date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(days);
    let [m1, m2] = PAIRS[month as usize];
    let [d1, d2] = PAIRS[day as usize];
    if (0..=9999).contains(&year) {
        let [y1, y2] = PAIRS[year as usize / 100];
        let [y3, y4] = PAIRS[year as usize % 100];
        out.extend_from_slice(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
        return;
    }
    out.push(if year < 0 { b'-' } else { b'+' });
    let width = if year.unsigned_abs() > 9999 { year.unsigned_abs().ilog10() as usize + 1 } else { 4 };
    padded(year.unsigned_abs(), width, out);
    out.extend_from_slice(&[b'-', m1, m2, b'-', d1, d2]);
}

/// A time of day in `unit`s, which is within one day, as `HH:MM:SS[.fraction]`.
pub(super) fn time(value: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    let per_second = units_per_second(unit);
    let (seconds, fraction) = (value / per_second, value % per_second);
    two(seconds / 3600, out);
    out.push(b':');
    two(seconds / 60 % 60, out);
    out.push(b':');
    two(seconds % 60, out);
    if fraction != 0 {
        out.push(b'.');
        let mut width = fraction_digits(unit) as usize;
        let mut fraction = fraction.unsigned_abs();
        while fraction % 1000 == 0 {
            fraction /= 1000;
            width -= 3;
        }
        padded(fraction, width, out);
    }
}

/// Returns true if a value is a time of day.
pub(super) fn is_time_of_day(value: i64, unit: TimeUnit) -> bool {
    (0..DAY * units_per_second(unit)).contains(&value)
}

/// `unit`s since 1970-01-01T00:00:00 as ISO 8601, with `Z` if they are an instant.
pub(super) fn timestamp(value: i64, unit: TimeUnit, is_instant: bool, out: &mut Vec<u8>) {
    let per_day = DAY * units_per_second(unit);
    date(value.div_euclid(per_day), out);
    out.push(b'T');
    time(value.rem_euclid(per_day), unit, out);
    if is_instant {
        out.push(b'Z');
    }
}

#[cfg(test)]
mod tests;
