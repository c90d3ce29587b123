//! Rarer encodings, turned into plain pages: one more pass over memory, and no second decoder for each type.

use lakerace_io::{Error, Result};

use super::block::PageBytes;
use super::column::page_ends;
use super::hybrid::unpack;

/// A page must not grow beyond this when its shared prefixes are written out.
const MADE_BYTES_AT_MOST: usize = 1 << 30;

/// DELTA_BINARY_PACKED as plain integers of `width` (4 or 8) bytes, at most `count` of them.
pub(crate) fn integers(data: &[u8], width: usize, count: usize) -> Result<PageBytes> {
    if width != 4 && width != 8 {
        return Err(Error::corrupt("packed differences of values that are not integers"));
    }
    let (values, _) = differences(data, count)?;
    let mut plain = Vec::with_capacity(values.len() * width);
    for value in values {
        plain.extend_from_slice(&value.to_le_bytes()[..width]);
    }
    Ok(made(plain))
}

/// BYTE_STREAM_SPLIT as plain values of `width` bytes.
pub(crate) fn joined_streams(data: &[u8], width: usize) -> Result<PageBytes> {
    if width == 0 || !data.len().is_multiple_of(width) {
        return Err(Error::corrupt("streams of bytes of different lengths"));
    }
    let count = data.len() / width;
    let mut plain = vec![0; data.len()];
    // By blocks of values, so that all streams' lines stay in the cache.
    const BLOCK: usize = 256;
    for start in (0..count).step_by(BLOCK) {
        let end = count.min(start + BLOCK);
        for (number, stream) in data.chunks_exact(count).enumerate() {
            let values = plain[start * width..end * width].chunks_exact_mut(width);
            for (value, byte) in values.zip(&stream[start..end]) {
                value[number] = *byte;
            }
        }
    }
    Ok(made(plain))
}

/// DELTA_LENGTH_BYTE_ARRAY as plain byte arrays.
pub(crate) fn byte_arrays(data: &[u8], count: usize) -> Result<PageBytes> {
    let (lengths, mut at) = differences(data, count)?;
    let mut plain = Vec::with_capacity(data.len() - at + 4 * lengths.len());
    for length in lengths {
        let value = suffix(data, &mut at, length)?;
        plain.extend_from_slice(&(value.len() as u32).to_le_bytes());
        plain.extend_from_slice(value);
    }
    Ok(made(plain))
}

/// DELTA_BYTE_ARRAY as plain byte arrays.
pub(crate) fn prefixed_byte_arrays(data: &[u8], count: usize) -> Result<PageBytes> {
    prefixed(data, count, None)
}

/// DELTA_BYTE_ARRAY as plain byte arrays of one length.
pub(crate) fn fixed_byte_arrays(data: &[u8], count: usize, width: usize) -> Result<PageBytes> {
    prefixed(data, count, Some(width))
}

fn prefixed(data: &[u8], count: usize, width: Option<usize>) -> Result<PageBytes> {
    let (prefixes, start) = differences(data, count)?;
    let rest = data.get(start..).unwrap_or(&[]);
    let (lengths, mut at) = differences(rest, count)?;
    if prefixes.len() != lengths.len() {
        return Err(Error::corrupt("prefixes and suffixes differ in number"));
    }
    let mut plain: Vec<u8> = Vec::new();
    let mut last = 0..0;
    for (prefix, length) in prefixes.into_iter().zip(lengths) {
        let prefix = usize::try_from(prefix).ok().filter(|prefix| *prefix <= last.len());
        let prefix = prefix.ok_or_else(|| Error::corrupt("a prefix that is longer than the value before"))?;
        let suffix = suffix(rest, &mut at, length)?;
        let whole = prefix + suffix.len();
        if plain.len() + whole > MADE_BYTES_AT_MOST {
            return Err(Error::corrupt("a page with too many bytes once its prefixes are written out"));
        }
        match width {
            None => plain.extend_from_slice(&(whole as u32).to_le_bytes()),
            Some(width) if width == whole => {}
            Some(width) => return Err(Error::corrupt(format!("a value of {whole} bytes where all have {width}"))),
        }
        let begin = plain.len();
        plain.extend_from_within(last.start..last.start + prefix);
        plain.extend_from_slice(suffix);
        last = begin..plain.len();
    }
    Ok(made(plain))
}

