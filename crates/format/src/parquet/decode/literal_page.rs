//! The bytes of a page, read where they are stored. Pages that a fast codec could not make smaller are literals: the
//! page's own bytes, with a tag before every 64 KB of them. If few rows of such a page are wanted, copying all of it
//! would be most of the work.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lakerace_io::Result;
use parquet::basic::CompressionCodec;

use super::block::{MemoryPool, PageBytes};
use super::error::page_ends;
use super::snappy::preamble;

/// Pieces are this long on average, or going from one to the next would cost more than a copy.
const MEAN_PIECE_BYTES: usize = 4096;

/// Consecutive pieces of bytes, read front to back.
#[derive(Debug)]
pub(crate) struct PageSlices {
    bytes: PageBytes,
    /// The places of the pieces, from the current one on in reverse order.
    places: Vec<Range<usize>>,
    /// Bytes that are left in all pieces.
    left: usize,
}

impl PageSlices {
    /// Bytes in one piece.
    pub fn whole(bytes: PageBytes) -> Self {
        let all = 0..bytes.len();
        Self::from_ranges(bytes, vec![all])
    }

    /// The `length` bytes of `stored` if it consists only of literals; `None` if the codec has compressed some of them,
    /// or if they are damaged.
    pub fn literals(codec: CompressionCodec, stored: &Bytes, length: usize) -> Option<Self> {
        let places = match codec {
            CompressionCodec::SNAPPY => snappy_literals(stored, length)?,
            CompressionCodec::LZ4_RAW => lz4_literals(stored, length)?,
            _ => return None,
        };
        Some(Self::from_ranges(PageBytes::Stored(stored.clone()), places))
    }

    /// Bytes at these places.
    pub fn from_ranges(bytes: PageBytes, mut places: Vec<Range<usize>>) -> Self {
        places.reverse();
        Self { bytes, left: places.iter().map(ExactSizeIterator::len).sum(), places }
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The memory that contains all pieces, and the range of the rest of the current piece: empty after the last one.
    #[inline]
    pub fn window(&mut self) -> (&[u8], Range<usize>) {
        while self.places.last().is_some_and(Range::is_empty) {
            self.places.pop();
        }
        (&self.bytes, self.places.last().cloned().unwrap_or(0..0))
    }

    /// The current piece has been read up to `at`, a place of its window.
    #[inline]
    pub fn read_to(&mut self, at: usize) {
        if let Some(place) = self.places.last_mut() {
            let at = at.clamp(place.start, place.end);
            self.left -= at - place.start;
            place.start = at;
        }
    }

    /// The current piece, without a copy.
    pub fn head(&mut self) -> PageBytes {
        let (_, place) = self.window();
        self.bytes.slice(place)
    }

    /// Copies the next bytes.
    pub fn take(&mut self, mut target: &mut [u8]) -> Result<()> {
        if target.len() > self.left {
            return Err(page_ends());
        }
        while !target.is_empty() {
            let (bytes, place) = self.window();
            let (now, later) = target.split_at_mut(place.len().min(target.len()));
            let end = place.start + now.len();
            now.copy_from_slice(&bytes[place.start..end]);
            self.read_to(end);
            target = later;
        }
        Ok(())
    }

    /// Skips the next bytes.
    pub fn skip(&mut self, mut count: usize) -> Result<()> {
        if count > self.left {
            return Err(page_ends());
        }
        while count > 0 {
            let (_, place) = self.window();
            let skipped = place.len().min(count);
            self.read_to(place.start + skipped);
            count -= skipped;
        }
        Ok(())
    }

    /// Joins the rest in one block, by a copy.
    pub fn join(mut self, pool: &Arc<MemoryPool>) -> Result<PageBytes> {
        let length = self.left;
        let mut block = pool.take_with_slack(length);
        self.take(&mut block[..length])?;
        Ok(PageBytes::Block(Arc::new(block), 0..length))
    }
}

/// The literals of a snappy block that contains nothing else:
/// <https://github.com/google/snappy/blob/main/format_description.txt>
fn snappy_literals(stored: &[u8], length: usize) -> Option<Vec<Range<usize>>> {
    let (stated, mut at) = preamble(stored).ok()?;
    if stated != length as u64 {
        return None;
    }
    let mut places = Vec::new();
    let mut left = length;
    while at < stored.len() {
        let tag = stored[at];
        if tag & 3 != 0 || places.len() > length / MEAN_PIECE_BYTES {
            return None;
        }
        // Longer literals have their length in 1 to 4 bytes after the tag.
        let upper = usize::from(tag >> 2);
        let start = at + 1 + upper.saturating_sub(59);
        let extra = stored.get(at + 1..start)?;
        let size = if extra.is_empty() { upper } else { extra.iter().rev().fold(0, |n, byte| n << 8 | *byte as usize) };
        let size = size.checked_add(1)?;
        left = left.checked_sub(size)?;
        at = start.checked_add(size).filter(|end| *end <= stored.len())?;
        places.push(start..at);
    }
    (left == 0).then_some(places)
}

/// The literal of an LZ4 block of one sequence: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>
fn lz4_literals(stored: &[u8], length: usize) -> Option<Vec<Range<usize>>> {
    // A sequence that is not the last one has an offset and a match after its literals.
    let (token, mut start) = (*stored.first()?, 1);
    let mut size = usize::from(token >> 4);
    let mut goes_on = size == 15;
    while goes_on {
        let byte = *stored.get(start)?;
        start += 1;
        size += usize::from(byte);
        goes_on = byte == u8::MAX;
    }
    let is_all = token & 15 == 0 && size == length && stored.len() - start == length;
    is_all.then(|| std::iter::once(start..stored.len()).collect())
}

#[cfg(test)]
mod tests;
