//! Integers of varying length: seven bits a byte, the least significant first, the eighth bit set where more follow.

use crate::error::{Error, Result};

/// A varint of up to 64 bits at the beginning of `bytes`, and its length.
#[inline]
pub(crate) fn varint(bytes: &[u8]) -> Result<(u64, usize)> {
    if let Some(word) = bytes.first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let last = !word & STOP;
        if last != 0 {
            let bits = last.trailing_zeros() + 1;
            return Ok((gather(word & (u64::MAX >> (64 - bits))), (bits / 8) as usize));
        }
    }
    let (value, length) = varint128(bytes)?;
    u64::try_from(value).map(|v| (v, length)).map_err(|_| Error::corrupt("an integer has more than 64 bits"))
}

/// The bit of each byte that says that more follow.
pub(crate) const STOP: u64 = 0x8080_8080_8080_8080;

/// The 56 bits of up to eight bytes of a varint, the others being zero.
#[inline(always)]
pub(crate) fn gather(word: u64) -> u64 {
    let word = word & !STOP;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// A varint of up to 128 bits at the beginning of `bytes`, and its length.
pub(crate) fn varint128(bytes: &[u8]) -> Result<(u128, usize)> {
    let mut value = 0u128;
    for (nth, &byte) in bytes.iter().enumerate() {
        let bits = u128::from(byte & 127);
        let shift = 7 * nth as u32;
        if shift > 126 || (shift == 126 && bits > 3) {
            return Err(Error::corrupt("an integer has more than 128 bits"));
        }
        value |= bits << shift;
        if byte < 128 {
            return Ok((value, nth + 1));
        }
    }
    Err(Error::corrupt("ends within an integer"))
}

/// Decodes a signed integer from zigzag encoding.
#[inline(always)]
pub(crate) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Decodes a signed integer from zigzag encoding.
#[inline(always)]
pub(crate) fn zigzag128(value: u128) -> i128 {
    (value >> 1) as i128 ^ -((value & 1) as i128)
}

#[cfg(test)]
mod tests;
