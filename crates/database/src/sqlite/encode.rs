//! Columns of batches as values of SQLite.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, StringArray,
    StringBuilder, StringViewArray, UInt64Array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Decimal256Type, Float64Type, Int64Type, TimeUnit, UInt64Type};
use lakerace_format::calendar::units_per_second;
use lakerace_format::refuse_keys_twice;
use lakerace_io::option::WHERE;
use lakerace_io::{Error, ErrorKind, Result};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use super::decode::EXACT_IN_FLOAT;
use super::json;
use super::kind::{StorageClass, TypeAffinity};
use super::numbers::{is_number, number};
use super::time_form::{TimestampForm, write_in_form};
use super::times::{SECONDS_PER_DAY, write_date, write_time};

/// The values of a column, ready to be bound.
#[derive(Debug)]
pub(super) enum BoundValues {
    Null,
    Integers(Int64Array),
    Unsigned(UInt64Array),
    Reals(Float64Array),
    Texts(StringArray),
    LargeTexts(LargeStringArray),
    TextViews(StringViewArray),
    Bytes(BinaryArray),
    LargeBytes(LargeBinaryArray),
    /// Digits of decimals, which a column of this affinity keeps as numbers.
    Numbers(StringArray, TypeAffinity),
}

impl BoundValues {
    /// Makes the values of an array, timestamps in a form. Errors name no place.
    pub fn from_array(array: &ArrayRef, form: Option<&TimestampForm>) -> Result<Self> {
        if let DataType::Dictionary(_, values) = array.data_type() {
            return Self::from_array(&cast(array, values)?, form);
        }
        let kind = StorageClass::for_type(array.data_type())?;
        Ok(match kind {
            StorageClass::Null => Self::Null,
            StorageClass::Boolean | StorageClass::Integer | StorageClass::Duration => Self::Integers(integers(array)?),
            StorageClass::UnsignedLong => Self::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            StorageClass::Real => Self::Reals(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone()),
            StorageClass::Decimal { scale, .. } => Self::Texts(decimals(array, scale)?),
            StorageClass::Text => match array.data_type() {
                DataType::Utf8 => Self::Texts(array.as_string::<i32>().clone()),
                DataType::LargeUtf8 => Self::LargeTexts(array.as_string::<i64>().clone()),
                _ => Self::TextViews(array.as_string_view().clone()),
            },
            StorageClass::Bytes => match array.data_type() {
                DataType::Binary => Self::Bytes(array.as_binary::<i32>().clone()),
                _ => Self::LargeBytes(cast(array, &DataType::LargeBinary)?.as_binary::<i64>().clone()),
            },
            StorageClass::Date => Self::Texts(written(array, write_date)?),
            StorageClass::Timestamp { unit, is_utc } => {
                Self::Texts(written(array, |value, text| write_in_form(form, value, (unit, is_utc), text))?)
            }
            StorageClass::Time(unit) => Self::Texts(written(array, |value, text| write_time(value, unit, text))?),
            StorageClass::Json => Self::Texts(json::texts(array)?),
        })
    }

    /// Binds decimals as numbers for a column whose declared type makes numbers of texts.
    pub fn with_numbers(self, array: &ArrayRef, affinity: TypeAffinity) -> Self {
        match self {
            Self::Texts(digits) if array.data_type().is_decimal() => Self::Numbers(digits, affinity),
            other => other,
        }
    }

    /// Returns true if a column of this affinity, which makes numbers of texts, keeps value number `row` unchanged.
    pub fn stays_in_numbers(&self, row: usize, affinity: TypeAffinity) -> bool {
        if self.is_null(row) {
            return true;
        }
        match self {
            Self::Numbers(digits, affinity) => number(digits.value(row), *affinity).is_some(),
            Self::Unsigned(array) if affinity == TypeAffinity::Real => array.value(row) <= EXACT_IN_FLOAT,
            Self::Unsigned(array) => i64::try_from(array.value(row)).is_ok(),
            Self::Texts(array) => !is_number(array.value(row).as_bytes()),
            Self::LargeTexts(array) => !is_number(array.value(row).as_bytes()),
            Self::TextViews(array) => !is_number(array.value(row).as_bytes()),
            _ => true,
        }
    }

