//! The hash FNV-1a of 64 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>. Journals store such hashes, so the
//! function must not change.

/// The hash of some bytes.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
