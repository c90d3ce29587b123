//! Columns whose values follow from the paths of files, such as those of Hive partitions.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{FieldRef, SchemaRef};
use lakerace_io::{Error, Result};

use crate::input::Constants;
use crate::source::ColumnOwners;

/// The columns of files, and after them those of the files' paths that files lack.
pub(crate) fn with_place_fields<'a>(
    mut fields: Vec<FieldRef>,
    places: impl IntoIterator<Item = &'a Arc<Constants>>,
) -> Vec<FieldRef> {
    for field in places.into_iter().flat_map(|constants| constants.fields()) {
        if !fields.iter().any(|known| known.name() == field.name()) {
            fields.push(Arc::clone(field));
        }
    }
    fields
}

/// The names of these columns that are those of constants.
pub(crate) fn columns_of_place(columns: &[FieldRef], constants: &Constants) -> Vec<String> {
    let names = columns.iter().map(|column| column.name());
    names.filter(|name| constants.get(name).is_some()).cloned().collect()
}

/// The owners of columns where files own all that they have.
pub(crate) fn file_owners<'a>(own: &[FieldRef], places: impl IntoIterator<Item = &'a Arc<Constants>>) -> ColumnOwners {
    let files = places.into_iter().flat_map(|constants| columns_of_place(own, constants)).collect();
    ColumnOwners { files, ..ColumnOwners::default() }
}

/// Rows of a file with the columns of `whole`: first those of the batch, then those of the file's path.
pub(crate) fn with_place_columns(
    batch: RecordBatch,
    constants: Option<&Constants>,
    whole: &SchemaRef,
) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    if whole.fields().len() == batch.num_columns() {
        return Ok(batch);
    }
    let mut columns = batch.columns().to_vec();
    for field in &whole.fields()[columns.len()..] {
        let constant = constants.map(|known| known.array(field.name(), rows)).transpose()?.flatten();
        columns.push(constant.unwrap_or_else(|| new_null_array(field.data_type(), rows)));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(whole), columns, &options).map_err(Error::unexpected)
}
