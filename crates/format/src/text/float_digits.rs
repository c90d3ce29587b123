//! The digits that a double keeps of a decimal text.

/// The number of digits that always fit into 64 bits.
const MOST_MANTISSA_DIGITS: usize = 19;
/// Powers of ten below 2^127.
const MOST_PLACES: usize = 38;
/// These powers of ten.
const POWERS: [u128; MOST_PLACES + 1] = {
    let mut powers = [1; MOST_PLACES + 1];
    let mut at = 1;
    while at <= MOST_PLACES {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};
/// The maximum of digits in the exact value of a double.
const MOST_DIGITS: usize = 767;
/// Bits of a double's mantissa after the first one.
const MANTISSA_BITS: i32 = 52;

/// Returns true if a double keeps all digits of the decimal text to which it is nearest: printed with as many
/// significant digits as the text has, it has the same ones. Trailing zeros do not count.
///
/// `unsigned` is a number without a sign, such as `12.50` or `1e-7`, and `nearest` the double that is nearest to it,
/// not negative. Texts of at most 15 digits are kept, except for numbers beyond the range of doubles; so are the texts
/// that programs print for doubles, with any number of digits. Most numbers of 17 digits or more that do not originate
/// from doubles are not.
///
/// ```
/// use lakerace_format::keeps_digits;
/// assert!(keeps_digits(b"0.1", 0.1));
/// assert!(keeps_digits(b"1.000000000000000056e-01", 0.1));
/// assert!(!keeps_digits(b"12345678901234567.89", 12345678901234568.0));
/// ```
#[must_use]
pub fn keeps_digits(unsigned: &[u8], nearest: f64) -> bool {
    nearest.is_finite()
        && (is_within_half_a_digit(unsigned, nearest) == Some(true)
            || is_shortest_text(unsigned, nearest)
            || has_same_digits(unsigned, nearest))
}

/// Returns true if the double differs from the text by less than half of the text's last place, so that rounding gives
/// the text. `None` if 128 bits are not enough to decide.
fn is_within_half_a_digit(unsigned: &[u8], nearest: f64) -> Option<bool> {
    let (mantissa, exponent) = split_exponent(unsigned)?;
    let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(point) => (&mantissa[..point], &mantissa[point + 1..]),
        None => (mantissa, &mantissa[..0]),
    };
    let places = usize::try_from(i32::try_from(fraction.len()).ok()? - exponent).ok()?;
    if places > MOST_PLACES || !nearest.is_normal() {
        return None;
    }
    let fraction = match whole {
        // Zeros after the point of 0.00012 count no more than the one before it.
        b"" | b"0" => &fraction[fraction.iter().take_while(|byte| **byte == b'0').count()..],
        _ => fraction,
    };
    if whole.len() + fraction.len() > MOST_MANTISSA_DIGITS {
        return None;
    }
    let digits = |text: &[u8]| if text.is_empty() { Some(0) } else { super::value::digits(text, 0, text.len()) };
    let text = digits(whole)? * POWERS[fraction.len()] as u64 + digits(fraction)?;
    let bits = nearest.to_bits();
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
    // The double is `mantissa` x 2^-`shift`.
    let shift = u32::try_from(1023 + MANTISSA_BITS - (bits >> MANTISSA_BITS) as i32).ok()?;
    if !(1..=126).contains(&shift) {
        return None;
    }
    // Both sides times 2^shift and 10^places. They may overflow: their difference does not, as the double is the nearest one.
    let text = u128::from(text).wrapping_shl(shift);
    let double = u128::from(mantissa).wrapping_mul(POWERS[places]);
    let difference = (text.wrapping_sub(double) as i128).unsigned_abs();
    Some(difference < 1 << (shift - 1))
}

/// The digits and the point, and the exponent of ten.
fn split_exponent(unsigned: &[u8]) -> Option<(&[u8], i32)> {
    let Some(at) = unsigned.iter().rposition(|byte| matches!(byte, b'e' | b'E')) else { return Some((unsigned, 0)) };
    let exponent = std::str::from_utf8(&unsigned[at + 1..]).ok()?.parse().ok()?;
    (-1000..1000).contains(&exponent).then_some((&unsigned[..at], exponent))
}

/// Returns true if the text has the digits of the double's shortest text, which is the nearest one of its length. This
/// holds for most texts that are too small or too large for 128 bits.
fn is_shortest_text(unsigned: &[u8], nearest: f64) -> bool {
    let mut buffer = zmij::Buffer::new();
    nearest != 0.0 && same_digits(buffer.format_finite(nearest).as_bytes(), unsigned)
}

/// Returns true if two numbers have the same digits, except for zeros at both ends.
fn same_digits(left: &[u8], right: &[u8]) -> bool {
    let (mut left, mut right) = (significant_digits(left), significant_digits(right));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b => {}
            (Some(b'0'), None) => return left.all(|digit| digit == b'0'),
            (None, Some(b'0')) => return right.all(|digit| digit == b'0'),
            _ => return false,
        }
    }
}

/// The digits of a number before its exponent, from the first one that is not zero.
fn significant_digits(number: &[u8]) -> impl Iterator<Item = u8> {
    let mantissa = number.iter().copied().take_while(|byte| !matches!(byte, b'e' | b'E'));
    mantissa.filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0')
}

/// Returns true if the double, printed with as many digits as the text has, has the text's.
#[cold]
#[inline(never)]
fn has_same_digits(unsigned: &[u8], nearest: f64) -> bool {
    let mut digits: Vec<u8> = significant_digits(unsigned).collect();
    digits.truncate(digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1));
    if digits.is_empty() || nearest == 0.0 {
        return digits.is_empty() && nearest == 0.0;
    }
    if digits.len() > MOST_DIGITS {
        return false;
    }
    let printed = format!("{nearest:.places$e}", places = digits.len() - 1);
    same_digits(printed.as_bytes(), &digits)
}

#[cfg(test)]
mod tests;
