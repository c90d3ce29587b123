//! Conversion of a file's column to the type of its table: names, order, missing fields, widening.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeListArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, FieldRef, Fields};
use lakerace_io::{Error, Result};

use crate::field_positions::{FieldPositions, FindBy};
use crate::schema_text::print_type;
use crate::variant::{self, is_variant};

/// Checks that values of a file's type can be read as the table's.
pub fn check(file: &DataType, table: &DataType, stored: &DataType, find_by: FindBy) -> Result<()> {
    match (file, table, stored) {
        (DataType::Struct(from), DataType::Struct(to), DataType::Struct(stored)) if to.len() == stored.len() => {
            let find_by = if is_variant(stored) { FindBy::Name } else { find_by };
            let positions = FieldPositions::new(from);
            for (to, stored) in to.iter().zip(stored) {
                if let Some(at) = positions.of_stored(stored, find_by) {
                    check(from[at].data_type(), to.data_type(), stored.data_type(), find_by)
                        .map_err(|error| error.at(format!("field {:?}", to.name())))?;
                }
            }
            Ok(())
        }
        (DataType::List(from), DataType::List(to), DataType::List(stored)) => {
            check(from.data_type(), to.data_type(), stored.data_type(), find_by)
        }
        (DataType::Map(from, _), DataType::Map(to, _), DataType::Map(stored, _)) => {
            let (from, to, stored) = (entries(from)?, entries(to)?, entries(stored)?);
            (0..2).try_for_each(|n| check(from[n].data_type(), to[n].data_type(), stored[n].data_type(), find_by))
        }
        (from, to, _) if from == to || widens(from, to) => Ok(()),
        (from, to, _) => {
            Err(Error::invalid(format!("it is {} in the rows, but {} in the table", print_type(from), print_type(to))))
        }
    }
}

/// An array of a file as the table's type. [`check`] has said that it can be.
pub fn conform(array: &ArrayRef, to: &DataType, stored: &DataType, find_by: FindBy) -> Result<ArrayRef> {
    match (array.data_type(), to, stored) {
        (DataType::Struct(_), DataType::Struct(to), DataType::Struct(stored)) => {
            let is_variant = is_variant(stored);
            let array = if is_variant { variant::whole(array)? } else { Arc::clone(array) };
            let find_by = if is_variant { FindBy::Name } else { find_by };
            let (array, from) = (array.as_struct(), array.as_struct().fields());
            let positions = FieldPositions::new(from);
            let child = |(to, stored): (&FieldRef, &FieldRef)| match positions.of_stored(stored, find_by) {
                Some(at) => conform(array.column(at), to.data_type(), stored.data_type(), find_by),
                None => Ok(new_null_array(to.data_type(), array.len())),
            };
            let children = to.iter().zip(stored).map(child).collect::<Result<Vec<_>>>()?;
            let nulls = array.nulls().cloned();
            let made = StructArray::try_new_with_length(to.clone(), children, nulls, array.len());
            Ok(Arc::new(made.map_err(unfit)?))
        }
        (DataType::List(_), DataType::List(to), DataType::List(stored)) => {
            let array = array.as_list::<i32>();
            let values = conform(array.values(), to.data_type(), stored.data_type(), find_by)?;
            let made = ListArray::try_new(Arc::clone(to), array.offsets().clone(), values, array.nulls().cloned());
            Ok(Arc::new(made.map_err(unfit)?))
        }
        (DataType::Map(_, sorted), DataType::Map(to, _), DataType::Map(stored, _)) => {
            let array = array.as_map();
            let (fields, stored) = (entries(to)?, entries(stored)?);
            let part =
                |n: usize| conform(array.entries().column(n), fields[n].data_type(), stored[n].data_type(), find_by);
            let made = StructArray::try_new(fields.clone(), vec![part(0)?, part(1)?], None).map_err(unfit)?;
            let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
            let made = MapArray::try_new(Arc::clone(to), offsets, made, nulls, *sorted).map_err(unfit)?;
            Ok(Arc::new(made))
        }
        (from, to, _) if from == to => Ok(Arc::clone(array)),
        _ => widen(array, to),
    }
}

/// Key and value of a map.
fn entries(entries: &FieldRef) -> Result<&Fields> {
    match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => Ok(fields),
        other => Err(Error::invalid(format!("the entries of a map are {}", print_type(other)))),
    }
}

fn unfit(error: arrow::error::ArrowError) -> Error {
    Error::invalid("its values don't fit the table's type").because(error)
}

/// Returns true if a checked cast keeps each value's meaning in the table.
fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        // Files have their own ideas of the width of small integers; the cast is checked.
        (from, to) if from.is_integer() && to.is_integer() => true,
        (T::Float32, T::Float64) | (T::Int8 | T::Int16 | T::Int32, T::Float64) => true,
        (from, T::Decimal128(..)) if from.is_integer() => true,
        (T::Decimal128(_, from_scale), T::Decimal128(_, to_scale)) => from_scale <= to_scale,
        (T::Date32, T::Timestamp(_, None)) | (T::Timestamp(..), T::Timestamp(..)) => true,
        // Old writers leave out that bytes are text.
        (T::BinaryView | T::Binary, T::Utf8View | T::Utf8) => true,
        (T::FixedSizeBinary(_), T::Binary | T::BinaryView) => true,
        (from, to) => matches!(
            (from, to),
            (T::Utf8, T::Utf8View) | (T::Utf8View, T::Utf8) | (T::Binary, T::BinaryView) | (T::BinaryView, T::Binary)
        ),
    }
}

/// A list with offsets of 64 bits, its items of the type of `item`.
fn large_list(array: &ArrayRef, item: &FieldRef) -> Result<ArrayRef> {
    let (offsets, values) = match array.as_list_opt::<i64>() {
        Some(list) => (list.offsets().clone(), list.values()),
        None => {
            let list = array.as_list::<i32>();
            let offsets = list.offsets().iter().map(|offset| i64::from(*offset)).collect::<ScalarBuffer<i64>>();
            // Offsets of a list ascend, in 64 bits as in 32.
            (OffsetBuffer::new(offsets), list.values())
        }
    };
    let values = widen(values, item.data_type())?;
    let list = LargeListArray::try_new(Arc::clone(item), offsets, values, array.nulls().cloned());
    Ok(Arc::new(list.map_err(|e| Error::invalid(format!("its lists don't fit {item:?}")).because(e))?))
}

/// Widens between files, or casts so that only names inside of nested types change. Fields that a struct lacks are
/// null.
pub(crate) fn widen(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType as T;
    match (array.data_type(), to) {
        (T::Null, _) => return Ok(new_null_array(to, array.len())),
        (T::Struct(_), T::Struct(_)) | (T::List(_), T::List(_)) | (T::Map(..), T::Map(..)) => {
            return conform(array, to, to, FindBy::Name);
        }
        (T::List(_) | T::LargeList(_), T::LargeList(item)) => return large_list(array, item),
        _ => {}
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let wide = cast_with_options(array, to, &options)
        .map_err(|e| Error::invalid(format!("its values don't fit the type {}", print_type(to))).because(e))?;
    debug_assert_eq!(wide.len(), array.len());
    Ok(wide)
}
