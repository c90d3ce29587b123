//! Numbers from their digits, exactly or not at all.

use arrow::datatypes::{ArrowPrimitiveType, Float16Type, i256};

/// The digits of the largest integers of 64 bits, signed and not.
const INTEGER_DIGITS: u8 = 20;
/// Whole numbers of at most so many digits are exact as 64-bit floats.
const FLOAT64_DIGITS: usize = 15;
/// Numbers of at most so many digits stay distinct as 32-bit floats.
const FLOAT32_DIGITS: usize = 6;

/// An integer, also one that is written with a fraction of zeros or an exponent.
pub(super) fn integer(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| decimal(text, INTEGER_DIGITS, 0)?.to_i128()?.try_into().ok())
}

/// Parses a number from 0 to 2^64-1.
pub(super) fn unsigned(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| decimal(text, INTEGER_DIGITS, 0)?.to_i128()?.try_into().ok())
}

/// The nearest 64-bit float. A whole number that is neither a float nor the shortest text of one has no float.
pub(super) fn float64(text: &str) -> Option<f64> {
    let float: f64 = fast_float2::parse(text).ok()?;
    if !float.is_finite() {
        // A text may say so; a number beyond all floats is none of them.
        return (!text.bytes().any(|byte| byte.is_ascii_digit())).then_some(float);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.len() <= FLOAT64_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(float);
    }
    let is_it = |written: String| written == digits;
    let is_exact = is_it(format!("{:.0}", float.abs())) || is_it(float.abs().to_string());
    is_exact.then_some(float)
}

/// A 32-bit float that the number is, or is the shortest text of.
pub(super) fn float32(text: &str) -> Option<f32> {
    let wide = float64(text)?;
    if !wide.is_finite() {
        return Some(wide as f32);
    }
    let single: f32 = fast_float2::parse(text).ok().filter(|single: &f32| single.is_finite())?;
    let is_short = || text.bytes().filter(u8::is_ascii_digit).count() <= FLOAT32_DIGITS && single.is_normal();
    let is_shortest = || zmij::Buffer::new().format_finite(single).parse() == Ok(wide);
    (f64::from(single) == wide || is_short() || is_shortest()).then_some(single)
}

/// Returns true if a 32-bit float is one of 16 bits.
pub(super) fn is_half(single: f32) -> bool {
    single.is_nan() || <Float16Type as ArrowPrimitiveType>::Native::from_f32(single).to_f32() == single
}

/// A number times ten to the power of `scale`, with at most `precision` digits.
pub(super) fn decimal(text: &str, precision: u8, scale: i8) -> Option<i256> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = match mantissa.as_bytes().first()? {
        b'-' => ("-", &mantissa[1..]),
        b'+' => ("", &mantissa[1..]),
        _ => ("", mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let all = format!("{whole}{fraction}");
    // How many zeros come after the digits; less than none cuts some off, which must be zeros.
    let shift = i32::from(scale).checked_add(exponent)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let significant = all.trim_start_matches('0');
    let unscaled = if shift >= 0 {
        if significant.is_empty() {
            return Some(i256::ZERO);
        }
        let zeros = usize::try_from(shift).ok().filter(|zeros| significant.len() + zeros <= usize::from(precision))?;
        format!("{significant}{}", "0".repeat(zeros))
    } else {
        let cut = usize::try_from(-shift).ok()?;
        let keep = significant.len().saturating_sub(cut);
        if significant[keep..].bytes().any(|byte| byte != b'0') {
            return None;
        }
        significant[..keep].to_owned()
    };
    if unscaled.is_empty() {
        return Some(i256::ZERO);
    }
    if unscaled.len() > usize::from(precision) {
        return None;
    }
    i256::from_string(&format!("{sign}{unscaled}"))
}

#[cfg(test)]
mod tests;
