//! The actions that name files of a table, as batches.

use std::sync::Arc;

use arrow::array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray};
use delta_kernel::EngineData;
use delta_kernel::engine::arrow_data::ArrowEngineData;
use lakerace_io::{Error, Result};

use crate::write::AddedFile;

/// A file as the kernel takes it.
pub(crate) fn added(file: &AddedFile) -> Result<Box<dyn EngineData>> {
    let mut columns = location_columns(file)?;
    columns.extend::<Vec<(&str, ArrayRef, bool)>>(vec![
        ("modificationTime", Arc::new(Int64Array::from(vec![file.modified])), false),
        ("stats", Arc::new(file.statistics.clone()), true),
    ]);
    let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(Error::unexpected)?;
    Ok(Box::new(ArrowEngineData::new(batch)))
}

/// The action that names a change file.
pub(crate) fn change_file(file: &AddedFile) -> Result<RecordBatch> {
    let mut columns = location_columns(file)?;
    columns.push(("dataChange", Arc::new(BooleanArray::from(vec![false])), false));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(Error::unexpected)?;
    RecordBatch::try_from_iter([("cdc", Arc::new(StructArray::from(batch)) as ArrayRef)]).map_err(Error::unexpected)
}

/// The columns of a file's name, partition and size that all actions have.
fn location_columns(file: &AddedFile) -> Result<Vec<(&'static str, ArrayRef, bool)>> {
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut partitions = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for (name, value) in &file.partition_values {
        partitions.keys().append_value(name);
        partitions.values().append_option(value.as_deref());
    }
    partitions.append(true).map_err(Error::unexpected)?;
    let size = i64::try_from(file.size_bytes).map_err(Error::unexpected)?;
    Ok(vec![
        ("path", Arc::new(StringArray::from(vec![file.name.as_str()])), false),
        ("partitionValues", Arc::new(partitions.finish()), false),
        ("size", Arc::new(Int64Array::from(vec![size])), false),
    ])
}
