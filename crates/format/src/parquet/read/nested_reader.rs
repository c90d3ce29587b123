//! Columns that the parquet crate decodes: nested ones and rare types, one root column at a time.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use lakerace_io::option::BATCH_ROWS;
use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::ParquetError;

use super::checked_group::{CheckedGroup, is_checked};
use super::chunk_bytes::{ChunkBytes, Failure};
use super::column_source::ColumnSource;
use crate::panic_guard::guarded;

/// The reader of a root column of a row group, decoded by the parquet crate.
pub(crate) struct NestedReader {
    reader: ParquetRecordBatchReader,
    /// Decoded rows that are not requested yet.
    rest: Option<ArrayRef>,
    failure: Failure,
}

impl NestedReader {
    /// Prepares the lane.
    pub fn open(source: &ColumnSource, root: usize) -> Result<Self> {
        let leaves = source.file.leaves_of(root, &source.field);
        let group = source.file.metadata().row_group(source.row_group);
        let mut chunks = Vec::with_capacity(leaves.len());
        for &leaf in &leaves {
            chunks.push(source.file.chunk_range(source.row_group, leaf)?);
        }
        let bytes = ChunkBytes::new(source, chunks);
        let failure = Arc::clone(&bytes.failure);
        let rows = group.num_rows() as u64;
        let is_whole = source.rows.len() == 1 && source.rows[0] == (0..rows);
        let selection = (!is_whole).then(|| selection(&source.rows, rows));
        let stored = source.file.arrow.parquet_schema();
        let is_checked = leaves.iter().any(|leaf| is_checked(&source.file, *leaf));
        let reader = guarded("its pages", || {
            if is_checked {
                return CheckedGroup::new(source, root, bytes).reader(leaves, source.step_rows, selection);
            }
            let mask = ProjectionMask::leaves(stored, leaves);
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, source.file.arrow.clone())
                .with_row_groups(vec![source.row_group])
                .with_projection(mask)
                .with_batch_size(source.step_rows);
            match selection {
                None => builder.build(),
                Some(selection) => builder.with_row_selection(selection).build(),
            }
        })?;
        Ok(Self { reader, rest: None, failure })
    }

    /// The next `rows` rows of the lane's row ranges.
    pub fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let mut parts = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let array = match self.rest.take() {
                Some(rest) => rest,
                None => self.decode()?,
            };
            if array.len() > missing {
                self.rest = Some(array.slice(missing, array.len() - missing));
                parts.push(array.slice(0, missing));
                break;
            }
            missing -= array.len();
            parts.push(array);
        }
        match parts.len() {
            1 => parts.pop().ok_or_else(|| Error::internal("a vector of one is empty")),
            _ => {
                let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
                concat(&parts).map_err(Error::unexpected)
            }
        }
    }

    fn decode(&mut self) -> Result<ArrayRef> {
        let next = guarded("its pages", || self.reader.next().transpose().map_err(ParquetError::from));
        let failure = lock(&self.failure).take();
        let batch = match (next, failure) {
            (Err(_), Some(failure)) => return Err(failure),
            (Err(error), None) if error.to_string().contains(OFFSET_OVERFLOW) => {
                return Err(Error::unsupported("the texts of a batch exceed 2 GiB")
                    .advice(format!("read fewer rows in a batch: {BATCH_ROWS}")));
            }
            (next, _) => next?,
        };
        let batch = batch.filter(|batch| batch.num_rows() > 0 && batch.num_columns() == 1);
        batch
            .map(|batch| Arc::clone(batch.column(0)))
            .ok_or_else(|| Error::corrupt("its pages hold fewer rows than the footer says"))
    }
}

/// The crate's message where offsets of 32 bits are too few.
const OFFSET_OVERFLOW: &str = "an index overflows";

/// The row ranges as the crate wants them.
fn selection(ranges: &[Range<u64>], rows: u64) -> RowSelection {
    let mut selectors = Vec::with_capacity(2 * ranges.len());
    let mut at = 0;
    for range in ranges {
        if range.start > at {
            selectors.push(RowSelector::skip((range.start - at) as usize));
        }
        selectors.push(RowSelector::select((range.end - range.start) as usize));
        at = range.end;
    }
    if rows > at {
        selectors.push(RowSelector::skip((rows - at) as usize));
    }
    RowSelection::from(selectors)
}
