//! Single values, as literals and statistics hold them.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::datatypes::{DataType, i256};
use lakerace_io::{Error, Result};

use crate::value_text::value_text;

/// A value that is not null, as its column stores it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A boolean.
    Boolean(bool),
    /// Integers of any width; the unscaled number of decimals; dates, times, timestamps and durations in the column's
    /// own unit since its own zero.
    Integer(i256),
    /// Floats of any width.
    Float(f64),
    /// Text as UTF-8, and bytes.
    Bytes(Vec<u8>),
}

/// Calls `$body` with `$T` as the Arrow primitive type of an integer-like `DataType`; else `$fallback`.
macro_rules! for_integer_type {
    ($data_type:expr, $T:ident => $body:expr, $fallback:expr) => {
        match $data_type {
            DataType::Int8 => for_integer_type!(@ Int8Type, $T, $body),
            DataType::Int16 => for_integer_type!(@ Int16Type, $T, $body),
            DataType::Int32 => for_integer_type!(@ Int32Type, $T, $body),
            DataType::Int64 => for_integer_type!(@ Int64Type, $T, $body),
            DataType::UInt8 => for_integer_type!(@ UInt8Type, $T, $body),
            DataType::UInt16 => for_integer_type!(@ UInt16Type, $T, $body),
            DataType::UInt32 => for_integer_type!(@ UInt32Type, $T, $body),
            DataType::UInt64 => for_integer_type!(@ UInt64Type, $T, $body),
            DataType::Date32 => for_integer_type!(@ Date32Type, $T, $body),
            DataType::Date64 => for_integer_type!(@ Date64Type, $T, $body),
            DataType::Time32(arrow::datatypes::TimeUnit::Second) => for_integer_type!(@ Time32SecondType, $T, $body),
            DataType::Time32(arrow::datatypes::TimeUnit::Millisecond) => for_integer_type!(@ Time32MillisecondType, $T, $body),
            DataType::Time64(arrow::datatypes::TimeUnit::Microsecond) => for_integer_type!(@ Time64MicrosecondType, $T, $body),
            DataType::Time64(arrow::datatypes::TimeUnit::Nanosecond) => for_integer_type!(@ Time64NanosecondType, $T, $body),
            DataType::Timestamp(arrow::datatypes::TimeUnit::Second, _) => for_integer_type!(@ TimestampSecondType, $T, $body),
            DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, _) => for_integer_type!(@ TimestampMillisecondType, $T, $body),
            DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, _) => for_integer_type!(@ TimestampMicrosecondType, $T, $body),
            DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, _) => for_integer_type!(@ TimestampNanosecondType, $T, $body),
            DataType::Duration(arrow::datatypes::TimeUnit::Second) => for_integer_type!(@ DurationSecondType, $T, $body),
            DataType::Duration(arrow::datatypes::TimeUnit::Millisecond) => for_integer_type!(@ DurationMillisecondType, $T, $body),
            DataType::Duration(arrow::datatypes::TimeUnit::Microsecond) => for_integer_type!(@ DurationMicrosecondType, $T, $body),
            DataType::Duration(arrow::datatypes::TimeUnit::Nanosecond) => for_integer_type!(@ DurationNanosecondType, $T, $body),
            DataType::Decimal32(_, _) => for_integer_type!(@ Decimal32Type, $T, $body),
            DataType::Decimal64(_, _) => for_integer_type!(@ Decimal64Type, $T, $body),
            DataType::Decimal128(_, _) => for_integer_type!(@ Decimal128Type, $T, $body),
            DataType::Decimal256(_, _) => for_integer_type!(@ Decimal256Type, $T, $body),
            _ => $fallback,
        }
    };
    (@ $Type:ident, $T:ident, $body:expr) => {{
        type $T = $Type;
        $body
    }};
}
pub(super) use for_integer_type;

/// A native integer that fits in an [`i256`].
pub(super) trait NativeInteger: Copy {
    /// The smallest and the largest.
    const RANGE: (Self, Self);
    /// Widened.
    fn widen(self) -> i256;
    /// Cut to the width; only for values within [`Self::RANGE`].
    fn narrow(value: i256) -> Self;
}

macro_rules! native {
    ($($native:ty),*) => {$(
        impl NativeInteger for $native {
            const RANGE: (Self, Self) = (<$native>::MIN, <$native>::MAX);
            fn widen(self) -> i256 {
                i256::from_i128(self as i128)
            }
            fn narrow(value: i256) -> Self {
                value.as_i128() as $native
            }
        }
    )*};
}
native!(i8, i16, i32, i64, u8, u16, u32, u64, i128);

impl NativeInteger for i256 {
    const RANGE: (Self, Self) = (i256::MIN, i256::MAX);
    fn widen(self) -> i256 {
        self
    }
    fn narrow(value: i256) -> Self {
        value
    }
}

