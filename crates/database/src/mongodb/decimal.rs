//! Decimal128: IEEE 754-2008 in binary integer form, as in BSON.

use arrow::datatypes::i256;

const BIAS: i32 = 6176;
/// The greatest coefficient has 34 digits.
const COEFFICIENT_END: u128 = 10_u128.pow(34);

/// A decimal of BSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BsonDecimal {
    /// `coefficient` x 10^`exponent`.
    Finite { coefficient: i128, exponent: i32 },
    /// NaN or an infinity.
    Special,
}

/// Decodes 16 little-endian bytes.
pub(super) fn decode(bytes: [u8; 16]) -> BsonDecimal {
    let bits = u128::from_le_bytes(bytes);
    let is_negative = bits >> 127 == 1;
    let combination = (bits >> 122) & 0x1f;
    if combination >= 0x1e {
        return BsonDecimal::Special;
    }
    // A coefficient beyond 34 digits means zero, as does each of the second form, which starts with 0b11.
    let (exponent, coefficient) = if combination >= 0x18 {
        ((bits >> 111) & 0x3fff, 0)
    } else {
        ((bits >> 113) & 0x3fff, bits & ((1 << 113) - 1))
    };
    let coefficient = if coefficient >= COEFFICIENT_END { 0 } else { coefficient as i128 };
    let coefficient = if is_negative { -coefficient } else { coefficient };
    BsonDecimal::Finite { coefficient, exponent: exponent as i32 - BIAS }
}

/// Encodes `value` x 10^-`scale`; `None` where that takes more than 34 digits.
pub(super) fn encode(value: i256, scale: i32) -> Option<[u8; 16]> {
    let (mut value, mut exponent) = (value, -scale);
    let ten = i256::from_i128(10);
    let end = i256::from_i128(COEFFICIENT_END as i128);
    while value.checked_abs()? >= end {
        if value % ten != i256::ZERO {
            return None;
        }
        value /= ten;
        exponent += 1;
    }
    encode_i128(value.to_i128()?, -exponent)
}

/// Encodes `value` x 10^-`scale`; `None` where that takes more than 34 digits.
#[inline]
pub(super) fn encode_i128(value: i128, scale: i32) -> Option<[u8; 16]> {
    let magnitude = value.unsigned_abs();
    if magnitude >= COEFFICIENT_END {
        return encode(i256::from_i128(value), scale);
    }
    let biased = u128::try_from(BIAS - scale).ok().filter(|biased| *biased <= 12_287)?;
    let sign = u128::from(value < 0) << 127;
    Some((sign | (biased << 113) | magnitude).to_le_bytes())
}

/// The value as an integer of 10^-`scale`; `None` where it has more digits after the point, or is out of range.
pub(super) fn at_scale(coefficient: i128, exponent: i32, scale: i32) -> Option<i256> {
    if coefficient == 0 {
        return Some(i256::ZERO);
    }
    let mut value = i256::from_i128(coefficient);
    let ten = i256::from_i128(10);
    let shift = exponent.checked_add(scale)?;
    if shift.unsigned_abs() > 80 {
        return None;
    }
    for _ in 0..shift.unsigned_abs() {
        if shift > 0 {
            value = value.checked_mul(ten)?;
        } else {
            if value % ten != i256::ZERO {
                return None;
            }
            value /= ten;
        }
    }
    Some(value)
}

/// Digits before and after the point that hold a value, without zeros at its end.
pub(super) fn digits(coefficient: i128, exponent: i32) -> (u32, u32) {
    let (mut coefficient, mut exponent) = (coefficient.unsigned_abs(), exponent);
    if coefficient == 0 {
        return (1, 0);
    }
    while coefficient % 10 == 0 {
        coefficient /= 10;
        exponent += 1;
    }
    let length = coefficient.ilog10() as i32 + 1;
    (u32::try_from(length + exponent).unwrap_or(0), u32::try_from(-exponent).unwrap_or(0))
}
