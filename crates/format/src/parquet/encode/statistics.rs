//! Minima and maxima as Parquet orders them, in their PLAIN encoding.
//!
//! Source of the orders: parquet-format, `LogicalTypes.md` and the `ColumnOrder` union of `parquet.thrift`. Floating
//! point columns use `TypeDefinedOrder`, the one that every reader knows: a minimum of zero is -0 and a maximum of zero is
//! +0. NaNs are counted, and a column chunk with a NaN has no bounds: to Spark, duckdb and polars NaN is above all numbers, and
//! by bounds of the numbers alone they would leave it out.

use std::cmp::Ordering;

use lakerace_orc::skipped_days::TimeScale;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::schema::types::ColumnDescriptor;

/// Longer bounds of strings and binaries are shortened to this many bytes, the maximum rounded up.
pub(crate) const BOUND_BYTES: usize = 64;
/// The bytes of a bound that are kept: one extra byte shows that the value is longer, and whether a character is cut.
const KEPT_BYTES: usize = BOUND_BYTES + 1;

/// The order of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueOrder {
    /// No order is defined (intervals, nulls).
    None,
    Boolean,
    Signed32,
    Unsigned32,
    Signed64,
    Unsigned64,
    Float16,
    Float32,
    Float64,
    /// Two's complement of fixed length, big-endian (decimals).
    SignedBytes,
    /// Byte by byte, unsigned.
    Bytes,
}

/// The bounds of a page or column chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ValueBounds {
    /// Minimum and maximum of the numbers; `None` if all values are NaNs, or there is no order.
    pub(crate) min_max: Option<(Vec<u8>, Vec<u8>)>,
    /// NaNs among the values.
    pub(crate) nans: u64,
}

impl ValueOrder {
    /// The order of a column.
    pub(crate) fn for_column(column: &ColumnDescriptor) -> Self {
        let logical = column.logical_type_ref();
        let unsigned = matches!(logical, Some(LogicalType::Integer(integer)) if !integer.is_signed);
        match column.physical_type() {
            _ if matches!(logical, Some(LogicalType::Unknown)) => Self::None,
            Type::BOOLEAN => Self::Boolean,
            Type::INT32 if unsigned => Self::Unsigned32,
            Type::INT32 => Self::Signed32,
            Type::INT64 if unsigned => Self::Unsigned64,
            Type::INT64 => Self::Signed64,
            Type::FLOAT => Self::Float32,
            Type::DOUBLE => Self::Float64,
            Type::BYTE_ARRAY => Self::Bytes,
            Type::FIXED_LEN_BYTE_ARRAY => match logical {
                Some(LogicalType::Float16) => Self::Float16,
                Some(LogicalType::Decimal { .. }) => Self::SignedBytes,
                _ if column.converted_type() == ConvertedType::INTERVAL => Self::None,
                _ => Self::Bytes,
            },
            Type::INT96 => Self::None,
        }
    }

