//! From a request to a plan, and from a plan to what a read steps through.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use lakerace_io::{Result, Wanted};

use super::flat_reader::decoder;
use crate::columns::roots;
use crate::exec::batch_rows;
use crate::parquet::footer::FileMeta;
use crate::parquet::footer::page_index::{ChunkPages, chunk_pages};

/// A row group that a read goes through.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// The file.
    pub file: Arc<FileMeta>,
    /// Its number in the plan.
    pub file_number: u32,
    /// The row group.
    pub row_group: usize,
    /// The rows that are not pruned: ascending, not empty, not touching.
    pub rows: Arc<Vec<Range<u64>>>,
}

impl Unit {
    /// All rows of a row group, but for long runs of hidden ones.
    pub fn whole(file: &Arc<FileMeta>, file_number: u32, row_group: usize) -> Self {
        let rows = match &file.hidden {
            Some(hidden) => hidden.without_runs(file.rows_of(row_group)),
            None => std::iter::once(0..file.metadata().row_group(row_group).num_rows() as u64).collect(),
        };
        Self { file: Arc::clone(file), file_number, row_group, rows: Arc::new(rows) }
    }

    /// How many rows are not pruned.
    pub fn row_count(&self) -> u64 {
        self.rows.iter().map(|range| range.end - range.start).sum()
    }

    /// How many rows are neither pruned nor hidden.
    pub fn visible_count(&self) -> u64 {
        let Some(hidden) = &self.file.hidden else { return self.row_count() };
        let first = self.file.rows_of(self.row_group).start;
        let hidden_in = |range: &Range<u64>| hidden.count_in(first + range.start..first + range.end);
        self.row_count() - self.rows.iter().map(hidden_in).sum::<u64>()
    }

    /// The rows of its steps, so that about `rows` of them, or a few less, are visible: output has the size everywhere
    /// that it has where nothing is hidden, and memory fits when it is used again.
    pub fn step_rows(&self, rows: usize) -> usize {
        let (all, visible) = (self.row_count(), self.visible_count());
        if visible == all {
            return rows;
        }
        let a_few_less = rows as u64 - rows as u64 / 64;
        let wanted = u128::from(a_few_less) * u128::from(all) / u128::from(visible.max(1));
        usize::try_from(wanted).unwrap_or(usize::MAX).clamp(rows, rows.saturating_mul(MOST_STEPS_IN_ONE))
    }

    /// Whether some rows are pruned, by page statistics or because they are hidden.
    pub fn is_partial(&self) -> bool {
        self.row_count() < self.file.metadata().row_group(self.row_group).num_rows() as u64
    }

    /// The byte ranges that its columns need, in the order of columns. Of a flat column with an offset index only the
    /// pages that hold rows which are not pruned.
    pub fn ranges(&self, fields: &[FieldRef], roots: &[Option<usize>]) -> Result<Vec<Range<u64>>> {
        let mut ranges = Vec::new();
        for (field, root) in fields.iter().zip(roots) {
            let Some(root) = *root else { continue };
            for leaf in self.file.leaves_of(root, field) {
                match self.pages(root, leaf)? {
                    Some(pages) => ranges.extend(pages.ranges(&self.rows)),
                    None => ranges.push(self.file.chunk_range(self.row_group, leaf)?),
                }
            }
        }
        ranges.retain(|range| !range.is_empty());
        Ok(ranges)
    }

    /// The pages of a column of ours, where some of its rows are pruned and the file says where its pages are.
    pub fn pages(&self, root: usize, leaf: usize) -> Result<Option<Arc<ChunkPages>>> {
        let is_ours = || decoder(&self.file, self.row_group, root, &Arc::default()).is_some();
        if self.is_partial() && is_ours() { chunk_pages(&self.file, self.row_group, leaf) } else { Ok(None) }
    }
}

/// Where most rows are hidden, a step goes through so many times the rows of others, and no more.
const MOST_STEPS_IN_ONE: usize = 2;

/// Bytes of a row group that are asked for before its next columns' turn comes again: columns advance together, so
/// their bytes are needed in slices.
const SLICE_BYTES: u64 = 32 << 20;

/// Appends the ranges of one row group in the order of need: a slice of each column, then the next slice of each.
pub(crate) fn want(wanted: &mut Vec<Wanted>, file: u32, ranges: &[Range<u64>]) -> u64 {
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let slices = total.div_ceil(SLICE_BYTES).max(1);
    for slice in 0..slices {
        for range in ranges {
            let length = range.end - range.start;
            let at = |slice: u64| range.start + (u128::from(length) * u128::from(slice) / u128::from(slices)) as u64;
            let part = at(slice)..at(slice + 1);
            if !part.is_empty() {
                wanted.push(Wanted { file, range: part });
            }
        }
    }
    total
}

/// The rows of a step where the caller did not say.
pub(crate) fn default_step_rows(units: &[Unit], fields: &[FieldRef]) -> usize {
    batch_rows(units.iter().map(|unit| row_bytes(unit, fields)).max().unwrap_or(1))
}

/// Bytes that a row takes in memory, about.
pub(crate) fn row_bytes(unit: &Unit, fields: &[FieldRef]) -> u64 {
    let group = unit.file.metadata().row_group(unit.row_group);
    let rows = (group.num_rows() as u64).max(1);
    let mut bytes = 0u64;
    for (field, root) in fields.iter().zip(roots(unit.file.schema(), fields)) {
        let leaves = root.map_or_else(Vec::new, |root| unit.file.leaves_of(root, field));
        let stored: u64 = leaves.into_iter().map(|leaf| group.column(leaf).uncompressed_size().max(0) as u64).sum();
        let width = match field.data_type() {
            DataType::Utf8View | DataType::BinaryView => 16 + stored / rows,
            other => (other.primitive_width().unwrap_or(0) as u64).max(stored / rows),
        };
        bytes += width;
    }
    bytes.max(1)
}
