//! Rows that follow one another, and which of them are kept.

use std::ops::Range;

/// A selection of rows, with a bit for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowSelection<'a> {
    words: &'a [u64],
    /// The first row's bit.
    start: usize,
    len: usize,
}

/// Up to 64 of the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelectionPiece {
    /// The number of the first one.
    pub start: usize,
    /// The number of rows.
    pub rows: usize,
    /// The kept ones, the first row in the lowest bit.
    pub bits: u64,
}

impl<'a> RowSelection<'a> {
    /// The rows with these numbers; the lowest bit of the first word is row 0. They must lie within the words.
    pub fn new(words: &'a [u64], rows: Range<usize>) -> Self {
        Self { words, start: rows.start, len: rows.len() }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of kept rows. Counts them all.
    pub fn count(&self) -> usize {
        self.pieces().map(|piece| piece.count()).sum()
    }

    /// Splits off the first `rows` rows, or all if there are fewer.
    pub fn take(&mut self, rows: usize) -> Self {
        let rows = rows.min(self.len);
        let first = Self::new(self.words, self.start..self.start + rows);
        (self.start, self.len) = (self.start + rows, self.len - rows);
        first
    }

    /// All rows, in pieces.
    pub fn pieces(self) -> impl Iterator<Item = SelectionPiece> + 'a {
        (0..self.len).step_by(64).map(move |start| {
            let rows = (self.len - start).min(64);
            SelectionPiece { start, rows, bits: self.word(start) & all(rows) }
        })
    }

    /// The ranges of rows that are kept, each as long as it can be within a piece.
    pub fn runs(self) -> impl Iterator<Item = Range<usize>> + 'a {
        self.pieces().flat_map(|SelectionPiece { start, mut bits, .. }| {
            std::iter::from_fn(move || {
                let first = bits.trailing_zeros() as usize;
                let length = bits.checked_shr(first as u32)?.trailing_ones() as usize;
                bits &= !(all(length) << first);
                Some(start + first..start + first + length)
            })
        })
    }

    /// The number of rows before the first one that is kept.
    pub fn leading(self) -> usize {
        let first = self.pieces().find(|piece| piece.bits != 0);
        first.map_or(self.len, |piece| piece.start + piece.bits.trailing_zeros() as usize)
    }

    /// 64 bits from that of row `at` on, zeros after the last word.
    fn word(&self, at: usize) -> u64 {
        let bit = self.start + at;
        let word = |number: usize| self.words.get(number).copied().unwrap_or(0);
        let low = word(bit / 64) >> (bit % 64);
        if bit.is_multiple_of(64) { low } else { low | word(bit / 64 + 1) << (64 - bit % 64) }
    }
}

impl SelectionPiece {
    /// The number of kept rows.
    pub fn count(&self) -> usize {
        self.bits.count_ones() as usize
    }

    /// Returns true if all are.
    pub fn is_all(&self) -> bool {
        self.bits == all(self.rows)
    }

    /// The numbers of the kept rows, below 64, ascending.
    pub fn kept_rows(&self) -> impl Iterator<Item = usize> + use<> {
        let mut bits = self.bits;
        std::iter::from_fn(move || {
            let row = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(row)
        })
    }

    /// Returns true if few rows are kept: taking them one by one is faster than going through all.
    pub fn is_sparse(&self) -> bool {
        self.count() <= self.rows / 8
    }

    /// 1 if the row with this number, below 64, is kept, otherwise 0.
    #[inline(always)]
    pub fn bit(&self, row: usize) -> usize {
        (self.bits >> row & 1) as usize
    }

    /// Compresses as many bits, the lowest being the first row's, to those of kept rows.
    pub fn compress(&self, bits: u64) -> u64 {
        compress(bits, self.bits)
    }
}

/// So many bits, up to 64.
fn all(rows: usize) -> u64 {
    if rows >= 64 { u64::MAX } else { (1 << rows) - 1 }
}

/// The bits of `bits` where `mask` has ones, moved together to the lowest places: Hacker's Delight, section 7-4. Each round
/// moves those bits by a power of two that have an odd number of such moves of zeros to their right.
pub(crate) fn compress(bits: u64, mask: u64) -> u64 {
    if mask == u64::MAX || bits == 0 {
        return bits;
    }
    let (mut bits, mut mask) = (bits & mask, mask);
    let mut zeros = !mask << 1;
    for round in 0..6 {
        let mut parity = zeros;
        for shift in 0..6 {
            parity ^= parity << (1 << shift);
        }
        let moved = parity & mask;
        mask = (mask ^ moved) | moved >> (1 << round);
        let moving = bits & moved;
        bits = (bits ^ moving) | moving >> (1 << round);
        zeros &= !parity;
    }
    bits
}

#[cfg(test)]
mod tests;
