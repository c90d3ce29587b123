//! The files of a version, as the kernel takes them back to remove or change them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use delta_kernel::engine_data::FilteredEngineData;
use delta_kernel::scan::StatsOptions;
use lakerace_io::{Error, Result};

use crate::kernel::engine::TableEngine;
use crate::kernel::error::guarded;
use crate::log::json_object::JsonObject;
use crate::snapshot::Snapshot;

/// The files of a version, a row each: with statistics as JSON, and without anything parsed.
pub(crate) fn scan_rows(snapshot: &Snapshot) -> Result<Vec<RecordBatch>> {
    let batches = scan(snapshot, StatsOptions::json_only())?;
    let lacks = |batch: &RecordBatch| batch.column_by_name("stats").is_some_and(|stats| stats.null_count() > 0);
    if !batches.iter().any(lacks) {
        return Ok(batches);
    }
    // A checkpoint may have only parsed statistics. The kernel writes these as JSON where both are requested.
    let whole = scan(snapshot, StatsOptions::all())?;
    let plain = |batch: RecordBatch| {
        let kept = (0..batch.num_columns()).filter(|at| batch.schema_ref().field(*at).name() != "stats_parsed");
        batch.project(&kept.collect::<Vec<_>>()).map_err(Error::unexpected)
    };
    whole.into_iter().map(plain).collect()
}

fn scan(snapshot: &Snapshot, stats: StatsOptions) -> Result<Vec<RecordBatch>> {
    let read = |engine: &TableEngine| {
        let scan =
            snapshot.kernel().clone().scan_builder().without_row_transforms().with_stats(stats.clone()).build()?;
        scan.scan_metadata(engine)?
            .map(|batch| batch.and_then(|batch| batch.scan_files.apply_selection_vector().try_into_record_batch()))
            .collect()
    };
    snapshot.replay(|| snapshot.table().kernel(read))
}

/// Which rows of a batch are files with such names.
pub(crate) fn named(batch: &RecordBatch, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<bool>> {
    let names = batch.column_by_name("path").and_then(|names| names.as_string_opt::<i32>());
    let names = names.ok_or_else(|| Error::internal("the kernel returned no path"))?;
    Ok((0..names.len()).map(|row| names.is_valid(row) && is_wanted(names.value(row))).collect())
}

/// The rows of a batch of files that have such names; `None` where there are none.
pub(crate) fn selected(batch: &RecordBatch, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<FilteredEngineData>> {
    chosen(batch, named(batch, is_wanted)?)
}

/// The rows of a batch that are chosen; `None` where there are none.
pub(crate) fn chosen(batch: &RecordBatch, selection: Vec<bool>) -> Result<Option<FilteredEngineData>> {
    if !selection.contains(&true) {
        return Ok(None);
    }
    let data = Box::new(ArrowEngineData::new(batch.clone()));
    guarded(|| FilteredEngineData::try_new(data, selection)).map(Some)
}

/// Adapts the statistics of these files to those that a file with a deletion vector must have: the row count, and
/// bounds that are marked as wide, since they also cover hidden rows. All other statistics stay unchanged. Statistics
/// that can't be parsed are omitted.
///
/// The kernel would otherwise rewrite them by way of 64-bit floats, in which decimals lose digits.
pub(crate) fn for_vectors(batch: &RecordBatch, rows: &HashMap<String, u64>) -> Result<RecordBatch> {
    let text = |name: &str| {
        let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        column.ok_or_else(|| Error::internal(format!("the kernel returned no {name}")))
    };
    let (names, stats) = (text("path")?, text("stats")?);
    let known = |row: usize| stats.is_valid(row).then(|| stats.value(row));
    let of_row = |row: usize| match names.is_valid(row).then(|| rows.get(names.value(row))).flatten() {
        Some(rows) => Some(with_count(known(row), *rows)),
        None => known(row).map(str::to_owned),
    };
    let stats: ArrayRef = Arc::new((0..batch.num_rows()).map(of_row).collect::<StringArray>());
    let at = batch.schema_ref().index_of("stats").map_err(Error::unexpected)?;
    let mut columns = batch.columns().to_vec();
    columns[at] = stats;
    RecordBatch::try_new(batch.schema(), columns).map_err(Error::unexpected)
}

fn with_count(statistics: Option<&str>, rows: u64) -> String {
    let rows = rows.to_string();
    let mut statistics = statistics.and_then(JsonObject::parse).unwrap_or_default();
    statistics.set("numRecords", &rows);
    statistics.set("tightBounds", "false");
    statistics.to_string()
}

#[cfg(test)]
mod tests;
