//! The values of a column as JSON.

use arrow::array::types::{
    Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int64Type, Time64NanosecondType, UInt64Type,
};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, LargeStringArray, ListArray, PrimitiveArray, StringArray,
    StringViewArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, TimeUnit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakerace_format::json::write_text;
use lakerace_io::{Error, Result};

use super::Refusal;
use crate::elasticsearch::time::{write_clock, write_date, write_timestamp};

type Written = std::result::Result<(), Refusal>;

/// A column, in the few layouts that are written.
pub(super) enum CellColumn {
    Null,
    Boolean(BooleanArray),
    Integer(PrimitiveArray<Int64Type>),
    Unsigned(PrimitiveArray<UInt64Type>, bool),
    Float32(PrimitiveArray<Float32Type>),
    Float64(PrimitiveArray<Float64Type>),
    Decimal(PrimitiveArray<Decimal128Type>, bool),
    WideDecimal(PrimitiveArray<Decimal256Type>, bool),
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Binary(BinaryArray),
    Date(PrimitiveArray<Date32Type>),
    Timestamp(PrimitiveArray<Int64Type>, TimeUnit, bool),
    Time(PrimitiveArray<Time64NanosecondType>, TimeUnit),
    List(ListArray, Box<CellColumn>),
    Struct(ArrayRef, Vec<(Vec<u8>, CellColumn)>),
}

