//! Reading by steps: a unit of a file (a row group, a stripe) yields its columns side by side, the same rows of each in
//! a step. A format defines how a column of a unit becomes arrays, in its [`ColumnReader`]; this module has the
//! threads, the filter, the limit.

mod batch_plan;
mod batches;
mod compact;
mod row_mask;
mod row_selection;
mod schedule;

use std::ops::Range;

use arrow::array::{ArrayRef, BooleanArray};
use lakerace_io::Result;

pub(crate) use batch_plan::BatchPlan;
pub(crate) use batches::run;
pub(crate) use compact::{compact, compact_portably, copy_kept};
pub(crate) use row_mask::RowMask;
pub(crate) use row_selection::{RowSelection, compress};
pub(crate) use schedule::ScanTask;

/// The units of a read, in the order of their rows.
pub(crate) trait DecodeUnits: Send + Sync + 'static {
    /// The reader of a column of a unit.
    type ColumnReader: ColumnReader;

    /// The number of units.
    fn count(&self) -> usize;

    /// Starts the `column`-th decoded column of a unit. It may wait for the network.
    fn open(&self, unit: usize, column: usize) -> Result<Self::ColumnReader>;

    /// The file and the part of it that is a unit, for messages.
    fn unit_place(&self, unit: usize) -> String;

    /// The rows among these that belong to the table; `None`: all. Rows that a deletion vector hides are left out when
    /// the rows around them are decoded, or are skipped if no column needs them.
    fn visible(&self, unit: usize, rows: Range<u64>) -> Option<BooleanArray> {
        let _ = (unit, rows);
        None
    }

    /// Returns true if some rows of some unit are hidden.
    fn hides_rows(&self) -> bool {
        false
    }

    /// No one wants more: threads that wait for something of the units are to give up.
    fn close(&self) {}
}

/// Yields the rows of one column of one unit, step by step, front to back.
pub(crate) trait ColumnReader: Send {
    /// The next `rows` rows, after `gap` rows that are not wanted. With a selection, only the selected ones of them.
    fn next(&mut self, gap: u64, rows: usize, selection: Option<&RowMask>) -> Result<ArrayRef>;

    /// Skips the next `rows` rows, after a gap.
    fn skip(&mut self, gap: u64, rows: usize) -> Result<()>;
}

/// Approximate size of a batch in bytes.
pub(crate) const BATCH_BYTES: u64 = 32 << 20;
/// Below this many rows the work per batch outweighs the work per row.
const LEAST_STEP_ROWS: u64 = 1024;
/// Rows of a step at most, unless they are narrow. A column of 8 bytes then has half a megabyte, and is still in the
/// second-level cache when it is used.
const MOST_STEP_ROWS: u64 = 64 << 10;
/// Bytes of a step up to which narrow rows have more of them: handing over a batch takes as long as decoding some ten
/// thousand booleans.
const NARROW_STEP_BYTES: u64 = 512 << 10;

/// The limit in bytes of a step of the fewest rows: offsets of 32 bits reach twice as far, and memory is finite.
const STEP_BYTES_AT_MOST: u64 = 1 << 30;

/// A row is large if it has this many bytes for each of its columns.
const LARGE_ROW_BYTES: u64 = 64 << 10;
const LARGE_VALUE_BYTES: u64 = 16 << 10;
/// Bytes of a step of large rows, unless it is one row: the work per batch is little next to theirs.
const LARGE_STEP_BYTES: u64 = 8 << 20;

/// Returns true if rows of this size are counted by their bytes alone: the overhead of a batch is small compared with
/// them, and a fixed number of rows could have any number of bytes.
pub fn is_large_row(row_bytes: u64, columns: usize) -> bool {
    row_bytes >= LARGE_ROW_BYTES.max(columns as u64 * LARGE_VALUE_BYTES)
}

/// The rows of a step whose rows have this size.
pub(crate) fn batch_rows(row_bytes: u64, columns: usize) -> usize {
    let row_bytes = row_bytes.max(1);
    if is_large_row(row_bytes, columns) {
        return (LARGE_STEP_BYTES / row_bytes).max(1) as usize;
    }
    let most = (STEP_BYTES_AT_MOST / row_bytes).max(1);
    let most_rows = MOST_STEP_ROWS.max(NARROW_STEP_BYTES / row_bytes);
    (BATCH_BYTES / row_bytes).clamp(LEAST_STEP_ROWS, most_rows).min(most) as usize
}

/// Decoded bytes that may wait for the consumer.
const AHEAD_BYTES: u64 = 256 << 20;
/// The bytes that are read ahead where rows are large.
const LARGE_AHEAD_BYTES: u64 = 32 << 20;
/// Decoded bytes that may wait where threads decode several units side by side.
const SIDE_BY_SIDE_BYTES: u64 = 64 << 20;

/// The limit of steps that are under way or wait for the consumer. A step has `rows` rows, a unit up to `unit_steps` steps; the sizes of a
/// column's row are in bytes.
///
/// One thread at a time decodes a column of a unit. Where one column has most of the work (`column_work`, in any unit), the threads have
/// some only if they decode several units side by side, so the limit includes the steps of these units.
pub(crate) fn steps_ahead(
    rows: usize,
    column_bytes: &[u64],
    column_work: &[u64],
    unit_steps: usize,
    threads: usize,
) -> usize {
    let sum = |parts: &[u64]| parts.iter().fold(0u64, |sum, part| sum.saturating_add(*part)).max(1);
    let row_bytes = sum(column_bytes);
    let most_work = column_work.iter().max().copied().unwrap_or(0);
    let threads = threads.max(1);
    let units = (u128::from(most_work) * threads as u128).div_ceil(u128::from(sum(column_work))).max(1) as usize;
    let step_bytes = (rows as u64).saturating_mul(row_bytes).max(1);
    if is_large_row(row_bytes, column_bytes.len()) {
        return (LARGE_AHEAD_BYTES / step_bytes).clamp(1, 2 * threads as u64) as usize;
    }
    let side_by_side = (2 * threads).saturating_add((units - 1).saturating_mul(unit_steps)) as u64;
    let least = (AHEAD_BYTES / step_bytes).clamp(1, 2 * threads as u64);
    least.max(side_by_side.min(SIDE_BY_SIDE_BYTES / step_bytes)) as usize
}

#[cfg(test)]
mod tests;
