//! Checks of a row's bytes before they are decoded.
//!
//! The arrow-avro crate takes any index of a union with null for that of a value, and reserves memory for what a row states.
//! A row that passes has valid indices and lengths, decimals of no more digits than their type, and takes the memory that
//! the check counts.

use arrow::datatypes::i256;

use super::container::long_of;
use super::schema::{AvroType, largest};

/// Bytes of memory for the place of a value, such as a list or a text.
const PLACE_BYTES: u64 = 4;

/// The form of a value's bytes.
#[derive(Debug)]
pub(super) enum DatumForm {
    Null,
    Boolean,
    /// An integer of 32 bits.
    Int,
    Long,
    Fixed(usize),
    /// A length and as many bytes.
    Bytes,
    /// Bytes that are UTF-8.
    Text,
    Duration,
    /// A decimal: its bytes if they are always as many, the most that it may have, and its largest integer.
    Decimal(Option<usize>, usize, i256),
    /// An enum with so many symbols.
    Enum(usize),
    Array(Box<DatumForm>),
    Map(Box<DatumForm>),
    Record(Vec<DatumForm>),
    /// A union with null, which has this index. A null takes these bytes of memory.
    Nullable(i64, Box<DatumForm>, u64),
    Union(Vec<DatumForm>),
}

/// The reason why bytes are no value.
pub(super) type DatumFault = &'static str;

/// The bytes that are left, and the memory that the values before them take.
#[derive(Debug)]
pub(super) struct DatumCursor<'a> {
    pub rest: &'a [u8],
    pub memory_bytes: u64,
    /// The memory beyond which a row is refused.
    pub most_bytes: u64,
}

pub(super) const SHORT: DatumFault = "the bytes of the block end within it";
pub(super) const TOO_LARGE: DatumFault = "it takes too much memory";

impl DatumForm {
    /// The form of a row with these columns.
    pub fn of_row(columns: &[(String, AvroType)]) -> Self {
        Self::Record(columns.iter().map(|(_, kind)| Self::from_type(kind)).collect())
    }

    fn from_type(kind: &AvroType) -> Self {
        match kind {
            AvroType::Null => Self::Null,
            AvroType::Boolean => Self::Boolean,
            AvroType::Int(_) => Self::Int,
            AvroType::Long(_) => Self::Long,
            AvroType::Float => Self::Fixed(4),
            AvroType::Double => Self::Fixed(8),
            AvroType::Bytes => Self::Bytes,
            AvroType::Text => Self::Text,
            AvroType::Decimal { precision, size, .. } => {
                let most = if *precision > 38 { 32 } else { 16 };
                Self::Decimal(*size, most, largest(*precision))
            }
            AvroType::Fixed(size) => Self::Fixed(*size),
            AvroType::Duration => Self::Duration,
            AvroType::Enum(symbols) => Self::Enum(symbols.len()),
            AvroType::Array(item) => Self::Array(Box::new(Self::from_type(item))),
            AvroType::Map(value) => Self::Map(Box::new(Self::from_type(value))),
            AvroType::Record(fields) => Self::of_row(fields),
            AvroType::Nullable(is_first, value) => {
                let value = Self::from_type(value);
                let null_bytes = value.null_bytes();
                Self::Nullable(i64::from(!is_first), Box::new(value), null_bytes)
            }
            AvroType::Union(branches) => Self::Union(branches.iter().map(Self::from_type).collect()),
        }
    }

    /// The memory that the place of a null takes.
    fn null_bytes(&self) -> u64 {
        match self {
            Self::Null | Self::Boolean => 1,
            Self::Int | Self::Bytes | Self::Text | Self::Enum(_) | Self::Array(_) | Self::Map(_) => PLACE_BYTES,
            Self::Long => 8,
            Self::Duration => 16,
            Self::Fixed(size) => *size as u64,
            Self::Decimal(_, most, _) => *most as u64,
            Self::Record(fields) => fields.iter().map(Self::null_bytes).sum(),
            Self::Nullable(_, _, null_bytes) => *null_bytes,
            Self::Union(branches) => PLACE_BYTES + branches.first().map_or(0, Self::null_bytes),
        }
    }