    /// Value number `row`.
    #[inline]
    pub fn value(&self, row: usize) -> ToSqlOutput<'_> {
        const NULL: ToSqlOutput<'static> = ToSqlOutput::Borrowed(ValueRef::Null);
        let text = |text| ToSqlOutput::Borrowed(ValueRef::Text(text));
        let blob = |bytes| ToSqlOutput::Borrowed(ValueRef::Blob(bytes));
        match self {
            Self::Null => NULL,
            Self::Integers(array) if array.is_valid(row) => ToSqlOutput::Borrowed(ValueRef::Integer(array.value(row))),
            Self::Reals(array) if array.is_valid(row) => ToSqlOutput::Borrowed(ValueRef::Real(array.value(row))),
            Self::Unsigned(array) if array.is_valid(row) => match i64::try_from(array.value(row)) {
                Ok(value) => ToSqlOutput::Borrowed(ValueRef::Integer(value)),
                Err(_) => ToSqlOutput::Owned(Value::Text(array.value(row).to_string())),
            },
            Self::Texts(array) if array.is_valid(row) => text(array.value(row).as_bytes()),
            Self::LargeTexts(array) if array.is_valid(row) => text(array.value(row).as_bytes()),
            Self::TextViews(array) if array.is_valid(row) => text(array.value(row).as_bytes()),
            Self::Bytes(array) if array.is_valid(row) => blob(array.value(row)),
            Self::LargeBytes(array) if array.is_valid(row) => blob(array.value(row)),
            Self::Numbers(array, affinity) if array.is_valid(row) => {
                // Digits that no number has were refused.
                number(array.value(row), *affinity).unwrap_or_else(|| text(array.value(row).as_bytes()))
            }
            _ => NULL,
        }
    }

    /// Returns true if value number `row` is null.
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Null => true,
            Self::Integers(array) => array.is_null(row),
            Self::Unsigned(array) => array.is_null(row),
            Self::Reals(array) => array.is_null(row),
            Self::Texts(array) => array.is_null(row),
            Self::LargeTexts(array) => array.is_null(row),
            Self::TextViews(array) => array.is_null(row),
            Self::Bytes(array) => array.is_null(row),
            Self::LargeBytes(array) => array.is_null(row),
            Self::Numbers(array, _) => array.is_null(row),
        }
    }

    /// Returns true if any value is null.
    pub fn has_null(&self) -> bool {
        let array: &dyn Array = match self {
            Self::Null => return true,
            Self::Integers(array) => array,
            Self::Unsigned(array) => array,
            Self::Reals(array) => array,
            Self::Texts(array) => array,
            Self::LargeTexts(array) => array,
            Self::TextViews(array) => array,
            Self::Bytes(array) => array,
            Self::LargeBytes(array) => array,
            Self::Numbers(array, _) => array,
        };
        array.null_count() > 0
    }

    /// Returns true if value number `row` is NaN, which SQLite makes a null.
    pub fn is_nan(&self, row: usize) -> bool {
        matches!(self, Self::Reals(array) if array.is_valid(row) && array.value(row).is_nan())
    }

    /// Returns true if any value is NaN.
    pub fn has_nan(&self) -> bool {
        matches!(self, Self::Reals(array) if array.iter().flatten().any(f64::is_nan))
    }
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options).map_err(|error| Error::from_source(ErrorKind::Invalid, error))
}

