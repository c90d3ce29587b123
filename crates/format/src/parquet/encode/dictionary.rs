//! Dictionaries: each different value once, in the order of its first use.

use xxhash_rust::xxh3::xxh3_64;

use super::physical::Physical;
use super::statistics::MinMax;

/// Slots of an empty table.
const FIRST_SLOTS: usize = 1024;
/// Marks a slot that no value has.
const FREE: u32 = u32::MAX;
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
    /// The start of each value in `plain`, after its length.
    starts: Vec<u32>,
    lengths: Vec<u32>,
    /// Open addressing, at most half full: 32 bits of the hash, and the index.
    slots: Vec<(u32, u32)>,
    /// True if `plain` has lengths before the values.
    has_lengths: bool,
}

impl BytesDictionary {
    /// An empty dictionary; fixed-length values have no lengths before them.
    pub(crate) fn new(has_lengths: bool) -> Self {
        let slots = vec![(0, FREE); FIRST_SLOTS];
        Self { plain: Vec::new(), starts: Vec::new(), lengths: Vec::new(), slots, has_lengths }
    }

    /// Different values.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The values in PLAIN encoding.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// The value at an index.
    pub(crate) fn value(&self, index: u32) -> &[u8] {
        let (start, length) = (self.starts[index as usize] as usize, self.lengths[index as usize] as usize);
        &self.plain[start..start + length]
    }

    /// The values in their order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.starts.len()).map(|index| self.value(index as u32))
    }

    /// The index of a value, which is added if it is new.
    pub(crate) fn index(&mut self, value: &[u8]) -> u32 {
        let hash = xxh3_64(value);
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
        let index = self.starts.len() as u32;
        self.slots[slot] = (tag, index);
        if self.has_lengths {
            self.plain.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        self.starts.push(self.plain.len() as u32);
        self.lengths.push(value.len() as u32);
        self.plain.extend_from_slice(value);
        if self.starts.len() * 2 > self.slots.len() {
            self.grow();
        }
        index
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let mut slots = vec![(0, FREE); size];
        for index in 0..self.starts.len() as u32 {
            let hash = xxh3_64(self.value(index));
            let mut slot = hash as usize & (size - 1);
            while slots[slot].1 != FREE {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = ((hash >> 32) as u32, index);
        }
        self.slots = slots;
    }
}
