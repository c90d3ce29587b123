//! Conversion of stored values to Arrow's bits.

use std::cell::Cell;
use std::marker::PhantomData;

use arrow::datatypes::TimeUnit;

use super::block::PlainOldData;

/// Turns stored values of a fixed width into Arrow's.
pub(crate) trait ValueConversion: Send {
    /// The type that Arrow stores.
    type Out: PlainOldData;

    /// Bytes of a stored value.
    fn width(&self) -> usize;

    /// True if a stored value is the same bytes as Arrow's.
    const IS_SAME: bool = false;

    /// True if stored values are byte arrays, which some encodings share prefixes of.
    const IS_BYTES: bool = false;

    /// Converts one value, of exactly [`Self::width`] bytes.
    fn convert(&self, stored: &[u8]) -> Self::Out;

    /// Converts as many consecutive values as `target` has slots.
    #[inline(always)]
    fn convert_all(&self, stored: &[u8], target: &mut [Self::Out]) {
        convert_each(self, stored, target);
    }

    /// The flaw of a value that was converted so far.
    fn flaw(&self) -> Option<ValueFlaw> {
        None
    }
}

/// Converts values one by one.
#[inline(always)]
fn convert_each<C: ValueConversion + ?Sized>(convert: &C, stored: &[u8], target: &mut [C::Out]) {
    for (slot, stored) in target.iter_mut().zip(stored.chunks_exact(convert.width())) {
        *slot = convert.convert(stored);
    }
}

/// Why a value has no place in Arrow's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueFlaw {
    /// The value is outside of the type's range.
    Range,
    /// It has more digits than the type keeps.
    Digits,
}

/// The first bytes of a value, as little-endian words are read.
fn bytes<const N: usize>(stored: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let length = stored.len().min(N);
    bytes[..length].copy_from_slice(&stored[..length]);
    bytes
}

macro_rules! converts {
    ($($(#[$doc:meta])* $name:ident: $width:literal -> $out:ty, $same:literal, $bytes:literal, $convert:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl ValueConversion for $name {
            type Out = $out;
            const IS_SAME: bool = $same;
            const IS_BYTES: bool = $bytes;

            fn width(&self) -> usize {
                $width
            }

            #[inline(always)]
            fn convert(&self, stored: &[u8]) -> $out {
                let convert: fn([u8; $width]) -> $out = $convert;
                convert(bytes::<$width>(stored))
            }
        }
    )*};
}

converts! {
    /// Float16.
    Same16: 2 -> u16, true, true, u16::from_le_bytes;
    /// Integers, floats and dates of 32 bits.
    Same32: 4 -> u32, true, false, u32::from_le_bytes;
    /// Integers, floats and timestamps of 64 bits.
    Same64: 8 -> u64, true, false, u64::from_le_bytes;
    /// Integers of 8 bits, which are stored as 32.
    Narrow8: 4 -> u8, false, false, |b| u32::from_le_bytes(b) as u8;
    /// Integers of 16 bits, which are stored as 32.
    Narrow16: 4 -> u16, false, false, |b| u32::from_le_bytes(b) as u16;
    /// 32 bits that are read as 64.
    Widen64: 4 -> u64, false, false, |b| i64::from(i32::from_le_bytes(b)) as u64;
    /// Dates in days that are read in milliseconds.
    DaysToMillis: 4 -> u64, false, false, |b| (i64::from(i32::from_le_bytes(b)) * 86_400_000) as u64;
    /// Decimals.
    Widen128From32: 4 -> u128, false, false, |b| i128::from(i32::from_le_bytes(b)) as u128;
    /// Decimals.
    Widen128From64: 8 -> u128, false, false, |b| i128::from(i64::from_le_bytes(b)) as u128;
}

/// Timestamps of 96 bits: nanoseconds of the day, then the Julian day.
pub(crate) struct Int96 {
    units_per_day: i64,
    nanoseconds_per_unit: i64,
    /// True if digits below the unit are rounded down; otherwise they are a flaw.
    rounds: bool,
    flaw: Cell<Option<ValueFlaw>>,
}

/// The Julian day of 1970-01-01.
const EPOCH_JULIAN_DAY: i64 = 2_440_588;

impl Int96 {
    /// Converts to timestamps of a unit. In nanoseconds, days outside of 1677 to 2262 are a flaw. So are digits below
    /// the unit, unless they are to be rounded down.
    pub fn for_unit(unit: TimeUnit, rounds: bool) -> Self {
        let units_per_second = match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        };
        Self {
            units_per_day: 86_400 * units_per_second,
            nanoseconds_per_unit: 1_000_000_000 / units_per_second,
            rounds,
            flaw: Cell::new(None),
        }
    }
}

impl ValueConversion for Int96 {
    type Out = u64;

    fn width(&self) -> usize {
        12
    }

