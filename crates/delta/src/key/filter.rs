//! Which keys are surely not in a set.

/// Bits of hashes, by which most keys that are not in a table are skipped with one memory access: two bits for each key
/// in a word that its hash selects.
#[derive(Debug)]
pub(super) struct KeyFilter {
    words: Vec<u64>,
}

/// Bits for each key: 3 of 100 other keys have theirs set, too.
const FILTER_BITS_PER_KEY: usize = 12;

impl KeyFilter {
    /// An empty filter for so many keys.
    pub fn new(keys: usize) -> Self {
        Self { words: vec![0; Self::words(keys)] }
    }

    /// The memory of a filter for so many keys, in bytes.
    pub fn memory_bytes(keys: usize) -> usize {
        Self::words(keys) * size_of::<u64>()
    }

    fn words(keys: usize) -> usize {
        (keys * FILTER_BITS_PER_KEY / u64::BITS as usize).next_power_of_two()
    }

    /// Adds a key by its hash.
    pub fn add(&mut self, hash: u64) {
        let (word, bits) = self.bit_position(hash);
        self.words[word] |= bits;
    }

    /// Returns true if a key of this hash may be in the set.
    pub fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.bit_position(hash);
        self.words[word] & bits == bits
    }

    fn bit_position(&self, hash: u64) -> (usize, u64) {
        let word = (hash >> 12) as usize & (self.words.len() - 1);
        (word, 1 << (hash & 63) | 1 << (hash >> 6 & 63))
    }
}
