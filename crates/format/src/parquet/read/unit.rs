//! A row group of a read.

use super::flat_decoder::decoder;
use crate::parquet::footer::FileMeta;
use crate::parquet::footer::page_index::{ChunkPages, chunk_pages};
use arrow::datatypes::FieldRef;
use lakerace_io::Result;
use std::ops::Range;
use std::sync::Arc;

/// A row group of a read.
#[derive(Debug, Clone)]
pub(crate) struct RowGroupUnit {
    /// The file.
    pub file: Arc<FileMeta>,
    /// Its number in the plan.
    pub file_number: u32,
    /// The row group.
    pub row_group: usize,
    /// The rows that are not pruned: ascending, not empty, not touching.
    pub rows: Arc<Vec<Range<u64>>>,
}

impl RowGroupUnit {
    /// All rows of a row group, except for long runs of hidden ones.
    pub fn whole(file: &Arc<FileMeta>, file_number: u32, row_group: usize) -> Self {
        let rows = match &file.hidden {
            Some(hidden) => hidden.without_runs(file.rows_of(row_group)),
            None => std::iter::once(0..file.metadata().row_group(row_group).num_rows() as u64).collect(),
        };
        Self { file: Arc::clone(file), file_number, row_group, rows: Arc::new(rows) }
    }

    /// The number of rows that are not pruned.
    pub fn row_count(&self) -> u64 {
        self.rows.iter().map(|range| range.end - range.start).sum()
    }

    /// The number of rows that are neither pruned nor hidden.
    pub fn visible_count(&self) -> u64 {
        let Some(hidden) = &self.file.hidden else { return self.row_count() };
        let first = self.file.rows_of(self.row_group).start;
        let hidden_in = |range: &Range<u64>| hidden.count_in(first + range.start..first + range.end);
        self.row_count() - self.rows.iter().map(hidden_in).sum::<u64>()
    }

    /// The rows of its steps, so that approximately `rows` of them, or a few less, are visible: batches then have the
    /// same size as without hidden rows, and fit into reused memory.
    pub fn step_rows(&self, rows: usize) -> usize {
        let (all, visible) = (self.row_count(), self.visible_count());
        if visible == all {
            return rows;
        }
        let a_few_less = rows as u64 - rows as u64 / 64;
        let wanted = u128::from(a_few_less) * u128::from(all) / u128::from(visible.max(1));
        usize::try_from(wanted).unwrap_or(usize::MAX).clamp(rows, rows.saturating_mul(MOST_STEPS_IN_ONE))
    }

    /// Returns true if some rows are pruned, by page statistics or because they are hidden.
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

    /// The pages of a column with our decoder, if some of its rows are pruned and the file has an offset index.
    pub fn pages(&self, root: usize, leaf: usize) -> Result<Option<Arc<ChunkPages>>> {
        let is_ours = || {
            decoder(&self.file, self.row_group, root, self.file.schema().field(root).data_type(), &Arc::default())
                .is_some()
        };
        if self.is_partial() && is_ours() { chunk_pages(&self.file, self.row_group, leaf) } else { Ok(None) }
    }
}

/// The most steps in one step if most rows are hidden.
pub(crate) const MOST_STEPS_IN_ONE: usize = 2;
