//! Numbers by their text, with all digits.

use std::cmp::Ordering;

use arrow::datatypes::i256;

/// Digits of the longest numbers that 256 bits hold.
const I256_DIGITS: i64 = 77;

/// A finite number: digits x 10^exponent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecimalNumber {
    is_negative: bool,
    /// Neither the first nor the last is a zero; none for zero.
    digits: String,
    exponent: i64,
}

impl DecimalNumber {
    /// A number such as `-12.50e-3`; `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
            return None;
        }
        if exponent_digits.is_empty() || !is_number(exponent_digits) {
            return None;
        }
        // Beyond these, no type has a value but zero.
        let farthest = i64::from(i32::MAX);
        let exponent = match (exponent.parse::<i64>(), exponent.starts_with('-')) {
            (Ok(exponent), _) => exponent.clamp(-farthest, farthest),
            (Err(_), true) => -farthest,
            (Err(_), false) => farthest,
        };
        let all = format!("{whole}{fraction}");
        let kept = all.trim_start_matches('0').trim_end_matches('0');
        if kept.is_empty() {
            return Some(Self { is_negative: false, digits: String::new(), exponent: 0 });
        }
        let zeros = all.len() - all.trim_end_matches('0').len();
        let exponent = exponent - fraction.len() as i64 + zeros as i64;
        Some(Self { is_negative, digits: kept.to_owned(), exponent })
    }

    /// A text that every parser of floats accepts.
    pub fn text(&self) -> String {
        let sign = if self.is_negative { "-" } else { "" };
        if self.digits.is_empty() { "0".to_owned() } else { format!("{sign}{}e{}", self.digits, self.exponent) }
    }

    /// Below zero.
    pub fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// Returns true if it has as many digits as `other`, and `middle` is as far from it as from the next number with
    /// this number of digits.
    pub fn is_beside(&self, other: &Self, middle: &Self) -> bool {
        let Some(below) = middle.digits.strip_suffix('5') else { return false };
        let same_place = self.exponent == other.exponent && self.exponent == middle.exponent + 1;
        let (Ok(below), Ok(digits)) = (below.parse::<u64>(), self.digits.parse::<u64>()) else { return false };
        same_place && self.is_negative == middle.is_negative && (digits == below || digits == below + 1)
    }

    /// The number times 10^`scale`, rounded down, and whether that left something out. `None` where 256 bits are too few.
    pub fn floor(&self, scale: i32) -> Option<(i256, bool)> {
        if self.digits.is_empty() {
            return Some((i256::ZERO, false));
        }
        let shift = self.exponent + i64::from(scale);
        let length = self.digits.len() as i64;
        if length + shift > I256_DIGITS {
            return None;
        }
        let has_rest = shift < 0;
        let magnitude = match usize::try_from(length + shift.min(0)) {
            Ok(kept) if kept > 0 => {
                let zeros = usize::try_from(shift.max(0)).unwrap_or(0);
                i256::from_string(&format!("{}{}", &self.digits[..kept], "0".repeat(zeros)))?
            }
            _ => i256::ZERO,
        };
        match (self.is_negative, has_rest) {
            (false, _) => Some((magnitude, has_rest)),
            (true, false) => Some((magnitude.wrapping_neg(), false)),
            (true, true) => Some((magnitude.wrapping_neg().checked_sub(i256::ONE)?, true)),
        }
    }
}

impl Ord for DecimalNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        // Digits without leading zeros compare as fractions once they start at the same position.
        let first_digit = |number: &Self| number.digits.len() as i64 + number.exponent;
        let magnitude = || first_digit(self).cmp(&first_digit(other)).then_with(|| self.digits.cmp(&other.digits));
        match (sign(self), sign(other)) {
            (-1, -1) => magnitude().reverse(),
            (1, 1) => magnitude(),
            (left, right) => left.cmp(&right),
        }
    }
}

impl PartialOrd for DecimalNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
