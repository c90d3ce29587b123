//! Row indexes: the positions of row groups in the streams of a column, and their statistics.

use prost::Message;

use super::bloom::BloomFilter;
use super::rle_v2::MAX_RUN_BYTES;
use super::wire;
use crate::compress::CHUNK_HEADER;
use crate::error::{Error, Result};
use crate::proto::{self, StreamKind};

/// The start of a row group in a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IndexPosition {
    /// The byte of the stream; where it is compressed, the beginning of a chunk.
    pub(crate) chunk: u64,
    /// Bytes after it, decompressed.
    pub(crate) offset: u64,
    /// Values of the run at that offset that are to be skipped.
    pub(crate) values: u64,
    /// Bits of the byte after these.
    pub(crate) bits: u64,
}

/// The largest number of row groups of a stripe for which its row indexes are used: with so many, one starts every few
/// kilobytes.
pub(crate) const MAX_ROW_GROUPS: usize = 1 << 20;

/// The row index and bloom filters of a column.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnIndex {
    /// The row index, decompressed: decoded entries would take many times as much.
    bytes: Vec<u8>,
    /// The places of its entries.
    entries: Vec<(usize, usize)>,
    blooms: Vec<Option<BloomFilter>>,
}

impl ColumnIndex {
    /// Sets the decompressed bytes of a row index or of bloom filters for `groups` row groups.
    pub(crate) fn set(&mut self, kind: StreamKind, bytes: Vec<u8>, groups: usize) -> Result<()> {
        let mut places = Vec::new();
        wire::fields(&bytes, |tag, place| {
            if tag == 1 && places.len() <= groups.min(MAX_ROW_GROUPS) {
                places.push(place);
            }
            Ok(())
        })?;
        if places.len() != groups {
            let count = if places.len() > groups { "more".to_owned() } else { places.len().to_string() };
            return Err(Error::corrupt(format!("has {count} entries for {groups} row groups")));
        }
        match kind {
            StreamKind::RowIndex => {
                places.iter().try_for_each(|place| entry(&bytes, *place).map(drop))?;
                (self.bytes, self.entries) = (bytes, places);
            }
            StreamKind::BloomFilterUtf8 => {
                let filter = |(from, to): (usize, usize)| {
                    proto::BloomFilter::decode(&bytes[from..to]).map(BloomFilter::new).map_err(|e| wire::broken(&e))
                };
                self.blooms = places.into_iter().map(filter).collect::<Result<_>>()?;
            }
            other => return Err(Error::invalid(format!("a stream of kind {other:?} is not an index"))),
        }
        Ok(())
    }

    /// Returns true if the row index was set.
    pub(crate) fn has_rows(&self) -> bool {
        !self.entries.is_empty()
    }

    pub(crate) fn statistics(&self, group: usize) -> Option<proto::ColumnStatistics> {
        entry(&self.bytes, *self.entries.get(group)?).ok()?.statistics
    }

    pub(crate) fn bloom(&self, group: usize) -> Option<&BloomFilter> {
        self.blooms.get(group)?.as_ref()
    }

    /// The positions of each row group, as the file has them.
    pub(crate) fn positions(&self) -> impl Iterator<Item = Result<Vec<u64>>> {
        self.entries.iter().map(|place| Ok(entry(&self.bytes, *place)?.positions))
    }
}

fn entry(bytes: &[u8], (from, to): (usize, usize)) -> Result<proto::RowIndexEntry> {
    proto::RowIndexEntry::decode(&bytes[from..to]).map_err(|e| wire::broken(&e))
}

/// Splits the numbers of a row group among its streams, each with how many numbers a position has after its place; `None`
/// where there are too few or too many.
pub(crate) fn split_positions(
    numbers: &[u64],
    streams: &[(StreamKind, usize)],
    compressed: bool,
) -> Option<Vec<IndexPosition>> {
    let mut numbers = numbers.iter().copied();
    let mut found = Vec::with_capacity(streams.len());
    for (_, behind) in streams {
        let mut next = |used: bool| if used { numbers.next() } else { Some(0) };
        let (chunk, offset) = (next(true)?, next(compressed)?);
        found.push(IndexPosition { chunk, offset, values: next(*behind > 0)?, bits: next(*behind > 1)? });
    }
    numbers.next().is_none().then_some(found)
}

/// How far a stream must be read for the row groups before the first of `later`: these are the positions of all row groups
/// after them.
///
/// The last run may have started before the next row group and may continue in its chunk and the chunk after that. The
/// lengths of chunks aren't known, except that none is longer than the block size. If a row group starts in another
/// chunk, that chunk starts at the group's position.
pub(crate) fn stream_end(
    later: impl IntoIterator<Item = IndexPosition>,
    compressed: bool,
    block: u64,
    length: u64,
) -> u64 {
    let mut later = later.into_iter();
    let Some(next) = later.next() else { return length };
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
    let mut last = next.chunk;
    let mut starts = later.map(|position| position.chunk).filter(|chunk| {
        let is_new = *chunk > last;
        last = last.max(*chunk);
        is_new
    });
    let known = starts.nth(chunks as usize - 1).unwrap_or(length);
    next.chunk.saturating_add(longest).min(known).min(length)
}

#[cfg(test)]
mod tests;