    /// Returns true if NaNs are counted.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::Float16 | Self::Float32 | Self::Float64)
    }

    /// Returns true if values may be shortened in bounds.
    fn is_truncatable(self) -> bool {
        self == Self::Bytes
    }

    /// The bytes of a minimum and a maximum that [`ValueBounds::stored`] uses. They compare as the values do, unless they are equal.
    pub(crate) fn kept<'a>(self, min: &'a [u8], max: &'a [u8], is_utf8: bool) -> (&'a [u8], &'a [u8]) {
        if !self.is_truncatable() {
            return (min, max);
        }
        let has_next = |max: &[u8]| match is_utf8 {
            true => next_text(&max[..char_floor(max, BOUND_BYTES)]).is_some(),
            false => next_bytes(&max[..BOUND_BYTES]).is_some(),
        };
        let is_cut = max.len() > KEPT_BYTES && has_next(max);
        (&min[..min.len().min(KEPT_BYTES)], if is_cut { &max[..KEPT_BYTES] } else { max })
    }

    /// Compares two values in PLAIN encoding. Values of the wrong length compare as equal: the encoders make them.
    pub(crate) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::None => Ordering::Equal,
            Self::Boolean | Self::Bytes => a.cmp(b),
            Self::Signed32 => number(a).map(i32::from_le_bytes).cmp(&number(b).map(i32::from_le_bytes)),
            Self::Unsigned32 => number(a).map(u32::from_le_bytes).cmp(&number(b).map(u32::from_le_bytes)),
            Self::Signed64 => number(a).map(i64::from_le_bytes).cmp(&number(b).map(i64::from_le_bytes)),
            Self::Unsigned64 => number(a).map(u64::from_le_bytes).cmp(&number(b).map(u64::from_le_bytes)),
            Self::Float16 => number(a).map(key16).cmp(&number(b).map(key16)),
            Self::Float32 => number(a).map(key32).cmp(&number(b).map(key32)),
            Self::Float64 => number(a).map(key64).cmp(&number(b).map(key64)),
            Self::SignedBytes => {
                let negative = |v: &[u8]| v.first().is_some_and(|byte| *byte >= 0x80);
                negative(b).cmp(&negative(a)).then_with(|| a.cmp(b))
            }
        }
    }

    /// Converts the bounds of floats from IEEE 754's total order to the type's own order: none if they are NaN, and
    /// zeros of the sign that includes both.
    pub(crate) fn float_bounds(self, mut min: Vec<u8>, mut max: Vec<u8>) -> Option<(Vec<u8>, Vec<u8>)> {
        if self.is_nan(&min) || self.is_nan(&max) {
            return None;
        }
        // Little-endian: the sign is in the last byte.
        let is_zero = |value: &[u8]| {
            value.split_last().is_some_and(|(top, rest)| top & 0x7f == 0 && rest.iter().all(|byte| *byte == 0))
        };
        let with_sign = |value: &mut Vec<u8>, sign: u8| {
            if is_zero(value)
                && let Some(top) = value.last_mut()
            {
                *top = sign;
            }
        };
        with_sign(&mut min, 0x80);
        with_sign(&mut max, 0);
        Some((min, max))
    }

    /// Returns true if a PLAIN value is NaN.
    fn is_nan(self, value: &[u8]) -> bool {
        match self {
            Self::Float16 => number(value).is_some_and(|b| u16::from_le_bytes(b) & 0x7fff > 0x7c00),
            Self::Float32 => number(value).is_some_and(|b| f32::from_le_bytes(b).is_nan()),
            Self::Float64 => number(value).is_some_and(|b| f64::from_le_bytes(b).is_nan()),
            _ => false,
        }
    }
}

impl ValueBounds {
    /// Widens these bounds by others of the same column.
    pub(crate) fn merge(&mut self, other: &Self, order: ValueOrder) {
        self.nans += other.nans;
        let Some((min, max)) = &other.min_max else { return };
        match &mut self.min_max {
            Some((old_min, old_max)) => {
                if order.compare(min, old_min).is_lt() {
                    old_min.clone_from(min);
                }
                if order.compare(max, old_max).is_gt() {
                    old_max.clone_from(max);
                }
            }
            None => self.min_max = Some((min.clone(), max.clone())),
        }
    }

    /// Drops the bytes that [`Self::stored`] does not use: each page of a chunk keeps its bounds, which may be whole
    /// pages.
    pub(crate) fn cut(&mut self, order: ValueOrder, is_utf8: bool) {
        let Some((min, max)) = &mut self.min_max else { return };
        let (kept_min, kept_max) = order.kept(min, max, is_utf8);
        let (min_bytes, max_bytes) = (kept_min.len(), kept_max.len());
        if min_bytes < min.len() {
            *min = min[..min_bytes].to_vec();
        }
        if max_bytes < max.len() {
            *max = max[..max_bytes].to_vec();
        }
    }

    /// The bounds for a column index: shortened to [`BOUND_BYTES`], and with the greatest day or time as readers
    /// interpret it; `None` if there is a NaN.
    pub(crate) fn stored(&self, order: ValueOrder, column: &ColumnDescriptor) -> Option<StoredBounds> {
        let (min, max) = self.min_max.as_ref().filter(|_| self.nans == 0)?;
        if !order.is_truncatable() {
            let outward = time_scale(column).and_then(|scale| outward(scale, max));
            let max_is_exact = outward.is_none();
            let max = outward.or_else(|| Some(max.clone()));
            return Some(StoredBounds { min: min.clone(), max, min_is_exact: true, max_is_exact });
        }
        let is_utf8 = is_utf8(column);
        let cut = |value: &[u8]| if is_utf8 { char_floor(value, BOUND_BYTES) } else { BOUND_BYTES };
        let (min, min_is_exact) =
            if min.len() > BOUND_BYTES { (min[..cut(min)].to_vec(), false) } else { (min.clone(), true) };
        let (max, max_is_exact) = if max.len() > BOUND_BYTES {
            (if is_utf8 { next_text(&max[..cut(max)]) } else { next_bytes(&max[..cut(max)]) }, false)
        } else {
            (Some(max.clone()), true)
        };
        Some(StoredBounds { min, max, min_is_exact, max_is_exact })
    }
}

