//! Placing a literal on the axis of a column's values, exactly.

use arrow::array::types::*;
use arrow::datatypes::{ArrowPrimitiveType, DataType, TimeUnit, i256};

use super::time::{DAY_NS, parse_time, parse_timestamp};
use super::value::{Native, Value, for_integer_type, is_binary, is_text, plain_type};
use crate::Literal;

/// Where a literal lies among the values that a column can hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// It is NULL.
    Null,
    /// Exactly at this value.
    At(Value),
    /// Above this value and below the next one, such as 1.5 among integers.
    After(Value),
    /// Below all values.
    Below,
    /// Above all values.
    Above,
}

/// Where `literal` lies among the values of `data_type`. The error says what is wrong, without naming the column.
pub(super) fn place(literal: &Literal, data_type: &DataType) -> Result<Place, String> {
    let data_type = plain_type(data_type);
    let mismatch = || format!("it is {data_type} and can't be compared with {}", describe(literal));
    match literal {
        Literal::Null => Ok(Place::Null),
        Literal::Boolean(b) if data_type == &DataType::Boolean => Ok(Place::At(Value::Boolean(*b))),
        Literal::Text(text) if is_text(data_type) || is_binary(data_type) => {
            Ok(Place::At(Value::Bytes(text.as_bytes().to_vec())))
        }
        Literal::Binary(bytes) if is_binary(data_type) => Ok(Place::At(Value::Bytes(bytes.clone()))),
        Literal::Number { .. } | Literal::Float(_) if data_type.is_floating() => Ok(place_float(literal, data_type)),
        Literal::Number { digits, scale } => {
            let column_scale = number_scale(data_type).ok_or_else(mismatch)?;
            Ok(place_number(*digits, -i32::from(*scale), column_scale, data_type))
        }
        Literal::Float(float) => {
            let column_scale = number_scale(data_type).ok_or_else(mismatch)?;
            place_exponent(*float, column_scale, data_type).ok_or_else(mismatch)
        }
        Literal::Date(days) => place_instant(i128::from(*days) * DAY_NS, data_type).ok_or_else(mismatch),
        Literal::Timestamp { nanoseconds, .. } => place_instant(*nanoseconds, data_type).ok_or_else(mismatch),
        Literal::Text(text) if is_instant(data_type) => {
            let (nanoseconds, _) = parse_timestamp(text)
                .ok_or_else(|| format!("it is {data_type}, and '{text}' is no date or timestamp such as 2024-02-29"))?;
            place_instant(nanoseconds, data_type).ok_or_else(mismatch)
        }
        Literal::Text(text) if matches!(data_type, DataType::Time32(_) | DataType::Time64(_)) => {
            let nanoseconds = parse_time(text)
                .ok_or_else(|| format!("it is {data_type}, and '{text}' is no time such as 23:59:59"))?;
            place_instant(i128::from(nanoseconds), data_type).ok_or_else(mismatch)
        }
        _ => Err(mismatch()),
    }
}

/// A literal in words: its type and value.
pub(super) fn describe(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Boolean(b) => format!("the boolean {b}"),
        Literal::Number { digits, scale } => format!("the number {}", number_text(*digits, *scale)),
        Literal::Float(f) => format!("the number {f:e}"),
        Literal::Text(text) => format!("the text '{text}'"),
        Literal::Binary(_) => "bytes".to_owned(),
        Literal::Date(_) => "a date".to_owned(),
        Literal::Timestamp { .. } => "a timestamp".to_owned(),
    }
}

/// Dates and timestamps.
pub(super) fn is_instant(data_type: &DataType) -> bool {
    unit_ns(data_type).is_some() && !matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}

/// Nanoseconds of one step of a date, time or timestamp type.
pub(super) fn unit_ns(data_type: &DataType) -> Option<i128> {
    match data_type {
        DataType::Date32 => Some(DAY_NS),
        DataType::Date64 => Some(1_000_000),
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => Some(match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        }),
        _ => None,
    }
}

/// The nearest `f64` of a number literal.
pub(super) fn to_f64(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Float(f) => Some(*f),
        Literal::Number { digits, scale } => format!("{digits}e-{scale}").parse().ok(),
        _ => None,
    }
}

