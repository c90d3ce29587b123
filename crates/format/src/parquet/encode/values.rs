//! Arrow arrays as the physical values that Parquet stores for them.
//!
//! Source of the mapping: parquet-format, `LogicalTypes.md`. What shares its layout with the stored type is not copied.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, GenericByteViewArray, PrimitiveArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{
    ArrowNativeType, BinaryViewType, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, StringViewType, TimeUnit, UInt8Type, UInt16Type, i256,
};
use lakerace_io::{Error, Result};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use super::intervals::interval_bytes;
use super::physical::{NumberArray, Physical};
use crate::schema_text::print_type;

/// INT32.
pub(crate) struct Int32Values;
/// INT64.
pub(crate) struct Int64Values;
/// FLOAT.
pub(crate) struct FloatValues;
/// DOUBLE.
pub(crate) struct DoubleValues;

impl Physical for Int32Values {
    type Native = i32;

    fn bits(value: i32) -> u64 {
        u64::from(value as u32)
    }

    fn values(array: &ArrayRef, column: &ColumnDescPtr) -> Result<NumberArray<i32>> {
        let array = plain_array(array)?;
        match array.data_type() {
            DataType::Null => {
                Ok(NumberArray { values: vec![0; array.len()].into(), nulls: Some(NullBuffer::new_null(array.len())) })
            }
            DataType::Int32 | DataType::UInt32 | DataType::Date32 | DataType::Time32(TimeUnit::Millisecond) => {
                reinterpret(&array)
            }
            DataType::Int8 => Ok(widen(array.as_primitive::<Int8Type>())),
            DataType::Int16 => Ok(widen(array.as_primitive::<Int16Type>())),
            DataType::UInt8 => Ok(widen(array.as_primitive::<UInt8Type>())),
            DataType::UInt16 => Ok(widen(array.as_primitive::<UInt16Type>())),
            DataType::Decimal32(..) => reinterpret(&array),
            DataType::Decimal64(..) => narrow(array.as_primitive::<Decimal64Type>(), column),
            DataType::Decimal128(..) => narrow(array.as_primitive::<Decimal128Type>(), column),
            DataType::Decimal256(..) => narrow_256(&array, column),
            _ => Err(wrong_type(&array, column)),
        }
    }
}

impl Physical for Int64Values {
    type Native = i64;

    fn bits(value: i64) -> u64 {
        value as u64
    }

    fn values(array: &ArrayRef, column: &ColumnDescPtr) -> Result<NumberArray<i64>> {
        let array = plain_array(array)?;
        match array.data_type() {
            DataType::Int64
            | DataType::UInt64
            | DataType::Timestamp(..)
            | DataType::Time64(_)
            | DataType::Duration(_)
            | DataType::Decimal64(..) => reinterpret(&array),
            DataType::Decimal32(..) => Ok(widen(array.as_primitive::<Decimal32Type>())),
            DataType::Decimal128(..) => narrow(array.as_primitive::<Decimal128Type>(), column),
            DataType::Decimal256(..) => narrow_256(&array, column),
            _ => Err(wrong_type(&array, column)),
        }
    }
}

impl Physical for FloatValues {
    type Native = f32;

    fn bits(value: f32) -> u64 {
        u64::from(value.to_bits())
    }

    fn values(array: &ArrayRef, column: &ColumnDescPtr) -> Result<NumberArray<f32>> {
        let array = plain_array(array)?;
        let floats = array.as_primitive_opt::<Float32Type>().ok_or_else(|| wrong_type(&array, column))?;
        Ok(NumberArray { values: floats.values().clone(), nulls: floats.nulls().cloned() })
    }
}

impl Physical for DoubleValues {
    type Native = f64;

    fn bits(value: f64) -> u64 {
        value.to_bits()
    }

    fn values(array: &ArrayRef, column: &ColumnDescPtr) -> Result<NumberArray<f64>> {
        let array = plain_array(array)?;
        let floats = array.as_primitive_opt::<Float64Type>().ok_or_else(|| wrong_type(&array, column))?;
        Ok(NumberArray { values: floats.values().clone(), nulls: floats.nulls().cloned() })
    }
}

/// An array as byte strings.
pub(crate) struct ByteStrings {
    pub(crate) layout: ByteLayout,
    pub(crate) nulls: Option<NullBuffer>,
    pub(crate) rows: usize,
}

