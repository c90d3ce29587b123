//! Columns that the parquet crate decodes: nested ones and rare types, one root column at a time.

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use bytes::{Buf, Bytes};
use lakerace_io::{Error, Fetcher, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::column_reader::LaneSource;
use super::nested_int96::CheckedGroup;
use crate::parquet::footer::guarded;
use crate::parquet::footer::schema::is_int96;

/// One root column of one row group, decoded by the parquet crate.
pub(crate) struct NestedLane {
    reader: ParquetRecordBatchReader,
    /// Rows that were decoded and not yet asked for.
    rest: Option<ArrayRef>,
    failure: Failure,
}

/// An error of ours on its way through the crate, which turns errors into text.
pub(crate) type Failure = Arc<Mutex<Option<Error>>>;

impl NestedLane {
    /// Prepares the lane.
    pub fn open(source: &LaneSource, root: usize) -> Result<Self> {
        let leaves = source.file.leaves_of(root, &source.field);
        let group = source.file.metadata().row_group(source.row_group);
        let mut chunks = Vec::with_capacity(leaves.len());
        for &leaf in &leaves {
            chunks.push(source.file.chunk_range(source.row_group, leaf)?);
        }
        let failure = Failure::default();
        let bytes = ChunkBytes {
            fetcher: source.fetcher.clone(),
            file: source.file_number,
            released: chunks.iter().map(|chunk| AtomicU64::new(chunk.start)).collect(),
            chunks,
            size: source.file.size_bytes,
            failure: Arc::clone(&failure),
        };
        let rows = group.num_rows() as u64;
        let is_whole = source.rows.len() == 1 && source.rows[0] == (0..rows);
        let selection = (!is_whole).then(|| selection(&source.rows, rows));
        let stored = source.file.arrow.parquet_schema();
        let has_int96 = leaves.iter().any(|leaf| is_int96(stored, *leaf));
        let reader = guarded("the column", || {
            if has_int96 {
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
                concat(&parts).map_err(|e| Error::internal(e.to_string()))
            }
        }
    }

    fn decode(&mut self) -> Result<ArrayRef> {
        let next = guarded("the column", || self.reader.next().transpose().map_err(ParquetError::from));
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batch = match (next, failure) {
            (Err(_), Some(failure)) => return Err(failure),
            (Err(error), None) if error.to_string().contains(OFFSET_OVERFLOW) => {
                return Err(Error::unsupported("the texts of a batch have more than 2 GiB")
                    .advice("read fewer rows at once: --batch-rows (batch_rows)"));
            }
            (next, _) => next?,
        };
        let batch = batch.filter(|batch| batch.num_rows() > 0 && batch.num_columns() == 1);
        batch
            .map(|batch| Arc::clone(batch.column(0)))
            .ok_or_else(|| Error::corrupt("its pages hold fewer rows than the footer says"))
    }
}

/// What the crate says where offsets of 32 bits are too few.
const OFFSET_OVERFLOW: &str = "index overflow";

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

/// The fetcher as the crate reads from it: page by page, releasing what lies behind.
pub(crate) struct ChunkBytes {
    fetcher: Fetcher,
    file: u32,
    chunks: Vec<Range<u64>>,
    /// Up to where each chunk was released.
    released: Vec<AtomicU64>,
    size: u64,
    pub(crate) failure: Failure,
}

impl ChunkBytes {
    /// The number of the chunk that `start` lies in. Where a writer's lengths are too short, a chunk reaches into the one
    /// after it, which then is the one that is meant.
    fn number(&self, start: u64) -> Option<usize> {
        let all = self.chunks.iter().enumerate().filter(|(_, chunk)| chunk.contains(&start));
        all.max_by_key(|(_, chunk)| chunk.start).map(|(number, _)| number)
    }

    /// The chunk that `start` lies in.
    fn chunk(&self, start: u64) -> Result<&Range<u64>, ParquetError> {
        let found = self.number(start).and_then(|number| self.chunks.get(number));
        found.ok_or_else(|| ParquetError::EOF(format!("offset {start} is outside of the column chunk")))
    }
}

impl ChunkBytes {
    /// Releases what was not released yet of the chunk that `start` lies in, up to `end`.
    fn release_to(&self, start: u64, end: u64) {
        let Some(released) = self.number(start).and_then(|number| self.released.get(number)) else { return };
        let from = released.fetch_max(end, Ordering::Relaxed);
        if from < end {
            self.fetcher.release(self.file, from..end);
        }
    }
}

impl Drop for ChunkBytes {
    fn drop(&mut self) {
        for chunk in self.chunks.iter().filter(|chunk| chunk.start < chunk.end) {
            self.release_to(chunk.start, chunk.end);
        }
    }
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for ChunkBytes {
    type T = ChunkRead;

    fn get_read(&self, start: u64) -> Result<ChunkRead, ParquetError> {
        let end = self.chunk(start)?.end;
        let failure = Arc::clone(&self.failure);
        Ok(ChunkRead { fetcher: self.fetcher.clone(), file: self.file, at: start..end, piece: Bytes::new(), failure })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let chunk = self.chunk(start)?;
        let end = start.checked_add(length as u64).filter(|end| *end <= chunk.end);
        let end =
            end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start} end after the column chunk")))?;
        let bytes = self.fetcher.bytes(self.file, start..end).map_err(|e| keep(&self.failure, e))?;
        // Pages come front to back, and each once; only a page's own header may lie before it unreleased.
        self.release_to(start, end);
        Ok(bytes)
    }
}

/// Keeps an error of ours aside and gives the crate a stand-in.
pub(crate) fn keep(failure: &Failure, error: Error) -> ParquetError {
    let stand_in = ParquetError::General(error.to_string());
    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    stand_in
}

/// Reads page headers.
pub(crate) struct ChunkRead {
    fetcher: Fetcher,
    file: u32,
    at: Range<u64>,
    piece: Bytes,
    failure: Failure,
}

/// A page header is a few dozen bytes; statistics make it longer.
const HEADER_BYTES: u64 = 4096;

impl Read for ChunkRead {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        if self.piece.is_empty() && !self.at.is_empty() {
            let end = self.at.end.min(self.at.start + HEADER_BYTES);
            let piece = self.fetcher.bytes_some(self.file, self.at.start..end);
            self.piece = piece.map_err(|error| std::io::Error::other(keep(&self.failure, error)))?;
            self.at.start += self.piece.len() as u64;
        }
        let n = target.len().min(self.piece.len());
        self.piece.split_to(n).copy_to_slice(&mut target[..n]);
        Ok(n)
    }
}
