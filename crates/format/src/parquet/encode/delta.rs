//! Integers in ascending order, and lengths of byte strings, as their differences: DELTA_BINARY_PACKED.
//!
//! Source of the format: parquet-format, `Encodings.md`, "Delta Encoding".

use super::rle::append_varint;

/// Values of a block, whose least difference is stored once.
const BLOCK_VALUES: usize = 128;
/// Values that have a bit width of their own.
const MINIBLOCK_VALUES: usize = 32;
const MINIBLOCKS: usize = BLOCK_VALUES / MINIBLOCK_VALUES;
/// Differences that take more than three quarters of the values' bytes cost readers more than they save.
const BYTES_AT_MOST: (usize, usize) = (3, 4);

/// An integer in its PLAIN encoding.
trait StoredInteger: Sized {
    const BYTES: usize;

    fn read(bytes: &[u8]) -> i64;
}

impl StoredInteger for i32 {
    const BYTES: usize = 4;

    fn read(bytes: &[u8]) -> i64 {
        let mut stored = [0; 4];
        stored.copy_from_slice(bytes);
        i64::from(Self::from_le_bytes(stored))
    }
}

impl StoredInteger for i64 {
    const BYTES: usize = 8;

    fn read(bytes: &[u8]) -> i64 {
        let mut stored = [0; 8];
        stored.copy_from_slice(bytes);
        Self::from_le_bytes(stored)
    }
}

/// Appends the differences of PLAIN integers of `width` (4 or 8) bytes to `output`, if none is less than the one before
/// and the differences are much shorter; returns true if it did.
pub(crate) fn append_differences(plain: &[u8], width: usize, output: &mut Vec<u8>) -> bool {
    let begin = output.len();
    let done = match width {
        4 => append::<i32>(plain, output),
        8 => append::<i64>(plain, output),
        _ => false,
    };
    if !done {
        output.truncate(begin);
    }
    done
}

fn append<T: StoredInteger>(plain: &[u8], output: &mut Vec<u8>) -> bool {
    let values = plain.chunks_exact(T::BYTES);
    let count = values.len();
    let mut values = values.map(T::read);
    let Some(first) = values.next() else { return false };
    let begin = output.len();
    append_header(count, first, output);
    let (mut last, mut seen) = (first, 1);
    let mut differences = [0u64; BLOCK_VALUES];
    while seen < count {
        let length = BLOCK_VALUES.min(count - seen);
        for (slot, value) in differences.iter_mut().zip(values.by_ref().take(length)) {
            if value < last {
                return false;
            }
            *slot = value.wrapping_sub(last) as u64;
            last = value;
        }
        let least = differences[..length].iter().copied().fold(u64::MAX, u64::min);
        // The difference of two numbers of a width is stored as such a number, whose sign is of no account.
        let signed = if T::BYTES == 4 { i64::from(least as u32 as i32) } else { least as i64 };
        differences.iter_mut().for_each(|difference| *difference = difference.wrapping_sub(least));
        append_block(&mut differences, length, signed, output);
        seen += length;
        if (output.len() - begin) * BYTES_AT_MOST.1 > seen * T::BYTES * BYTES_AT_MOST.0 {
            return false;
        }
    }
    true
}

/// Appends lengths, each of at most `i32::MAX`, before a page of DELTA_LENGTH_BYTE_ARRAY.
pub(crate) fn append_lengths(lengths: &[u32], output: &mut Vec<u8>) {
    let Some((first, rest)) = lengths.split_first() else { return append_header(0, 0, output) };
    append_header(lengths.len(), i64::from(*first), output);
    let mut last = *first;
    let mut differences = [0u64; BLOCK_VALUES];
    for block in rest.chunks(BLOCK_VALUES) {
        let mut least = i64::MAX;
        for (slot, length) in differences.iter_mut().zip(block) {
            let difference = i64::from(*length) - i64::from(last);
            least = least.min(difference);
            *slot = difference as u64;
            last = *length;
        }
        differences.iter_mut().for_each(|difference| *difference = difference.wrapping_sub(least as u64));
        append_block(&mut differences, block.len(), least, output);
    }
}

fn append_header(count: usize, first: i64, output: &mut Vec<u8>) {
    for number in [BLOCK_VALUES, MINIBLOCKS, count] {
        append_varint(number as u64, output);
    }
    append_varint(zigzag(first), output);
}

/// Appends a block of differences, the first `length` of which belong to values, relative to the least one.
fn append_block(differences: &mut [u64; BLOCK_VALUES], length: usize, least: i64, output: &mut Vec<u8>) {
    append_varint(zigzag(least), output);
    // A miniblock is stored whole, a block only as far as it has values.
    differences[length..].fill(0);
    let widths = output.len();
    output.extend_from_slice(&[0; MINIBLOCKS]);
    for (number, miniblock) in differences.chunks(MINIBLOCK_VALUES).enumerate() {
        let bits = u64::BITS - miniblock.iter().fold(0, |all, one| all | one).leading_zeros();
        if number * MINIBLOCK_VALUES < length {
            output[widths + number] = bits as u8;
            append_packed(miniblock, bits, output);
        }
    }
}

/// Appends values of this many bits, the lowest bits first.
fn append_packed(values: &[u64], bits: u32, output: &mut Vec<u8>) {
    let (mut word, mut filled) = (0u128, 0);
    for value in values {
        word |= u128::from(*value) << filled;
        filled += bits;
        if filled >= u64::BITS {
            output.extend_from_slice(&(word as u64).to_le_bytes());
            word >>= u64::BITS;
            filled -= u64::BITS;
        }
    }
    // 32 values of any width end at a byte.
    output.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8) as usize]);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[cfg(test)]
mod tests;