/// Numbers as the nearest floats, for a column that keeps no others; other arrays are returned unchanged.
pub(super) fn as_floats(array: &ArrayRef) -> Result<ArrayRef> {
    let data_type = array.data_type();
    if data_type.is_integer() {
        return cast(array, &DataType::Float64);
    }
    let StorageClass::Decimal { scale, .. } = StorageClass::for_type(data_type)? else { return Ok(Arc::clone(array)) };
    let digits = match data_type {
        DataType::Dictionary(_, values) => decimals(&cast(array, values)?, scale)?,
        _ => decimals(array, scale)?,
    };
    let parse = |text: &str| text.parse::<f64>().map_err(Error::unexpected);
    let floats = digits.iter().map(|text| text.map(parse).transpose()).collect::<Result<Float64Array>>()?;
    Ok(Arc::new(floats))
}

/// An error where a value has no text that is read back: a time beyond 24 hours, or a map with a key twice. `first_row` is the number of
/// the first row.
pub(super) fn refuse_unreadable(array: &ArrayRef, first_row: u64) -> Result<()> {
    if let DataType::Dictionary(_, values) = array.data_type() {
        return refuse_unreadable(&cast(array, values)?, first_row);
    }
    let StorageClass::Time(unit) = StorageClass::for_type(array.data_type())? else {
        return refuse_keys_twice(array, first_row);
    };
    let day = 0..SECONDS_PER_DAY * units_per_second(unit);
    let values = integers(array)?;
    let Some(row) = values.iter().position(|value| value.is_some_and(|value| !day.contains(&value))) else {
        return Ok(());
    };
    let message = format!(
        "the time of row {} is {} {} after midnight, which is not within a day",
        first_row + row as u64,
        values.value(row),
        unit_name(unit)
    );
    Err(Error::invalid(message).advice(format!("exclude such rows with {WHERE}, or cast the column to a number")))
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// Integers of all that is stored as such, of times their units.
fn integers(array: &ArrayRef) -> Result<Int64Array> {
    let array = match array.data_type() {
        DataType::Date32 | DataType::Time32(_) => cast(array, &DataType::Int32)?,
        _ => Arc::clone(array),
    };
    Ok(cast(&array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn written(array: &ArrayRef, write: impl Fn(i64, &mut String)) -> Result<StringArray> {
    let array = match array.data_type() {
        // The wall clock of an instant is that of UTC.
        DataType::Timestamp(unit, Some(_)) => cast(array, &DataType::Timestamp(*unit, Some("UTC".into())))?,
        DataType::Date64 => cast(array, &DataType::Timestamp(TimeUnit::Millisecond, None))?,
        _ => Arc::clone(array),
    };
    let values = integers(&array)?;
    let mut texts = StringBuilder::with_capacity(values.len(), values.len() * 24);
    let mut text = String::new();
    for value in &values {
        match value {
            None => texts.append_null(),
            Some(value) => {
                text.clear();
                write(value, &mut text);
                texts.append_value(&text);
            }
        }
    }
    Ok(texts.finish())
}

/// All digits, with as many after the point as the scale says.
fn decimals(array: &ArrayRef, scale: i8) -> Result<StringArray> {
    let wide = match array.data_type() {
        DataType::Decimal256(..) => Arc::clone(array),
        other => {
            let (DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)) = other
            else {
                return Err(Error::internal("a decimal has another width"));
            };
            cast(array, &DataType::Decimal256(*precision, *scale))?
        }
    };
    let values = wide.as_primitive::<Decimal256Type>();
    let mut texts = StringBuilder::with_capacity(values.len(), values.len() * 20);
    for value in values {
        match value {
            None => texts.append_null(),
            Some(value) => texts.append_value(decimal_text(&value.to_string(), scale)),
        }
    }
    Ok(texts.finish())
}

/// The digits of an integer with a point before the last `scale` of them.
fn decimal_text(digits: &str, scale: i8) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    match usize::try_from(scale) {
        Ok(0) => format!("{sign}{digits}"),
        Ok(scale) => {
            let padded = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = padded.split_at(padded.len() - scale);
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) if digits == "0" => "0".to_owned(),
        Err(_) => format!("{sign}{digits}{}", "0".repeat(usize::from(scale.unsigned_abs()))),
    }
}
