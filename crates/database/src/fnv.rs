//! The hash FNV-1a of 64 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>. Journals store such hashes, so the
//! function must not change.

/// The hash of some bytes.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A number below `parts` from the hash of the bytes. The high bits of a hash vary little among short keys such as numbers in sequence, so that all
/// bits are mixed (Knuth's multiplicative hashing) before the highest ones decide.
pub(crate) fn part_of(bytes: &[u8], parts: usize) -> usize {
    const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = fnv(bytes).wrapping_mul(GOLDEN_RATIO);
    ((u128::from(mixed) * parts as u128) >> u64::BITS) as usize
}

#[cfg(test)]
mod tests;
