//! The sizes of tasks, and texts of plans: of files and of tables.

use std::ops::RangeInclusive;

use lakerace::{FieldPaths, Result};

use crate::call::{STEP, UNIT_OF_NAMES};
use crate::settings::SparkSettings;

/// Bytes that a task has at least: opening a file costs approximately as much as reading them.
const LEAST_TASK_BYTES: u64 = 4 << 20;
/// Bytes that a task has at most, unless `max_task_bytes` says otherwise: each task opens files again and waits for
/// their first bytes, so that large reads have larger tasks, as long as there are [`TASKS_PER_CORE`].
const MOST_TASK_BYTES: RangeInclusive<u64> = 128 << 20..=512 << 20;
/// Tasks per core: with several, the cores even out tasks that take longer.
const TASKS_PER_CORE: u64 = 3;
/// The most bytes of a task on a single core: no other core waits for it.
const MOST_TASK_BYTES_ALONE: u64 = 1 << 30;
pub(crate) const MOST_TASKS: u64 = 100_000;

/// The fields that a query uses.
pub(crate) fn fields(settings: &SparkSettings) -> FieldPaths {
    settings.get("query.fields").map(field_paths).unwrap_or_default()
}

/// Parses the fields that a query uses of columns of which it does not use all: a path for each, which starts with the
/// column.
fn field_paths(text: &str) -> FieldPaths {
    let mut fields = FieldPaths::new();
    for path in text.split(UNIT_OF_NAMES) {
        let mut names = path.split(STEP).map(str::to_owned);
        let Some(column) = names.next() else { continue };
        let paths = fields.entry(column).or_default();
        // A path without fields: the column is listed, but no field of it is used.
        paths.extend(Some(names.collect::<Vec<_>>()).filter(|path| !path.is_empty()));
    }
    fields
}

/// A number that may not be known, as a record.
pub(crate) fn number(number: Option<u64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// The bytes of a task.
pub(crate) fn task_bytes(bytes: u64, settings: &SparkSettings) -> Result<u64> {
    let cores = settings.positive("query.tasks")?.unwrap_or(1) as u64;
    let most = settings.positive("max_task_bytes")?.map_or_else(|| most_task_bytes(bytes, cores), |most| most as u64);
    Ok(bytes.div_ceil(cores).max(LEAST_TASK_BYTES.min(most)).min(most).max(1))
}

/// The most bytes of a task in a read of so many bytes.
fn most_task_bytes(bytes: u64, cores: u64) -> u64 {
    let (least, most) = MOST_TASK_BYTES.into_inner();
    if cores == 1 {
        return bytes.clamp(least, MOST_TASK_BYTES_ALONE);
    }
    bytes.div_ceil(cores.saturating_mul(TASKS_PER_CORE)).clamp(least, most)
}

#[cfg(test)]
mod tests;
