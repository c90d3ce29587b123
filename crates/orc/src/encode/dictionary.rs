//! A dictionary of byte strings, in the order of their first use.

use std::hash::{BuildHasher, RandomState};

/// Distinct byte strings and their numbers.
pub(crate) struct DistinctStrings {
    bytes: Vec<u8>,
    /// The ends of strings, one more than there are strings: string `n` is `bytes[ends[n]..ends[n + 1]]`.
    ends: Vec<u32>,
    /// Upper half of the hash and number of a string, by the lower bits of its hash; a power of two, at most half full.
    slots: Vec<DictionarySlot>,
    /// The seed of this process: no one can prepare strings that collide.
    seed: u64,
}

#[derive(Clone, Copy)]
struct DictionarySlot {
    tag: u32,
    /// Number of the string, or [`EMPTY`].
    index: u32,
}

const EMPTY: u32 = u32::MAX;
const MIN_SLOTS: usize = 1 << 10;

impl DistinctStrings {
    pub(crate) fn new() -> Self {
        let seed = RandomState::new().hash_one(0);
        Self { bytes: Vec::new(), ends: vec![0], slots: Vec::new(), seed }
    }

    /// The number of `value`, which is added where it is new; none where the dictionary can hold no more.
    #[inline]
    pub(crate) fn insert(&mut self, value: &[u8]) -> Option<u32> {
        if self.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(value, self.seed);
        let mask = self.slots.len() - 1;
        let tag = (hash >> 32) as u32;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.index == EMPTY {
                break;
            }
            if slot.tag == tag && self.get(slot.index) == value {
                return Some(slot.index);
            }
            at = (at + 1) & mask;
        }
        let end = u32::try_from(self.bytes.len() + value.len()).ok()?;
        let index = self.len() as u32;
        self.slots[at] = DictionarySlot { tag, index };
        self.bytes.extend_from_slice(value);
        self.ends.push(end);
        Some(index)
    }

    #[cold]
    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(MIN_SLOTS);
        self.slots = vec![DictionarySlot { tag: 0, index: EMPTY }; len];
        for index in 0..self.len() as u32 {
            let hash = hash(self.get(index), self.seed);
            let mut at = hash as usize & (len - 1);
            while self.slots[at].index != EMPTY {
                at = (at + 1) & (len - 1);
            }
            self.slots[at] = DictionarySlot { tag: (hash >> 32) as u32, index };
        }
    }

    /// String number `index`.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> &[u8] {
        let index = index as usize;
        &self.bytes[self.ends[index] as usize..self.ends[index + 1] as usize]
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// All strings after each other.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The length of each string.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = i64> {
        self.ends.windows(2).map(|ends| i64::from(ends[1] - ends[0]))
    }

    /// Forgets all strings and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.truncate(1);
        self.slots.fill(DictionarySlot { tag: 0, index: EMPTY });
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * 4 + self.slots.capacity() * size_of::<DictionarySlot>()
    }
}

/// Multiplies eight bytes at a time into 128 bits and folds them.
#[inline]
fn hash(value: &[u8], seed: u64) -> u64 {
    const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
    const SECOND: u64 = 0xd6e8_feb8_6659_fd93;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&value[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let len = value.len();
    let mut state = seed ^ fold(len as u64 ^ FIRST, SECOND);
    if len >= 8 {
        for at in (0..len - 8).step_by(8) {
            state = fold(state ^ word(at), FIRST);
        }
        // The last eight bytes, which may overlap those before.
        state = fold(state ^ word(len - 8), SECOND);
    } else {
        let last = if len >= 4 {
            let half =
                |at: usize| u64::from(u32::from_le_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]));
            half(0) << 32 | half(len - 4)
        } else if len > 0 {
            u64::from(value[0]) << 16 | u64::from(value[len / 2]) << 8 | u64::from(value[len - 1])
        } else {
            0
        };
        state = fold(state ^ last, SECOND);
    }
    fold(state ^ FIRST, SECOND ^ seed.rotate_left(32) | 1)
}

#[cfg(test)]
mod tests;
