//! Texts that are copied one by one from pages of which many rows are not wanted: an array keeps only the bytes of its
//! own rows in memory, and of the other rows only the length is read.

use std::sync::Arc;

use arrow::buffer::Buffer;
use lakerace_io::{Error, Result};

use super::block::{Block, MemoryPool};
use super::delta::ValueLengths;
use super::error::page_ends;
use super::literal_page::PageSlices;
use super::view::{INLINE_BYTES, is_continuation, view_of};
use crate::exec::RowSelection;

/// Texts up to this length are copied as two vectors of 16 bytes, or up to twice that as four: an unpredictable branch
/// would cost more.
const SHORT_BYTES: usize = 32;

/// Rows that are copied together.
const CHUNK_ROWS: usize = 64;

/// Bytes of the length before a text.
pub(crate) const LENGTH_BYTES: usize = 4;

/// The length of the value at `at`, which is checked to lie within the page.
#[inline(always)]
pub(crate) fn length_at(data: &[u8], at: usize) -> Result<usize> {
    let stored = data.get(at..at + LENGTH_BYTES).ok_or_else(page_ends)?;
    let length = stored.iter().rev().fold(0usize, |sum, byte| sum << 8 | *byte as usize);
    if length > data.len() - at - LENGTH_BYTES { Err(page_ends()) } else { Ok(length) }
}

/// A page of texts, each with its length (4 bytes, little-endian) before it unless the lengths are stored separately.
pub(crate) struct CopiedTexts {
    pieces: PageSlices,
    lengths: Option<ValueLengths>,
    /// Bytes of a text, on average.
    mean_bytes: usize,
    /// The starts of the texts that are taken together, or their lengths where these are before them.
    starts: [usize; CHUNK_ROWS],
}

/// The bytes of the texts of an array under way.
pub(crate) struct TextBytes {
    pool: Arc<MemoryPool>,
    /// Memory, its number among the array's buffers, and how much of it is used.
    open: Option<(Block, u32)>,
    used: usize,
    doubt: Utf8Check,
}

/// The texts that have to be checked to be UTF-8 one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Utf8Check {
    /// The flag of texts within views: some have bytes that are not ASCII.
    pub short: bool,
    /// The flag of longer texts: one starts within a character, or all of them together are not UTF-8.
    pub long: bool,
}

impl TextBytes {
    /// Memory comes from this pool.
    pub fn new(pool: Arc<MemoryPool>) -> Self {
        Self { pool, open: None, used: 0, doubt: Utf8Check::default() }
    }

    /// Starts an array.
    pub fn begin(&mut self) {
        (self.open, self.used, self.doubt) = (None, 0, Utf8Check::default());
    }

    /// Ends the array's buffers. Returns which of the texts may not be UTF-8.
    pub fn finish(&mut self, buffers: &mut [Buffer], is_text: bool) -> Utf8Check {
        self.close(buffers, is_text);
        self.doubt
    }

    /// Moves the written bytes to their place among the buffers.
    fn close(&mut self, buffers: &mut [Buffer], is_text: bool) {
        let Some((block, number)) = self.open.take() else { return };
        // Consecutive texts are UTF-8 if all their bytes together are, and each starts with a character.
        self.doubt.long |= is_text && simdutf8::basic::from_utf8(&block[..self.used]).is_err();
        if let Some(buffer) = buffers.get_mut(number as usize) {
            *buffer = block.into_buffer(self.used);
        }
    }
}

impl CopiedTexts {
    /// A page of at most `count` texts.
    pub fn new(pieces: PageSlices, count: usize) -> Self {
        let mean_bytes = (pieces.left() / count.max(1)).saturating_sub(LENGTH_BYTES);
        Self { pieces, lengths: None, mean_bytes, starts: [0; CHUNK_ROWS] }
    }

    /// A page of texts that have these lengths.
    pub fn apart(pieces: PageSlices, lengths: ValueLengths) -> Self {
        let mean_bytes = pieces.left() / lengths.peek(usize::MAX).len().max(1);
        Self { pieces, lengths: Some(lengths), mean_bytes, starts: [0; CHUNK_ROWS] }
    }

