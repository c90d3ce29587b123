//! A word of 64 bits for each value of an array.

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use lakerace_format::schema_text::print_type;
use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::numbers::{decimal, double, float, integer, unsigned, wide_decimal};

/// The word of null, in any type.
const NULL: u64 = 0x006c_6c75_6e00_0000;

/// Seeds distinguish kinds of values. Numbers have 1 and 2; text and bytes have none, because XXH3 is faster without
/// one.
const BOOLEAN: u64 = 3;
const DATE: u64 = 4;
const INSTANT: u64 = 5;
const TIME: u64 = 6;
const DURATION: u64 = 7;
const INTERVAL: u64 = 8;
const LIST: u64 = 9;
const STRUCT: u64 = 10;
const MAP: u64 = 11;

const DAY_MS: i64 = 86_400_000;

/// Appends a word for each value of `array`.
pub(super) fn words(array: &ArrayRef, out: &mut Vec<u64>) -> Result<()> {
    let start = out.len();
    values(array, out)?;
    debug_assert_eq!(out.len() - start, array.len());
    // Slots below null hold anything.
    if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        for (slot, is_valid) in out[start..].iter_mut().zip(nulls.iter()) {
            if !is_valid {
                *slot = NULL;
            }
        }
    }
    Ok(())
}

fn values(array: &ArrayRef, out: &mut Vec<u64>) -> Result<()> {
    macro_rules! each {
        ($T:ty, $word:expr) => {{
            let word = $word;
            out.extend(array.as_primitive::<$T>().values().iter().map(|v| word(*v)));
        }};
    }
    match array.data_type() {
        DataType::Null => out.extend(std::iter::repeat_n(NULL, array.len())),
        DataType::Boolean => out.extend(array.as_boolean().values().iter().map(|b| seeded(&[u8::from(b)], BOOLEAN))),
        DataType::Int8 => each!(Int8Type, |v: i8| integer(v.into())),
        DataType::Int16 => each!(Int16Type, |v: i16| integer(v.into())),
        DataType::Int32 => each!(Int32Type, |v: i32| integer(v.into())),
        DataType::Int64 => each!(Int64Type, integer),
        DataType::UInt8 => each!(UInt8Type, |v: u8| integer(v.into())),
        DataType::UInt16 => each!(UInt16Type, |v: u16| integer(v.into())),
        DataType::UInt32 => each!(UInt32Type, |v: u32| integer(v.into())),
        DataType::UInt64 => each!(UInt64Type, unsigned),
        // Widening is exact: each half-precision value is a float, too.
        DataType::Float16 => return values(&converted(array, &DataType::Float32)?, out),
        DataType::Float32 => each!(Float32Type, float),
        DataType::Float64 => each!(Float64Type, double),
        DataType::Decimal32(_, s) => each!(Decimal32Type, |v: i32| decimal(v.into(), i32::from(*s))),
        DataType::Decimal64(_, s) => each!(Decimal64Type, |v: i64| decimal(v.into(), i32::from(*s))),
        DataType::Decimal128(_, s) => each!(Decimal128Type, |v: i128| decimal(v, i32::from(*s))),
        DataType::Decimal256(_, s) => each!(Decimal256Type, |v| wide_decimal(v, i32::from(*s))),
        DataType::Date32 => each!(Date32Type, |v: i32| seeded(&v.to_le_bytes(), DATE)),
        DataType::Date64 => each!(Date64Type, date64),
        DataType::Timestamp(unit, _) => moments(array, *unit, INSTANT, out)?,
        DataType::Time32(unit) | DataType::Time64(unit) => moments(array, *unit, TIME, out)?,
        DataType::Duration(unit) => moments(array, *unit, DURATION, out)?,
        DataType::Interval(unit) => intervals(array, *unit, out),
        DataType::Utf8 => bytes(array.as_string::<i32>(), |v: &str| xxh3_64(v.as_bytes()), out),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>(), |v: &str| xxh3_64(v.as_bytes()), out),
        DataType::Utf8View => bytes(array.as_string_view(), |v: &str| xxh3_64(v.as_bytes()), out),
        DataType::Binary => bytes(array.as_binary::<i32>(), xxh3_64, out),
        DataType::LargeBinary => bytes(array.as_binary::<i64>(), xxh3_64, out),
        DataType::BinaryView => bytes(array.as_binary_view(), xxh3_64, out),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary(), xxh3_64, out),
        DataType::Dictionary(_, value_type) => dictionary(array, value_type, out)?,
        DataType::RunEndEncoded(_, values_field) => {
            let plain = converted(array, values_field.data_type())?;
            words(&plain, out)?;
        }
        DataType::Struct(_) => structs(array.as_struct(), out)?,
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            lists(list.values(), list.value_offsets(), LIST, out)?;
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            lists(list.values(), list.value_offsets(), LIST, out)?;
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let size = usize::try_from(*size).unwrap_or(0);
            let offsets: Vec<i64> = (0..=list.len()).map(|i| (i * size) as i64).collect();
            lists(list.values(), &offsets, LIST, out)?;
        }
        DataType::ListView(field) => return values(&converted(array, &DataType::List(Arc::clone(field)))?, out),
        DataType::LargeListView(field) => {
            return values(&converted(array, &DataType::LargeList(Arc::clone(field)))?, out);
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            lists(&entries, map.value_offsets(), MAP, out)?;
        }
        other => {
            return Err(Error::unsupported(format!("no checksum is defined for values of type {}", print_type(other))));
        }
    }
    Ok(())
}