/// The layout of the bytes.
pub(crate) enum ByteLayout {
    Offsets32(ScalarBuffer<i32>, Buffer),
    Offsets64(ScalarBuffer<i64>, Buffer),
    Texts(GenericByteViewArray<StringViewType>),
    Words(DictionaryTexts),
    Binaries(GenericByteViewArray<BinaryViewType>),
    /// All of the same length.
    Fixed(usize, Buffer),
}

/// A dictionary array of few texts.
pub(crate) struct DictionaryTexts {
    /// The text of each row, by its number.
    pub(crate) numbers: ScalarBuffer<u8>,
    pub(crate) words: GenericByteViewArray<StringViewType>,
}

impl DictionaryTexts {
    /// `None` for other arrays, and if a row or a word is null.
    fn from_array(array: &ArrayRef) -> Option<Self> {
        let array = array.as_dictionary_opt::<UInt8Type>()?;
        let words = array.values().as_string_view_opt()?;
        let has_nulls = array.keys().null_count() > 0 || words.null_count() > 0;
        (!has_nulls).then(|| Self { numbers: array.keys().values().clone(), words: words.clone() })
    }
}

impl ByteStrings {
    /// The values of an array whose column is of byte arrays, fixed or not.
    pub(crate) fn from_array(array: &ArrayRef, column: &ColumnDescPtr) -> Result<Self> {
        if let Some(words) = DictionaryTexts::from_array(array) {
            return Ok(Self { layout: ByteLayout::Words(words), nulls: None, rows: array.len() });
        }
        let array = plain_array(array)?;
        let (rows, nulls) = (array.len(), array.nulls().cloned());
        let width = usize::try_from(column.type_length()).unwrap_or(0);
        let layout = match array.data_type() {
            DataType::Utf8 => offsets32(array.as_string::<i32>().offsets().inner(), array.as_string::<i32>().values()),
            DataType::Binary => {
                offsets32(array.as_binary::<i32>().offsets().inner(), array.as_binary::<i32>().values())
            }
            DataType::LargeUtf8 => ByteLayout::Offsets64(
                array.as_string::<i64>().offsets().inner().clone(),
                array.as_string::<i64>().values().clone(),
            ),
            DataType::LargeBinary => ByteLayout::Offsets64(
                array.as_binary::<i64>().offsets().inner().clone(),
                array.as_binary::<i64>().values().clone(),
            ),
            DataType::Utf8View => ByteLayout::Texts(array.as_string_view().clone()),
            DataType::BinaryView => ByteLayout::Binaries(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(size) if *size as usize == width => {
                ByteLayout::Fixed(width, array.as_fixed_size_binary().values().clone())
            }
            DataType::Float16 if width == 2 => {
                ByteLayout::Fixed(2, array.as_primitive::<Float16Type>().values().inner().clone())
            }
            DataType::Decimal128(..) => {
                let values = array.as_primitive::<Decimal128Type>().values();
                let fits = |v: &i128| big_endian_fits(&v.to_be_bytes(), width);
                ByteLayout::Fixed(width, big_endian(values.iter(), fits, |v| v.to_be_bytes(), width, &nulls, column)?)
            }
            DataType::Decimal256(..) => {
                let values = array.as_primitive::<Decimal256Type>().values();
                let fits = |v: &i256| big_endian_fits(&v.to_be_bytes(), width);
                ByteLayout::Fixed(width, big_endian(values.iter(), fits, |v| v.to_be_bytes(), width, &nulls, column)?)
            }
            DataType::Decimal64(..) => {
                let values = array.as_primitive::<Decimal64Type>().values();
                let to = |v: &i64| i128::from(*v).to_be_bytes();
                ByteLayout::Fixed(width, big_endian(values.iter(), |_| true, to, width, &nulls, column)?)
            }
            DataType::Decimal32(..) => {
                let values = array.as_primitive::<Decimal32Type>().values();
                let to = |v: &i32| i128::from(*v).to_be_bytes();
                ByteLayout::Fixed(width, big_endian(values.iter(), |_| true, to, width, &nulls, column)?)
            }
            DataType::Interval(_) if width == 12 => ByteLayout::Fixed(width, interval_bytes(&array)?),
            _ => return Err(wrong_type(&array, column)),
        };
        Ok(Self { layout, nulls, rows })
    }
}

fn offsets32(offsets: &ScalarBuffer<i32>, data: &Buffer) -> ByteLayout {
    ByteLayout::Offsets32(offsets.clone(), data.clone())
}

/// Returns true if all but the last `width` bytes repeat the sign.
fn big_endian_fits(bytes: &[u8], width: usize) -> bool {
    let Some(cut) = bytes.len().checked_sub(width) else { return true };
    let sign = if bytes[cut.min(bytes.len() - 1)] >= 0x80 { 0xff } else { 0 };
    bytes[..cut].iter().all(|byte| *byte == sign)
}

/// Decimals as big-endian two's complement of `width` bytes.
fn big_endian<'a, T: 'a, const N: usize>(
    values: impl Iterator<Item = &'a T>,
    fits: impl Fn(&T) -> bool,
    bytes: impl Fn(&T) -> [u8; N],
    width: usize,
    nulls: &Option<NullBuffer>,
    column: &ColumnDescPtr,
) -> Result<Buffer> {
    let mut out = Vec::new();
    for (at, value) in values.enumerate() {
        let raw = bytes(value);
        if !fits(value) && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at)) {
            return Err(beyond_precision(column));
        }
        match N.checked_sub(width) {
            Some(cut) => out.extend_from_slice(&raw[cut..]),
            None => {
                let sign = if raw[0] >= 0x80 { 0xff } else { 0 };
                out.resize(out.len() + width - N, sign);
                out.extend_from_slice(&raw);
            }
        }
    }
    Ok(out.into())
}