    /// Takes the next texts that are kept to the front of `views`; `left` is how many rows the array may still get.
    pub fn read_kept(
        &mut self,
        kept: RowSelection<'_>,
        views: &mut [u128],
        left: usize,
        out: &mut TextTarget<'_>,
    ) -> Result<()> {
        let mut filled = 0;
        for piece in kept.pieces() {
            let views = views.get_mut(filled..).unwrap_or_default();
            filled +=
                self.chunk(RowChunk { rows: piece.rows, bits: piece.bits, views }, left - filled.min(left), out)?;
        }
        Ok(())
    }

    /// Takes the next texts to all of `views`.
    pub fn read(&mut self, views: &mut [u128], left: usize, out: &mut TextTarget<'_>) -> Result<()> {
        let mut filled = 0;
        for views in views.chunks_mut(CHUNK_ROWS) {
            let rows = views.len();
            let bits = u64::MAX >> (CHUNK_ROWS - rows);
            filled += self.chunk(RowChunk { rows, bits, views }, left - filled.min(left), out)?;
        }
        Ok(())
    }

    /// Skips the next `count` texts.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        if let Some(lengths) = &mut self.lengths {
            let next = lengths.peek(count);
            let bytes: u64 = next.iter().map(|length| u64::from(*length)).sum();
            if next.len() < count {
                return Err(page_ends());
            }
            lengths.pass(count);
            return self.pieces.skip(usize::try_from(bytes).map_err(|_| page_ends())?);
        }
        let mut row = 0;
        while row < count {
            let rows = CHUNK_ROWS.min(count - row);
            let (bytes, place) = self.pieces.window();
            let (passed, end) = walk(bytes, place.start, place.end, &mut self.starts[..rows]);
            self.pieces.read_to(end);
            row += passed;
            if passed < rows {
                // This one continues in another piece, or is longer than the page.
                let length = self.length()?;
                self.pieces.skip(length)?;
                row += 1;
            }
        }
        Ok(())
    }

    /// Takes some texts; returns the number of kept ones.
    fn chunk(&mut self, chunk: RowChunk<'_>, left: usize, out: &mut TextTarget<'_>) -> Result<usize> {
        let RowChunk { rows, bits, views } = chunk;
        let kept = bits.count_ones() as usize;
        if views.len() < kept {
            return Err(Error::internal("there are more values than rows"));
        }
        if bits == 0 {
            return self.skip(rows).map(|()| 0);
        }
        if out.bytes.open.is_none() {
            self.open(0, left, out);
        }
        let (mut row, mut slot) = (0, 0);
        while row < rows {
            // Bits beyond the rows are zeros, so no more slots are written than were checked to be there.
            let rest = RowChunk { rows: rows - row, bits: bits >> row, views: &mut views[slot..] };
            let taken = match (self.mean_bytes < SHORT_BYTES * 3 / 4, &self.lengths) {
                (true, None) => self.fast::<SHORT_BYTES, LENGTH_BYTES>(rest, out),
                (false, None) => self.fast::<{ 2 * SHORT_BYTES }, LENGTH_BYTES>(rest, out),
                (true, Some(_)) => self.fast::<SHORT_BYTES, 0>(rest, out),
                (false, Some(_)) => self.fast::<{ 2 * SHORT_BYTES }, 0>(rest, out),
            };
            slot += (bits >> row & low_bits(taken)).count_ones() as usize;
            row += taken;
            if row < rows {
                let is_kept = bits >> row & 1 == 1;
                self.one(is_kept.then(|| &mut views[slot]), left, out)?;
                slot += usize::from(is_kept);
                row += 1;
            }
        }
        Ok(kept)
    }

    /// Takes texts until one continues in another piece or does not fit; returns how many it took. Each text of up to
    /// `WIDTH` bytes is copied as `WIDTH` bytes. The length is in the `HEAD` bytes before each text; `HEAD` is 0 where
    /// lengths are stored separately.
    fn fast<const WIDTH: usize, const HEAD: usize>(&mut self, chunk: RowChunk<'_>, out: &mut TextTarget<'_>) -> usize {
        let Some((block, number)) = &mut out.bytes.open else { return 0 };
        let (bytes, place) = self.pieces.window();
        let (Some(last_read), Some(last_write)) = (bytes.len().checked_sub(WIDTH), block.len().checked_sub(WIDTH))
        else {
            return 0;
        };
        // Whole vectors are read: up to `WIDTH` bytes from the start of a text.
        let (last, starts) = (last_read.min(place.end), &mut self.starts[..chunk.rows]);
        let lengths = self.lengths.as_ref().map(|lengths| lengths.peek(chunk.rows)).unwrap_or_default();
        let (count, end) = match HEAD {
            0 => add_up(lengths, place.start, last, starts),
            _ => walk(bytes, place.start, last, starts),
        };
        let (source, target) = (bytes.as_ptr(), block.as_mut_ptr());
        let (mut used, mut slot, mut passed) = (out.bytes.used, 0, count);
        // Bytes of short texts, and first bytes of long ones.
        let (mut shorts, mut cuts) = (0, false);
        let mut bits = chunk.bits & low_bits(count);
        while bits != 0 {
            let row = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let at = self.starts[row % CHUNK_ROWS];
            let length = match HEAD {
                0 => lengths[row] as usize,
                // SAFETY: `at` is at most `last_read`, and `WIDTH` more bytes can be read from there.
                _ => length_of(unsafe { source.add(at).cast::<[u8; LENGTH_BYTES]>().read() }),
            };
            if used > last_write || (length > WIDTH && used + length > last_write) {
                passed = row;
                break;
            }
            // SAFETY: the text follows its length and ends at `last_read` at most, so that `WIDTH` bytes can be read
            // from its start. As many can be written: `used` is at most `last_write`; a longer text was checked to fit.
            // There is a slot for each row that is kept.
            unsafe {
                let from = source.add(at + HEAD);
                let word = u128::from_le_bytes(from.cast::<[u8; 16]>().read());
                if length <= WIDTH {
                    target.add(used).cast::<[u8; WIDTH]>().write(from.cast::<[u8; WIDTH]>().read());
                } else {
                    copy_long(from, target.add(used), length);
                }
                let view = view_of(word, length, *number, used);
                *chunk.views.get_unchecked_mut(slot) = view;
                if length > INLINE_BYTES {
                    cuts |= is_continuation(word as u8);
                    used += length;
                } else {
                    shorts |= view;
                }
            }
            slot += 1;
        }
        out.bytes.used = used;
        out.bytes.doubt.long |= cuts;
        out.bytes.doubt.short |= is_beyond_ascii(shorts);
        self.pieces.read_to(if passed < count { self.starts[passed] } else { end });
        if let Some(lengths) = &mut self.lengths {
            lengths.pass(passed);
        }
        passed
    }

    /// Takes one text to a slot, or skips it.
    fn one(&mut self, slot: Option<&mut u128>, left: usize, out: &mut TextTarget<'_>) -> Result<()> {
        let length = self.length()?;
        let Some(slot) = slot else { return self.pieces.skip(length) };
        let mut word = [0; 16];
        if length <= INLINE_BYTES {
            self.pieces.take(&mut word[..length])?;
            *slot = view_of(u128::from_le_bytes(word), length, 0, 0);
            out.bytes.doubt.short |= is_beyond_ascii(*slot);
            return Ok(());
        }
        let has_room = |open: &(Block, u32), used: usize| open.0.len() - used >= length;
        if !out.bytes.open.as_ref().is_some_and(|open| has_room(open, out.bytes.used)) {
            self.open(length, left, out);
        }
        let used = out.bytes.used;
        let Some((block, number)) = &mut out.bytes.open else {
            return Err(Error::internal("not enough memory for texts"));
        };
        let target =
            block.get_mut(used..used + length).ok_or_else(|| Error::internal("not enough memory for a text"))?;
        self.pieces.take(target)?;
        let head = length.min(16);
        word[..head].copy_from_slice(&target[..head]);
        *slot = view_of(u128::from_le_bytes(word), length, *number, used);
        out.bytes.doubt.long |= is_continuation(word[0]);
        out.bytes.used += length;
        Ok(())
    }

    /// The length of the next text, which is after it then.
    fn length(&mut self) -> Result<usize> {
        let length = match &mut self.lengths {
            Some(lengths) => {
                let length = *lengths.peek(1).first().ok_or_else(page_ends)?;
                lengths.pass(1);
                length as usize
            }
            None => {
                let mut stored = [0; LENGTH_BYTES];
                self.pieces.take(&mut stored)?;
                length_of(stored)
            }
        };
        if length > self.pieces.left() { Err(page_ends()) } else { Ok(length) }
    }

    /// Allocates memory for the next texts: at least `least` bytes, and as much as the array's other rows will need
    /// from this page.
    fn open(&self, least: usize, left: usize, out: &mut TextTarget<'_>) {
        let TextTarget { bytes, buffers, is_text } = out;
        bytes.close(buffers, *is_text);
        let wanted = left.saturating_mul(self.mean_bytes + 1);
        let wanted = wanted.saturating_add(wanted / 32).min(self.pieces.left());
        let block = bytes.pool.take_with_slack(wanted.max(least));
        bytes.open = Some((block, buffers.len() as u32));
        bytes.used = 0;
        buffers.push(Buffer::default());
    }
}

