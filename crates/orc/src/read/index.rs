//! Row indexes: where row groups begin in the streams of a column, and their statistics.

use std::collections::HashMap;

use prost::Message;

use super::bloom::BloomFilter;
use super::rle_v2::MAX_RUN_BYTES;
use super::wire;
use crate::compress::CHUNK_HEADER;
use crate::proto::{self, StreamKind};
use crate::{Error, Result};

/// Where a row group begins in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The byte of the stream; where it is compressed, the beginning of a chunk.
    pub(crate) chunk: u64,
    /// Bytes behind it, decompressed.
    pub(crate) offset: u64,
    /// Values of the run that begins there, to be passed over.
    pub(crate) values: u64,
    /// Bits of the byte behind these.
    pub(crate) bits: u64,
}

/// The row index and bloom filters of a column.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnIndex {
    entries: Vec<proto::RowIndexEntry>,
    blooms: Vec<Option<BloomFilter>>,
}

impl ColumnIndex {
    /// Takes the decompressed bytes of a row index or of bloom filters of so many row groups.
    pub(crate) fn set(&mut self, kind: StreamKind, bytes: &[u8], groups: usize) -> Result<()> {
        let mut count = 0;
        wire::fields(bytes, |tag, _| {
            count += usize::from(tag == 1);
            Ok(())
        })?;
        if count != groups {
            return Err(Error::corrupt(format!("has {count} entries for {groups} row groups")));
        }
        match kind {
            StreamKind::RowIndex => {
                self.entries = proto::RowIndex::decode(bytes).map_err(|e| wire::broken(&e))?.entry;
            }
            StreamKind::BloomFilterUtf8 => {
                let filters = proto::BloomFilterIndex::decode(bytes).map_err(|e| wire::broken(&e))?.bloom_filter;
                self.blooms = filters.into_iter().map(BloomFilter::new).collect();
            }
            other => return Err(Error::invalid(format!("a stream {other:?} is no index"))),
        }
        Ok(())
    }

    pub(crate) fn statistics(&self, group: usize) -> Option<&proto::ColumnStatistics> {
        self.entries.get(group)?.statistics.as_ref()
    }

    pub(crate) fn bloom(&self, group: usize) -> Option<&BloomFilter> {
        self.blooms.get(group)?.as_ref()
    }

    /// The positions of each row group, as the file has them.
    pub(crate) fn positions(&self) -> impl Iterator<Item = &[u64]> {
        self.entries.iter().map(|entry| entry.positions.as_slice())
    }
}

/// Splits the numbers of a row group among the streams: first the bits of `Present` where the column has them, then those of
/// `kinds`. Streams for which there are too few numbers are left out.
pub(crate) fn stream_positions(
    numbers: &[u64],
    present: bool,
    kinds: &[(StreamKind, usize)],
    compressed: bool,
) -> HashMap<i32, Position> {
    let mut numbers = numbers.iter().copied();
    let mut found = HashMap::new();
    let all = present.then_some((StreamKind::Present, 2)).into_iter().chain(kinds.iter().copied());
    for (kind, behind) in all {
        let mut next = |used: bool| if used { numbers.next() } else { Some(0) };
        let position = (next(true), next(compressed), next(behind > 0), next(behind > 1));
        let (Some(chunk), Some(offset), Some(values), Some(bits)) = position else { break };
        found.insert(kind as i32, Position { chunk, offset, values, bits });
    }
    found
}

/// How far a stream must be read for the row groups before the first of `later`: these are the positions of all row groups
/// behind them.
///
/// The last run may have begun before the next row group and go on in its chunk and the one behind. How long chunks are isn't
/// known, but that they aren't longer than the block size, and that where a row group begins in another chunk, that chunk
/// begins there.
pub(crate) fn stream_end(later: &[Position], compressed: bool, block: u64, length: u64) -> u64 {
    let Some(next) = later.first() else { return length };
    let within_run = next.values > 0 || next.bits > 0;
    if !compressed {
        let run = if within_run { MAX_RUN_BYTES as u64 } else { 0 };
        return next.chunk.saturating_add(run).min(length);
    }
    if !within_run && next.offset == 0 {
        return next.chunk.min(length);
    }
    let chunks = if within_run { 1 + (MAX_RUN_BYTES as u64).div_ceil(block.max(1)) } else { 1 };
    let longest = chunks.saturating_mul(block + CHUNK_HEADER as u64);
    let mut starts: Vec<u64> = later.iter().map(|p| p.chunk).filter(|chunk| *chunk > next.chunk).collect();
    starts.dedup();
    let known = starts.get(chunks as usize - 1).copied().unwrap_or(length);
    next.chunk.saturating_add(longest).min(known).min(length)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
