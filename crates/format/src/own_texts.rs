//! Arrays whose views refer to texts of other arrays.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, make_array};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use lakerace_io::{Error, Result};

/// The batch with copies of its texts: views may keep the buffers of a whole source in memory.
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
        nested if nested.is_nested() && !matches!(nested, DataType::Dictionary(..)) => {
            let data = array.to_data();
            let children =
                data.child_data().iter().map(|child| own_texts(&make_array(child.clone())).map(|own| own.to_data()));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            Ok(make_array(data.into_builder().child_data(children).build()?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

#[cfg(test)]
mod tests;
