//! The files of a version, as the kernel takes them back to remove or change them.

use arrow::array::{Array, AsArray, RecordBatch};
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use delta_kernel::engine_data::FilteredEngineData;
use lakerace_io::{Error, Result};

use crate::Snapshot;
use crate::error::guarded;

/// The files of a version, a row each: with statistics as JSON, and without anything parsed.
pub(crate) fn scan_rows(snapshot: &Snapshot) -> Result<Vec<RecordBatch>> {
    snapshot.table().kernel(|engine| {
        let scan = snapshot.kernel().clone().scan_builder().without_row_transforms().build()?;
        scan.scan_metadata(engine)?
            .map(|batch| batch.and_then(|batch| batch.scan_files.apply_selection_vector().try_into_record_batch()))
            .collect()
    })
}

/// Which rows of a batch are files with such names.
pub(crate) fn named(batch: &RecordBatch, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<bool>> {
    let names = batch.column_by_name("path").and_then(|names| names.as_string_opt::<i32>());
    let names = names.ok_or_else(|| Error::internal("the kernel gives no path"))?;
    Ok((0..names.len()).map(|row| names.is_valid(row) && is_wanted(names.value(row))).collect())
}

/// The rows of a batch of files that have such names; `None` where there are none.
pub(crate) fn selected(batch: &RecordBatch, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<FilteredEngineData>> {
    let selection = named(batch, is_wanted)?;
    if !selection.contains(&true) {
        return Ok(None);
    }
    let data = Box::new(ArrowEngineData::new(batch.clone()));
    guarded(|| FilteredEngineData::try_new(data, selection)).map(Some)
}
