//! Definition levels of flat columns: which rows have a value.

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, NullBuffer};
use lakerace_io::{Error, Result};

use super::block::PageBytes;
use super::hybrid::{Hybrid, Runs};

/// `parquet.thrift`'s numbers of the encodings of levels.
const RLE: i32 = 3;
const BIT_PACKED: i32 = 4;

/// The definition levels of a page of an optional column.
pub(crate) struct Levels {
    data: PageBytes,
    hybrid: Hybrid,
}

impl Levels {
    /// The levels of a version 2 page.
    pub fn v2(data: PageBytes) -> Result<Self> {
        Ok(Self { data, hybrid: Hybrid::new(1, 0)? })
    }

    /// The levels at the start of a version 1 page of `values` values, and where the values begin.
    pub fn v1(page: &PageBytes, encoding: i32, values: usize) -> Result<(Self, usize)> {
        let short = || Error::corrupt("the definition levels of a page are longer than the page");
        match encoding {
            RLE => {
                let length = page.get(..4).ok_or_else(short)?;
                let length = length.iter().rev().fold(0usize, |sum, byte| sum << 8 | *byte as usize);
                let end = length.checked_add(4).filter(|end| *end <= page.len()).ok_or_else(short)?;
                Ok((Self { data: page.slice(4..end), hybrid: Hybrid::new(1, 0)? }, end))
            }
            BIT_PACKED => {
                // One bit a value, the highest first. Turned around, it is one packed run.
                let end = values.div_ceil(8);
                let packed = page.get(..end).ok_or_else(short)?;
                let mut run = run_header(end);
                run.extend(packed.iter().map(|byte| byte.reverse_bits()));
                Ok((Self { data: PageBytes::Stored(run.into()), hybrid: Hybrid::new(1, 0)? }, end))
            }
            other => Err(Error::unsupported(format!("definition levels of encoding {other}"))),
        }
    }

    /// Appends the next `rows` rows to `validity` and says how many of them have a value.
    pub fn read(&mut self, rows: usize, validity: &mut Validity) -> Result<usize> {
        let nulls = validity.nulls;
        self.hybrid.take(&self.data, rows, validity)?;
        Ok(rows - (validity.nulls - nulls))
    }
}

/// The header of a packed run of so many bytes of one bit each.
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
pub(crate) struct Validity {
    /// Once there was a null: a bit for each of the `rows`.
    bits: Option<BooleanBufferBuilder>,
    rows: usize,
    nulls: usize,
}

/// Which of some rows have a value.
#[derive(Clone, Copy)]
pub(crate) struct ValidBits<'a> {
    bytes: &'a [u8],
    start: usize,
}

impl ValidBits<'_> {
    /// Whether the row has one. Rows beyond the bits have none.
    #[inline(always)]
    pub fn get(&self, row: usize) -> bool {
        let bit = self.start + row;
        self.bytes.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }
}

impl Validity {
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

    /// Which rows from `start` on have values. There must have been a null.
    pub fn from(&self, start: usize) -> ValidBits<'_> {
        ValidBits { bytes: self.bits.as_ref().map_or(&[], |bits| bits.as_slice()), start }
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

impl Runs for Validity {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        match value {
            1 => self.append_valid(count),
            0 => {
                self.bits().append_n(count, false);
                self.rows += count;
                self.nulls += count;
            }
            _ => return Err(Error::corrupt("a definition level is larger than the column's")),
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

/// How many of `count` bits from `bit` on are set.
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
