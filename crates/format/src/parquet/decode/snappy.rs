//! Snappy blocks, decompressed into memory with slack: <https://github.com/google/snappy/blob/main/format_description.txt>
//!
//! Elements are short, so the cost is in branches, not in copies. The fast loop decides by table and by selecting a
//! source pointer, and always copies whole vectors: up to 64 bytes beyond the end of an element, which the next one
//! overwrites.

use lakerace_io::{Error, Result};

/// Bytes that the fast loop may write beyond an element, and read beyond it.
const REACH: usize = 64;

/// The meaning of a tag byte: the element's length, or 0 where the fast loop leaves it to the careful path.
const LENGTHS: [u8; 256] = lengths();

const fn lengths() -> [u8; 256] {
    let mut table = [0; 256];
    let mut tag = 0;
    while tag < 256 {
        let upper = (tag >> 2) as u8;
        table[tag] = match tag & 3 {
            // Longer literals have their length in the bytes that follow.
            0 if upper < 60 => upper + 1,
            1 => (upper & 7) + 4,
            2 => upper + 1,
            _ => 0,
        };
        tag += 1;
    }
    table
}

/// The bits of an offset that follow a tag, by the tag's lower two bits.
const OFFSET_MASKS: [usize; 4] = [0, 0xff, 0xffff, 0];

/// Decompresses `input` to exactly `length` bytes at the start of `output`, which must have 64 bytes more than that.
/// The contents of these are unspecified.
pub(crate) fn decompress(input: &[u8], output: &mut [u8], length: usize) -> Result<()> {
    let (stated, start) = preamble(input)?;
    if stated != length as u64 {
        return Err(Error::corrupt(format!("the snappy data states {stated} bytes, but the page header {length}")));
    }
    if output.len() < length + REACH {
        return Err(Error::internal("not enough memory to decompress a page"));
    }
    let mut at = CopyPositions { input: start, output: 0 };
    loop {
        at = fast(input, output, length, at)?;
        if at.input == input.len() {
            break;
        }
        at = careful(input, output, length, at)?;
    }
    if at.output != length {
        return Err(Error::corrupt(format!("snappy data ends after {} of {length} bytes", at.output)));
    }
    Ok(())
}

/// Positions in input and output.
#[derive(Clone, Copy)]
struct CopyPositions {
    input: usize,
    output: usize,
}

/// The decompressed length, and the start of the elements.
pub(crate) fn preamble(input: &[u8]) -> Result<(u64, usize)> {
    let mut length = 0u64;
    for (number, byte) in input.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * number);
        if byte & 0x80 == 0 {
            return Ok((length, number + 1));
        }
    }
    Err(Error::corrupt("the snappy data has no length"))
}

fn too_far() -> Error {
    Error::corrupt("snappy data refers to bytes before its start")
}

/// Decodes elements up to one for the careful path, or near the end.
fn fast(input: &[u8], output: &mut [u8], length: usize, from: CopyPositions) -> Result<CopyPositions> {
    // Tag, two bytes of offset, and a vector copy of a literal must lie within the input.
    let Some(last) = input.len().checked_sub(REACH + 3) else { return Ok(from) };
    let (source, target) = (input.as_ptr(), output.as_mut_ptr());
    let CopyPositions { input: mut i, output: mut o } = from;
    while i <= last && o < length {
        // SAFETY: `i <= last` leaves 67 readable bytes from `i` on. `o < length` leaves 64 writable bytes from `o`
        // on: the caller has checked that `output` is that much longer than `length`. A copy's source is checked to lie
        // between the start of `output` and `o`, and is read for 64 bytes at most, which again end within `output`.
        unsafe {
            let tag = *source.add(i);
            let len = LENGTHS[tag as usize] as usize;
            let kind = (tag & 3) as usize;
            if len == 0 {
                break;
            }
            let word = source.add(i + 1).cast::<u32>().read_unaligned().to_le() as usize;
            // Of 0, 1 or 2 bytes; a one-byte offset has three more bits in the tag.
            let offset = word & OFFSET_MASKS[kind];
            let offset = offset | if kind == 1 { (tag as usize >> 5) << 8 } else { 0 };
            let is_literal = kind == 0;
            if !is_literal && (offset < len || offset > o) {
                if offset == 0 || offset > o {
                    return Err(too_far());
                }
                repeat(target.add(o), offset, len);
                o += len;
                i += 1 + kind;
                continue;
            }
            let from = if is_literal { source.add(i + 1) } else { target.add(o - offset).cast_const() };
            copy(from, target.add(o), len);
            o += len;
            i += 1 + kind + if is_literal { len } else { 0 };
        }
    }
    if o > length {
        return Err(Error::corrupt("snappy data is longer than it states"));
    }
    Ok(CopyPositions { input: i, output: o })
}