/// Bounds in their stored form.
pub(crate) struct StoredBounds {
    pub(crate) min: Vec<u8>,
    /// `None` if there is no short value above the maximum.
    pub(crate) max: Option<Vec<u8>>,
    pub(crate) min_is_exact: bool,
    pub(crate) max_is_exact: bool,
}

/// The statistics of a column chunk.
pub(crate) fn chunk_statistics(
    column: &ColumnDescriptor,
    order: ValueOrder,
    bounds: &ValueBounds,
    nulls: u64,
) -> Statistics {
    let (min, max, exact) = match bounds.stored(order, column) {
        // Readers take bounds of days and times for values, and say by them which one is the greatest.
        Some(s) if !s.max_is_exact && time_scale(column).is_some() => (None, None, (true, true)),
        Some(s) => (Some(s.min), s.max, (s.min_is_exact, s.max_is_exact)),
        None => (None, None, (true, true)),
    };
    let nans = order.is_float().then_some(bounds.nans);
    // Old readers compare the deprecated fields as signed values.
    let compatible = column.sort_order() == parquet::basic::SortOrder::SIGNED;
    macro_rules! statistics {
        ($convert:expr) => {{
            let convert = $convert;
            let (min, max) = (min.and_then(&convert), max.and_then(&convert));
            let (min_is_exact, max_is_exact) = (exact.0 && min.is_some(), exact.1 && max.is_some());
            ValueStatistics::new(min, max, None, Some(nulls), false)
                .with_min_is_exact(min_is_exact)
                .with_max_is_exact(max_is_exact)
                .with_nan_count(nans)
                .with_backwards_compatible_min_max(compatible)
        }};
    }
    match column.physical_type() {
        Type::BOOLEAN => Statistics::Boolean(statistics!(|v: Vec<u8>| v.first().map(|b| *b != 0))),
        Type::INT32 => Statistics::Int32(statistics!(|v: Vec<u8>| number(&v).map(i32::from_le_bytes))),
        Type::INT64 => Statistics::Int64(statistics!(|v: Vec<u8>| number(&v).map(i64::from_le_bytes))),
        Type::FLOAT => Statistics::Float(statistics!(|v: Vec<u8>| number(&v).map(f32::from_le_bytes))),
        Type::DOUBLE => Statistics::Double(statistics!(|v: Vec<u8>| number(&v).map(f64::from_le_bytes))),
        Type::BYTE_ARRAY => Statistics::ByteArray(statistics!(|v: Vec<u8>| Some(ByteArray::from(v)))),
        Type::FIXED_LEN_BYTE_ARRAY => {
            Statistics::FixedLenByteArray(statistics!(|v: Vec<u8>| Some(FixedLenByteArray::from(ByteArray::from(v)))))
        }
        Type::INT96 => Statistics::int96(None, None, None, Some(nulls), false),
    }
}

/// The scale of a column's days or times; `None` for other columns. Nanoseconds start after 1582.
pub(crate) fn time_scale(column: &ColumnDescriptor) -> Option<TimeScale> {
    match column.logical_type_ref()? {
        LogicalType::Date => Some(TimeScale::DAYS),
        LogicalType::Timestamp(timestamp) => match timestamp.unit {
            TimeUnit::MILLIS => Some(TimeScale::MILLISECONDS),
            TimeUnit::MICROS => Some(TimeScale::MICROSECONDS),
            _ => None,
        },
        _ => None,
    }
}

/// A day or time in PLAIN encoding.
pub(crate) fn time_value(bytes: &[u8]) -> Option<i64> {
    let narrow = || number(bytes).map(|bytes| i64::from(i32::from_le_bytes(bytes)));
    number(bytes).map(i64::from_le_bytes).or_else(narrow)
}

/// The greatest day or time as readers interpret it, if that differs.
fn outward(scale: TimeScale, max: &[u8]) -> Option<Vec<u8>> {
    let value = time_value(max)?;
    let outward = scale.outward(value);
    (outward != value).then(|| outward.to_le_bytes()[..max.len()].to_vec())
}

/// Returns true if a column holds text, whose bounds are cut between characters.
pub(crate) fn is_utf8(column: &ColumnDescriptor) -> bool {
    matches!(column.logical_type_ref(), Some(LogicalType::String | LogicalType::Json))
        || column.converted_type() == ConvertedType::UTF8
}

/// The least and greatest of some numbers, and the count of NaNs.
pub(crate) trait MinMax: Copy {
    /// Bounds of `values`; `order` distinguishes signed from unsigned.
    fn min_max(values: &[Self], order: ValueOrder) -> ValueBounds;

