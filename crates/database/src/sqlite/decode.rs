//! Values of SQLite as columns of batches.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Decimal256Builder, Float64Builder, Int64Builder, NullArray, StringBuilder, UInt64Builder,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, i256};
use lakerace_format::schema_text::print_type;
use lakerace_io::{Error, Result};
use rusqlite::types::ValueRef;

use super::json;
use super::kind::StorageClass;
use super::times::{parse_date, parse_time, parse_timestamp};

/// The largest integer below which a float holds all.
pub(super) const EXACT_IN_FLOAT: u64 = 1 << 53;

/// Gathers the values of one column.
pub(super) struct ColumnDecoder {
    kind: StorageClass,
    data_type: DataType,
    /// The user names the type, so that values of another kind are taken where they lose nothing.
    is_given: bool,
    builder: ArrayBuilderKind,
}

enum ArrayBuilderKind {
    Nulls(usize),
    Integers(Int64Builder),
    Unsigned(UInt64Builder),
    Reals(Float64Builder),
    Decimals(Decimal256Builder),
    Texts(StringBuilder),
    Bytes(BinaryBuilder),
}

/// Why a value does not fit a column.
pub(super) type Misfit = &'static str;

impl ColumnDecoder {
    pub fn new(data_type: &DataType, is_given: bool) -> Result<Self> {
        let kind = StorageClass::for_type(data_type)?;
        let builder = match kind {
            StorageClass::Null => ArrayBuilderKind::Nulls(0),
            StorageClass::UnsignedLong => ArrayBuilderKind::Unsigned(UInt64Builder::new()),
            StorageClass::Real => ArrayBuilderKind::Reals(Float64Builder::new()),
            StorageClass::Decimal { scale, .. } => {
                let data_type = DataType::Decimal256(76, scale);
                ArrayBuilderKind::Decimals(Decimal256Builder::new().with_data_type(data_type))
            }
            StorageClass::Text | StorageClass::Json => ArrayBuilderKind::Texts(StringBuilder::new()),
            StorageClass::Bytes => ArrayBuilderKind::Bytes(BinaryBuilder::new()),
            StorageClass::Boolean
            | StorageClass::Integer
            | StorageClass::Duration
            | StorageClass::Date
            | StorageClass::Timestamp { .. }
            | StorageClass::Time(_) => ArrayBuilderKind::Integers(Int64Builder::new()),
        };
        Ok(Self { kind, data_type: data_type.clone(), is_given, builder })
    }

    /// Takes a value; gives its bytes.
    #[inline]
    pub fn push(&mut self, value: ValueRef<'_>) -> Result<usize, Misfit> {
        let kind = self.kind;
        match (&mut self.builder, value) {
            (ArrayBuilderKind::Integers(builder), ValueRef::Integer(value)) if kind == StorageClass::Integer => {
                builder.append_value(value)
            }
            (ArrayBuilderKind::Reals(builder), ValueRef::Real(value)) => builder.append_value(value),
            (ArrayBuilderKind::Texts(builder), ValueRef::Text(bytes)) => {
                builder.append_value(utf8(bytes)?);
                return Ok(bytes.len());
            }
            (ArrayBuilderKind::Bytes(builder), ValueRef::Blob(bytes)) => {
                builder.append_value(bytes);
                return Ok(bytes.len());
            }
            (_, ValueRef::Null) => self.push_null(),
            _ => return self.push_converted(value),
        }
        Ok(8)
    }

    fn push_null(&mut self) {
        match &mut self.builder {
            ArrayBuilderKind::Nulls(rows) => *rows += 1,
            ArrayBuilderKind::Integers(builder) => builder.append_null(),
            ArrayBuilderKind::Unsigned(builder) => builder.append_null(),
            ArrayBuilderKind::Reals(builder) => builder.append_null(),
            ArrayBuilderKind::Decimals(builder) => builder.append_null(),
            ArrayBuilderKind::Texts(builder) => builder.append_null(),
            ArrayBuilderKind::Bytes(builder) => builder.append_null(),
        }
    }

    fn push_converted(&mut self, value: ValueRef<'_>) -> Result<usize, Misfit> {
        let (kind, is_given) = (self.kind, self.is_given);
        match &mut self.builder {
            ArrayBuilderKind::Nulls(_) => return Err("a value in a column that has only nulls"),
            ArrayBuilderKind::Integers(builder) => builder.append_value(integer(kind, value, is_given)?),
            ArrayBuilderKind::Unsigned(builder) => builder.append_value(unsigned(value)?),
            ArrayBuilderKind::Reals(builder) => match value {
                ValueRef::Integer(value) if value.unsigned_abs() <= EXACT_IN_FLOAT => {
                    builder.append_value(value as f64)
                }
                ValueRef::Integer(_) => return Err("an integer that a float can't represent"),
                other => return Err(found(other)),
            },
            ArrayBuilderKind::Decimals(builder) => {
                let StorageClass::Decimal { precision, scale } = kind else { return Err("a value of another kind") };
                builder.append_value(decimal(value, precision, scale)?);
            }
            ArrayBuilderKind::Texts(builder) => match value {
                ValueRef::Integer(value) if is_given => builder.append_value(value.to_string()),
                ValueRef::Real(value) if is_given => builder.append_value(real_text(value)),
                other => return Err(found(other)),
            },
            ArrayBuilderKind::Bytes(builder) => match value {
                ValueRef::Text(bytes) if is_given => builder.append_value(bytes),
                other => return Err(found(other)),
            },
        }
        Ok(16)
    }

