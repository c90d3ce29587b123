//! Keys that differ.

use super::diff_side::KeyHash;

/// The part of the memory for keys that differ and are known one by one; of more, all rows are read as if they
/// differed.
const KNOWN_SHARE: u64 = 8;

/// Marks for each listed key, at least.
const MARKS_PER_KEY: usize = 16;

/// Keys that differ, by half of their hash. Both sides read the rows of all of them, so that an equal key that shares
/// its half with another one is recognised as equal.
#[derive(Debug)]
pub(super) struct DifferingKeys {
    /// `None`: too many to list.
    known: Option<Vec<u64>>,
    limit: u64,
    /// A bit for the low bits of each key: most keys that are not listed have no bit.
    marks: Vec<u64>,
}

impl DifferingKeys {
    /// An empty set, with a limit of what it lists.
    pub fn new(memory_bytes: u64) -> Self {
        Self { known: Some(Vec::new()), limit: memory_bytes / KNOWN_SHARE / size_of::<u64>() as u64, marks: Vec::new() }
    }

    /// Adds keys by half of their hash.
    pub fn add_all(&mut self, keys: &[u64]) {
        match &mut self.known {
            Some(known) if (known.len() + keys.len()) as u64 <= self.limit => known.extend_from_slice(keys),
            many => *many = None,
        }
    }

    /// Prepares the set for questions.
    pub fn sorted(mut self) -> Self {
        let Some(keys) = &mut self.known else { return self };
        keys.sort_unstable();
        self.marks = vec![0; (keys.len() * MARKS_PER_KEY / 64 + 1).next_power_of_two()];
        for key in keys {
            let (word, bit) = mark(*key, self.marks.len());
            self.marks[word] |= bit;
        }
        self
    }

    /// Returns true if no key differs.
    pub fn is_empty(&self) -> bool {
        self.known.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns true if a key is one of a sorted set, or may be.
    pub fn may_have(&self, key: u128) -> bool {
        let Some(keys) = &self.known else { return true };
        let key = KeyHash::new(key).low;
        let (word, bit) = mark(key, self.marks.len());
        self.marks[word] & bit != 0 && keys.binary_search(&key).is_ok()
    }
}

/// The word of a key among a power of two, and its bit.
fn mark(key: u64, words: usize) -> (usize, u64) {
    ((key >> 6) as usize & (words - 1), 1 << (key & 63))
}
