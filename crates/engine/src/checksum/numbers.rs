//! Words of numbers: equal values of different types have equal words.

use arrow::datatypes::i256;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Seeds distinguish kinds of values.
const INTEGER: u64 = 1;
const FRACTION: u64 = 2;

/// Below this, every integer is a double, and the shortest text of a double that is one is its exact value.
const EXACT_F64: f64 = 9_007_199_254_740_992.0;
const EXACT_F32: f32 = 16_777_216.0;

/// Integers of 64 bits.
#[inline]
pub(super) fn integer(value: i64) -> u64 {
    xxh3_64_with_seed(&value.to_le_bytes(), INTEGER)
}

/// Unsigned integers.
#[inline]
pub(super) fn unsigned(value: u64) -> u64 {
    i64::try_from(value).map_or_else(|_| scaled(value.into(), 0), integer)
}

/// `value` x 10^-`scale`.
pub(super) fn decimal(value: i128, scale: i32) -> u64 {
    match i64::try_from(value) {
        Ok(value) if scale >= 0 => narrow(value, scale),
        _ => scaled(value, -scale),
    }
}

/// `value` x 10^-`scale`, which is not negative.
#[inline]
fn narrow(value: i64, scale: i32) -> u64 {
    let (mut value, mut scale) = (value, scale);
    while scale > 0 && value % 10 == 0 {
        value /= 10;
        // Zero has no digits to strip.
        scale = if value == 0 { 0 } else { scale - 1 };
    }
    if scale == 0 { integer(value) } else { short(value, -scale) }
}

/// `value` x 10^-`scale`.
pub(super) fn wide_decimal(value: i256, scale: i32) -> u64 {
    if let Some(narrow) = value.to_i128() {
        return decimal(narrow, scale);
    }
    let ten = i256::from_i128(10);
    let (mut digits, mut exponent) = (value, -scale);
    while digits.wrapping_rem(ten) == i256::ZERO {
        digits = digits.wrapping_div(ten);
        exponent += 1;
    }
    match digits.to_i128() {
        Some(narrow) => scaled(narrow, exponent),
        None => {
            let mut bytes = [0; 36];
            bytes[..4].copy_from_slice(&exponent.to_le_bytes());
            bytes[4..].copy_from_slice(&digits.to_le_bytes());
            xxh3_64_with_seed(&bytes, FRACTION)
        }
    }
}

/// A double, by the shortest decimal that reads back as the same double.
pub(super) fn double(value: f64) -> u64 {
    if value as i64 as f64 == value && value.abs() < EXACT_F64 {
        return integer(value as i64);
    }
    if let Some(word) = short_decimal(value) {
        return word;
    }
    if !value.is_finite() {
        return not_finite(value);
    }
    from_text(zmij::Buffer::new().format_finite(value))
}

/// A float, by the shortest decimal that reads back as the same float.
pub(super) fn float(value: f32) -> u64 {
    if value as i64 as f32 == value && value.abs() < EXACT_F32 {
        return integer(value as i64);
    }
    if !value.is_finite() {
        return not_finite(value.into());
    }
    from_text(zmij::Buffer::new().format_finite(value))
}

fn not_finite(value: f64) -> u64 {
    let text: &[u8] = match (value.is_nan(), value > 0.0) {
        (true, _) => b"NaN",
        (false, true) => b"inf",
        (false, false) => b"-inf",
    };
    xxh3_64_with_seed(text, FRACTION)
}

/// A double with up to four digits after the point and up to fifteen in all, such as a price. A decimal of up to fifteen
/// digits that reads back as the double is its shortest text, because no two of them are the same double; and the
/// quotient below is the double that the decimal reads as, because both of its sides are exact.
#[inline]
fn short_decimal(value: f64) -> Option<u64> {
    if value.abs() >= 1e11 {
        return None;
    }
    // Half away from zero: a cast cuts the rest off, without a call into the maths library.
    let digits = (value * 1e4 + 0.5f64.copysign(value)) as i64;
    (digits as f64 / 1e4 == value).then(|| narrow(digits, 4))
}

/// From `12.34`, `1e+21` or `1.5e-7`, of at most 18 digits besides zeros in front.
fn from_text(text: &str) -> u64 {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (mut digits, mut scale, mut after_point, mut negative) = (0i64, 0, false, false);
    for byte in mantissa.bytes() {
        match byte {
            b'-' => negative = true,
            b'.' => after_point = true,
            digit => {
                digits = digits.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
                scale += i32::from(after_point);
            }
        }
    }
    let digits = if negative { -digits } else { digits };
    match scale - exponent.parse::<i32>().unwrap_or(0) {
        scale @ 0.. => narrow(digits, scale),
        scale => scaled(digits.into(), -scale),
    }
}

/// `digits` x 10^`exponent`.
fn scaled(digits: i128, exponent: i32) -> u64 {
    let (mut digits, mut exponent) = (digits, exponent);
    if digits == 0 {
        return integer(0);
    }
    while digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    // An integer of 64 bits has at most 19 digits.
    let power = u32::try_from(exponent).ok().filter(|n| *n <= 19).and_then(|n| 10i128.checked_pow(n));
    match power.and_then(|power| digits.checked_mul(power)).and_then(|whole| i64::try_from(whole).ok()) {
        Some(whole) => integer(whole),
        None => other(digits, exponent),
    }
}

/// A number that is no integer of 64 bits. `digits` is not a multiple of ten.
fn other(digits: i128, exponent: i32) -> u64 {
    if let Ok(digits) = i64::try_from(digits) {
        return short(digits, exponent);
    }
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&exponent.to_le_bytes());
    bytes[4..].copy_from_slice(&digits.to_le_bytes());
    xxh3_64_with_seed(&bytes, FRACTION)
}

/// [`other`], where the digits fit 64 bits.
#[inline]
fn short(digits: i64, exponent: i32) -> u64 {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&exponent.to_le_bytes());
    bytes[4..].copy_from_slice(&digits.to_le_bytes());
    xxh3_64_with_seed(&bytes, FRACTION)
}