    /// Checks one value, and skips it.
    ///
    /// # Errors
    /// The reason why the bytes are none.
    pub fn pass(&self, cursor: &mut DatumCursor<'_>) -> Result<(), DatumFault> {
        match self {
            Self::Null => cursor.count(1),
            Self::Boolean => match cursor.take(1)? {
                [0 | 1] => cursor.count(1),
                _ => Err("a boolean is neither 0 nor 1"),
            },
            Self::Int => {
                i32::try_from(cursor.long()?).map_err(|_| "an integer has more than 32 bits")?;
                cursor.count(4)
            }
            Self::Long => {
                cursor.long()?;
                cursor.count(8)
            }
            Self::Fixed(size) => {
                cursor.take(*size)?;
                cursor.count(*size as u64)
            }
            Self::Bytes => cursor.sized().map(drop),
            Self::Text => match simdutf8::basic::from_utf8(cursor.sized()?) {
                Ok(_) => Ok(()),
                Err(_) => Err("a text is not valid UTF-8"),
            },
            Self::Duration => {
                let bytes = cursor.take(12)?;
                if bytes[3] > 0x7f || bytes[7] > 0x7f {
                    return Err("a duration has more months or days than 31 bits hold");
                }
                cursor.count(16)
            }
            Self::Decimal(size, most, largest) => {
                let length = if let Some(size) = size { *size } else { cursor.length()? };
                check_decimal(cursor.take(length)?, largest)?;
                cursor.count(*most as u64)
            }
            Self::Enum(symbols) => {
                let at = usize::try_from(cursor.long()?).ok().filter(|at| at < symbols);
                at.ok_or("an enum has no symbol of this number")?;
                cursor.count(4)
            }
            Self::Array(item) => cursor.blocks(|cursor| item.pass(cursor)),
            Self::Map(value) => cursor.blocks(|cursor| {
                Self::Text.pass(cursor)?;
                value.pass(cursor)
            }),
            Self::Record(fields) => fields.iter().try_for_each(|field| field.pass(cursor)),
            Self::Nullable(null_at, value, null_bytes) => match cursor.long()? {
                index if index == *null_at => cursor.count(*null_bytes),
                0 | 1 => value.pass(cursor),
                _ => Err("a union has no type of this number"),
            },
            Self::Union(branches) => {
                let branch = usize::try_from(cursor.long()?).ok().and_then(|at| branches.get(at));
                cursor.count(PLACE_BYTES)?;
                branch.ok_or("a union has no type of this number")?.pass(cursor)
            }
        }
    }
}

/// Checks the integer of a decimal.
fn check_decimal(bytes: &[u8], largest: &i256) -> Result<(), DatumFault> {
    const DIGITS: DatumFault = "a decimal has more digits than its type";
    let sign = if bytes.first().is_some_and(|first| *first > 0x7f) { 0xff } else { 0 };
    let mut whole = [sign; 32];
    let (beyond, kept) = bytes.split_at(bytes.len().saturating_sub(32));
    whole[32 - kept.len()..].copy_from_slice(kept);
    let value = i256::from_be_bytes(whole);
    let is_cut = beyond.iter().any(|byte| *byte != sign) || value.is_negative() != (sign != 0);
    if is_cut || value > *largest || value < largest.wrapping_neg() { Err(DIGITS) } else { Ok(()) }
}

impl<'a> DatumCursor<'a> {
    fn count(&mut self, bytes: u64) -> Result<(), DatumFault> {
        self.memory_bytes = self.memory_bytes.saturating_add(bytes);
        if self.memory_bytes > self.most_bytes { Err(TOO_LARGE) } else { Ok(()) }
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], DatumFault> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn long(&mut self) -> Result<i64, DatumFault> {
        const BITS: DatumFault = "an integer has more than 64 bits";
        if let [first @ 0..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(i64::from(first >> 1) ^ -i64::from(first & 1));
        }
        let front = &self.rest[..self.rest.len().min(10)];
        let last = front.iter().position(|byte| byte & 0x80 == 0);
        let last = last.ok_or(if front.len() < 10 { SHORT } else { BITS })?;
        long_of(self.take(last + 1)?).ok_or(BITS)
    }

    fn length(&mut self) -> Result<usize, DatumFault> {
        usize::try_from(self.long()?).map_err(|_| "a length is negative")
    }

    /// Takes a length and as many bytes.
    fn sized(&mut self) -> Result<&'a [u8], DatumFault> {
        let length = self.length()?;
        let bytes = self.take(length)?;
        self.count(PLACE_BYTES + length as u64)?;
        Ok(bytes)
    }

    /// Checks and skips the items of an array or a map, which are in blocks.
    fn blocks(&mut self, item: impl Fn(&mut Self) -> Result<(), DatumFault>) -> Result<(), DatumFault> {
        self.count(PLACE_BYTES)?;
        loop {
            let count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            // The bytes of the items follow a negative count. Those who skip items rely on it, so it has to be right.
            let after = match count < 0 {
                true => {
                    let length = self.length()?;
                    Some(self.rest.len().checked_sub(length).ok_or(SHORT)?)
                }
                false => None,
            };
            // Each item has at least a byte: a schema with other items is refused.
            if count.unsigned_abs() > self.rest.len() as u64 {
                return Err(SHORT);
            }
            self.count(count.unsigned_abs())?;
            for _ in 0..count.unsigned_abs() {
                item(self)?;
            }
            if after.is_some_and(|after| after != self.rest.len()) {
                return Err("the items of an array or map have another length than stated");
            }
        }
    }
}

#[cfg(test)]
mod tests;
