//! Variable length integers: seven bits a byte, the least significant first, the top bit set on all bytes but the last.

/// Maps small numbers of either sign to small unsigned ones.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[inline]
fn zigzag_wide(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)) as u128
}

/// Appends an unsigned number.
#[inline]
pub(crate) fn put_unsigned(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number in zigzag form.
#[inline]
pub(crate) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_unsigned(zigzag(value), out);
}

/// Bytes that the longest number of 128 bits takes.
const LONGEST: usize = 19;

/// Numbers from here on do not fit the eight bytes of the fast path.
const WIDE: u32 = 56;

/// Appends signed numbers of up to 128 bits in zigzag form.
pub(crate) fn put_all_signed(values: &[i128], out: &mut Vec<u8>) {
    put_all(values.iter().map(|&value| zigzag_wide(value)), out);
}

/// Appends signed numbers of 64 bits in zigzag form.
pub(crate) fn put_all_signed_narrow(values: &[i64], out: &mut Vec<u8>) {
    put_all(values.iter().map(|&value| u128::from(zigzag(value))), out);
}

#[inline(always)]
fn put_all(values: impl ExactSizeIterator<Item = u128>, out: &mut Vec<u8>) {
    let mut at = out.len();
    out.resize(at + values.len() * 8 + LONGEST, 0);
    for value in values {
        if at + LONGEST > out.len() {
            out.resize(out.len() + out.len() / 2 + LONGEST, 0);
        }
        if value >> WIDE == 0 {
            let (bytes, len) = spread(value as u64);
            out[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            at += len;
        } else {
            at += put_wide(value, &mut out[at..]);
        }
    }
    out.truncate(at);
}

/// The varint of a number below 2^56 as a little-endian word, and its length in bytes, without a branch.
#[inline]
fn spread(value: u64) -> (u64, usize) {
    let len = (64 - (value | 1).leading_zeros()).div_ceil(7);
    // Spread groups of 28, then 14, then 7 bits apart.
    let v = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let v = (v & 0x0000_3fff_0000_3fff) | ((v & 0x0fff_c000_0fff_c000) << 2);
    let v = (v & 0x007f_007f_007f_007f) | ((v & 0x3f80_3f80_3f80_3f80) << 1);
    let more = 0x8080_8080_8080_8080u64 & ((1u64 << (8 * (len - 1))) - 1);
    (v | more, len as usize)
}

fn put_wide(mut value: u128, out: &mut [u8]) -> usize {
    let mut at = 0;
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

#[cfg(test)]
mod tests;