impl Value {
    /// The value at `index`, or `None` if it is null or of a type that has no single values (lists, structs, …).
    pub fn from_array(array: &dyn Array, index: usize) -> Option<Self> {
        if index >= array.len() || array.is_null(index) {
            return None;
        }
        let value = match array.data_type() {
            DataType::Boolean => Self::Boolean(array.as_boolean().value(index)),
            DataType::Float16 => Self::Float(array.as_primitive::<Float16Type>().value(index).to_f64()),
            DataType::Float32 => Self::Float(f64::from(array.as_primitive::<Float32Type>().value(index))),
            DataType::Float64 => Self::Float(array.as_primitive::<Float64Type>().value(index)),
            DataType::Utf8 => Self::Bytes(array.as_string::<i32>().value(index).as_bytes().to_vec()),
            DataType::LargeUtf8 => Self::Bytes(array.as_string::<i64>().value(index).as_bytes().to_vec()),
            DataType::Utf8View => Self::Bytes(array.as_string_view().value(index).as_bytes().to_vec()),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().value(index).to_vec()),
            DataType::LargeBinary => Self::Bytes(array.as_binary::<i64>().value(index).to_vec()),
            DataType::BinaryView => Self::Bytes(array.as_binary_view().value(index).to_vec()),
            DataType::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary().value(index).to_vec()),
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                let key = *dictionary.normalized_keys().get(index)?;
                return Self::from_array(dictionary.values(), key);
            }
            other => for_integer_type!(
                other,
                T => Self::Integer(array.as_primitive::<T>().value(index).widen()),
                return None
            ),
        };
        Some(value)
    }

    /// Compares it with another value of the same column; `None` if either is NaN. -0.0 equals 0.0.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// A text for messages: dates as dates, text in quotes, long values cut.
    pub fn display(&self, data_type: &DataType) -> String {
        let text = match self {
            Self::Bytes(bytes) if !is_text(data_type) => {
                let hex: String = bytes.iter().take(20).map(|b| format!("{b:02X}")).collect();
                return if bytes.len() > 20 { format!("X'{hex}…'") } else { format!("X'{hex}'") };
            }
            Self::Bytes(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let cut: String = text.chars().take(40).collect();
                return if cut.len() < text.len() { format!("'{cut}…'") } else { format!("'{cut}'") };
            }
            _ => array_of(std::slice::from_ref(self), data_type)
                .and_then(|array| value_text(&array, 0).map_err(Error::unexpected)),
        };
        text.unwrap_or_else(|_| format!("{self:?}"))
    }
}

/// An array of these values. They must be values of `data_type`; a dictionary type gives its values' type.
pub fn array_of(values: &[Value], data_type: &DataType) -> Result<ArrayRef> {
    let mismatch = || Error::internal(format!("a value is not of type {data_type}"));
    if let DataType::Dictionary(_, value_type) = data_type {
        return array_of(values, value_type);
    }
    if data_type == &DataType::Boolean {
        let items: Option<Vec<bool>> =
            values.iter().map(|v| if let Value::Boolean(b) = v { Some(*b) } else { None }).collect();
        return Ok(Arc::new(BooleanArray::from(items.ok_or_else(mismatch)?)));
    }
    if data_type.is_floating() {
        let items: Option<Vec<f64>> =
            values.iter().map(|v| if let Value::Float(f) = v { Some(*f) } else { None }).collect();
        let array = Float64Array::from(items.ok_or_else(mismatch)?);
        return arrow::compute::cast(&array, data_type).map_err(Error::unexpected);
    }
    if is_text(data_type) || is_binary(data_type) {
        let items: Option<Vec<&[u8]>> =
            values.iter().map(|v| if let Value::Bytes(b) = v { Some(b.as_slice()) } else { None }).collect();
        return bytes_array(&items.ok_or_else(mismatch)?, data_type);
    }
    let items: Option<Vec<i256>> =
        values.iter().map(|v| if let Value::Integer(i) = v { Some(*i) } else { None }).collect();
    let items = items.ok_or_else(mismatch)?;
    for_integer_type!(
        data_type,
        T => {
            let natives = items.into_iter().map(<<T as ArrowPrimitiveType>::Native as NativeInteger>::narrow);
            Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(natives).with_data_type(data_type.clone())) as ArrayRef)
        },
        Err(mismatch())
    )
}

fn bytes_array(items: &[&[u8]], data_type: &DataType) -> Result<ArrayRef> {
    let binary: ArrayRef = Arc::new(BinaryArray::from_iter_values(items));
    match data_type {
        // A text column's bounds may have been cut within a character: those can't be text.
        t if is_text(t) && items.iter().any(|i| std::str::from_utf8(i).is_err()) => {
            Err(Error::internal("a value of a text column is not valid UTF-8"))
        }
        // The size may differ from the column's: such a value equals none of the column's values, but it has an order.
        DataType::FixedSizeBinary(_) => Ok(binary),
        _ => arrow::compute::cast(&binary, data_type).map_err(Error::unexpected),
    }
}

/// The type itself, or that of a dictionary's values.
pub(crate) fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        other => other,
    }
}

/// Text in any of Arrow's layouts.
pub(super) fn is_text(data_type: &DataType) -> bool {
    matches!(plain_type(data_type), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Bytes in any of Arrow's layouts.
pub(super) fn is_binary(data_type: &DataType) -> bool {
    matches!(
        plain_type(data_type),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}
