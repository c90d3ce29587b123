//! Row groups one by one, for callers that have to know the numbers that rows have in their file.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use lakerace_io::{Error, Result};

use super::planning::row_bytes;
use super::prune::{GroupPruner, group_statistics, intersect};
use super::unit::RowGroupUnit;
use crate::columns::ReadColumns;
use crate::exec::{BATCH_BYTES, is_large_row};
use crate::files::files_of_plan;
use crate::parquet::source::ParquetSource;
use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::{ColumnRef, ColumnStatistics};
use crate::source::Batches;

/// Minimum of rows in a batch, unless rows are large, because each batch has separate buffers; then the maximum.
const LEAST_BATCH_ROWS: usize = 64;
const MOST_BATCH_ROWS: u64 = 64 << 10;

/// A row group of a source, or some of its pages. Reading it returns hidden rows as well if the source does not know of
/// any.
#[derive(Debug, Clone)]
pub struct RowGroup {
    /// The number of its file among those of the source.
    pub file: usize,
    /// Its number in the file.
    pub index: usize,
    unit: RowGroupUnit,
}

impl RowGroup {
    /// The number of its rows that are read.
    pub fn rows(&self) -> u64 {
        self.unit.row_count()
    }

    /// The number of them that no deletion vector hides.
    pub fn visible_rows(&self) -> u64 {
        self.unit.visible_count()
    }
}

/// A question to statistics: returns true if rows with these statistics have to be read.
pub type Keeps<'a> = &'a dyn Fn(&dyn ColumnStatistics) -> bool;

impl ParquetSource {
    /// The row groups of all files, in their order, except for those without a row to read.
    pub fn row_groups(&self) -> Vec<RowGroup> {
        let mut groups = Vec::new();
        for (file, meta) in self.files.iter().enumerate() {
            let units = (0..meta.metadata().num_row_groups()).map(|index| RowGroupUnit::whole(meta, 0, index));
            groups.extend(units.filter(|unit| unit.visible_count() > 0).map(|unit| RowGroup {
                file,
                index: unit.row_group,
                unit,
            }));
        }
        groups
    }

    /// The row groups of a plan of this source, without the pages that the plan's filter excludes.
    pub fn kept_row_groups(&self, plan: &ReadPlan) -> Result<Vec<RowGroup>> {
        let columns = ReadColumns::resolve(&self.schema, &plan.request)?;
        let files = files_of_plan(plan, &self.files)?;
        let units = self.units_of_plan(plan, &files, &columns)?.into_iter();
        // The plan names the files in the order of the source. A row group is read as one of a single file.
        let group = |unit: RowGroupUnit| RowGroup {
            file: unit.file_number as usize,
            index: unit.row_group,
            unit: RowGroupUnit { file_number: 0, ..unit },
        };
        Ok(units.map(group).collect())
    }

    /// Calls `ask` with the footer's statistics of a row group.
    pub fn with_statistics<R>(&self, group: &RowGroup, ask: impl FnOnce(&dyn ColumnStatistics) -> R) -> R {
        ask(&group_statistics(&group.unit))
    }

    /// The row group without the pages for which `keeps` returns false, called with the page index of one of these
    /// columns at a time. Columns without a page index exclude nothing. The first call for a file may read its index.
    pub fn narrow(&self, group: &RowGroup, columns: &[String], keeps: Keeps<'_>) -> Result<RowGroup> {
        let pruner = GroupPruner::new(&self.job);
        let mut rows = group.unit.rows.as_ref().clone();
        for name in columns {
            let Ok(root) = self.schema.index_of(name) else { continue };
            let data_type = self.schema.field(root).data_type().clone();
            let column = ColumnRef { root, path: vec![name.clone()], data_type };
            if let Some(kept) = pruner.matching_pages(&group.unit, &column, keeps)? {
                rows = intersect(&rows, &kept);
            }
        }
        Ok(RowGroup { unit: RowGroupUnit { rows: Arc::new(rows), ..group.unit.clone() }, ..group.clone() })
    }

