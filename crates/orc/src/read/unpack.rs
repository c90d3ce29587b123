//! Bit-packed integers: values of one width, the most significant bit first, after each other without gaps.

use crate::error::{Error, Result};
use crate::widths::packed_bytes;

/// Unpacks unsigned values of `width` bits to the whole of `out`, as the bits of signed ones; `bytes` holds [`packed_bytes`] at least, and may hold more.
pub(crate) fn unpack(bytes: &[u8], width: u32, out: &mut [i64]) -> Result<()> {
    if bytes.len() < packed_bytes(out.len(), width) {
        return Err(Error::corrupt("ends within a run of packed integers"));
    }
    macro_rules! widths {
        ($($width:literal),*) => {
            match width {
                $($width => narrow::<$width>(bytes, out),)*
                8 => bytes.iter().zip(out).for_each(|(byte, out)| *out = i64::from(*byte)),
                16 => whole::<2>(bytes, out),
                32 => whole::<4>(bytes, out),
                40 => whole::<5>(bytes, out),
                48 => whole::<6>(bytes, out),
                56 => whole::<7>(bytes, out),
                64 => whole::<8>(bytes, out),
                _ => wide(bytes, width, out),
            }
        };
    }
    widths!(1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30);
    Ok(())
}

/// Values of `N` whole bytes.
#[inline(always)]
fn whole<const N: usize>(bytes: &[u8], out: &mut [i64]) {
    for (bytes, out) in bytes.chunks_exact(N).zip(out) {
        let mut word = [0; 8];
        word[8 - N..].copy_from_slice(bytes);
        *out = u64::from_be_bytes(word) as i64;
    }
}

/// Eight values of `W` bits from `W` bytes and the seven after them, which are read but not used.
#[inline(always)]
fn eight<const W: usize>(bytes: &[u8], out: &mut [i64; 8]) {
    for (nth, out) in out.iter_mut().enumerate() {
        let bit = nth * W;
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[bit / 8..bit / 8 + 8]);
        *out = ((u64::from_be_bytes(word) << (bit % 8)) >> (64 - W)) as i64;
    }
}

/// Unpacks values of up to 30 bits: each lies within eight bytes, counted from the one in which it starts.
#[inline(never)]
fn narrow<const W: usize>(bytes: &[u8], out: &mut [i64]) {
    let mut at = 0;
    let mut groups = out.chunks_exact_mut(8);
    for group in &mut groups {
        let Some(group) = group.first_chunk_mut::<8>() else { return };
        if let Some(window) = bytes.get(at..at + W + 7) {
            eight::<W>(window, group);
        } else {
            padded::<W>(&bytes[at..], group);
        }
        at += W;
    }
    let rest = groups.into_remainder();
    if !rest.is_empty() {
        let mut group = [0; 8];
        padded::<W>(&bytes[at..], &mut group);
        rest.copy_from_slice(&group[..rest.len()]);
    }
}

/// As [`eight`], where fewer bytes are left than it reads.
fn padded<const W: usize>(bytes: &[u8], out: &mut [i64; 8]) {
    let mut window = [0; 40];
    let length = bytes.len().min(W);
    window[..length].copy_from_slice(&bytes[..length]);
    eight::<W>(&window[..W + 7], out);
}

/// Any width, value by value: for the widths that only patches have.
fn wide(bytes: &[u8], width: u32, out: &mut [i64]) {
    let mut bit = 0;
    for out in out {
        let mut value = 0u64;
        let mut left = width as usize;
        while left > 0 {
            let free = 8 - bit % 8;
            let take = free.min(left);
            let part = (u64::from(bytes[bit / 8]) >> (free - take)) & ((1 << take) - 1);
            value = value << take | part;
            bit += take;
            left -= take;
        }
        *out = value as i64;
    }
}

#[cfg(test)]
mod tests;
