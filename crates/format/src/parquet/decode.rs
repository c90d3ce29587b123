//! Decoding flat columns: from the bytes of pages to Arrow arrays.
//!
//! Each type has a decoder that collects [`ValueCollector`] page by page ([`booleans`], [`fixed`], [`fixed_bytes`],
//! [`byte_view`], [`text_keys`]). Memory for pages and arrays is recycled ([`block`]).

#[cfg(target_os = "linux")]
pub(super) mod arena;
pub(super) mod block;
pub(super) mod booleans;
pub(crate) mod byte_stream_split;
pub(super) mod byte_view;
pub(super) mod codec;
pub(super) mod convert;
pub(super) mod copied_text;
pub(super) mod delta;
pub(super) mod dictionary_indices;
mod error;
pub(super) mod fixed;
pub(super) mod fixed_bytes;
mod heap_memory;
pub(super) mod literal_page;
pub(crate) mod packed_gather;
pub(crate) mod rle;
pub(crate) mod snappy;
mod text_check;
pub(super) mod text_keys;
pub(super) mod validity;
pub(super) mod values;
mod view;

use std::sync::Arc;

use arrow::datatypes::{DataType, IntervalUnit};
use parquet::basic::Type as Physical;
use parquet::schema::types::ColumnDescriptor;

use self::block::MemoryPool;
use self::booleans::BooleanDecoder;
use self::byte_view::ViewCollector;
use self::convert::*;
use self::fixed::FixedWidthValues;
use self::fixed_bytes::FixedBytes;
use self::values::ValueCollector;

/// The decoder for a column; `None` if there is none for its type.
///
/// `rounds_int96`: digits of timestamps of 96 bits below the unit are rounded down; otherwise they are an error.
pub(crate) fn values_for(
    column: &ColumnDescriptor,
    to: &DataType,
    rounds_int96: bool,
    pool: &Arc<MemoryPool>,
) -> Option<Box<dyn ValueCollector>> {
    use DataType as T;
    let to_type = to.clone();
    macro_rules! fixed {
        ($convert:expr) => {
            Some(Box::new(FixedWidthValues::new($convert, to_type, Arc::clone(pool))))
        };
    }
    let length = usize::try_from(column.type_length()).unwrap_or(0);
    match (column.physical_type(), to) {
        (Physical::BOOLEAN, T::Boolean) => Some(Box::new(BooleanDecoder::new())),
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
        (Physical::INT96, T::Timestamp(unit, _)) => fixed!(Int96::for_unit(*unit, rounds_int96)),
        (Physical::FIXED_LEN_BYTE_ARRAY, T::Interval(IntervalUnit::MonthDayNano)) if length == 12 => {
            fixed!(Interval::default())
        }
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
        (Physical::BYTE_ARRAY, T::Utf8View) => Some(Box::new(ViewCollector::new(true, Arc::clone(pool)))),
        (Physical::BYTE_ARRAY, T::BinaryView) => Some(Box::new(ViewCollector::new(false, Arc::clone(pool)))),
        _ => None,
    }
}
