//! Bounds in the log that may be less precise than the values, widened by as much.
//!
//! - Numbers beyond 15 digits may have been through a double, which some writers compute in two steps. delta-rs writes all
//!   decimals so, and lets those beyond 64 bits be the largest or the least number of 64 bits.
//! - Doubles may have been floats of 32 bits, of which writers state the shortest text, before their column was widened.
//! - Timestamps are cut to milliseconds. Those of Delta-Spark have the offset of the session's zone, without its seconds.
//! - A text may be the first characters of a longer one, without a character after them that is above all.

use arrow::datatypes::{DataType, i256};
use lakerace_format::predicate::Value;

/// A double has 53 bits; five of them are left to the steps in which a writer computes one.
const DOUBLE_BITS: u8 = 48;
/// Decimals of so many digits survive a conversion to double.
const EXACT_DIGITS: u8 = 15;
/// Powers of ten up to this one are doubles.
const EXACT_SCALE: i8 = 22;
/// Integers below this one are the same after a way through a double.
const EXACT_INTEGER: i64 = 1 << 53;
/// Microseconds of a cut millisecond.
const CUT_MICROS: i64 = 999;
/// Microseconds of an offset's seconds, which a text of hours and minutes lacks.
const OFFSET_MICROS: i64 = 60_000_000;
/// The last zone whose offset had seconds, Liberia's, gave them up in January 1972: the 8th, in microseconds.
const WHOLE_OFFSETS: i64 = 737 * 86_400_000_000;
/// Texts of fewer characters are whole.
const CUT_CHARS: usize = 32;

/// A value that is no greater than any in a file whose least one the log states; `None` where there is none.
pub(crate) fn at_least(min: Value, data_type: &DataType) -> Option<Value> {
    match (min, data_type) {
        (Value::Integer(min), DataType::Decimal128(precision, scale)) => {
            let saturated = is_saturated(min, *scale) && min.is_negative();
            let slack = decimal_slack(min, *precision, *scale);
            (!saturated).then(|| Value::Integer(min.wrapping_sub(slack)))
        }
        (Value::Integer(min), DataType::Int64) => {
            let wide = min.wrapping_sub(integer_slack(min));
            Some(Value::Integer(wide.max(i256::from(i64::MIN))))
        }
        (Value::Float(min), DataType::Float64) => Some(Value::Float(min.min(narrowed(min)))),
        // Cut towards 1970, it is too late.
        (Value::Integer(min), DataType::Timestamp(..)) => {
            let cut = if min.is_negative() { CUT_MICROS } else { 0 };
            min.checked_sub(i256::from(cut + offset_slack(min, data_type))).map(Value::Integer)
        }
        (min, _) => Some(min),
    }
}

/// A value that is no less than any in a file whose greatest one the log states; `None` where there is none.
pub(crate) fn at_most(max: Value, data_type: &DataType) -> Option<Value> {
    match (max, data_type) {
        (Value::Integer(max), DataType::Decimal128(precision, scale)) => {
            let saturated = is_saturated(max, *scale) && !max.is_negative();
            let slack = decimal_slack(max, *precision, *scale);
            (!saturated).then(|| Value::Integer(max.wrapping_add(slack)))
        }
        (Value::Integer(max), DataType::Int64) => {
            let wide = max.wrapping_add(integer_slack(max));
            Some(Value::Integer(wide.min(i256::from(i64::MAX))))
        }
        (Value::Float(max), DataType::Float64) => Some(Value::Float(max.max(narrowed(max)))),
        (Value::Integer(max), DataType::Timestamp(..)) => {
            max.checked_add(timestamp_slack(max, data_type)).map(Value::Integer)
        }
        (Value::Bytes(max), DataType::Utf8 | DataType::Utf8View) => Some(Value::Bytes(text_at_most(max))),
        (max, _) => Some(max),
    }
}

/// The most microseconds by which a timestamp may differ from the stated one.
pub(crate) fn timestamp_slack(stated: i256, data_type: &DataType) -> i256 {
    i256::from(CUT_MICROS + offset_slack(stated, data_type))
}

/// The part of it that is due to an offset without seconds. Times without a zone are stated without an offset.
fn offset_slack(stated: i256, data_type: &DataType) -> i64 {
    let may_lack_seconds = matches!(data_type, DataType::Timestamp(_, Some(_))) && stated < i256::from(WHOLE_OFFSETS);
    if may_lack_seconds { OFFSET_MICROS } else { 0 }
}

/// The float of 32 bits that is nearest to a double, where that is finite; else the double itself.
fn narrowed(value: f64) -> f64 {
    let narrow = f64::from(value as f32);
    if narrow.is_finite() { narrow } else { value }
}

fn magnitude(value: i256) -> i256 {
    if value.is_negative() { value.wrapping_neg() } else { value }
}

/// The most by which a decimal may differ from the stated one, in units of its last digit.
fn decimal_slack(value: i256, precision: u8, scale: i8) -> i256 {
    let digits = i256::from_i128(10i128.pow(EXACT_DIGITS.into()));
    if precision <= EXACT_DIGITS || (magnitude(value) < digits && scale <= EXACT_SCALE) {
        // A writer may have left out digits that are zero in all doubles near it.
        return if precision <= EXACT_DIGITS { i256::ZERO } else { i256::ONE };
    }
    (magnitude(value) >> DOUBLE_BITS).wrapping_add(i256::from_i128(2))
}

fn integer_slack(value: i256) -> i256 {
    let beyond = magnitude(value) >= i256::from(EXACT_INTEGER);
    if beyond { (magnitude(value) >> DOUBLE_BITS).wrapping_add(i256::ONE) } else { i256::ZERO }
}

/// Returns true if it is the result of converting any greater number to 64 bits: the unscaled one, or the decimal
/// itself.
fn is_saturated(value: i256, scale: i8) -> bool {
    let limit = i256::from_i128(1 << 63);
    let power = u32::try_from(scale).ok().and_then(|scale| i256::from_i128(10).checked_pow(scale));
    let limits = [Some(limit), power.and_then(|power| limit.checked_mul(power))];
    limits.into_iter().flatten().any(|limit| {
        let apart = magnitude(magnitude(value).wrapping_sub(limit));
        apart <= (limit >> DOUBLE_BITS).wrapping_add(i256::from_i128(2))
    })
}

/// A text above all that start with `max`, where it may have been cut.
fn text_at_most(max: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&max) else { return max };
    if text.chars().nth(CUT_CHARS - 1).is_none() || text.ends_with(char::MAX) {
        return max;
    }
    // Early writers took this character for the greatest one.
    let begin = text.strip_suffix('\u{fffd}').unwrap_or(text);
    format!("{begin}{}", char::MAX).into_bytes()
}

#[cfg(test)]
mod tests;
