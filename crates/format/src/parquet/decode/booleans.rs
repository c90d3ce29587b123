//! Columns of booleans.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::NullBuffer;
use lakerace_io::{Error, Result};
use lakerace_orc::spread::{BitSlice, spread_bits};

use super::block::PageBytes;
use super::error::page_ends;
use super::rle::{HybridDecoder, ValueRuns};
use super::validity::append_word;
use super::values::{PageEncoding, ValueCollector};
use crate::exec::RowSelection;

/// Collects booleans.
pub(crate) struct BooleanDecoder {
    page: BooleanPage,
    bits: BooleanBufferBuilder,
}

enum BooleanPage {
    /// The next value is this bit.
    Plain(PageBytes, usize),
    Rle(PageBytes, HybridDecoder),
}

impl BooleanDecoder {
    /// Starts without values.
    pub fn new() -> Self {
        Self { page: BooleanPage::Plain(PageBytes::empty(), 0), bits: BooleanBufferBuilder::new(0) }
    }
}

impl ValueCollector for BooleanDecoder {
    fn dictionary(&mut self, _: PageBytes, _: usize) -> Result<()> {
        Err(Error::corrupt("a dictionary of booleans is not allowed"))
    }

    fn page(&mut self, data: PageBytes, encoding: PageEncoding, _: usize) -> Result<()> {
        self.page = match encoding {
            PageEncoding::Plain => BooleanPage::Plain(data, 0),
            // The length of the runs precedes them.
            PageEncoding::Rle if data.is_empty() => BooleanPage::Plain(data, 0),
            PageEncoding::Rle if data.len() < 4 => return Err(page_ends()),
            PageEncoding::Rle => BooleanPage::Rle(data, HybridDecoder::new(1, 4)?),
            other => return Err(other.unfit()),
        };
        Ok(())
    }

    fn begin(&mut self, rows: usize) {
        self.bits = BooleanBufferBuilder::new(rows);
    }

    fn read(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            BooleanPage::Plain(data, bit) => {
                let range = stored(data, bit, count)?;
                self.bits.append_packed_range(range, data);
                Ok(())
            }
            BooleanPage::Rle(data, hybrid) => hybrid.take(data, count, &mut PackedBits(&mut self.bits)),
        }
    }

    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()> {
        match &mut self.page {
            BooleanPage::Plain(data, bit) => {
                let range = stored(data, bit, kept.len())?;
                append_kept(&mut self.bits, data, range.start, kept);
                Ok(())
            }
            BooleanPage::Rle(data, hybrid) => {
                hybrid.take(data, kept.len(), &mut KeptBits { bits: &mut self.bits, kept })
            }
        }
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            BooleanPage::Plain(data, bit) => stored(data, bit, count).map(drop),
            BooleanPage::Rle(data, hybrid) => hybrid.skip(data, count),
        }
    }

    fn spread(&mut self, rows: usize, dense: usize, valid: BitSlice<'_>) {
        let start = self.bits.len() - dense;
        let values = self.bits.as_slice()[start / 8..].to_vec();
        self.bits.truncate(start);
        let bits = &mut self.bits;
        spread_bits(BitSlice::new(&values, start % 8), rows, valid, |word, count| append_word(bits, word, count));
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let bits = std::mem::replace(&mut self.bits, BooleanBufferBuilder::new(0));
        Ok(Arc::new(BooleanArray::new(bits.build(), nulls)))
    }
}

/// The next `count` bits of a page that was read up to `bit`.
fn stored(page: &[u8], bit: &mut usize, count: usize) -> Result<Range<usize>> {
    let end = bit.checked_add(count).filter(|end| end.div_ceil(8) <= page.len()).ok_or_else(page_ends)?;
    let range = *bit..end;
    *bit = end;
    Ok(range)
}

/// Appends those bits from `bit` on that are kept.
fn append_kept(bits: &mut BooleanBufferBuilder, bytes: &[u8], bit: usize, kept: RowSelection<'_>) {
    let values = BitSlice::new(bytes, bit);
    for piece in kept.pieces() {
        append_word(bits, piece.compress(values.word(piece.start)), piece.count());
    }
}

struct KeptBits<'a, 'k> {
    bits: &'a mut BooleanBufferBuilder,
    /// The selection of the values that are left.
    kept: RowSelection<'k>,
}

impl ValueRuns for KeptBits<'_, '_> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        self.bits.append_n(self.kept.take(count).count(), value & 1 == 1);
        Ok(())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        append_kept(self.bits, bytes, bit, self.kept.take(count));
        Ok(())
    }
}

struct PackedBits<'a>(&'a mut BooleanBufferBuilder);

impl ValueRuns for PackedBits<'_> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        self.0.append_n(count, value & 1 == 1);
        Ok(())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        self.0.append_packed_range(bit..bit + count, bytes);
        Ok(())
    }
}
