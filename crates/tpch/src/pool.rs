//! The 300 MiB of text that comments are cut from.
//!
//! The reference makes the whole pool before the first row, on one thread. Here it is made a megabyte at a time, when a
//! comment first needs it, by whichever thread does: [`seeds`](super::pool_seeds) knows the state of the sequence at the
//! first sentence of every megabyte. Each piece has the first bytes of the next one after its own, so that a comment
//! never spans two.

use std::sync::{Arc, OnceLock};

use arrow::buffer::Buffer;

use crate::grammar;
use crate::pool_seeds::SEEDS;
use crate::random::{ColumnStream, FewNumbers, ManyNumbers, RangePick, RowDraws};

/// Bytes of the pool.
pub(crate) const POOL_BYTES: usize = 300 << 20;
/// Bytes of a piece without its overlap.
pub(crate) const PIECE_BYTES: usize = 1 << 20;
/// Bytes after a piece that are the next one's: no comment is longer.
const OVERLAP_BYTES: usize = 256;
const PIECES: usize = POOL_BYTES / PIECE_BYTES;

static POOL: [OnceLock<Buffer>; PIECES] = [const { OnceLock::new() }; PIECES];

/// A place in the pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CommentPosition {
    /// From the pool's start.
    pub(crate) offset: u32,
    /// Bytes.
    pub(crate) len: u32,
}

impl CommentPosition {
    /// The piece that it is in.
    #[inline(always)]
    pub(crate) fn piece(self) -> usize {
        self.offset as usize / PIECE_BYTES
    }

    /// The offset in its piece.
    #[inline(always)]
    pub(crate) fn offset_in_piece(self) -> u32 {
        self.offset % PIECE_BYTES as u32
    }

    /// The text at it.
    #[inline(always)]
    pub(crate) fn text(self) -> &'static [u8] {
        let start = self.offset_in_piece() as usize;
        &piece(self.piece()).as_slice()[start..start + self.len as usize]
    }
}

/// A piece of the pool; made if no one needed it before.
#[inline(always)]
pub(crate) fn piece(number: usize) -> &'static Buffer {
    POOL[number].get_or_init(|| make(number))
}

/// All of the pool, made if need be. It is the same list each time: arrays share it.
pub(crate) fn whole() -> Arc<[Buffer]> {
    static WHOLE: OnceLock<Arc<[Buffer]>> = OnceLock::new();
    Arc::clone(WHOLE.get_or_init(|| (0..PIECES).map(|number| piece(number).clone()).collect()))
}

fn make(number: usize) -> Buffer {
    let (seed, lead) = SEEDS[number];
    let lead = usize::from(lead);
    // The pool ends with its size, in the middle of a sentence.
    let wanted = (PIECE_BYTES + OVERLAP_BYTES).min(POOL_BYTES - number * PIECE_BYTES);
    let mut text = grammar::text(seed, lead + wanted);
    text.copy_within(lead..lead + wanted, 0);
    text.truncate(wanted);
    Buffer::from_vec(text)
}

/// The text that the comments of a column are cut from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommentPool {
    offset: ManyNumbers,
    len: FewNumbers,
}

impl CommentPool {
    /// Comments of an average length, in bytes.
    pub(crate) fn new(average: u32) -> Self {
        let (min, max) = (f64::from(average) * 0.4, f64::from(average) * 1.6);
        let (min, max) = (min as i64, max as i64);
        Self { offset: ManyNumbers::new(0, POOL_BYTES as i64 - max), len: FewNumbers::new(min, max) }
    }

    /// Draws that a comment takes.
    pub(crate) const DRAWS: u64 = 2;

    /// The comment `number` (from 0) of a row.
    #[inline(always)]
    pub(crate) fn comment_place(self, row: RowDraws, number: usize) -> CommentPosition {
        let offset = self.offset.pick(row.draw(2 * number + 1)) as u32;
        CommentPosition { offset, len: self.len.pick(row.draw(2 * number + 2)) as u32 }
    }

    /// Makes a comment for each of `rows` rows.
    pub(crate) fn places(
        self,
        mut stream: ColumnStream,
        rows: usize,
    ) -> impl ExactSizeIterator<Item = CommentPosition> {
        (0..rows).map(move |_| self.comment_place(stream.next_row(), 0))
    }
}

#[cfg(test)]
mod tests;