/// Copies `len` (1 to 64) bytes as whole vectors.
///
/// # Safety
/// 64 bytes must be readable from `from` and writable from `to`, and `from` must not lie less than `len` before `to`.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise. Each vector is read before it is written, and bytes that `to` overlaps are beyond
    // `len`.
    unsafe {
        vector(from, to);
        if len > 16 {
            vector(from.add(16), to.add(16));
            if len > 32 {
                vector(from.add(32), to.add(32));
                vector(from.add(48), to.add(48));
            }
        }
    }
}

#[inline(always)]
unsafe fn vector(from: *const u8, to: *mut u8) {
    // SAFETY: the callers' promise: 16 bytes on either side.
    unsafe { to.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()) }
}

/// Writes the `offset` bytes before `to` again and again, `len` (up to 64) bytes in all.
///
/// # Safety
/// `offset` (at least 1) bytes before `to` must be readable, and 64 bytes from `to` on writable.
unsafe fn repeat(to: *mut u8, offset: usize, len: usize) {
    // SAFETY: the caller's promise; no store starts at or after `len`, and none is wider than 8 bytes, so that all end
    // before `len + 8`, which for a last store that starts before 57 is within 64.
    unsafe {
        if offset >= 8 {
            let from = to.cast_const().sub(offset);
            let mut done = 0;
            while done < len {
                to.add(done).cast::<u64>().write_unaligned(from.add(done).cast::<u64>().read_unaligned());
                done += 8;
            }
            return;
        }
        let mut pattern = 0u64;
        for number in 0..offset {
            pattern |= u64::from(*to.cast_const().sub(offset - number)) << (8 * number);
        }
        for doubling in 0..3 {
            pattern |= pattern.checked_shl((8 * offset as u32) << doubling).unwrap_or(0);
        }
        // The pattern starts over at each multiple of its length.
        let step = 8 - 8 % offset;
        let mut done = 0;
        while done < len {
            let left = 64 - done;
            if left >= 8 {
                to.add(done).cast::<u64>().write_unaligned(pattern.to_le());
            } else {
                std::ptr::copy_nonoverlapping(pattern.to_le_bytes().as_ptr(), to.add(done), left);
            }
            done += step;
        }
    }
}

/// Decodes one element of any kind, every bound checked.
fn careful(input: &[u8], output: &mut [u8], length: usize, at: CopyPositions) -> Result<CopyPositions> {
    let short = || Error::corrupt("snappy data ends within an element");
    let CopyPositions { input: i, output: o } = at;
    let tag = *input.get(i).ok_or_else(short)?;
    let upper = (tag >> 2) as usize;
    let number = |bytes: usize| {
        let stored = input.get(i + 1..i + 1 + bytes).ok_or_else(short)?;
        Ok::<_, Error>(stored.iter().rev().fold(0usize, |value, byte| value << 8 | *byte as usize))
    };
    let fits = |len: usize| {
        if len > length - o { Err(Error::corrupt("snappy data is longer than it states")) } else { Ok(len) }
    };
    if tag & 3 == 0 {
        let extra = upper.saturating_sub(59);
        let len = if extra == 0 { upper + 1 } else { number(extra)?.saturating_add(1) };
        let len = fits(len)?;
        let start = i + 1 + extra;
        let literal = start.checked_add(len).and_then(|end| input.get(start..end)).ok_or_else(short)?;
        output[o..o + len].copy_from_slice(literal);
        return Ok(CopyPositions { input: start + len, output: o + len });
    }
    let (offset, len, extra) = match tag & 3 {
        1 => ((tag as usize >> 5) << 8 | number(1)?, (upper & 7) + 4, 1),
        2 => (number(2)?, upper + 1, 2),
        _ => (number(4)?, upper + 1, 4),
    };
    let len = fits(len)?;
    if offset == 0 || offset > o {
        return Err(too_far());
    }
    for position in o..o + len {
        output[position] = output[position - offset];
    }
    Ok(CopyPositions { input: i + 1 + extra, output: o + len })
}

#[cfg(test)]
mod tests;
