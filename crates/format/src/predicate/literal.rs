//! The exact place of a literal on the axis of a column's values.

use std::cmp::Ordering;

use arrow::array::Array;
use arrow::array::types::*;
use arrow::datatypes::{ArrowPrimitiveType, DataType, TimeUnit, i256};

use super::decimal::DecimalNumber;
use super::time::{DAY_NS, parse_time, parse_timestamp};
use super::value::{NativeInteger, Value, for_integer_type, is_binary, is_text, plain_type};
use crate::calendar::units_per_second;
use crate::expr::Literal;
use crate::uuids::uuid_bytes;

/// Digits after the point that any double has at most.
const EXACT_PLACES: usize = 1074;

/// The place of a literal among the values that a column can hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LiteralPlace {
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

/// Finds the place of `literal` among the values of `data_type`. The error names the problem, without naming the column, and `shown`
/// for the type.
pub(super) fn place_literal(literal: &Literal, data_type: &DataType, shown: &str) -> Result<LiteralPlace, String> {
    let data_type = plain_type(data_type);
    let mismatch = || format!("it is {shown} and can't be compared with {}", describe(literal));
    match literal {
        Literal::Null => Ok(LiteralPlace::Null),
        Literal::Boolean(b) if data_type == &DataType::Boolean => Ok(LiteralPlace::At(Value::Boolean(*b))),
        Literal::Text(text) => match place_text(text, data_type, shown)? {
            Some(place) => Ok(place),
            // A text is the number that it writes, as a parameter of a filter may be.
            None => match Literal::number(text.trim()).filter(|_| data_type.is_numeric()) {
                Some(number) => place_number(&number, data_type).ok_or_else(mismatch),
                None => Err(mismatch()),
            },
        },
        Literal::Binary(bytes) if is_binary(data_type) => Ok(LiteralPlace::At(Value::Bytes(bytes.clone()))),
        Literal::Number { .. } | Literal::Float(_) | Literal::LongNumber(_) => {
            place_number(literal, data_type).ok_or_else(mismatch)
        }
        Literal::Date(days) => place_instant(i128::from(*days) * DAY_NS, data_type).ok_or_else(mismatch),
        Literal::Timestamp { nanoseconds, .. } => place_instant(*nanoseconds, data_type).ok_or_else(mismatch),
        _ => Err(mismatch()),
    }
}

/// A value of an array as a literal, which is equal to it next to a column of its type. `None` where no literal is: for NaN,
/// infinities, 16-bit floats, times, durations, intervals and nested values.
pub fn literal_of(array: &dyn Array, row: usize) -> Option<Literal> {
    if array.is_null(row) {
        return Some(Literal::Null);
    }
    let data_type = plain_type(array.data_type());
    match Value::from_array(array, row)? {
        Value::Boolean(value) => Some(Literal::Boolean(value)),
        Value::Integer(integer) => integer_literal(integer.to_i128()?, data_type),
        Value::Float(float) if !float.is_finite() => None,
        Value::Float(float) => match data_type {
            DataType::Float64 => Some(Literal::Float(float)),
            // The shortest decimal of its width.
            DataType::Float32 => Literal::number(&format!("{:?}", float as f32)),
            _ => None,
        },
        Value::Bytes(bytes) if is_text(data_type) => String::from_utf8(bytes).ok().map(Literal::Text),
        Value::Bytes(bytes) => Some(Literal::Binary(bytes)),
    }
}

/// The literal of an integer that is stored in a column of this type.
fn integer_literal(digits: i128, data_type: &DataType) -> Option<Literal> {
    let nanoseconds = |per_second: i64| digits.checked_mul(i128::from(1_000_000_000 / per_second));
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => u8::try_from(*scale).ok().map(|scale| Literal::Number { digits, scale }),
        other if other.is_integer() => Some(Literal::Number { digits, scale: 0 }),
        DataType::Date32 => {
            digits.checked_mul(DAY_NS).map(|nanoseconds| Literal::Timestamp { nanoseconds, is_utc: false })
        }
        DataType::Date64 => nanoseconds(1000).map(|nanoseconds| Literal::Timestamp { nanoseconds, is_utc: false }),
        DataType::Timestamp(unit, zone) => nanoseconds(units_per_second(*unit))
            .map(|nanoseconds| Literal::Timestamp { nanoseconds, is_utc: zone.is_some() }),
        _ => None,
    }
}

