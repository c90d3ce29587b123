//! The bytes of a column chunk, as the parquet crate reads them.

use super::column_source::ColumnSource;
use bytes::{Buf, Bytes};
use lakerace_io::wait::lock;
use lakerace_io::{Error, Fetcher, Result};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The source from which the parquet crate reads: page by page, releasing the bytes already read.
pub(crate) struct ChunkBytes {
    fetcher: Fetcher,
    file: u32,
    chunks: Vec<Range<u64>>,
    /// The position up to which each chunk was released.
    released: Vec<AtomicU64>,
    size: u64,
    pub(crate) failure: Failure,
}

impl ChunkBytes {
    /// The bytes of these chunks of a column.
    pub fn new(source: &ColumnSource, chunks: Vec<Range<u64>>) -> Self {
        Self {
            fetcher: source.fetcher.clone(),
            file: source.file_number,
            released: chunks.iter().map(|chunk| AtomicU64::new(chunk.start)).collect(),
            chunks,
            size: source.file.size_bytes,
            failure: Failure::default(),
        }
    }

    /// The number of the chunk that contains `start`. If a writer's lengths are too short, a chunk extends into the
    /// next one, which is the right one then.
    fn number(&self, start: u64) -> Option<usize> {
        let all = self.chunks.iter().enumerate().filter(|(_, chunk)| chunk.contains(&start));
        all.max_by_key(|(_, chunk)| chunk.start).map(|(number, _)| number)
    }

    /// The chunk that contains `start`.
    fn chunk(&self, start: u64) -> Result<&Range<u64>, ParquetError> {
        let found = self.number(start).and_then(|number| self.chunks.get(number));
        found.ok_or_else(|| ParquetError::EOF(format!("offset {start} is outside of the column chunk")))
    }

    /// Releases the bytes up to `end` that were not released yet, in the chunk that contains `start`.
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
        // Pages are read front to back, each once; only a page's own header may precede it unreleased.
        self.release_to(start, end);
        Ok(bytes)
    }
}

/// Our own error while it passes through the crate, which converts errors to text.
pub(crate) type Failure = Arc<Mutex<Option<Error>>>;

/// Stores one of our errors, and returns a placeholder for the parquet crate.
pub(crate) fn keep(failure: &Failure, error: Error) -> ParquetError {
    let stand_in = ParquetError::General(error.to_string());
    *lock(failure) = Some(error);
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

/// A page header is a few dozen bytes; statistics make it longer.
pub(crate) const HEADER_BYTES: u64 = 4096;