    #[inline(always)]
    fn convert(&self, stored: &[u8]) -> u64 {
        let nanoseconds = i64::from_le_bytes(bytes(stored));
        let day = i64::from(i32::from_le_bytes(bytes(stored.get(8..).unwrap_or(&[])))) - EPOCH_JULIAN_DAY;
        let units = nanoseconds.div_euclid(self.nanoseconds_per_unit);
        if !self.rounds && units * self.nanoseconds_per_unit != nanoseconds {
            self.flaw.set(Some(ValueFlaw::Digits));
        }
        let value = day.checked_mul(self.units_per_day).and_then(|start| start.checked_add(units));
        value.unwrap_or_else(|| {
            self.flaw.set(Some(ValueFlaw::Range));
            0
        }) as u64
    }

    fn flaw(&self) -> Option<ValueFlaw> {
        self.flaw.get()
    }
}

/// Intervals: months, days and milliseconds of 32 bits without a sign, that Arrow has with one, and with nanoseconds.
#[derive(Default)]
pub(crate) struct Interval {
    flaw: Cell<Option<ValueFlaw>>,
}

impl ValueConversion for Interval {
    type Out = u128;
    const IS_BYTES: bool = true;

    fn width(&self) -> usize {
        12
    }

    #[inline(always)]
    fn convert(&self, stored: &[u8]) -> u128 {
        let part = |at: usize| u32::from_le_bytes(bytes(stored.get(at..).unwrap_or(&[])));
        let (months, days, milliseconds) = (part(0), part(4), part(8));
        if i32::try_from(months.max(days)).is_err() {
            self.flaw.set(Some(ValueFlaw::Range));
        }
        u128::from(months) | (u128::from(days) << 32) | ((u128::from(milliseconds) * 1_000_000) << 64)
    }

    fn flaw(&self) -> Option<ValueFlaw> {
        self.flaw.get()
    }
}

/// Decimals as big-endian two's complement of any length up to the width of `T`.
pub(crate) struct BigEndian<T> {
    length: usize,
    to: PhantomData<T>,
}

impl<T> BigEndian<T> {
    /// Makes a conversion of `length` stored bytes.
    pub fn new(length: usize) -> Self {
        Self { length, to: PhantomData }
    }
}

/// `N` big-endian bytes, the sign extended.
#[inline(always)]
fn extended<const N: usize>(stored: &[u8]) -> [u8; N] {
    let sign = if stored.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut bytes = [sign; N];
    let length = stored.len().min(N);
    bytes[N - length..].copy_from_slice(&stored[stored.len() - length..]);
    bytes
}

macro_rules! big_endian {
    ($($t:ty: $width:literal, $from:expr, $($convert_all:expr)?;)*) => {$(
        impl ValueConversion for BigEndian<$t> {
            type Out = $t;
            const IS_BYTES: bool = true;

            fn width(&self) -> usize {
                self.length
            }

            #[inline(always)]
            fn convert(&self, stored: &[u8]) -> $t {
                let from: fn([u8; $width]) -> $t = $from;
                from(extended::<$width>(stored))
            }

            $(
                fn convert_all(&self, stored: &[u8], target: &mut [$t]) {
                    let all: fn(&Self, &[u8], &mut [$t]) = $convert_all;
                    all(self, stored, target);
                }
            )?
        }
    )*};
}

/// Converts values of `width` bytes by words of `N` bytes, which end where the value does. What a word holds of the values before is
/// shifted out of it, and the sign in.
#[inline(always)]
fn convert_words<const N: usize, C: ValueConversion>(
    convert: &C,
    stored: &[u8],
    target: &mut [C::Out],
    from: impl Fn([u8; N], usize) -> C::Out,
) {
    let width = convert.width();
    // The first values end before a word does.
    let head = (N - width).div_ceil(width);
    let (few, many) = target.split_at_mut(head.min(target.len()));
    convert_each(convert, stored, few);
    let words = stored.get((head + 1) * width - N..).unwrap_or(&[]).windows(N).step_by(width);
    for (slot, word) in many.iter_mut().zip(words) {
        *slot = from(bytes(word), 8 * (N - width));
    }
}

big_endian! {
    u32: 4, u32::from_be_bytes, ;
    u64: 8, u64::from_be_bytes, |convert, stored, target| match convert.length {
        1..=8 => convert_words(convert, stored, target, |word, shift| (i64::from_be_bytes(word) << shift >> shift) as u64),
        _ => convert_each(convert, stored, target),
    };
    u128: 16, u128::from_be_bytes, |convert, stored, target| match convert.length {
        1..=8 => convert_words(convert, stored, target, |word, shift| {
            i128::from(i64::from_be_bytes(word) << shift >> shift) as u128
        }),
        9..=16 => convert_words(convert, stored, target, |word, shift| {
            (i128::from_be_bytes(word) << shift >> shift) as u128
        }),
        _ => convert_each(convert, stored, target),
    };
    [u64; 4]: 32, |b| {
        let mut words = [0; 4];
        for (word, stored) in words.iter_mut().zip(b.rchunks_exact(8)) {
            *word = u64::from_be_bytes(bytes(stored));
        }
        words
    }, ;
}

#[cfg(test)]
mod tests;