/// The target of texts.
pub(crate) struct TextTarget<'a> {
    pub bytes: &'a mut TextBytes,
    /// The array's buffers.
    pub buffers: &'a mut Vec<Buffer>,
    /// True if they have to be UTF-8.
    pub is_text: bool,
}

/// Up to 64 rows of a page.
struct RowChunk<'a> {
    rows: usize,
    /// The kept ones, the first row in the lowest bit.
    bits: u64,
    /// A slot for each of these.
    views: &'a mut [u128],
}

/// Finds the starts of the next texts, as many as `starts` has room for and end at `last` at most; returns their number
/// and the end of the last one. It reads nothing but lengths, so that unwanted texts cost little more than the wait for
/// these.
#[inline(always)]
fn walk(bytes: &[u8], mut at: usize, last: usize, starts: &mut [usize]) -> (usize, usize) {
    let Some(last_length) = bytes.len().checked_sub(LENGTH_BYTES) else { return (0, at) };
    let last = last.min(last_length);
    for (count, start) in starts.iter_mut().enumerate() {
        if at > last {
            return (count, at);
        }
        // SAFETY: there are four more bytes than `last`.
        let length = length_of(unsafe { bytes.as_ptr().add(at).cast::<[u8; LENGTH_BYTES]>().read() });
        if last - at < LENGTH_BYTES || length > last - at - LENGTH_BYTES {
            return (count, at);
        }
        *start = at;
        at += LENGTH_BYTES + length;
    }
    (starts.len(), at)
}

/// As [`walk`], for texts of these lengths.
#[inline(always)]
fn add_up(lengths: &[u32], mut at: usize, last: usize, starts: &mut [usize]) -> (usize, usize) {
    for (count, (start, length)) in starts.iter_mut().zip(lengths).enumerate() {
        let end = at + *length as usize;
        if end > last {
            return (count, at);
        }
        *start = at;
        at = end;
    }
    (starts.len().min(lengths.len()), at)
}

/// A separate function, so that the copy of a short text in the calling loop remains a few vector instructions.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`].
#[inline(never)]
unsafe fn copy_long(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) }
}

/// So many bits, up to 64.
fn low_bits(count: usize) -> u64 {
    if count >= CHUNK_ROWS { u64::MAX } else { (1 << count) - 1 }
}

#[inline(always)]
fn length_of(stored: [u8; LENGTH_BYTES]) -> usize {
    u32::from_le_bytes(stored) as usize
}

/// Returns true if the texts in views that have all of their bytes have some that are not ASCII. Their lengths are below that.
fn is_beyond_ascii(views: u128) -> bool {
    const HIGH_BITS: u128 = u128::from_le_bytes([0x80; 16]);
    views & HIGH_BITS != 0
}

#[cfg(test)]
mod tests;
