//! Bloom filters of row groups, in the form that the specification names BLOOM_FILTER_UTF8.

use crate::proto;

/// Collects the bloom filters of a column's row groups.
pub(crate) struct BloomWriter {
    words: Vec<u64>,
    hashes: u32,
    done: Vec<proto::BloomFilter>,
}

impl BloomWriter {
    /// Filters for `rows` values each, of which a share of `fpp` is taken for present by mistake.
    pub(crate) fn new(rows: usize, fpp: f64) -> Self {
        let rows = rows as f64;
        let ln2 = std::f64::consts::LN_2;
        let bits = (-rows * fpp.ln() / (ln2 * ln2)) as usize;
        // Always up to a further whole word, as the reference implementation does.
        let words = bits / 64 + 1;
        let hashes = ((words as f64 * 64.0 / rows * ln2).round() as u32).max(1);
        Self { words: vec![0; words], hashes, done: Vec::new() }
    }

    /// Takes in whole numbers, days, or milliseconds.
    pub(crate) fn add_int(&mut self, value: i64) {
        self.add_hash(hash_int(value));
    }

    /// Takes in a float; one of 32 bits is widened first.
    pub(crate) fn add_float(&mut self, value: f64) {
        if value == 0.0 {
            // Readers ask for one of the zeros, and mean both.
            self.add_int((-value).to_bits() as i64);
        }
        // All that is not a number counts as one value.
        let value = if value.is_nan() { f64::NAN } else { value };
        self.add_int(value.to_bits() as i64);
    }

    /// Takes in a text or byte string.
    pub(crate) fn add_bytes(&mut self, value: &[u8]) {
        self.add_hash(murmur3(value));
    }

    fn add_hash(&mut self, hash: u64) {
        let (first, second) = (hash as i32, (hash >> 32) as i32);
        let bits = self.words.len() * 64;
        for round in 1..=self.hashes as i32 {
            let combined = first.wrapping_add(round.wrapping_mul(second));
            let combined = if combined < 0 { !combined } else { combined };
            let bit = combined as usize % bits;
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Ends a row group.
    pub(crate) fn end_group(&mut self) {
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.done.push(proto::BloomFilter {
            num_hash_functions: Some(self.hashes),
            bitset: Vec::new(),
            utf8bitset: Some(bytes),
        });
        self.words.fill(0);
    }

    /// The filters of the stripe.
    pub(crate) fn take(&mut self) -> proto::BloomFilterIndex {
        proto::BloomFilterIndex { bloom_filter: std::mem::take(&mut self.done) }
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.len() * 8 * (1 + self.done.len())
    }
}

/// Thomas Wang's hash of an integer.
pub(crate) fn hash_int(value: i64) -> u64 {
    let mut key = value;
    key = (!key).wrapping_add(key << 21);
    key ^= key >> 24;
    key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    key ^= key >> 14;
    key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    key ^= key >> 28;
    key = key.wrapping_add(key << 31);
    key as u64
}

/// Murmur3 in the 64-bit form of Hive, with its seed.
pub(crate) fn murmur3(value: &[u8]) -> u64 {
    const SEED: u64 = 104_729;
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mut hash = SEED;
    let (words, rest) = value.as_chunks::<8>();
    for word in words {
        hash ^= mix(u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        hash ^= mix(word);
    }
    hash ^= value.len() as u64;
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
