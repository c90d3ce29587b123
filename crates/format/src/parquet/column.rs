//! Values of one column, from the bytes of pages to an array: what all types have in common.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, TimeUnit};
use lakerace_io::{Error, Result};
use parquet::basic::Type as Physical;
use parquet::schema::types::ColumnDescriptor;

use super::block::{Block, PageBytes, Plain, Pool};
use super::booleans::Booleans;
use super::convert::*;
use super::fixed::Fixed;
use super::fixed_bytes::FixedBytes;
use super::pieces::Pieces;
use super::validity::ValidBits;
use super::views::Views;
use crate::exec::RowSelection;

/// How the values of a page are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageEncoding {
    /// One after the other.
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
    /// From `parquet.thrift`'s number.
    pub fn of(number: i32) -> Result<Self> {
        Ok(match number {
            0 => Self::Plain,
            2 | 8 => Self::Dictionary,
            3 => Self::Rle,
            5 => Self::DeltaBinaryPacked,
            6 => Self::DeltaLengthByteArray,
            7 => Self::DeltaByteArray,
            9 => Self::ByteStreamSplit,
            _ => {
                return Err(Error::unsupported(format!("a page of encoding {number}"))
                    .advice("rewrite the file with another writer"));
            }
        })
    }

    /// The error for an encoding that a type can't have.
    pub fn unfit(self) -> Error {
        Error::corrupt(format!("a page of encoding {self:?}, which its type can't have"))
    }
}

/// Collects the values of a column, step by step.
pub(crate) trait Values: Send {
    /// Takes the dictionary of the chunk.
    fn dictionary(&mut self, data: PageBytes, count: usize) -> Result<()>;

    /// Takes the values of the next data page, of which there are at most `count`.
    fn page(&mut self, data: PageBytes, encoding: PageEncoding, count: usize) -> Result<()>;

    /// Whether values of this encoding can be taken from [`Self::pieces`].
    fn takes_pieces(&self, encoding: PageEncoding) -> bool {
        let _ = encoding;
        false
    }

    /// Takes the values of the next data page, of which there are at most `count`, of an encoding for which
    /// [`Self::takes_pieces`]. That pays where many of them are not wanted.
    fn pieces(&mut self, pieces: Pieces, encoding: PageEncoding, count: usize) -> Result<()> {
        let _ = (pieces, encoding, count);
        Err(Error::internal("values that are not taken in pieces"))
    }

    /// Begins an array of `rows` rows.
    fn begin(&mut self, rows: usize);

    /// Appends the next `count` values of the page. All calls together append no more rows than `begin` announced.
    fn read(&mut self, count: usize) -> Result<()>;

    /// Appends those of the next `kept.len()` values of the page that are kept. `begin` must have announced one row more
    /// than are kept: values are written before it is known whether they stay.
    fn read_kept(&mut self, kept: RowSelection<'_>) -> Result<()>;

    /// Passes over the next `count` values of the page.
    fn skip(&mut self, count: usize) -> Result<()>;

    /// Spreads the `dense` values that were appended last over `rows` rows: the valid ones.
    fn spread(&mut self, rows: usize, dense: usize, valid: ValidBits<'_>);

    /// The array.
    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef>;
}

/// Some slots of the array under way.
pub(crate) fn slots<T: Plain>(out: &mut Option<Block>, slots: Range<usize>) -> Result<&mut [T]> {
    let out = out.as_mut().ok_or_else(|| Error::internal("no array was begun"))?;
    out.typed_mut::<T>().get_mut(slots).ok_or_else(|| Error::internal("more values than rows"))
}

/// The next `count` values of `width` bytes each of a plain page that was read up to `at`.
pub(crate) fn stored<'a>(page: &'a [u8], at: &mut usize, width: usize, count: usize) -> Result<&'a [u8]> {
    let end = count.checked_mul(width).and_then(|bytes| bytes.checked_add(*at)).ok_or_else(page_ends)?;
    let stored = page.get(*at..end).ok_or_else(page_ends)?;
    *at = end;
    Ok(stored)
}

/// The error for values that go beyond the page's bytes.
pub(crate) fn page_ends() -> Error {
    Error::corrupt("a page ends before its values do")
}

/// The decoder for a column; `None` where there is none for its type.
pub(crate) fn values_for(column: &ColumnDescriptor, to: &DataType, pool: &Arc<Pool>) -> Option<Box<dyn Values>> {
    use DataType as T;
    let to_type = to.clone();
    macro_rules! fixed {
        ($convert:expr) => {
            Some(Box::new(Fixed::new($convert, to_type, Arc::clone(pool))))
        };
    }
    let length = usize::try_from(column.type_length()).unwrap_or(0);
    match (column.physical_type(), to) {
        (Physical::BOOLEAN, T::Boolean) => Some(Box::new(Booleans::new())),
        (Physical::INT32, T::Int8 | T::UInt8) => fixed!(Narrow8),
        (Physical::INT32, T::Int16 | T::UInt16) => fixed!(Narrow16),
        (Physical::INT32, T::Int32 | T::UInt32 | T::Date32 | T::Time32(_) | T::Decimal32(..)) => fixed!(Same32),
        (Physical::INT32, T::Timestamp(..) | T::Decimal64(..)) => fixed!(Widen64),
        (Physical::INT32, T::Date64) => fixed!(DaysToMillis),
        (Physical::INT32, T::Decimal128(..)) => fixed!(Widen128From32),
        (
            Physical::INT64,
            T::Int64 | T::UInt64 | T::Time64(_) | T::Timestamp(..) | T::Duration(_) | T::Date64 | T::Decimal64(..),
        ) => fixed!(Same64),
        (Physical::INT64, T::Decimal128(..)) => fixed!(Widen128From64),
        (Physical::FLOAT, T::Float32) => fixed!(Same32),
        (Physical::DOUBLE, T::Float64) => fixed!(Same64),
        (Physical::INT96, T::Timestamp(unit, _)) => match unit {
            TimeUnit::Second => fixed!(Int96::seconds()),
            TimeUnit::Millisecond => fixed!(Int96::milliseconds()),
            TimeUnit::Microsecond => fixed!(Int96::microseconds()),
            TimeUnit::Nanosecond => fixed!(Int96::nanoseconds()),
        },
        (Physical::FIXED_LEN_BYTE_ARRAY, T::Float16) if length == 2 => fixed!(Same16),
        (Physical::FIXED_LEN_BYTE_ARRAY, T::Decimal32(..)) if (1..=4).contains(&length) => {
            fixed!(BigEndian::<u32>::new(length))
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, T::Decimal64(..)) if (1..=8).contains(&length) => {
            fixed!(BigEndian::<u64>::new(length))
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, T::Decimal128(..)) if (1..=16).contains(&length) => {
            fixed!(BigEndian::<u128>::new(length))
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, T::Decimal256(..)) if (1..=32).contains(&length) => {
            fixed!(BigEndian::<[u64; 4]>::new(length))
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, T::FixedSizeBinary(width)) if *width >= 1 && *width as usize == length => {
            Some(Box::new(FixedBytes::new(length, to_type, Arc::clone(pool))))
        }
        (Physical::BYTE_ARRAY, T::Utf8View) => Some(Box::new(Views::new(true, Arc::clone(pool)))),
        (Physical::BYTE_ARRAY, T::BinaryView) => Some(Box::new(Views::new(false, Arc::clone(pool)))),
        _ => None,
    }
}
