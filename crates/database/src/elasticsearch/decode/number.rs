//! Numbers from their digits, exactly or not at all.

use arrow::datatypes::i256;

/// Integers up to this are exact as 64-bit floats.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// An integer, also one that is written with a fraction of zeros or an exponent.
pub(super) fn integer(text: &str) -> Option<i64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let float: f64 = text.parse().ok()?;
    (float.fract() == 0.0 && float.abs() < EXACT_FLOAT).then_some(float as i64)
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
    // How many zeros come behind the digits; less than none cuts some off, which must be zeros.
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