    /// The other bits by which readers look for this value: the other zero, or the usual NaN.
    fn other_bits(self) -> Option<Self> {
        None
    }
}

macro_rules! integer_min_max {
    ($type:ty, $unsigned:ty, $order:path) => {
        impl MinMax for $type {
            fn min_max(values: &[Self], order: ValueOrder) -> ValueBounds {
                if values.is_empty() || order == ValueOrder::None {
                    return ValueBounds::default();
                }
                // Flipping the sign bit maps the unsigned order to the signed one.
                let flip = if order == $order { <$type>::MIN } else { 0 };
                let (min, max) = values
                    .iter()
                    .fold((<$type>::MAX, <$type>::MIN), |(min, max), v| (min.min(v ^ flip), max.max(v ^ flip)));
                let bytes = |v: $type| (v ^ flip).to_le_bytes().to_vec();
                ValueBounds { min_max: Some((bytes(min), bytes(max))), nans: 0 }
            }
        }
    };
}

integer_min_max!(i32, u32, ValueOrder::Unsigned32);
integer_min_max!(i64, u64, ValueOrder::Unsigned64);

macro_rules! float_min_max {
    ($type:ty, $int:ty) => {
        impl MinMax for $type {
            fn min_max(values: &[Self], order: ValueOrder) -> ValueBounds {
                if values.is_empty() {
                    return ValueBounds::default();
                }
                // Keys order as IEEE 754's total order does. A NaN takes the key that never wins.
                let key = |v: $type| {
                    let bits = v.to_bits() as $int;
                    bits ^ (((bits >> (<$int>::BITS - 1)) as <$int as UnsignedTwin>::Type) >> 1) as $int
                };
                let (mut min, mut max, mut nans) = (<$int>::MAX, <$int>::MIN, 0);
                for v in values {
                    let nan = v.is_nan();
                    min = min.min(if nan { <$int>::MAX } else { key(*v) });
                    max = max.max(if nan { <$int>::MIN } else { key(*v) });
                    nans += nan as $int;
                }
                if nans as usize == values.len() {
                    return ValueBounds { min_max: None, nans: nans as u64 };
                }
                let bytes = |k: $int| {
                    (k ^ (((k >> (<$int>::BITS - 1)) as <$int as UnsignedTwin>::Type) >> 1) as $int)
                        .to_le_bytes()
                        .to_vec()
                };
                ValueBounds { min_max: order.float_bounds(bytes(min), bytes(max)), nans: nans as u64 }
            }

            fn other_bits(self) -> Option<Self> {
                let usual_nan = <$type>::NAN;
                match self {
                    zero if zero == 0.0 => Some(-zero),
                    nan if nan.is_nan() && nan.to_bits() != usual_nan.to_bits() => Some(usual_nan),
                    _ => None,
                }
            }
        }
    };
}

/// The unsigned twin of an integer type.
trait UnsignedTwin {
    type Type;
}
impl UnsignedTwin for i32 {
    type Type = u32;
}
impl UnsignedTwin for i64 {
    type Type = u64;
}

float_min_max!(f32, i32);
float_min_max!(f64, i64);

fn number<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn key16(bytes: [u8; 2]) -> i16 {
    let bits = i16::from_le_bytes(bytes);
    bits ^ (((bits >> 15) as u16) >> 1) as i16
}

fn key32(bytes: [u8; 4]) -> i32 {
    let bits = i32::from_le_bytes(bytes);
    bits ^ (((bits >> 31) as u32) >> 1) as i32
}

fn key64(bytes: [u8; 8]) -> i64 {
    let bits = i64::from_le_bytes(bytes);
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The largest length of at most `limit` that does not cut a character.
fn char_floor(text: &[u8], limit: usize) -> usize {
    let mut at = limit;
    while at > 0 && text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at -= 1;
    }
    at
}

/// The shortest value above every value that starts with `prefix`.
fn next_bytes(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// Finds the next text after a prefix: the last character that can be is replaced by the next one of at most its length.
fn next_text(prefix: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(prefix).ok()?;
    for (at, character) in text.char_indices().rev() {
        let next = match character {
            '\u{d7ff}' => Some('\u{e000}'),
            _ => char::from_u32(u32::from(character) + 1),
        };
        if let Some(next) = next.filter(|n| n.len_utf8() == character.len_utf8()) {
            let mut out = text[..at].to_owned();
            out.push(next);
            return Some(out.into_bytes());
        }
    }
    None
}

#[cfg(test)]
mod tests;