fn seeded(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// Whole days as dates of 32 bits have them; other milliseconds as an instant.
fn date64(milliseconds: i64) -> u64 {
    let days = i32::try_from(milliseconds / DAY_MS).ok().filter(|_| milliseconds % DAY_MS == 0);
    match days {
        Some(days) => seeded(&days.to_le_bytes(), DATE),
        None => seeded(&(i128::from(milliseconds) * 1_000_000).to_le_bytes(), INSTANT),
    }
}

/// Nanoseconds as integers of 128 bits.
fn moments(array: &ArrayRef, unit: TimeUnit, seed: u64, out: &mut Vec<u64>) -> Result<()> {
    let nanoseconds: i128 = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let word = |v: i64| seeded(&(i128::from(v) * nanoseconds).to_le_bytes(), seed);
    let counts = match array.data_type() {
        DataType::Time32(_) => converted(&converted(array, &DataType::Int32)?, &DataType::Int64)?,
        _ => converted(array, &DataType::Int64)?,
    };
    out.extend(counts.as_primitive::<Int64Type>().values().iter().map(|v| word(*v)));
    Ok(())
}

/// Months, days and nanoseconds.
fn intervals(array: &ArrayRef, unit: IntervalUnit, out: &mut Vec<u64>) {
    let word = |months: i32, days: i32, nanoseconds: i64| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&months.to_le_bytes());
        bytes[4..8].copy_from_slice(&days.to_le_bytes());
        bytes[8..].copy_from_slice(&nanoseconds.to_le_bytes());
        seeded(&bytes, INTERVAL)
    };
    match unit {
        IntervalUnit::YearMonth => {
            out.extend(array.as_primitive::<IntervalYearMonthType>().values().iter().map(|v| word(*v, 0, 0)));
        }
        IntervalUnit::DayTime => {
            let values = array.as_primitive::<IntervalDayTimeType>().values();
            out.extend(values.iter().map(|v| word(0, v.days, i64::from(v.milliseconds) * 1_000_000)));
        }
        IntervalUnit::MonthDayNano => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
            out.extend(values.iter().map(|v| word(v.months, v.days, v.nanoseconds)));
        }
    }
}

fn bytes<A: ArrayAccessor + Copy>(array: A, word: impl Fn(A::Item) -> u64, out: &mut Vec<u64>) {
    if array.null_count() == 0 {
        out.extend((0..array.len()).map(|i| word(array.value(i))));
    } else {
        out.extend((0..array.len()).map(|i| if array.is_valid(i) { word(array.value(i)) } else { NULL }));
    }
}

/// A dictionary's values once each, where they are not more than the rows.
fn dictionary(array: &ArrayRef, value_type: &DataType, out: &mut Vec<u64>) -> Result<()> {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().len() > dictionary.len() {
        return words(&converted(array, value_type)?, out);
    }
    if dictionary.values().is_empty() {
        out.resize(out.len() + dictionary.len(), NULL);
        return Ok(());
    }
    let mut of_values = Vec::with_capacity(dictionary.values().len());
    words(dictionary.values(), &mut of_values)?;
    // A key below null may be beyond the values.
    out.extend(dictionary.normalized_keys().into_iter().map(|key| of_values.get(key).copied().unwrap_or(NULL)));
    Ok(())
}

fn structs(array: &StructArray, out: &mut Vec<u64>) -> Result<()> {
    let (rows, columns) = (array.len(), array.num_columns());
    let mut fields = Vec::with_capacity(columns);
    for column in array.columns() {
        let mut of_field = Vec::with_capacity(rows);
        words(column, &mut of_field)?;
        fields.push(of_field);
    }
    let mut row = vec![0u8; columns * 8];
    for number in 0..rows {
        for (cell, field) in row.chunks_exact_mut(8).zip(&fields) {
            cell.copy_from_slice(&field[number].to_le_bytes());
        }
        out.push(seeded(&row, STRUCT));
    }
    Ok(())
}

/// The words of each list's values, side by side.
fn lists<O: OffsetSizeTrait>(values: &ArrayRef, offsets: &[O], seed: u64, out: &mut Vec<u64>) -> Result<()> {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return Ok(()) };
    let (first, last) = (first.as_usize(), last.as_usize());
    let mut of_values = Vec::with_capacity(last - first);
    words(&values.slice(first, last - first), &mut of_values)?;
    let side_by_side: Vec<u8> = of_values.iter().flat_map(|word| word.to_le_bytes()).collect();
    for pair in offsets.windows(2) {
        let (from, to) = (pair[0].as_usize() - first, pair[1].as_usize() - first);
        out.push(seeded(&side_by_side[from * 8..to * 8], seed));
    }
    Ok(())
}

fn converted(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    cast(array, to)
        .map_err(|e| Error::unsupported(format!("no checksum of {}", print_type(array.data_type()))).because(e))
}
