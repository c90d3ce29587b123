//! A set of numbers that lie close together: one bit for each that could be in it.

use super::Keys;

/// Which numbers of a range are in a set, and how many are before each.
#[derive(Debug)]
pub(super) struct BitSet {
    first: u64,
    words: Vec<u64>,
    /// The number of set bits before each block of words.
    ranks: Vec<u32>,
}

/// Words of a block: those of a cache line.
const BLOCK_WORDS: usize = 8;
/// Bits that a key may take: as many as a hash table takes for it.
const BITS_PER_KEY: u64 = 64;

impl BitSet {
    /// Makes the set of keys in order; `None` where they lie too far apart.
    pub fn from_keys(keys: &Keys) -> Option<Self> {
        let Keys::Narrow(keys) = keys else { return None };
        let (first, last) = (*keys.first()?, *keys.last()?);
        let span = last - first;
        if span / BITS_PER_KEY > keys.len() as u64 {
            return None;
        }
        let mut words = vec![0u64; usize::try_from(span / 64).ok()? + 1];
        for key in keys {
            let at = key - first;
            words[(at / 64) as usize] |= 1 << (at % 64);
        }
        let mut ranks = Vec::with_capacity(words.len().div_ceil(BLOCK_WORDS));
        let mut rank = 0;
        for block in words.chunks(BLOCK_WORDS) {
            ranks.push(rank);
            rank += block.iter().map(|word| word.count_ones()).sum::<u32>();
        }
        Some(Self { first, words, ranks })
    }

    /// Calls `found(row, index)` for each row whose key is in the set, in order, with the key's index.
    pub fn find(&self, batch: &[u64], mut found: impl FnMut(usize, usize)) {
        let bits = self.words.len() as u64 * 64;
        for (row, key) in batch.iter().enumerate() {
            let at = key.wrapping_sub(self.first);
            if at < bits && self.words[(at / 64) as usize] >> (at % 64) & 1 == 1 {
                found(row, self.rank(at));
            }
        }
    }

    /// The number of keys before this one.
    fn rank(&self, at: u64) -> usize {
        let word = (at / 64) as usize;
        let block = word / BLOCK_WORDS;
        let before: u32 = self.words[block * BLOCK_WORDS..word].iter().map(|word| word.count_ones()).sum();
        let below = self.words[word] & ((1 << (at % 64)) - 1);
        (self.ranks[block] + before + below.count_ones()) as usize
    }
}
