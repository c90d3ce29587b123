//! Bloom filters of row groups.

use super::tail::FileTail;
use super::writer_kind::WriterSoftware;
use crate::proto;
use crate::schema::OrcKind;

/// The seed of the hash of bytes.
const SEED: u64 = 104_729;

/// Says of a value that it isn't in a row group, or that it may be.
///
/// Dates are asked for as their days; floats as doubles. For text, the stored bytes are hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BloomFilter {
    hashes: u32,
    words: Vec<u64>,
}

impl BloomFilter {
    /// A filter of a file; `None` where it has no bits or no hashes.
    pub(crate) fn new(wire: proto::BloomFilter) -> Option<Self> {
        let bytes = wire.utf8bitset.filter(|bytes| bytes.len() % 8 == 0)?;
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let words: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
        let hashes = wire.num_hash_functions.unwrap_or(0);
        // Bits are numbered by 31 of a hash's bits; no writer uses more than a few hashes.
        let usable = !words.is_empty() && words.len() < (1 << 25) && (1..=255).contains(&hashes);
        usable.then_some(Self { hashes, words })
    }

    /// Returns true if an integer or a date may be among the values.
    pub fn may_contain_integer(&self, value: i64) -> bool {
        self.may_contain(hash_integer(value))
    }

    /// Returns true if a float or double may be among the values.
    pub fn may_contain_double(&self, value: f64) -> bool {
        // Java's bits of a double know one NaN.
        let bits = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
        self.may_contain(hash_integer(bits as i64))
    }

    /// Returns true if text or bytes may be among the values.
    pub fn may_contain_bytes(&self, value: &[u8]) -> bool {
        self.may_contain(hash_bytes(value))
    }

    fn may_contain(&self, hash: u64) -> bool {
        let (first, second) = (hash as i32, (hash >> 32) as i32);
        let bits = self.words.len() as u64 * 64;
        (1..=self.hashes as i32).all(|nth| {
            let mixed = first.wrapping_add(nth.wrapping_mul(second));
            let mixed = if mixed < 0 { !mixed } else { mixed };
            let bit = mixed as u64 % bits;
            self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
        })
    }
}

/// Returns true if the filters that `file` has for a column of this kind say the truth.
///
/// ORC C++ 1.6.0 to 1.6.11 and 1.7.0 hashed wrongly, and its filters of tinyint deny values up to 2.2 at least. Decimals are hashed as text that differs between writers, and timestamps
/// in zones that differ. Filters of the first kind of stream aren't asked at all: Hive hashed text in the character set of the
/// writer's machine, and changed their layout.
pub(crate) fn trusted(file: &FileTail, kind: &OrcKind) -> bool {
    if file.writer() == WriterSoftware::Cpp && bad_cpp(file.software_version()) {
        return false;
    }
    match kind {
        OrcKind::String | OrcKind::Varchar(_) | OrcKind::Char(_) | OrcKind::Binary => true,
        OrcKind::Byte => file.writer() != WriterSoftware::Cpp,
        OrcKind::Short | OrcKind::Int | OrcKind::Long | OrcKind::Float | OrcKind::Double => true,
        OrcKind::Date => !file.julian(),
        _ => false,
    }
}

fn bad_cpp(version: Option<&str>) -> bool {
    // The versions before 1.6.11 don't say theirs.
    let Some(version) = version else { return true };
    let number = version.split('-').next().unwrap_or_default();
    let parts: Vec<u32> = number.split('.').filter_map(|part| part.parse().ok()).collect();
    matches!(parts[..], [1, 6, patch, ..] if patch < 12) || matches!(parts[..], [1, 7, 0, ..])
}

/// Thomas Wang's hash of a 64-bit integer, with the arithmetic shifts of Java.
fn hash_integer(value: i64) -> u64 {
    let mut key = (!value).wrapping_add(value << 21);
    key ^= key >> 24;
    key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    key ^= key >> 14;
    key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    key ^= key >> 28;
    key.wrapping_add(key << 31) as u64
}

/// The 64-bit variant of Murmur3 that Hive uses: the first half of the 128-bit one, with one lane.
fn hash_bytes(bytes: &[u8]) -> u64 {
    let mix = |word: u64| word.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f);
    let little = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let mut hash = SEED;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        hash = (hash ^ mix(little(chunk))).rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    }
    if !chunks.remainder().is_empty() {
        hash ^= mix(little(chunks.remainder()));
    }
    hash ^= bytes.len() as u64;
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