fn made(plain: Vec<u8>) -> PageBytes {
    PageBytes::Stored(plain.into())
}

/// The next `length` bytes.
fn suffix<'a>(data: &'a [u8], at: &mut usize, length: i64) -> Result<&'a [u8]> {
    let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
    let value = end.and_then(|end| data.get(*at..end)).ok_or_else(page_ends)?;
    *at += value.len();
    Ok(value)
}

/// The integers of a DELTA_BINARY_PACKED sequence, at most `count`, and where it ends. See Encodings.md: a header, then
/// blocks of a least difference, the bit widths of its miniblocks, and these.
fn differences(data: &[u8], count: usize) -> Result<(Vec<i64>, usize)> {
    let mut input = Varints { data, at: 0 };
    let block_values = input.count()?;
    let miniblocks = input.count()?;
    let total = input.count()?;
    let first = input.zigzag()?;
    if total > count {
        return Err(Error::corrupt(format!("{total} packed values in a page of {count}")));
    }
    let mut values = Vec::with_capacity(total);
    if total == 0 {
        return Ok((values, input.at));
    }
    let miniblock_values = block_values.checked_div(miniblocks).unwrap_or(0);
    if miniblock_values == 0 || !miniblock_values.is_multiple_of(8) || !block_values.is_multiple_of(miniblocks) {
        return Err(Error::corrupt(format!("packed blocks of {block_values} values in {miniblocks} parts")));
    }
    values.push(first);
    let mut last = first;
    while values.len() < total {
        let least = input.zigzag()?;
        let widths_end = input.at.checked_add(miniblocks);
        let widths = widths_end.and_then(|end| data.get(input.at..end)).ok_or_else(page_ends)?;
        input.at += miniblocks;
        for width in widths {
            if values.len() == total {
                break;
            }
            let bytes = miniblock_values.checked_mul(*width as usize).ok_or_else(page_ends)? / 8;
            let wanted = miniblock_values.min(total - values.len());
            if *width > 64 {
                return Err(Error::corrupt(format!("packed values of {width} bits")));
            }
            // The last miniblock may be cut short after its last value.
            let needed = (wanted * *width as usize).div_ceil(8);
            let end = input.at.checked_add(bytes).ok_or_else(page_ends)?.min(data.len());
            let packed = data.get(input.at..end).filter(|packed| packed.len() >= needed).ok_or_else(page_ends)?;
            input.at = end;
            add_up(packed, u32::from(*width), wanted, least, &mut last, &mut values);
        }
    }
    Ok((values, input.at))
}

/// Appends the values that `wanted` packed differences lead to.
fn add_up(packed: &[u8], width: u32, wanted: usize, least: i64, last: &mut i64, values: &mut Vec<i64>) {
    let mut chunk = [0u32; 64];
    let mut done = 0;
    while done < wanted {
        let length = chunk.len().min(wanted - done);
        if width <= 32 {
            unpack(packed, done * width as usize, width, &mut chunk[..length]);
            for difference in &chunk[..length] {
                *last = last.wrapping_add(least).wrapping_add(i64::from(*difference));
                values.push(*last);
            }
        } else {
            for number in done..done + length {
                let difference = wide_value(packed, number * width as usize, width);
                *last = last.wrapping_add(least).wrapping_add(difference as i64);
                values.push(*last);
            }
        }
        done += length;
    }
}

/// A packed value of 33 to 64 bits.
fn wide_value(packed: &[u8], bit: usize, width: u32) -> u64 {
    let tail = packed.get(bit / 8..).unwrap_or(&[]);
    let mut word = [0; 16];
    let length = tail.len().min(16);
    word[..length].copy_from_slice(&tail[..length]);
    let value = (u128::from_le_bytes(word) >> (bit % 8)) as u64;
    if width == 64 { value } else { value & ((1 << width) - 1) }
}

struct Varints<'a> {
    data: &'a [u8],
    at: usize,
}

impl Varints<'_> {
    fn next(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = *self.data.get(self.at).ok_or_else(page_ends)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("an integer is too long"))
    }

    fn count(&mut self) -> Result<usize> {
        let value = self.next()?;
        if value <= i32::MAX as u64 { Ok(value as usize) } else { Err(Error::corrupt("a count is too large")) }
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.next()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
