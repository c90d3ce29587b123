//! Texts of single values: numbers, decimals, dates, times.
//!
//! Every parser takes the whole text and returns `None` if it is not exactly a value of the type.

use arrow::datatypes::{TimeUnit, i256};

use crate::calendar::{days_from_civil, days_in_month, fraction_digits, units_per_second};

/// Parses one to eight digits: the field is `text[start..end]`, and the bytes before it are read along.
#[inline(always)]
fn eight_digits(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let len = end - start;
    let word = if end >= 8 {
        let bytes: [u8; 8] = text.get(end - 8..end)?.try_into().ok()?;
        u64::from_le_bytes(bytes)
    } else {
        let mut bytes = [0; 8];
        bytes[8 - len..].copy_from_slice(text.get(start..end)?);
        u64::from_le_bytes(bytes)
    };
    // The field is the highest `len` bytes; the bytes before it are replaced by zeros.
    let kept = u64::MAX << (8 * (8 - len));
    let digits = (word & kept) | (0x3030_3030_3030_3030 & !kept);
    // Each byte is 0x30..=0x39: neither it nor it plus six leaves the 0x30 row.
    let wrong = (digits & 0xf0f0_f0f0_f0f0_f0f0) ^ 0x3030_3030_3030_3030
        | (digits.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0) ^ 0x3030_3030_3030_3030;
    if wrong != 0 {
        return None;
    }
    let pairs = (digits & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
    let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
    Some((fours & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32)
}

/// An unsigned number of 1 to 19 digits at `text[start..end]`.
#[inline(always)]
pub(crate) fn digits(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let len = end.wrapping_sub(start);
    match len {
        1..=8 => eight_digits(text, start, end),
        9..=16 => {
            let high = eight_digits(text, start, end - 8)?;
            Some(high * 100_000_000 + eight_digits(text, end - 8, end)?)
        }
        17..=19 => {
            let high = eight_digits(text, start, end - 16)?;
            let middle = eight_digits(text, end - 16, end - 8)?;
            Some((high * 100_000_000 + middle) * 100_000_000 + eight_digits(text, end - 8, end)?)
        }
        _ => None,
    }
}

/// A signed number of 64 bits at `text[start..end]`.
#[inline(always)]
pub(crate) fn int64(text: &[u8], start: usize, end: usize) -> Option<i64> {
    let first = *text.get(start)?;
    let negative = first == b'-';
    let from = start + usize::from(negative || first == b'+');
    let n = match digits(text, from, end) {
        Some(n) => n,
        None => digits(text, skip_zeros(text, from, end)?, end)?,
    };
    // Nineteen digits are less than 2^64.
    if negative { 0i64.checked_sub_unsigned(n) } else { i64::try_from(n).ok() }
}

/// An unsigned number of 64 bits at `text[start..end]`.
#[inline(always)]
pub(crate) fn uint64(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let from = start + usize::from(text.get(start) == Some(&b'+'));
    if let Some(n) = digits(text, from, end) {
        return Some(n);
    }
    let from = skip_zeros(text, from, end)?;
    match end - from {
        20 => digits(text, from, end - 8)?.checked_mul(100_000_000)?.checked_add(eight_digits(text, end - 8, end)?),
        _ => digits(text, from, end),
    }
}

/// The start of the digits that count, in a number with more of them than fit.
#[cold]
fn skip_zeros(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let field = text.get(start..end).filter(|f| f.len() > 19)?;
    let zeros = field.iter().take_while(|d| **d == b'0').count();
    // A number of zeros alone keeps the last one.
    Some(start + zeros.min(field.len() - 1))
}

/// The powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A double at `text[start..end]`: the nearest one to the decimal text. `NaN`, `inf` and `infinity` in any case.
#[inline(always)]
pub(crate) fn float64(text: &[u8], start: usize, end: usize) -> Option<f64> {
    let field = text.get(start..end)?;
    let from = start + usize::from(field.first() == Some(&b'-'));
    // A mantissa below 2^53 divided by an exact power of ten is rounded once, so it is the nearest double.
    if end - from <= 17
        && let Some(point) = field.iter().position(|b| *b == b'.')
    {
        let point = start + point;
        let places = end - point - 1;
        if point > from && places > 0 && places <= 15 {
            let whole = digits(text, from, point)?;
            if let Some(fraction) = digits(text, point + 1, end) {
                let scale = EXACT_POWERS[places];
                let mantissa = whole as f64 * scale + fraction as f64;
                if mantissa < 9_007_199_254_740_992.0 {
                    let value = mantissa / scale;
                    return Some(if from > start { -value } else { value });
                }
            }
        }
    }
    fast_float2::parse(field).ok()
}

/// Returns true if a text that parses as infinity is the word for it, and not a number beyond all floats.
#[cold]
#[inline(never)]
pub(crate) fn says_infinity(field: &[u8]) -> bool {
    !field.iter().any(u8::is_ascii_digit)
}

/// A decimal with `scale` digits after the point, and at most `precision` digits, as its unscaled number. Surplus
/// digits after the point must be zeros.
pub(crate) fn decimal128(field: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let parts = DecimalParts::parse(field, scale)?;
    if let Some(n) = parts.small() {
        let fits = precision >= 19 || n < 10u64.pow(u32::from(precision));
        return fits.then_some(if parts.negative { -i128::from(n) } else { i128::from(n) });
    }
    let mut value: i128 = 0;
    for digit in parts.digits() {
        value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    let most = 10i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX);
    (value < most).then_some(if parts.negative { -value } else { value })
}

/// Parses like [`decimal128`], up to 76 digits.
pub(crate) fn decimal256(field: &[u8], precision: u8, scale: i8) -> Option<i256> {
    let parts = DecimalParts::parse(field, scale)?;
    let ten = i256::from_i128(10);
    let mut value = i256::ZERO;
    for digit in parts.digits() {
        value = value.checked_mul(ten)?.checked_add(i256::from_i128(i128::from(digit)))?;
    }
    let most = ten.checked_pow(u32::from(precision)).unwrap_or(i256::MAX);
    (value < most).then_some(if parts.negative { value.wrapping_neg() } else { value })
}

/// A decimal's digits, the point taken out.
struct DecimalParts<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Zeros that follow.
    zeros: usize,
}

impl<'a> DecimalParts<'a> {
    fn parse(field: &'a [u8], scale: i8) -> Option<Self> {
        let (negative, rest) = match field.split_first()? {
            (b'-', rest) => (true, rest),
            (b'+', rest) => (false, rest),
            _ => (false, field),
        };
        let point = rest.iter().position(|b| *b == b'.');
        let (whole, fraction) = match point {
            Some(p) => (&rest[..p], &rest[p + 1..]),
            None => (rest, &rest[..0]),
        };
        let all_digits = |d: &[u8]| d.iter().all(u8::is_ascii_digit);
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        // A negative scale leaves out digits before the point, which must be zeros as well.
        let places = usize::from(scale.max(0).unsigned_abs());
        let dropped = usize::from(scale.min(0).unsigned_abs());
        let (fraction, surplus) = fraction.split_at(fraction.len().min(places));
        let (whole, dropped) = whole.split_at(whole.len().saturating_sub(dropped));
        if surplus.iter().chain(dropped).any(|d| *d != b'0') {
            return None;
        }
        Some(Self { negative, whole, fraction, zeros: places - fraction.len() })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        let written = self.whole.iter().chain(self.fraction).map(|d| d - b'0');
        written.chain(std::iter::repeat_n(0, self.zeros))
    }

    /// The number, if it has at most 18 digits.
    fn small(&self) -> Option<u64> {
        if self.whole.len() + self.fraction.len() + self.zeros > 18 {
            return None;
        }
        let of = |d: &[u8]| if d.is_empty() { Some(0) } else { digits(d, 0, d.len()) };
        let power = |n: usize| 10u64.pow(n as u32);
        let written = of(self.whole)? * power(self.fraction.len()) + of(self.fraction)?;
        Some(written * power(self.zeros))
    }
}

/// `true` and `false` in any case, `t`, `f`, `1`, `0`.
pub(crate) fn boolean(field: &[u8]) -> Option<bool> {
    match field {
        b"true" | b"True" | b"TRUE" | b"t" | b"T" | b"1" => Some(true),
        b"false" | b"False" | b"FALSE" | b"f" | b"F" | b"0" => Some(false),
        _ if field.eq_ignore_ascii_case(b"true") => Some(true),
        _ if field.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

/// Days since 1970-01-01 of a `YYYY-MM-DD`; the year may have a sign and more digits.
#[inline]
pub(crate) fn date(field: &[u8]) -> Option<i64> {
    let (year, rest) = match field.split_first_chunk::<4>() {
        Some((year, rest)) if year.iter().all(u8::is_ascii_digit) && rest.first() == Some(&b'-') => {
            (digits(year, 0, 4)? as i64, &rest[1..])
        }
        _ => long_year(field)?,
    };
    let [m1, m2, b'-', d1, d2] = *rest.first_chunk::<5>()? else { return None };
    if rest.len() != 5 {
        return None;
    }
    let (month, day) = (two_digits(m1, m2)?, two_digits(d1, d2)?);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    Some(days_from_civil(year, month, day))
}

/// A year with a sign and at least four digits, and the text after its dash.
fn long_year(field: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, rest) = field.split_first()?;
    let negative = match sign {
        b'-' => true,
        b'+' => false,
        _ => return None,
    };
    let dash = rest.iter().position(|b| *b == b'-')?;
    // Beyond twelve digits, no time unit reaches.
    if !(4..=12).contains(&dash) {
        return None;
    }
    let year = digits(rest, 0, dash)? as i64;
    Some((if negative { -year } else { year }, &rest[dash + 1..]))
}

#[inline]
fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    if tens < 10 && ones < 10 { Some(i64::from(tens) * 10 + i64::from(ones)) } else { None }
}

/// A time of day `HH:MM[:SS[.fraction]]`: its value in `unit`s and the digits of its fraction. Digits that the unit does
/// not have must be zeros.
#[inline]
pub(crate) fn time(field: &[u8], unit: TimeUnit) -> Option<i64> {
    let [h1, h2, b':', m1, m2] = *field.first_chunk::<5>()? else { return None };
    let (hour, minute) = (two_digits(h1, h2)?, two_digits(m1, m2)?);
    let (second, fraction) = match &field[5..] {
        [] => (0, &field[..0]),
        [b':', s1, s2] => (two_digits(*s1, *s2)?, &field[..0]),
        [b':', s1, s2, b'.' | b',', fraction @ ..] if !fraction.is_empty() => (two_digits(*s1, *s2)?, fraction),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = hour * 3600 + minute * 60 + second;
    let places = fraction_digits(unit) as usize;
    if fraction.is_empty() {
        return Some(seconds * units_per_second(unit));
    }
    let (kept, surplus) = fraction.split_at(fraction.len().min(places));
    if surplus.iter().any(|d| *d != b'0') {
        return None;
    }
    let kept_value = if kept.is_empty() { 0 } else { digits(kept, 0, kept.len())? as i64 };
    Some(seconds * units_per_second(unit) + kept_value * 10i64.pow((places - kept.len()) as u32))
}

/// A date and time with `T` or a blank between: `unit`s since 1970-01-01T00:00:00, and the offset from UTC in minutes
/// where one is given (`Z`, `+02:00`, `+0200`, `+02`); the value is UTC then. A date alone is its midnight.
#[inline]
pub(crate) fn timestamp(field: &[u8], unit: TimeUnit) -> Option<(i64, Option<i64>)> {
    let split = match field.get(10) {
        Some(b'T' | b' ' | b't') => Some(10),
        _ => field.iter().position(|b| matches!(b, b'T' | b' ' | b't')),
    };
    let per_second = units_per_second(unit);
    let Some(split) = split else {
        let midnight = date(field)?.checked_mul(86_400)?.checked_mul(per_second)?;
        return Some((midnight, None));
    };
    let days = date(&field[..split])?;
    let (clock, offset) = split_offset(&field[split + 1..])?;
    // Wide, because the day alone may be out of a range into which its hours bring it back.
    let seconds = i128::from(days) * 86_400 - i128::from(offset.unwrap_or(0)) * 60;
    let value = seconds * i128::from(per_second) + i128::from(time(clock, unit)?);
    Some((i64::try_from(value).ok()?, offset))
}

/// A time of day and its offset from UTC in minutes.
#[inline]
fn split_offset(text: &[u8]) -> Option<(&[u8], Option<i64>)> {
    if let Some(clock) = text.strip_suffix(b"Z").or_else(|| text.strip_suffix(b"z")) {
        return Some((clock.strip_suffix(b" ").unwrap_or(clock), Some(0)));
    }
    if let Some(clock) = text.strip_suffix(b" UTC") {
        return Some((clock, Some(0)));
    }
    let Some(sign) = text.iter().rposition(|b| matches!(b, b'+' | b'-')) else { return Some((text, None)) };
    let (hours, minutes) = match &text[sign + 1..] {
        [h1, h2] => (two_digits(*h1, *h2)?, 0),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => (two_digits(*h1, *h2)?, two_digits(*m1, *m2)?),
        _ => return None,
    };
    if hours > 18 || minutes > 59 {
        return None;
    }
    let offset = hours * 60 + minutes;
    let clock = &text[..sign];
    Some((clock.strip_suffix(b" ").unwrap_or(clock), Some(if text[sign] == b'-' { -offset } else { offset })))
}

#[cfg(test)]
mod tests;
