//! Dictionaries: each different value once, in the order of its first use.

use std::ops::Range;

use lakerace_io::Result;
use xxhash_rust::xxh3::xxh3_64;

use super::physical::Physical;
use super::statistics::MinMax;
use crate::prefetch;

/// Slots of an empty table.
const FIRST_SLOTS: usize = 1024;
/// Marks a slot that no value has.
const FREE: u32 = u32::MAX;
/// Bytes of byte strings that the second-level cache holds: of larger dictionaries, lookups are prefetched.
const CACHED_BYTES: usize = 256 << 10;
/// Lookups that are prefetched together: their three lines each stay in the first-level cache.
const LOOKUP_ROWS: usize = 128;
/// 2^64 divided by the golden ratio: spreads neighbouring numbers over the table.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A dictionary of numbers.
pub(crate) struct NumberDictionary<P: Physical> {
    values: Vec<P::Native>,
    /// Open addressing, at most half full; each slot holds an index into `values`.
    slots: Vec<u32>,
    /// Hashes are shifted right by this to become slots.
    shift: u32,
}

impl<P: Physical> NumberDictionary<P> {
    /// An empty dictionary.
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), slots: vec![FREE; FIRST_SLOTS], shift: 64 - FIRST_SLOTS.trailing_zeros() }
    }

    /// Different values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The values.
    pub(crate) fn values(&self) -> &[P::Native] {
        &self.values
    }

    /// Their bytes in PLAIN encoding.
    pub(crate) fn plain_bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    /// Appends the index of each value.
    pub(crate) fn append_indices(&mut self, values: &[P::Native], out: &mut Vec<u32>) {
        out.reserve(values.len());
        for value in values {
            let index = self.index(*value);
            out.push(index);
        }
    }

    /// The index of a value, which is added if it is new.
    pub(crate) fn index(&mut self, value: P::Native) -> u32 {
        let bits = P::bits(value);
        let mut slot = self.slot(bits);
        loop {
            let index = self.slots[slot];
            if index == FREE {
                break;
            }
            // Bits, not values: NaNs and both zeros are distinct.
            if P::bits(self.values[index as usize]) == bits {
                return index;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        let index = self.values.len() as u32;
        self.slots[slot] = index;
        self.values.push(value);
        if self.values.len() * 2 > self.slots.len() {
            self.grow();
        }
        index
    }

    /// Adds the other bits of zeros and NaNs, which no page uses: readers take a dictionary for all values of a chunk, and look
    /// for one zero or one NaN in it.
    pub(crate) fn add_other_bits(&mut self) {
        for at in 0..self.values.len() {
            if let Some(other) = self.values[at].other_bits() {
                self.index(other);
            }
        }
    }

    fn slot(&self, bits: u64) -> usize {
        (bits.wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    #[cold]
    fn grow(&mut self) {
        let slots = self.slots.len() * 2;
        self.slots = vec![FREE; slots];
        self.shift -= 1;
        for (index, value) in self.values.iter().enumerate() {
            let mut slot = (P::bits(*value).wrapping_mul(GOLDEN) >> self.shift) as usize;
            while self.slots[slot] != FREE {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = index as u32;
        }
    }
}

/// A dictionary of byte strings, held as a PLAIN page.
pub(crate) struct BytesDictionary {
    /// The values in PLAIN encoding.
    plain: Vec<u8>,
    entries: Vec<BytesEntry>,
    /// Open addressing, at most half full: 32 bits of the hash, and the index.
    slots: Vec<(u32, u32)>,
    /// True if `plain` has lengths before the values.
    has_lengths: bool,
}

/// A value of a dictionary.
#[derive(Clone, Copy)]
struct BytesEntry {
    /// The start of the value in `plain`, after its length.
    start: u32,
    length: u32,
    hash: u64,
}

impl BytesDictionary {
    /// An empty dictionary; fixed-length values have no lengths before them.
    pub(crate) fn new(has_lengths: bool) -> Self {
        Self { plain: Vec::new(), entries: Vec::new(), slots: vec![(0, FREE); FIRST_SLOTS], has_lengths }
    }

    /// Different values.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The values in PLAIN encoding.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// The value at an index.
    pub(crate) fn value(&self, index: u32) -> &[u8] {
        let entry = self.entries[index as usize];
        &self.plain[entry.start as usize..entry.start as usize + entry.length as usize]
    }

    /// The values in their order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.value(index as u32))
    }

    /// The index of a value, which is added if it is new.
    pub(crate) fn index(&mut self, value: &[u8]) -> u32 {
        self.index_of(value, xxh3_64(value))
    }

    /// Appends the indexes of the values in a range of rows. The first value that `get` refuses ends it.
    pub(crate) fn append_indices<'a>(
        &mut self,
        rows: Range<usize>,
        get: impl Fn(usize) -> Result<&'a [u8]>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.reserve(rows.len());
        if self.plain.len() <= CACHED_BYTES {
            for at in rows {
                out.push(self.index(get(at)?));
            }
            return Ok(());
        }
        for start in rows.clone().step_by(LOOKUP_ROWS) {
            let block = start..rows.end.min(start + LOOKUP_ROWS);
            let mut hashes = [0; LOOKUP_ROWS];
            for (hash, at) in hashes.iter_mut().zip(block.clone()) {
                *hash = xxh3_64(get(at)?);
            }
            self.prefetch(&hashes[..block.len()]);
            for (hash, at) in hashes.iter().zip(block) {
                out.push(self.index_of(get(at)?, *hash));
            }
        }
        Ok(())
    }

    /// Prefetches what the lookups of these hashes read: a slot, its entry and the first bytes of its value, each of
    /// which may be a miss of the cache that waits for the one before.
    fn prefetch(&self, hashes: &[u64]) {
        let mask = self.slots.len() - 1;
        let slots = || hashes.iter().map(|hash| &self.slots[*hash as usize & mask]);
        slots().for_each(prefetch);
        let entries = || slots().filter_map(|(_, index)| self.entries.get(*index as usize));
        entries().for_each(prefetch);
        entries().filter_map(|entry| self.plain.get(entry.start as usize)).for_each(prefetch);
    }

    fn index_of(&mut self, value: &[u8], hash: u64) -> u32 {
        // The table's size takes low bits, the tag high ones.
        let tag = (hash >> 32) as u32;
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (known, index) = self.slots[slot];
            if index == FREE {
                break;
            }
            if known == tag && self.value(index) == value {
                return index;
            }
            slot = (slot + 1) & mask;
        }
        let index = self.entries.len() as u32;
        self.slots[slot] = (tag, index);
        if self.has_lengths {
            self.plain.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        self.entries.push(BytesEntry { start: self.plain.len() as u32, length: value.len() as u32, hash });
        self.plain.extend_from_slice(value);
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        index
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let mut slots = vec![(0, FREE); size];
        for (index, entry) in self.entries.iter().enumerate() {
            let mut slot = entry.hash as usize & (size - 1);
            while slots[slot].1 != FREE {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = ((entry.hash >> 32) as u32, index as u32);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests;
