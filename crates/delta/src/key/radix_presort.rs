//! Putting rows nearly in the order of their keys, at the cost of counting them.

use std::ops::Range;

use super::order::SpreadRows;
use super::{ByteKeys, KeyList, Keys, NumberKey};

/// Stretches of keys that rows are put into: their counters stay in a core's first cache.
const STRETCHES: usize = 2048;
/// The bytes of a key that count, from where the keys of a range differ.
const PREFIX_BYTES: usize = size_of::<u64>();

impl Keys {
    /// Orders the rows of a range so that each key is close to its neighbours in the order of keys, and rows of the
    /// same key stay in their own order. Rows that are in order stay so.
    pub fn nearly_sorted(&self, range: Range<usize>) -> Vec<u32> {
        match self {
            Self::Narrow(keys) => nearly_sorted(&keys[range.clone()], range.start),
            Self::Wide(keys) => nearly_sorted(&keys[range.clone()], range.start),
            Self::Bytes(keys) => nearly_sorted(&prefixes(keys, range.clone()), range.start),
        }
    }
}

fn nearly_sorted<T: NumberKey>(keys: &[T], first_row: usize) -> Vec<u32> {
    let (Some(least), Some(largest)) = (keys.iter().copied().min(), keys.iter().copied().max()) else {
        return Vec::new();
    };
    let shift = least.bits_to(largest).saturating_sub(STRETCHES.trailing_zeros());
    SpreadRows::over(STRETCHES, keys, first_row, |key| key.above(least, shift)).rows
}

/// Numbers in the order of the keys of a range; keys that differ late may have the same one.
fn prefixes(keys: &ByteKeys, range: Range<usize>) -> Vec<u64> {
    let all = range.clone().map(|row| keys.key(row));
    let (Some(least), Some(largest)) = (all.clone().min(), all.clone().max()) else { return Vec::new() };
    let common = least.iter().zip(largest).take_while(|(one, other)| one == other).count();
    let prefix = |key: &[u8]| {
        let mut bytes = [0; PREFIX_BYTES];
        let rest = &key[common.min(key.len())..];
        let rest = &rest[..rest.len().min(PREFIX_BYTES)];
        bytes[..rest.len()].copy_from_slice(rest);
        u64::from_be_bytes(bytes)
    };
    all.map(prefix).collect()
}