/// Finds the place of a text; `None` where the type has nothing that is written as a text.
fn place_text(text: &str, data_type: &DataType, shown: &str) -> Result<Option<LiteralPlace>, String> {
    let bytes = match data_type {
        DataType::FixedSizeBinary(size) => fixed_bytes(text, *size)?,
        t if is_binary(t) && is_long_uuid(text) => return Err(ambiguous_uuid(text)),
        t if is_text(t) || is_binary(t) => text.as_bytes().to_vec(),
        t if is_instant(t) => {
            let (nanoseconds, _) = parse_timestamp(text)
                .ok_or_else(|| format!("it is {shown}, but '{text}' is not a date or timestamp such as 2024-02-29"))?;
            return Ok(place_instant(nanoseconds, t));
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let nanoseconds = parse_time(text)
                .ok_or_else(|| format!("it is {shown}, but '{text}' is not a time such as 23:59:59"))?;
            return Ok(place_instant(i128::from(nanoseconds), data_type));
        }
        _ => return Ok(None),
    };
    Ok(Some(LiteralPlace::At(Value::Bytes(bytes))))
}

/// The bytes of a text for a column of values of one size: those of the UUID in it, or its own if their number is
/// right.
fn fixed_bytes(text: &str, size: i32) -> Result<Vec<u8>, String> {
    match (size, uuid_bytes(text)) {
        (16, Some(bytes)) => Ok(bytes),
        _ if usize::try_from(size) == Ok(text.len()) => Ok(text.as_bytes().to_vec()),
        (16, None) => Err(format!(
            "its values are UUIDs or other 16 bytes, but '{text}' is not a UUID such as \
             123e4567-e89b-12d3-a456-426614174000; bytes are written X'00FF'"
        )),
        _ => Err(format!("its values have {size} bytes, but '{text}' has {}; bytes are written X'00FF'", text.len())),
    }
}

/// Returns true for the text of a UUID with its hyphens.
fn is_long_uuid(text: &str) -> bool {
    text.len() >= 36 && uuid_bytes(text).is_some()
}

/// The problem with the text of a UUID for a column of bytes, such as the one that a Delta table has of UUIDs: some
/// programs write 16 bytes, others text without its mark.
fn ambiguous_uuid(text: &str) -> String {
    let digits: String = uuid_bytes(text).unwrap_or_default().iter().map(|byte| format!("{byte:02X}")).collect();
    format!(
        "it is binary, and '{text}' may stand for 16 bytes or for a text: write X'{digits}' for the 16 bytes of a UUID, \
         or the bytes of the text in this way"
    )
}

/// A literal in words: its type and value.
pub(super) fn describe(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Boolean(b) => format!("the boolean {b}"),
        Literal::Number { digits, scale } => format!("the number {}", number_text(*digits, *scale)),
        Literal::Float(f) => format!("the number {f:e}"),
        Literal::LongNumber(text) => format!("the number {text}"),
        Literal::Text(text) => format!("the text '{text}'"),
        Literal::Binary(_) => "bytes".to_owned(),
        Literal::Date(_) => "a date".to_owned(),
        Literal::Timestamp { .. } => "a timestamp".to_owned(),
        Literal::Interval { .. } => "an interval".to_owned(),
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
        _ => decimal(literal)?.text().parse().ok(),
    }
}