fn number_text(digits: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let text = format!("{:0>width$}", digits.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = text.split_at(text.len() - scale);
    let sign = if digits < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Digits after the point of integers and decimals; `None` for other types.
fn number_scale(data_type: &DataType) -> Option<i32> {
    match data_type {
        t if t.is_integer() => Some(0),
        DataType::Decimal32(_, s)
        | DataType::Decimal64(_, s)
        | DataType::Decimal128(_, s)
        | DataType::Decimal256(_, s) => Some(i32::from(*s)),
        _ => None,
    }
}

/// The number is rounded to the column's own width, as the values in it were: 0.1 finds what was stored as 0.1.
fn place_float(literal: &Literal, data_type: &DataType) -> Place {
    let exact = to_f64(literal).unwrap_or(f64::NAN);
    let rounded = match data_type {
        DataType::Float16 => <Float16Type as ArrowPrimitiveType>::Native::from_f64(exact).to_f64(),
        // Straight from the text: rounding twice could end one step off.
        DataType::Float32 => match literal {
            Literal::Number { digits, scale } => {
                format!("{digits}e-{scale}").parse::<f32>().map_or(f64::NAN, f64::from)
            }
            _ => f64::from(exact as f32),
        },
        _ => exact,
    };
    match (rounded.is_infinite() && !is_infinite_literal(literal), rounded > 0.0) {
        (true, true) => Place::Above,
        (true, false) => Place::Below,
        _ => Place::At(Value::Float(rounded)),
    }
}

fn is_infinite_literal(literal: &Literal) -> bool {
    matches!(literal, Literal::Float(f) if f.is_infinite())
}

/// A float literal among integers or decimals is the decimal that its shortest text says: 1e-1 is 0.1.
fn place_exponent(float: f64, column_scale: i32, data_type: &DataType) -> Option<Place> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return Some(if float > 0.0 { Place::Above } else { Place::Below });
    }
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let digits: i128 = mantissa.replace('.', "").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    Some(place_number(digits, exponent - fraction as i32, column_scale, data_type))
}

/// `digits` x 10^`exponent` among numbers that are stored times 10^`column_scale`.
fn place_number(digits: i128, exponent: i32, column_scale: i32, data_type: &DataType) -> Place {
    let shift = exponent + column_scale;
    let digits = i256::from_i128(digits);
    let beyond = if digits.is_negative() { Place::Below } else { Place::Above };
    if digits == i256::ZERO {
        return within(digits, false, data_type);
    }
    let power = u32::try_from(shift.abs()).ok().and_then(|n| i256::from_i128(10).checked_pow(n));
    match (shift >= 0, power) {
        (true, None) => beyond,
        (true, Some(power)) => match digits.checked_mul(power) {
            Some(value) => within(value, false, data_type),
            None => beyond,
        },
        // Smaller than the finest step: between 0 and its neighbour.
        (false, None) => within(if digits.is_negative() { -i256::ONE } else { i256::ZERO }, true, data_type),
        (false, Some(power)) => {
            let (floor, has_rest) = div_floor(digits, power);
            within(floor, has_rest, data_type)
        }
    }
}

fn place_instant(nanoseconds: i128, data_type: &DataType) -> Option<Place> {
    let unit = unit_ns(data_type)?;
    let (floor, has_rest) = (nanoseconds.div_euclid(unit), nanoseconds.rem_euclid(unit) != 0);
    Some(within(i256::from_i128(floor), has_rest, data_type))
}

fn div_floor(value: i256, by: i256) -> (i256, bool) {
    let (quotient, rest) = (value.wrapping_div(by), value.wrapping_rem(by));
    let has_rest = rest != i256::ZERO;
    if has_rest && value.is_negative() { (quotient.wrapping_sub(i256::ONE), true) } else { (quotient, has_rest) }
}

/// `floor`, or just after it, in the range of the type's stored integers.
fn within(floor: i256, has_rest: bool, data_type: &DataType) -> Place {
    let (least, most) = for_integer_type!(
        data_type,
        T => {
            let range = <<T as ArrowPrimitiveType>::Native as Native>::RANGE;
            (range.0.widen(), range.1.widen())
        },
        (i256::MIN, i256::MAX)
    );
    match () {
        () if floor < least => Place::Below,
        () if floor > most || (floor == most && has_rest) => Place::Above,
        () if has_rest => Place::After(Value::Integer(floor)),
        () => Place::At(Value::Integer(floor)),
    }
}
