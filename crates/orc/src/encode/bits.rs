//! Bit packing, most significant bit first, in the widths that run length encoding v2 can name.

use crate::widths::packed_bytes;

/// Bits needed for `value`; 1 for zero, as widths start there.
#[inline]
pub(crate) fn bits_of(value: u64) -> u32 {
    64 - (value | 1).leading_zeros()
}

/// Values that one call of an unrolled packer takes: they fill whole 32-bit words at any width.
const BLOCK: usize = 32;

/// Appends `values`, each of at most `width` bits, packed from the most significant bit on; the last byte is padded with
/// zeros.
pub(crate) fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    debug_assert!(values.iter().all(|&v| bits_of(v) <= width || v == 0));
    let start = out.len();
    out.resize(start + packed_bytes(values.len(), width), 0);
    let out = &mut out[start..];
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                $($width => pack_narrow::<$width>(values, out),)*
                40 => pack_bytes::<5>(values, out),
                48 => pack_bytes::<6>(values, out),
                56 => pack_bytes::<7>(values, out),
                _ => pack_bytes::<8>(values, out),
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 26 28 30 32);
}

fn pack_bytes<const N: usize>(values: &[u64], out: &mut [u8]) {
    for (value, out) in values.iter().zip(out.chunks_exact_mut(N)) {
        out.copy_from_slice(&value.to_be_bytes()[8 - N..]);
    }
}

fn pack_narrow<const WIDTH: u32>(values: &[u64], out: &mut [u8]) {
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    let block_bytes = BLOCK * WIDTH as usize / 8;
    let (head, tail) = out.split_at_mut(blocks.len() * block_bytes);
    for (block, out) in blocks.iter().zip(head.chunks_exact_mut(block_bytes)) {
        pack_block::<WIDTH>(block, out);
    }
    if !rest.is_empty() {
        let mut padded = [0; BLOCK];
        padded[..rest.len()].copy_from_slice(rest);
        let mut packed = [0; BLOCK * 4];
        pack_block::<WIDTH>(&padded, &mut packed[..block_bytes]);
        tail.copy_from_slice(&packed[..tail.len()]);
    }
}

#[inline(always)]
fn pack_block<const WIDTH: u32>(values: &[u64; BLOCK], out: &mut [u8]) {
    // At most 31 bits wait for their word when the next value, of at most 32, comes.
    let (mut waiting, mut bits, mut at) = (0u64, 0, 0);
    for value in values {
        waiting = (waiting << WIDTH) | value;
        bits += WIDTH;
        if bits >= 32 {
            bits -= 32;
            out[at..at + 4].copy_from_slice(&((waiting >> bits) as u32).to_be_bytes());
            at += 4;
        }
    }
}

#[cfg(test)]
mod tests;
