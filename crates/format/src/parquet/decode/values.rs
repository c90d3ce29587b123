//! Decoding values of one column from the bytes of pages to an array: the common parts of all types' decoders.

use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use lakerace_io::{Error, Result};
use lakerace_orc::spread::BitSlice;

use super::block::{Block, PageBytes, PlainOldData};
use super::error::page_ends;
use super::literal_page::PageSlices;
use crate::exec::RowSelection;

/// The encoding of the values of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageEncoding {
    /// Values one after the other.
    Plain,
    /// Indexes into the dictionary.
    Dictionary,
    /// Hybrid run-length: booleans.
    Rle,
    /// Differences of integers.
    DeltaBinaryPacked,
    /// Lengths as differences, then all bytes.
    DeltaLengthByteArray,
    /// Prefixes shared with the value before.
    DeltaByteArray,
    /// The first bytes of all values, then the second ones.
    ByteStreamSplit,
}

impl PageEncoding {
    /// Converts the number in `parquet.thrift`.
    pub fn from_number(number: i32) -> Result<Self> {
        Ok(match number {
            0 => Self::Plain,
            2 | 8 => Self::Dictionary,
            3 => Self::Rle,
            5 => Self::DeltaBinaryPacked,
            6 => Self::DeltaLengthByteArray,
            7 => Self::DeltaByteArray,
            9 => Self::ByteStreamSplit,
            _ => {
                return Err(Error::unsupported(format!("a page has the unknown encoding {number}"))
                    .advice("rewrite the file with another writer"));
            }
        })
    }

    /// The error for an encoding that a type can't have.
    pub fn unfit(self) -> Error {
        Error::corrupt(format!("a page has the encoding {self:?}, which its type does not allow"))
    }
}

/// Collects the values of a column, step by step.
pub(crate) trait ValueCollector: Send {
    /// Takes the dictionary of the chunk.
    fn dictionary(&mut self, data: PageBytes, count: usize) -> Result<()>;

    /// Takes the values of the next data page, of which there are at most `count`.
    fn page(&mut self, data: PageBytes, encoding: PageEncoding, count: usize) -> Result<()>;

    /// Returns true if values of this encoding can be taken from [`Self::pieces`].
    fn takes_pieces(&self, encoding: PageEncoding) -> bool {
        let _ = encoding;
        false
    }

    /// Returns true if values of this encoding are best taken from [`Self::pieces`], even if all are wanted.
    fn prefers_pieces(&self, encoding: PageEncoding) -> bool {
        let _ = encoding;
        false
    }

    /// Takes the values of the next data page, at most `count`, in an encoding for which [`Self::takes_pieces`]. That
    /// pays off if many of them are not wanted.
    fn pieces(&mut self, pieces: PageSlices, encoding: PageEncoding, count: usize) -> Result<()> {
        let _ = (pieces, encoding, count);
        Err(Error::internal("the values can't be read in pieces"))
    }

    /// Starts an array of `rows` rows.
    fn begin(&mut self, rows: usize);

    /// Appends the next `count` values of the page. All calls together append no more rows than `begin` announced.
    fn read(&mut self, count: usize) -> Result<()>;

    /// Appends the kept ones of the next `kept.len()` values of the page. `begin` must have announced one row more than
    /// are kept: values are written before it is known if they stay.
    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()>;

    /// Skips the next `count` values of the page.
    fn skip(&mut self, count: usize) -> Result<()>;

    /// Appends `rows` rows, of which `valid` have one of the next `count` values of the page.
    fn read_spread(&mut self, rows: usize, count: usize, valid: BitSlice<'_>) -> Result<()> {
        self.read(count)?;
        self.spread(rows, count, valid);
        Ok(())
    }

    /// Spreads the `dense` values that were appended last over `rows` rows: the valid ones.
    fn spread(&mut self, rows: usize, dense: usize, valid: BitSlice<'_>);

    /// The array.
    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef>;
}

/// Some slots of the array under way.
pub(crate) fn slots<T: PlainOldData>(out: &mut Option<Block>, slots: Range<usize>) -> Result<&mut [T]> {
    let out = out.as_mut().ok_or_else(|| Error::internal("no array was started"))?;
    out.typed_mut::<T>().get_mut(slots).ok_or_else(|| Error::internal("there are more values than rows"))
}

/// The next `count` values of `width` bytes each of a plain page that was read up to `at`.
pub(crate) fn stored<'a>(page: &'a [u8], at: &mut usize, width: usize, count: usize) -> Result<&'a [u8]> {
    let end = count.checked_mul(width).and_then(|bytes| bytes.checked_add(*at)).ok_or_else(page_ends)?;
    let stored = page.get(*at..end).ok_or_else(page_ends)?;
    *at = end;
    Ok(stored)
}