/// An array without dictionary or run-end encoding.
pub(crate) fn plain_array(array: &ArrayRef) -> Result<ArrayRef> {
    let target = match array.data_type() {
        DataType::Dictionary(_, value) => value.as_ref(),
        DataType::RunEndEncoded(_, value) => value.data_type(),
        _ => return Ok(Arc::clone(array)),
    };
    let plain = arrow::compute::cast(array, target).map_err(Error::unexpected)?;
    plain_array(&plain)
}

/// The error for a batch that does not match its schema.
pub(crate) fn wrong_type(array: &ArrayRef, column: &ColumnDescriptor) -> Error {
    Error::invalid(format!(
        "values of type {} do not fit the file's {}",
        print_type(array.data_type()),
        column.physical_type()
    ))
}

fn beyond_precision(column: &ColumnDescriptor) -> Error {
    let (precision, scale) = (column.type_precision(), column.type_scale());
    Error::invalid(format!("a decimal has more digits than decimal({precision}, {scale}) allows"))
        .advice("cast the column to a decimal type that can hold all of its values")
}

/// Reinterprets the bits as another type of the same width.
fn reinterpret<T: ArrowNativeType>(array: &ArrayRef) -> Result<NumberArray<T>> {
    let data = array.to_data();
    let Some(buffer) = data.buffers().first() else { return Err(Error::internal("an array has no values")) };
    Ok(NumberArray {
        values: ScalarBuffer::new(buffer.clone(), data.offset(), data.len()),
        nulls: array.nulls().cloned(),
    })
}

fn widen<A: ArrowPrimitiveType, T: ArrowNativeType + From<A::Native>>(array: &PrimitiveArray<A>) -> NumberArray<T> {
    let values: Vec<T> = array.values().iter().map(|v| T::from(*v)).collect();
    NumberArray { values: values.into(), nulls: array.nulls().cloned() }
}

fn narrow<A: ArrowPrimitiveType, T: ArrowNativeType + TryFrom<A::Native>>(
    array: &PrimitiveArray<A>,
    column: &ColumnDescPtr,
) -> Result<NumberArray<T>> {
    let convert = |(at, value): (usize, &A::Native)| match T::try_from(*value) {
        Ok(value) => Ok(value),
        Err(_) if array.is_null(at) => Ok(T::default()),
        Err(_) => Err(beyond_precision(column)),
    };
    let values: Vec<T> = array.values().iter().enumerate().map(convert).collect::<Result<_>>()?;
    Ok(NumberArray { values: values.into(), nulls: array.nulls().cloned() })
}

fn narrow_256<T: ArrowNativeType + TryFrom<i128>>(array: &ArrayRef, column: &ColumnDescPtr) -> Result<NumberArray<T>> {
    let decimals = array.as_primitive::<Decimal256Type>();
    let convert = |(at, value): (usize, &i256)| match value.to_i128().and_then(|v| T::try_from(v).ok()) {
        Some(value) => Ok(value),
        None if decimals.is_null(at) => Ok(T::default()),
        None => Err(beyond_precision(column)),
    };
    let values: Vec<T> = decimals.values().iter().enumerate().map(convert).collect::<Result<_>>()?;
    Ok(NumberArray { values: values.into(), nulls: decimals.nulls().cloned() })
}
