//! Columns of booleans.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::NullBuffer;
use lakerace_io::{Error, Result};

use super::block::PageBytes;
use super::column::{PageEncoding, Values, page_ends};
use super::hybrid::{Hybrid, Runs};
use super::validity::ValidBits;

/// Collects booleans.
pub(crate) struct Booleans {
    page: Page,
    bits: BooleanBufferBuilder,
}

enum Page {
    /// The next value is this bit.
    Plain(PageBytes, usize),
    Rle(PageBytes, Hybrid),
}

impl Booleans {
    /// None yet.
    pub fn new() -> Self {
        Self { page: Page::Plain(PageBytes::empty(), 0), bits: BooleanBufferBuilder::new(0) }
    }
}

impl Values for Booleans {
    fn dictionary(&mut self, _: PageBytes, _: usize) -> Result<()> {
        Err(Error::corrupt("a dictionary of booleans"))
    }

    fn page(&mut self, data: PageBytes, encoding: PageEncoding, _: usize) -> Result<()> {
        self.page = match encoding {
            PageEncoding::Plain => Page::Plain(data, 0),
            // The length of the runs stands before them.
            PageEncoding::Rle if data.is_empty() => Page::Plain(data, 0),
            PageEncoding::Rle if data.len() < 4 => return Err(page_ends()),
            PageEncoding::Rle => Page::Rle(data, Hybrid::new(1, 4)?),
            other => return Err(other.unfit()),
        };
        Ok(())
    }

    fn begin(&mut self, rows: usize) {
        self.bits = BooleanBufferBuilder::new(rows);
    }

    fn read(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            Page::Plain(data, bit) => {
                let end = bit.checked_add(count).filter(|end| end.div_ceil(8) <= data.len()).ok_or_else(page_ends)?;
                self.bits.append_packed_range(*bit..end, data);
                *bit = end;
                Ok(())
            }
            Page::Rle(data, hybrid) => hybrid.take(data, count, &mut Bits(&mut self.bits)),
        }
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        match &mut self.page {
            Page::Plain(data, bit) => {
                let end = bit.checked_add(count).filter(|end| end.div_ceil(8) <= data.len()).ok_or_else(page_ends)?;
                *bit = end;
                Ok(())
            }
            Page::Rle(data, hybrid) => hybrid.skip(data, count),
        }
    }

    fn spread(&mut self, rows: usize, dense: usize, valid: ValidBits<'_>) {
        let start = self.bits.len() - dense;
        let values: Vec<bool> = (start..self.bits.len()).map(|bit| self.bits.get_bit(bit)).collect();
        self.bits.truncate(start);
        let mut values = values.into_iter();
        for row in 0..rows {
            let value = valid.get(row) && values.next().unwrap_or(false);
            self.bits.append(value);
        }
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let bits = std::mem::replace(&mut self.bits, BooleanBufferBuilder::new(0));
        Ok(Arc::new(BooleanArray::new(bits.build(), nulls)))
    }
}

struct Bits<'a>(&'a mut BooleanBufferBuilder);

impl Runs for Bits<'_> {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        self.0.append_n(count, value & 1 == 1);
        Ok(())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        self.0.append_packed_range(bit..bit + count, bytes);
        Ok(())
    }
}