    /// The cost of reading some columns of a row group: bytes, and requests.
    pub fn cost(&self, group: &RowGroup, columns: &[String]) -> Result<(u64, u64)> {
        let resolved = ReadColumns::resolve(&self.schema, &request(columns))?;
        let (requests, bytes) = self.requests(std::iter::once(&group.unit), &resolved.fields(&self.schema))?;
        Ok((bytes.iter().sum(), requests.requests.len() as u64))
    }

    /// The rows of a batch that takes approximately `bytes` in memory, with all columns; `None` if batches are that
    /// small by default.
    pub fn batch_rows_within(&self, bytes: u64) -> Option<usize> {
        if bytes >= BATCH_BYTES {
            return None;
        }
        let of_group = |group: RowGroup| row_bytes(&group.unit, self.schema.fields());
        let row_bytes = self.row_groups().into_iter().map(of_group).max().unwrap_or(1);
        let least = if is_large_row(row_bytes, self.schema.fields().len()) { 1 } else { LEAST_BATCH_ROWS };
        Some(((bytes / row_bytes.max(1)).min(MOST_BATCH_ROWS) as usize).max(least))
    }

    /// Reads some columns of a row group: batches of rows that follow one another, each with the number that its first row has in the
    /// file.
    pub fn read_row_group(
        &self,
        group: &RowGroup,
        columns: &[String],
    ) -> Result<impl Iterator<Item = Result<(u64, RecordBatch)>> + Send + use<>> {
        self.read_row_group_fields(group, &request(columns))
    }

    /// Reads like [`Self::read_row_group`], with the columns and fields of a request; its filter and its limit are the caller's.
    pub fn read_row_group_fields(
        &self,
        group: &RowGroup,
        request: &ReadRequest,
    ) -> Result<impl Iterator<Item = Result<(u64, RecordBatch)>> + Send + use<>> {
        let known = self.files.get(group.file).filter(|file| Arc::ptr_eq(file, &group.unit.file));
        let file = known.ok_or_else(|| Error::internal("the row group belongs to another source"))?;
        let request = ReadRequest { filter: None, limit: None, ..request.clone() };
        let resolved = ReadColumns::resolve(&self.schema, &request)?;
        let files = [Arc::clone(file)];
        let batches = self.read_units(&request, resolved, &files, vec![group.unit.clone()], None, &[])?;
        Ok(NumberedBatches::new(batches, file.rows_of(group.index).start, Arc::clone(&group.unit.rows)))
    }
}

fn request(columns: &[String]) -> ReadRequest {
    ReadRequest { columns: Some(columns.to_vec()), ..ReadRequest::default() }
}

/// Batches cut where rows are left out.
struct NumberedBatches {
    batches: Batches,
    /// The number of the row group's first row in the file.
    first_row: u64,
    /// The rows that are read, and the range of them that is next, and how many of that were read.
    rows: Arc<Vec<Range<u64>>>,
    range: usize,
    passed: u64,
    /// Rows of a batch that were not given out.
    rest: Option<RecordBatch>,
}

impl NumberedBatches {
    fn new(batches: Batches, first_row: u64, rows: Arc<Vec<Range<u64>>>) -> Self {
        Self { batches, first_row, rows, range: 0, passed: 0, rest: None }
    }

    fn cut(&mut self, batch: RecordBatch) -> Result<(u64, RecordBatch)> {
        let range = self.rows.get(self.range).ok_or_else(|| Error::internal("there are more rows than requested"))?;
        let start = range.start + self.passed;
        let count = batch.num_rows().min((range.end - start) as usize);
        self.passed += count as u64;
        if range.start + self.passed == range.end {
            (self.range, self.passed) = (self.range + 1, 0);
        }
        if count < batch.num_rows() {
            self.rest = Some(batch.slice(count, batch.num_rows() - count));
        }
        Ok((self.first_row + start, batch.slice(0, count)))
    }
}

impl Iterator for NumberedBatches {
    type Item = Result<(u64, RecordBatch)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = match self.rest.take() {
                Some(rest) => rest,
                None => match self.batches.next()? {
                    Ok(batch) => batch,
                    Err(error) => return Some(Err(error)),
                },
            };
            if batch.num_rows() > 0 {
                return Some(self.cut(batch));
            }
        }
    }
}