impl CellColumn {
    /// The values of `array`. Numbers that JSON's readers may round are texts, unless the field is numeric.
    pub fn new(array: &ArrayRef, is_numeric: bool) -> Result<Self> {
        let to = |data_type: DataType| cast(array, &data_type).map_err(Error::unexpected);
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Boolean(array.as_boolean().clone()),
            DataType::UInt64 => Self::Unsigned(array.as_primitive().clone(), is_numeric),
            DataType::Int64 => Self::Integer(array.as_primitive().clone()),
            data_type if data_type.is_integer() => Self::Integer(to(DataType::Int64)?.as_primitive().clone()),
            DataType::Duration(_) => Self::Integer(to(DataType::Int64)?.as_primitive().clone()),
            DataType::Float16 => Self::Float32(to(DataType::Float32)?.as_primitive().clone()),
            DataType::Float32 => Self::Float32(array.as_primitive().clone()),
            DataType::Float64 => Self::Float64(array.as_primitive().clone()),
            DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
                Self::Decimal(to(DataType::Decimal128(*precision, *scale))?.as_primitive().clone(), is_numeric)
            }
            DataType::Decimal128(_, _) => Self::Decimal(array.as_primitive().clone(), is_numeric),
            DataType::Decimal256(_, _) => Self::WideDecimal(array.as_primitive().clone(), is_numeric),
            DataType::Utf8 => Self::Text(array.as_string().clone()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string().clone()),
            DataType::Utf8View => Self::TextView(array.as_string_view().clone()),
            DataType::Binary => Self::Binary(array.as_binary().clone()),
            DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Binary(to(DataType::Binary)?.as_binary().clone())
            }
            DataType::Date32 => Self::Date(array.as_primitive().clone()),
            DataType::Date64 => Self::new(&to(DataType::Timestamp(TimeUnit::Millisecond, None))?, is_numeric)?,
            DataType::Timestamp(unit, zone) => {
                Self::Timestamp(to(DataType::Int64)?.as_primitive().clone(), *unit, zone.is_some())
            }
            DataType::Time32(unit) | DataType::Time64(unit) => {
                Self::Time(to(DataType::Time64(TimeUnit::Nanosecond))?.as_primitive().clone(), *unit)
            }
            DataType::Dictionary(_, values) => Self::new(&to(values.as_ref().clone())?, is_numeric)?,
            DataType::List(_) => Self::list(array.as_list().clone(), is_numeric)?,
            DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                Self::list(to(DataType::List(item.clone()))?.as_list().clone(), is_numeric)?
            }
            DataType::Map(entries, _) => {
                let map = array.as_map();
                let list = ListArray::try_new(
                    entries.clone(),
                    map.offsets().clone(),
                    std::sync::Arc::new(map.entries().clone()),
                    map.nulls().cloned(),
                );
                Self::list(list.map_err(Error::unexpected)?, is_numeric)?
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns();
                let named = fields.iter().zip(columns).map(|(field, column)| {
                    let mut name = Vec::new();
                    write_text(&mut name, field.name().as_bytes());
                    name.push(b':');
                    Ok((name, Self::new(column, false)?))
                });
                Self::Struct(array.clone(), named.collect::<Result<_>>()?)
            }
            other => return Err(Error::internal(format!("values of type {other} can't be written as JSON"))),
        })
    }

    fn list(list: ListArray, is_numeric: bool) -> Result<Self> {
        let items = Self::new(list.values(), is_numeric)?;
        Ok(Self::List(list, Box::new(items)))
    }

    /// Returns true if the row has a value.
    pub fn is_valid(&self, row: usize) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(array) => array.is_valid(row),
            Self::Integer(array) | Self::Timestamp(array, _, _) => array.is_valid(row),
            Self::Unsigned(array, _) => array.is_valid(row),
            Self::Float32(array) => array.is_valid(row),
            Self::Float64(array) => array.is_valid(row),
            Self::Decimal(array, _) => array.is_valid(row),
            Self::WideDecimal(array, _) => array.is_valid(row),
            Self::Text(array) => array.is_valid(row),
            Self::LargeText(array) => array.is_valid(row),
            Self::TextView(array) => array.is_valid(row),
            Self::Binary(array) => array.is_valid(row),
            Self::Date(array) => array.is_valid(row),
            Self::Time(array, _) => array.is_valid(row),
            Self::List(array, _) => array.is_valid(row),
            Self::Struct(array, _) => array.is_valid(row),
        }
    }

    /// The row's text, where it is one.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            _ if !self.is_valid(row) => None,
            Self::Text(array) => Some(array.value(row)),
            Self::LargeText(array) => Some(array.value(row)),
            Self::TextView(array) => Some(array.value(row)),
            _ => None,
        }
    }

    /// Appends the row's value as JSON.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Written {
        if !self.is_valid(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match self {
            Self::Text(array) => write_text(out, array.value(row).as_bytes()),
            Self::LargeText(array) => write_text(out, array.value(row).as_bytes()),
            Self::TextView(array) => write_text(out, array.value(row).as_bytes()),
            Self::Float32(array) => {
                let value = array.value(row);
                finite(value.is_finite())?;
                out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
            }
            Self::Float64(array) => {
                let value = array.value(row);
                finite(value.is_finite())?;
                out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
            }
            Self::List(array, items) => {
                let offsets = array.value_offsets();
                out.push(b'[');
                for item in offsets[row] as usize..offsets[row + 1] as usize {
                    if item > offsets[row] as usize {
                        out.push(b',');
                    }
                    items.write(item, out)?;
                }
                out.push(b']');
            }
            Self::Struct(_, fields) => {
                out.push(b'{');
                for (index, (name, cells)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(name);
                    cells.write(row, out)?;
                }
                out.push(b'}');
            }
            Self::Null | Self::Boolean(_) | Self::Integer(_) => self.plain(row, out)?,
            Self::Unsigned(_, true) | Self::Decimal(_, true) | Self::WideDecimal(_, true) => self.plain(row, out)?,
            _ => {
                out.push(b'"');
                self.plain(row, out)?;
                out.push(b'"');
            }
        }
        Ok(())
    }

    /// Appends a value that is neither null nor nested, without quotes and escapes.
    pub fn plain(&self, row: usize, out: &mut Vec<u8>) -> Written {
        match self {
            Self::Boolean(array) => out.extend_from_slice(if array.value(row) { b"true" } else { b"false" }),
            Self::Integer(array) => out.extend_from_slice(itoa::Buffer::new().format(array.value(row)).as_bytes()),
            Self::Unsigned(array, _) => out.extend_from_slice(itoa::Buffer::new().format(array.value(row)).as_bytes()),
            Self::Decimal(array, _) => out.extend_from_slice(array.value_as_string(row).as_bytes()),
            Self::WideDecimal(array, _) => out.extend_from_slice(array.value_as_string(row).as_bytes()),
            Self::Text(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Self::LargeText(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Self::TextView(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Self::Binary(array) => {
                let start = out.len();
                let value = array.value(row);
                out.resize(start + value.len().div_ceil(3) * 4, 0);
                STANDARD.encode_slice(value, &mut out[start..]).map_err(|error| error.to_string())?;
            }
            Self::Date(array) => write_date(out, i64::from(array.value(row)))?,
            Self::Timestamp(array, unit, has_zone) => write_timestamp(out, array.value(row), *unit, *has_zone)?,
            Self::Time(array, unit) => write_clock(out, array.value(row), *unit)?,
            Self::Null | Self::Float32(_) | Self::Float64(_) | Self::List(_, _) | Self::Struct(_, _) => {
                return Err("a value of this type can't be written as text".to_owned());
            }
        }
        Ok(())
    }
}

fn finite(is_finite: bool) -> Written {
    if is_finite { Ok(()) } else { Err("the number is not finite, and JSON has no such number".to_owned()) }
}
