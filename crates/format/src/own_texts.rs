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
        DataType::Dictionary(..) => own_dictionary(array.as_any_dictionary()),
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
fn own_dictionary(array: &dyn AnyDictionaryArray) -> Result<ArrayRef, ArrowError> {
    let own = match array.values().len() > array.len() {
        true => garbage_collect_any_dictionary(array)?,
        false => make_array(array.to_data()),
    };
    let own = own.as_any_dictionary();
    Ok(own.with_values(own_texts(own.values())?))
}

#[cfg(test)]
mod tests;
