//! Arrays that refer to the texts of other arrays: views, and dictionaries of which few values are used.

use std::sync::Arc;

use arrow::array::{AnyDictionaryArray, Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, make_array};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow_select::dictionary::garbage_collect_any_dictionary;
use lakerace_io::{Error, Result};

/// The batch with copies of its texts: views may keep the buffers of a whole source in memory, and a dictionary has the
/// values of all its rows.
///
/// # Errors
/// `Internal` for an array whose children do not fit it.
pub fn with_own_texts(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns =
        batch.columns().iter().map(own_texts).collect::<Result<_, ArrowError>>().map_err(Error::unexpected)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(Error::unexpected)
}

fn own_texts(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Utf8View => Ok(Arc::new(array.as_string_view().gc())),
        DataType::BinaryView => Ok(Arc::new(array.as_binary_view().gc())),
        DataType::Dictionary(keys, _) => own_dictionary(array.as_any_dictionary(), keys),
        nested if nested.is_nested() => {
            let data = array.to_data();
            let children =
                data.child_data().iter().map(|child| own_texts(&make_array(child.clone())).map(|own| own.to_data()));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            Ok(make_array(data.into_builder().child_data(children).build()?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

/// The dictionary with the values that its rows have, if it has more values than rows.
fn own_dictionary(array: &dyn AnyDictionaryArray, keys: &DataType) -> Result<ArrayRef, ArrowError> {
    // Dictionaries with keys of 8 or 16 bits have few values. Dictionaries that differ, which are merged later, may not fit such keys.
    let has_wide_keys = keys.primitive_width().is_some_and(|bytes| bytes >= 4);
    let own = match has_wide_keys && array.values().len() > array.len() {
        true => garbage_collect_any_dictionary(array)?,
        false => make_array(array.to_data()),
    };
    let own = own.as_any_dictionary();
    Ok(own.with_values(own_texts(own.values())?))
}

#[cfg(test)]
mod tests;