    /// The column so far, in its type.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let array: ArrayRef = match &mut self.builder {
            ArrayBuilderKind::Nulls(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            ArrayBuilderKind::Integers(builder) => Arc::new(builder.finish()),
            ArrayBuilderKind::Unsigned(builder) => Arc::new(builder.finish()),
            ArrayBuilderKind::Reals(builder) => Arc::new(builder.finish()),
            ArrayBuilderKind::Decimals(builder) => Arc::new(builder.finish()),
            ArrayBuilderKind::Texts(builder) => {
                let texts = builder.finish();
                if self.kind == StorageClass::Json {
                    return json::values(&texts, &self.data_type);
                }
                Arc::new(texts)
            }
            ArrayBuilderKind::Bytes(builder) => Arc::new(builder.finish()),
        };
        match &self.data_type {
            DataType::Date32 => cast(&cast(&array, &DataType::Int32)?, &self.data_type),
            DataType::Time32(_) => cast(&cast(&array, &DataType::Int32)?, &self.data_type),
            other => cast(&array, other),
        }
    }
}

/// A cast of all values; one that does not fit is an error.
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options)
        .map_err(|_| Error::invalid(format!("a value does not fit the type {}", print_type(to))))
}

fn utf8(bytes: &[u8]) -> Result<&str, Misfit> {
    std::str::from_utf8(bytes).map_err(|_| "text that is not valid UTF-8")
}

/// Describes a value for messages.
pub(super) fn found(value: ValueRef<'_>) -> Misfit {
    match value {
        ValueRef::Null => "a null",
        ValueRef::Integer(_) => "an integer",
        ValueRef::Real(_) => "a float",
        ValueRef::Text(_) => "a text",
        ValueRef::Blob(_) => "bytes",
    }
}

fn integer(kind: StorageClass, value: ValueRef<'_>, is_given: bool) -> Result<i64, Misfit> {
    match (kind, value) {
        (StorageClass::Boolean, ValueRef::Integer(value @ (0 | 1))) => Ok(value),
        (StorageClass::Boolean, ValueRef::Integer(_)) => Err("an integer other than 0 and 1"),
        (StorageClass::Integer | StorageClass::Duration, ValueRef::Integer(value)) => Ok(value),
        (StorageClass::Integer, ValueRef::Real(value)) if is_whole(value) => Ok(value as i64),
        (StorageClass::Date, ValueRef::Text(bytes)) => parse_date(utf8(bytes)?).ok_or("text that is not a date"),
        (StorageClass::Time(unit), ValueRef::Text(bytes)) => {
            parse_time(utf8(bytes)?, unit).ok_or("text that is not a time in this unit")
        }
        (StorageClass::Timestamp { unit, is_utc }, ValueRef::Text(bytes)) => {
            match parse_timestamp(utf8(bytes)?, unit) {
                Some((value, has_offset)) if is_utc || !has_offset => Ok(value),
                Some(_) => Err("a timestamp with an offset"),
                None => Err("text that is not a timestamp in this unit"),
            }
        }
        (StorageClass::Date | StorageClass::Timestamp { .. } | StorageClass::Time(_), ValueRef::Integer(value))
            if is_given =>
        {
            Ok(value)
        }
        (_, other) => Err(found(other)),
    }
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() <= EXACT_IN_FLOAT as f64
}

fn unsigned(value: ValueRef<'_>) -> Result<u64, Misfit> {
    match value {
        ValueRef::Integer(value) => u64::try_from(value).map_err(|_| "a negative integer"),
        ValueRef::Text(bytes) => utf8(bytes)?.parse().map_err(|_| "text that is not a 64-bit integer"),
        other => Err(found(other)),
    }
}

/// The shortest text that reads back as the same float.
fn real_text(value: f64) -> String {
    let mut text = value.to_string();
    if value.is_finite() && !text.contains('.') {
        text.push_str(".0");
    }
    text
}

/// A decimal, where the value has no digits beyond the scale and no more than the precision.
pub(super) fn decimal(value: ValueRef<'_>, precision: u8, scale: i8) -> Result<i256, Misfit> {
    let parsed = match value {
        ValueRef::Text(bytes) => parse_decimal(utf8(bytes)?, precision, scale),
        ValueRef::Integer(value) => parse_decimal(&value.to_string(), precision, scale),
        ValueRef::Real(value) if value.is_finite() => parse_decimal(&value.to_string(), precision, scale),
        other => return Err(found(other)),
    };
    parsed.ok_or("a number that the decimal can't represent")
}

fn parse_decimal(text: &str, precision: u8, scale: i8) -> Option<i256> {
    let (sign, unsigned) =
        text.strip_prefix('-').map_or(("", text.strip_prefix('+').unwrap_or(text)), |rest| ("-", rest));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let digits = match usize::try_from(scale) {
        Ok(scale) if fraction.len() <= scale => format!("{whole}{fraction:0<scale$}"),
        Ok(_) => return None,
        Err(_) => {
            let zeros = usize::from(scale.unsigned_abs());
            let kept = match whole.len().checked_sub(zeros) {
                Some(kept) if whole[kept..].bytes().all(|digit| digit == b'0') => &whole[..kept],
                _ if whole.bytes().all(|digit| digit == b'0') => "0",
                _ => return None,
            };
            if !fraction.is_empty() {
                return None;
            }
            kept.to_owned()
        }
    };
    let digits = digits.trim_start_matches('0');
    if digits.len() > usize::from(precision) {
        return None;
    }
    i256::from_string(&format!("{sign}{}", if digits.is_empty() { "0" } else { digits }))
}