/// A number literal with all its digits; those of a float are the fewest that distinguish it from others. `None` for
/// infinity, NaN and literals that are not numbers.
fn decimal(literal: &Literal) -> Option<DecimalNumber> {
    match literal {
        Literal::Float(f) if f.is_finite() => DecimalNumber::parse(&format!("{f:e}")),
        Literal::Number { digits, scale } => DecimalNumber::parse(&number_text(*digits, *scale)),
        Literal::LongNumber(text) => DecimalNumber::parse(text),
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

/// Finds the place of a number; `None` for a type without numbers, and for NaN in a type without NaN.
fn place_number(literal: &Literal, data_type: &DataType) -> Option<LiteralPlace> {
    if let Literal::Float(float) = literal
        && !float.is_finite()
    {
        return match () {
            () if data_type.is_floating() => Some(LiteralPlace::At(Value::Float(*float))),
            () if number_scale(data_type).is_none() || float.is_nan() => None,
            () => Some(if *float > 0.0 { LiteralPlace::Above } else { LiteralPlace::Below }),
        };
    }
    let number = decimal(literal)?;
    if data_type.is_floating() {
        return Some(place_float(&number, data_type));
    }
    let scale = number_scale(data_type)?;
    Some(match number.floor(scale) {
        Some((floor, has_rest)) => within(floor, has_rest, data_type),
        None if number.is_negative() => LiteralPlace::Below,
        None => LiteralPlace::Above,
    })
}

/// A number is at a float if it is the float's shortest text, such as 0.1, its exact value, the text of the same number as a
/// 64-bit float, which Python prints, or between the shortest text and the exact value of a float that is not whole. Otherwise it
/// is between two floats: next to the exact value. If two texts are equally short and near, printers of floats choose either of them.
fn place_float(number: &DecimalNumber, data_type: &DataType) -> LiteralPlace {
    let text = number.text();
    let (nearest, before, shortest) = match data_type {
        DataType::Float16 => {
            let nearest = Half::from_f64(text.parse().unwrap_or(f64::NAN));
            (nearest.to_f64(), half_before(nearest).to_f64(), half_text(nearest))
        }
        DataType::Float32 => {
            let nearest: f32 = text.parse().unwrap_or(f32::NAN);
            (nearest.into(), nearest.next_down().into(), format!("{nearest:e}"))
        }
        _ => {
            let nearest: f64 = text.parse().unwrap_or(f64::NAN);
            (nearest, nearest.next_down(), format!("{nearest:e}"))
        }
    };
    if !nearest.is_finite() {
        return if number.is_negative() { LiteralPlace::Below } else { LiteralPlace::Above };
    }
    let at = LiteralPlace::At(Value::Float(nearest));
    if DecimalNumber::parse(&format!("{nearest:e}")).is_some_and(|double| double == *number) {
        return at;
    }
    let Some(value) = DecimalNumber::parse(&shortest) else { return at };
    if value == *number {
        return at;
    }
    let Some(exact) = DecimalNumber::parse(&format!("{nearest:.EXACT_PLACES$}")) else { return at };
    // The shortest text of a large whole number is far from it: 2147483600 for 2^31 as a 32-bit float.
    let is_between = nearest.fract() != 0.0 && value.cmp(number) != exact.cmp(number);
    if exact == *number || is_between || number.is_beside(&value, &exact) {
        return at;
    }
    match exact.cmp(number) {
        Ordering::Equal => at,
        Ordering::Greater => LiteralPlace::After(Value::Float(before)),
        Ordering::Less => LiteralPlace::After(Value::Float(nearest)),
    }
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The greatest number of 16 bits below a finite one.
fn half_before(half: Half) -> Half {
    match half.to_bits() {
        0x0000 | 0x8000 => Half::from_bits(0x8001),
        bits if bits & 0x8000 == 0 => Half::from_bits(bits - 1),
        bits => Half::from_bits(bits + 1),
    }
}

/// The shortest text that reads back as the number.
fn half_text(half: Half) -> String {
    let float = half.to_f64();
    let texts = (0..=4).map(|places| format!("{float:.places$e}"));
    let mut same = texts.filter(|text| text.parse().is_ok_and(|read| Half::from_f64(read) == half));
    same.next().unwrap_or_else(|| format!("{float:e}"))
}

fn place_instant(nanoseconds: i128, data_type: &DataType) -> Option<LiteralPlace> {
    let unit = unit_ns(data_type)?;
    let (floor, has_rest) = (nanoseconds.div_euclid(unit), nanoseconds.rem_euclid(unit) != 0);
    Some(within(i256::from_i128(floor), has_rest, data_type))
}

/// `floor`, or the place just after it, in the range of the type's stored integers.
fn within(floor: i256, has_rest: bool, data_type: &DataType) -> LiteralPlace {
    let (least, most) = for_integer_type!(
        data_type,
        T => {
            let range = <<T as ArrowPrimitiveType>::Native as NativeInteger>::RANGE;
            (range.0.widen(), range.1.widen())
        },
        (i256::MIN, i256::MAX)
    );
    match () {
        () if floor < least => LiteralPlace::Below,
        () if floor > most || (floor == most && has_rest) => LiteralPlace::Above,
        () if has_rest => LiteralPlace::After(Value::Integer(floor)),
        () => LiteralPlace::At(Value::Integer(floor)),
    }
}
