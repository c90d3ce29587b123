//! A comparison of two sides whose keys ascend: they are merged in one pass, and only rows that differ are kept.

mod key_merge;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{filter_record_batch, take_record_batch};
use arrow::datatypes::DataType;
use lakerace_exec::map_with_states;
use lakerace_io::wait::{into_value, lock};
use lakerace_io::{Error, Job, Result};

use self::key_merge::{KeyMerge, MergedRows, RowRanges, common_order};
use super::Diff;
use super::diff_side::DiffSide;
use super::row_partitions::RowPartitions;
use crate::checksum::row_hashes;

/// Counts the rows that differ, and collects them; those of one side only for a comparison that is no summary. `None`:
/// keys of a side do not ascend, or those of both have no common order.
///
/// # Errors
/// `Invalid` where a row has null in its key.
pub(super) fn compare(
    sides: [&Arc<DiffSide>; 2],
    is_summary: bool,
    memory_bytes: u64,
    found: &mut Diff,
    job: &Job,
) -> Result<Option<[RowPartitions; 2]>> {
    let Some(types) = common_order(sides) else { return Ok(None) };
    let is_unordered = Arc::new(AtomicBool::new(false));
    let merge = KeyMerge::start(sides, &types, &is_unordered, job)?;
    let comparison =
        OrderedComparison { sides, rows: [0, 1].map(|_| Mutex::new(RowPartitions::new(0, memory_bytes))), is_summary };
    let mut totals = vec![Diff::default(); job.options().threads.max(1)];
    map_with_states(&mut totals, merge, |total, rows| {
        job.check()?;
        comparison.add(total, rows?)
    })?;
    if is_unordered.load(Ordering::Relaxed) {
        return Ok(None);
    }
    for total in totals {
        found.first_rows += total.first_rows;
        found.second_rows += total.second_rows;
        found.inserted += total.inserted;
        found.deleted += total.deleted;
        found.changed += total.changed;
        found.unchanged += total.unchanged;
    }
    Ok(Some(comparison.rows.map(into_value)))
}

struct OrderedComparison<'a> {
    sides: [&'a Arc<DiffSide>; 2],
    /// The rows of each side that differ.
    rows: [Mutex<RowPartitions>; 2],
    is_summary: bool,
}

impl OrderedComparison<'_> {
    fn add(&self, total: &mut Diff, rows: MergedRows) -> Result<()> {
        let MergedRows { batches, common, own } = rows;
        let [first, second] = [0, 1].map(|side: usize| count(&common[side]) + count(&own[side]));
        total.first_rows += first;
        total.second_rows += second;
        total.deleted += count(&own[0]);
        total.inserted += count(&own[1]);
        if count(&common[0]) > 0 {
            let pair = [chosen(&batches[0], &common[0])?, chosen(&batches[1], &common[1])?];
            let changed = changed_rows(&pair)?;
            let count = changed.as_ref().map_or(0, |changed| changed.true_count() as u64);
            total.changed += count;
            total.unchanged += pair[0].num_rows() as u64 - count;
            if let Some(changed) = changed {
                let changed_of = |batch| filter_record_batch(batch, &changed).map_err(Error::unexpected);
                self.keep(0, &changed_of(&pair[0])?)?;
                self.keep(1, &changed_of(&pair[1])?)?;
            }
        }
        if !self.is_summary {
            self.keep(0, &chosen(&batches[0], &own[0])?)?;
            self.keep(1, &chosen(&batches[1], &own[1])?)?;
        }
        Ok(())
    }

    fn keep(&self, side: usize, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let hashes = self.sides[side].key.hashes(batch)?;
        lock(&self.rows[side]).add(batch, &hashes)
    }
}

fn count(ranges: &RowRanges) -> u64 {
    ranges.iter().map(|rows| rows.len() as u64).sum()
}

/// The rows of some ranges.
fn chosen(batch: &RecordBatch, ranges: &[Range<usize>]) -> Result<RecordBatch> {
    if let [rows] = ranges {
        return Ok(batch.slice(rows.start, rows.len()));
    }
    let rows: UInt32Array = ranges.iter().cloned().flatten().map(|row| row as u32).collect();
    take_record_batch(batch, &rows).map_err(Error::unexpected)
}

/// Marks the rows that differ, of which each has one of the same key in the same place; `None`: there are none.
///
/// Values of one type that have the same bits are the same. What has others may still be: the hashes decide.
fn changed_rows(pair: &[RecordBatch; 2]) -> Result<Option<BooleanArray>> {
    let mut differ: Option<BooleanBuffer> = None;
    let mut hashed = Vec::new();
    for (at, (one, two)) in pair[0].columns().iter().zip(pair[1].columns()).enumerate() {
        if Arc::ptr_eq(one, two) {
            continue;
        }
        if !has_plain_values(one, two) {
            hashed.push(at);
            continue;
        }
        let mask = distinct(one, two).map_err(Error::unexpected)?.values().clone();
        differ = Some(match differ {
            Some(others) => &others | &mask,
            None => mask,
        });
    }
    let Some(differ) = with_hashed(differ, &hashed, pair)? else { return Ok(None) };
    let candidates = BooleanArray::new(differ, None);
    if candidates.true_count() == 0 {
        return Ok(None);
    }
    let hashes = |batch| row_hashes(&filter_record_batch(batch, &candidates).map_err(Error::unexpected)?);
    let mut pairs = hashes(&pair[0])?.into_iter().zip(hashes(&pair[1])?);
    let decided = candidates.values().iter().map(|differs| differs && pairs.next().is_none_or(|(one, two)| one != two));
    let changed = BooleanArray::new(decided.collect(), None);
    Ok((changed.true_count() > 0).then_some(changed))
}

/// Marks the rows, too, that differ in some columns by their hashes.
fn with_hashed(
    differ: Option<BooleanBuffer>,
    columns: &[usize],
    pair: &[RecordBatch; 2],
) -> Result<Option<BooleanBuffer>> {
    if columns.is_empty() {
        return Ok(differ);
    }
    let hashes = |batch: &RecordBatch| row_hashes(&batch.project(columns).map_err(Error::unexpected)?);
    let pairs = hashes(&pair[0])?.into_iter().zip(hashes(&pair[1])?);
    let mask: BooleanBuffer = pairs.map(|(one, two)| one != two).collect();
    Ok(Some(differ.map_or(mask.clone(), |others| &others | &mask)))
}

/// Returns true if both arrays have values of one type that a kernel compares.
fn has_plain_values(one: &ArrayRef, two: &ArrayRef) -> bool {
    let data_type = one.data_type();
    let is_plain = data_type.is_primitive() || data_type.is_string() || data_type.is_binary();
    data_type == two.data_type() && (is_plain || *data_type == DataType::Boolean)
}

#[cfg(test)]
mod tests;
