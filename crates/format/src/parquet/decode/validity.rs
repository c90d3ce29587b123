//! Definition levels of flat columns: which rows have a value.

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, NullBuffer};
use lakerace_io::{Error, Result};
use lakerace_orc::spread::BitSlice;

use super::block::PageBytes;
use super::rle::{HybridDecoder, ValueRuns};
use crate::exec::{RowSelection, compress};

/// `parquet.thrift`'s numbers of the encodings of levels.
const RLE: i32 = 3;
const BIT_PACKED: i32 = 4;

/// The definition levels of a page of an optional column.
pub(crate) struct DefinitionLevels {
    data: PageBytes,
    hybrid: HybridDecoder,
}

impl DefinitionLevels {
    /// The levels of a version 2 page.
    pub fn v2(data: PageBytes) -> Result<Self> {
        Ok(Self { data, hybrid: HybridDecoder::new(1, 0)? })
    }

    /// The levels at the start of a version 1 page of `values` values, and the start of the values.
    pub fn v1(page: &PageBytes, encoding: i32, values: usize) -> Result<(Self, usize)> {
        let short = || Error::corrupt("the definition levels of a page are longer than the page");
        match encoding {
            RLE => {
                let length = page.get(..4).ok_or_else(short)?;
                let length = length.iter().rev().fold(0usize, |sum, byte| sum << 8 | *byte as usize);
                let end = length.checked_add(4).filter(|end| *end <= page.len()).ok_or_else(short)?;
                Ok((Self { data: page.slice(4..end), hybrid: HybridDecoder::new(1, 0)? }, end))
            }
            BIT_PACKED => {
                // One bit a value, the highest first. Reversed, it is one packed run.
                let end = values.div_ceil(8);
                let packed = page.get(..end).ok_or_else(short)?;
                let mut run = run_header(end);
                run.extend(packed.iter().map(|byte| byte.reverse_bits()));
                Ok((Self { data: PageBytes::Stored(run.into()), hybrid: HybridDecoder::new(1, 0)? }, end))
            }
            other => Err(Error::unsupported(format!("the definition levels have the unsupported encoding {other}"))),
        }
    }

    /// Appends the next `rows` rows to `validity` and returns the number of rows with a value.
    pub fn read(&mut self, rows: usize, validity: &mut ValidityBuilder) -> Result<usize> {
        let nulls = validity.nulls;
        self.hybrid.take(&self.data, rows, validity)?;
        Ok(rows - (validity.nulls - nulls))
    }
}

/// The header of a packed run of this many bytes of one bit each.
fn run_header(bytes: usize) -> Vec<u8> {
    let mut header = Vec::with_capacity(bytes + 5);
    let mut left = (bytes << 1) | 1;
    while left >= 0x80 {
        header.push(left as u8 | 0x80);
        left >>= 7;
    }
    header.push(left as u8);
    header
}

/// A validity bitmap under way. Costs nothing while there is no null.
#[derive(Default)]
pub(crate) struct ValidityBuilder {
    /// Once there was a null: a bit for each of the `rows`.
    bits: Option<BooleanBufferBuilder>,
    rows: usize,
    nulls: usize,
}

/// The values of rows that are kept.
pub(crate) struct KeptValues {
    words: Vec<u64>,
    len: usize,
    /// Rows that are kept and have no value.
    pub nulls: usize,
}

impl KeptValues {
    /// The selection for decoders.
    pub fn kept(&self) -> RowSelection<'_> {
        RowSelection::new(&self.words, 0..self.len)
    }

    fn push(&mut self, bits: u64, count: usize) {
        if count == 0 {
            return;
        }
        let used = self.len % 64;
        if used == 0 {
            self.words.push(bits);
        } else {
            if let Some(last) = self.words.last_mut() {
                *last |= bits << used;
            }
            if used + count > 64 {
                self.words.push(bits >> (64 - used));
            }
        }
        self.len += count;
    }
}

/// Appends the `count` lowest bits of a word.
pub(crate) fn append_word(bits: &mut BooleanBufferBuilder, word: u64, count: usize) {
    bits.append_packed_range(0..count, &word.to_le_bytes());
}

impl ValidityBuilder {
    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends rows with values.
    pub fn append_valid(&mut self, rows: usize) {
        self.rows += rows;
        if let Some(bits) = &mut self.bits {
            bits.append_n(rows, true);
        }
    }

    /// The rows from `start` on that have values. There must have been a null.
    pub fn from(&self, start: usize) -> BitSlice<'_> {
        BitSlice::new(self.bits.as_ref().map_or(&[], |bits| bits.as_slice()), start)
    }

    /// Appends those of the rows of `all` that are kept; says which of the values in `all` belong to them.
    pub fn append_kept(&mut self, all: &Self, kept: RowSelection<'_>) -> KeptValues {
        let valid = all.from(0);
        let mut values = KeptValues { words: Vec::with_capacity(kept.len() / 64 + 2), len: 0, nulls: 0 };
        let before = self.nulls;
        for piece in kept.pieces() {
            let of_rows = valid.word(piece.start);
            let here = if piece.rows < 64 { of_rows & ((1 << piece.rows) - 1) } else { of_rows };
            values.push(compress(piece.bits, here), here.count_ones() as usize);
            let nulls = piece.count() - (piece.bits & here).count_ones() as usize;
            if nulls == 0 {
                self.append_valid(piece.count());
            } else {
                append_word(self.bits(), piece.compress(here), piece.count());
                self.rows += piece.count();
                self.nulls += nulls;
            }
        }
        values.nulls = self.nulls - before;
        values
    }

    /// The bitmap; `None` without nulls.
    pub fn finish(&mut self) -> Option<NullBuffer> {
        let bits = self.bits.take();
        let nulls = std::mem::take(&mut self.nulls);
        self.rows = 0;
        let bits: BooleanBuffer = bits?.build();
        // SAFETY: the nulls were counted as they were appended.
        Some(unsafe { NullBuffer::new_unchecked(bits, nulls) })
    }

    fn bits(&mut self) -> &mut BooleanBufferBuilder {
        let rows = self.rows;
        self.bits.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(rows.max(1024) * 2);
            bits.append_n(rows, true);
            bits
        })
    }
}

impl ValueRuns for ValidityBuilder {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        match value {
            1 => self.append_valid(count),
            0 => {
                self.bits().append_n(count, false);
                self.rows += count;
                self.nulls += count;
            }
            _ => return Err(Error::corrupt("a definition level is larger than the column's maximum")),
        }
        Ok(())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        let set = count_ones(bytes, bit, count);
        if set == count {
            self.append_valid(count);
            return Ok(());
        }
        self.bits().append_packed_range(bit..bit + count, bytes);
        self.rows += count;
        self.nulls += count - set;
        Ok(())
    }
}

/// The number of set bits among `count` bits from `bit` on.
fn count_ones(bytes: &[u8], bit: usize, count: usize) -> usize {
    let end = bit + count;
    let ones = |range: std::ops::Range<usize>| range.filter(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1).count();
    let (first, last) = (bit.next_multiple_of(8), end / 8 * 8);
    if first >= last {
        return ones(bit..end);
    }
    let whole: usize = bytes[first / 8..last / 8].iter().map(|byte| byte.count_ones() as usize).sum();
    ones(bit..first) + whole + ones(last..end)
}
