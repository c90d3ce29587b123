//! Keys that a map has twice: an object of JSON has each name once, and readers of Avro keep one of the values.

use std::collections::HashSet;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use lakerace_io::option::WHERE;
use lakerace_io::{Error, Result};

use crate::nested_types::contains_type;

/// An error where a map of any depth has a key twice. The first row of the column has the number `first_row`.
///
/// # Errors
/// `Invalid` for such a map.
pub fn refuse_keys_twice(column: &ArrayRef, first_row: u64) -> Result<()> {
    if !has_maps(column.data_type()) {
        return Ok(());
    }
    for row in 0..column.len() {
        if let Some(key) = twice(column, row)? {
            let number = first_row + row as u64;
            return Err(Error::invalid(format!("the map of row {number} has the key {key:?} twice"))
                .advice(format!("exclude such rows with {WHERE}, or choose another format")));
        }
    }
    Ok(())
}

fn has_maps(data_type: &DataType) -> bool {
    contains_type(data_type, &|inner| matches!(inner, DataType::Map(..)))
}

/// A key that a map of value number `row` has twice.
fn twice(array: &ArrayRef, row: usize) -> Result<Option<String>> {
    if array.is_null(row) || !has_maps(array.data_type()) {
        return Ok(None);
    }
    match array.data_type() {
        DataType::Map(..) => {
            let map = array.as_map();
            let entries = range(map.offsets(), row);
            match twice_among(map.keys(), entries.clone())? {
                Some(key) => Ok(Some(key)),
                None => twice_below(map.values(), entries),
            }
        }
        DataType::Struct(_) => {
            array.as_struct().columns().iter().find_map(|column| twice(column, row).transpose()).transpose()
        }
        DataType::List(_) => twice_below(array.as_list::<i32>().values(), range(array.as_list::<i32>().offsets(), row)),
        DataType::LargeList(_) => {
            twice_below(array.as_list::<i64>().values(), range(array.as_list::<i64>().offsets(), row))
        }
        // For other types, the values of one row are extracted.
        DataType::FixedSizeList(..) => all(&array.as_fixed_size_list().value(row)),
        DataType::ListView(_) => all(&array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => all(&array.as_list_view::<i64>().value(row)),
        DataType::Dictionary(_, values) => all(&cast(&array.slice(row, 1), values).map_err(Error::unexpected)?),
        _ => Ok(None),
    }
}

fn all(values: &ArrayRef) -> Result<Option<String>> {
    twice_below(values, 0..values.len())
}

fn twice_below(values: &ArrayRef, mut rows: Range<usize>) -> Result<Option<String>> {
    if !has_maps(values.data_type()) {
        return Ok(None);
    }
    rows.find_map(|row| twice(values, row).transpose()).transpose()
}

fn range<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, row: usize) -> Range<usize> {
    offsets[row].as_usize()..offsets[row + 1].as_usize()
}

/// The first duplicate key among these entries. Only texts are checked: other types can't be names of an object.
fn twice_among(keys: &ArrayRef, entries: Range<usize>) -> Result<Option<String>> {
    fn found<'a>(mut keys: impl Iterator<Item = &'a str>) -> Option<String> {
        let mut known = HashSet::new();
        keys.find(|key| !known.insert(*key)).map(str::to_owned)
    }
    if entries.len() < 2 {
        return Ok(None);
    }
    Ok(match keys.data_type() {
        DataType::Utf8 => found(entries.map(|at| keys.as_string::<i32>().value(at))),
        DataType::LargeUtf8 => found(entries.map(|at| keys.as_string::<i64>().value(at))),
        DataType::Utf8View => found(entries.map(|at| keys.as_string_view().value(at))),
        _ => None,
    })
}
