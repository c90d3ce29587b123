//! Rarer encodings, turned into plain pages: one more pass over memory, and no second decoder for each type.

use lakerace_io::{Error, Result};

use super::block::PageBytes;
use super::error::page_ends;
use super::rle::unpack;

/// A page must not grow beyond this when its differences are written out.
const MADE_BYTES_AT_MOST: usize = 1 << 30;

/// A page must not grow beyond this when its shared prefixes are written out.
const MADE_TEXT_BYTES_AT_MOST: usize = i32::MAX as usize;

/// DELTA_BINARY_PACKED as plain integers of `width` (4 or 8) bytes, at most `count` of them.
pub(crate) fn integers(data: &[u8], width: usize, count: usize) -> Result<PageBytes> {
    if width != 4 && width != 8 {
        return Err(Error::corrupt("packed differences are used for values that are not integers"));
    }
    // Differences of zero bits occupy no bytes: a page of a few bytes could claim any number of values.
    let bytes = count.checked_mul(width).filter(|bytes| *bytes <= MADE_BYTES_AT_MOST);
    let bytes = bytes.ok_or_else(|| Error::corrupt(format!("a page of {count} packed values is too large")))?;
    let mut plain = Vec::with_capacity(bytes);
    match width {
        4 => each_run(data, count, |values| append_plain::<4>(values, &mut plain)),
        _ => each_run(data, count, |values| append_plain::<8>(values, &mut plain)),
    }?;
    Ok(PageBytes::Stored(plain.into()))
}

/// Appends the lowest `WIDTH` bytes of each value.
fn append_plain<const WIDTH: usize>(values: &[i64], plain: &mut Vec<u8>) {
    let begin = plain.len();
    plain.resize(begin + values.len() * WIDTH, 0);
    for (slot, value) in plain[begin..].chunks_exact_mut(WIDTH).zip(values) {
        slot.copy_from_slice(&value.to_le_bytes()[..WIDTH]);
    }
}

/// The lengths before a DELTA_LENGTH_BYTE_ARRAY page, at most `count`, and the position of their end. See
/// [`ValueLengths`].
pub(crate) fn lengths(data: &[u8], count: usize) -> Result<(ValueLengths, usize)> {
    // As for integers: lengths of zero occupy no bytes.
    if count > MADE_BYTES_AT_MOST / size_of::<u32>() {
        return Err(Error::corrupt(format!("a page of {count} lengths is too large")));
    }
    let (mut all, mut sum, mut negative) = (Vec::new(), 0u64, false);
    let end = each_run(data, count, |run| {
        all.extend(run.iter().map(|length| *length as u32));
        for length in run {
            negative |= u32::try_from(*length).is_err();
            sum += u64::from(*length as u32);
        }
    })?;
    if negative {
        return Err(Error::corrupt("a value has a negative length"));
    }
    Ok((ValueLengths { all, next: 0, sum }, end))
}

/// Lengths of values that are stored separately from them.
#[derive(Debug, Default)]
pub(crate) struct ValueLengths {
    all: Vec<u32>,
    next: usize,
    sum: u64,
}

impl ValueLengths {
    /// Bytes of all values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The lengths of the next `count` values, or as many as there are.
    #[inline]
    pub fn peek(&self, count: usize) -> &[u32] {
        let rest = &self.all[self.next..];
        &rest[..count.min(rest.len())]
    }

    /// Skips `count` lengths that [`Self::peek`] returned.
    #[inline]
    pub fn pass(&mut self, count: usize) {
        self.next = (self.next + count).min(self.all.len());
    }
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
    let (lengths, suffixes) = differences(rest, count)?;
    if prefixes.len() != lengths.len() {
        return Err(Error::corrupt("the numbers of prefixes and suffixes differ"));
    }
    let bytes = prefixed_bytes(&prefixes, &lengths, rest.len().saturating_sub(suffixes), width)?;
    let suffixes = rest.get(suffixes..).unwrap_or(&[]);
    // Room for the last copies, which are of whole chunks.
    let mut plain = vec![0; bytes + CHUNK_BYTES];
    let (mut at, mut read, mut last) = (0, 0, 0);
    for (prefix, length) in prefixes.iter().zip(&lengths) {
        let (prefix, length) = (*prefix as usize, *length as usize);
        if width.is_none() {
            plain[at..at + 4].copy_from_slice(&((prefix + length) as u32).to_le_bytes());
            at += 4;
        }
        copy_before(&mut plain, last, at, prefix);
        copy_start(&mut plain[at + prefix..], &suffixes[read..], length);
        last = at;
        at += prefix + length;
        read += length;
    }
    plain.truncate(bytes);
    Ok(PageBytes::Stored(plain.into()))
}

/// The bytes of all values with their lengths, or of those of one `width` without. Checks all prefixes and lengths:
/// `stored` bytes are those of the suffixes.
fn prefixed_bytes(prefixes: &[i64], lengths: &[i64], stored: usize, width: Option<usize>) -> Result<usize> {
    let (mut bytes, mut read, mut last) = (0, 0usize, 0);
    for (prefix, length) in prefixes.iter().zip(lengths) {
        let prefix = usize::try_from(*prefix).ok().filter(|prefix| *prefix <= last);
        let prefix = prefix.ok_or_else(|| Error::corrupt("a prefix is longer than the preceding value"))?;
        let length = usize::try_from(*length).ok().filter(|length| *length <= stored - read).ok_or_else(page_ends)?;
        read += length;
        last = prefix + length;
        bytes += last + if width.is_none() { 4 } else { 0 };
        if bytes > MADE_TEXT_BYTES_AT_MOST {
            return Err(Error::corrupt("a page has too many bytes after its prefixes are expanded"));
        }
        if let Some(width) = width.filter(|width| *width != last) {
            return Err(Error::corrupt(format!("a value has {last} bytes, but all must have {width}")));
        }
    }
    Ok(bytes)
}

/// The bytes that short copies copy in any case.
const CHUNK_BYTES: usize = 16;

/// Copies `length` bytes from `from` to `to`, which is not before their end; the bytes after `to + length` may change.
fn copy_before(bytes: &mut [u8], from: usize, to: usize, length: usize) {
    if length > CHUNK_BYTES {
        bytes.copy_within(from..from + length, to);
    } else if let Some(chunk) = bytes[from..].first_chunk::<CHUNK_BYTES>().copied() {
        bytes[to..to + CHUNK_BYTES].copy_from_slice(&chunk);
    }
}

/// Copies the first `length` bytes of `source`; the bytes of `target` after them may change.
fn copy_start(target: &mut [u8], source: &[u8], length: usize) {
    match (length <= CHUNK_BYTES, source.first_chunk::<CHUNK_BYTES>()) {
        (true, Some(chunk)) => target[..CHUNK_BYTES].copy_from_slice(chunk),
        _ => target[..length].copy_from_slice(&source[..length]),
    }
}

/// The integers of a DELTA_BINARY_PACKED sequence, at most `count`, and the position of its end.
fn differences(data: &[u8], count: usize) -> Result<(Vec<i64>, usize)> {
    let mut values = Vec::new();
    let end = each_run(data, count, |run| values.extend_from_slice(run))?;
    Ok((values, end))
}

/// Passes the integers of a DELTA_BINARY_PACKED sequence, at most `count`, to `take`, some at a time; returns the
/// position of its end. See Encodings.md: a header, then blocks of a least difference, the bit widths of its
/// miniblocks, and these.
fn each_run(data: &[u8], count: usize, mut take: impl FnMut(&[i64])) -> Result<usize> {
    let mut input = VarintReader { data, at: 0 };
    let block_values = input.count()?;
    let miniblocks = input.count()?;
    let total = input.count()?;
    let first = input.zigzag()?;
    if total > count {
        return Err(Error::corrupt(format!("a page of {count} has {total} packed values")));
    }
    if total == 0 {
        return Ok(input.at);
    }
    let miniblock_values = block_values.checked_div(miniblocks).unwrap_or(0);
    if miniblock_values == 0 || !miniblock_values.is_multiple_of(8) || !block_values.is_multiple_of(miniblocks) {
        return Err(Error::corrupt(format!("packed blocks of {block_values} values have {miniblocks} parts")));
    }
    take(&[first]);
    let (mut last, mut seen) = (first, 1);
    while seen < total {
        let least = input.zigzag()?;
        let widths_end = input.at.checked_add(miniblocks);
        let widths = widths_end.and_then(|end| data.get(input.at..end)).ok_or_else(page_ends)?;
        input.at += miniblocks;
        for width in widths {
            if seen == total {
                break;
            }
            let bytes = miniblock_values.checked_mul(*width as usize).ok_or_else(page_ends)? / 8;
            let wanted = miniblock_values.min(total - seen);
            if *width > 64 {
                return Err(Error::corrupt(format!("packed values have {width} bits")));
            }
            // The last miniblock may be cut short after its last value.
            let needed = (wanted * *width as usize).div_ceil(8);
            // The bytes after it are passed as well: values are read as whole words.
            let packed = data.get(input.at..).filter(|packed| packed.len() >= needed).ok_or_else(page_ends)?;
            input.at = input.at.checked_add(bytes).ok_or_else(page_ends)?.min(data.len());
            add_up(packed, u32::from(*width), wanted, least, &mut last, &mut take);
            seen += wanted;
        }
    }
    Ok(input.at)
}

/// Values that are unpacked and added up together.
const RUN_VALUES: usize = 64;

/// Adds up `wanted` packed differences, and passes on the values.
fn add_up(packed: &[u8], width: u32, wanted: usize, least: i64, last: &mut i64, take: &mut impl FnMut(&[i64])) {
    let mut values = [0i64; RUN_VALUES];
    let mut narrow = [0u32; RUN_VALUES];
    for done in (0..wanted).step_by(RUN_VALUES) {
        let length = RUN_VALUES.min(wanted - done);
        let (values, bit) = (&mut values[..length], done * width as usize);
        if width <= 32 {
            unpack(packed, bit, width, &mut narrow[..length]);
            values.iter_mut().zip(&narrow).for_each(|(value, difference)| *value = i64::from(*difference));
        } else {
            unpack_wide(packed, bit, width, values);
        }
        for value in values.iter_mut() {
            *last = last.wrapping_add(least).wrapping_add(*value);
            *value = *last;
        }
        take(values);
    }
}

/// Unpacks values of 33 to 64 bits, the first at `bit` of `packed`.
fn unpack_wide(packed: &[u8], bit: usize, width: u32, target: &mut [i64]) {
    macro_rules! widths {
        ($($w:literal)*) => {
            match width {
                $($w => unpack_width::<$w>(packed, bit, target),)*
                _ => unpack_each(packed, bit, width, target),
            }
        };
    }
    widths!(33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
}

/// As [`unpack_wide`], for one width.
fn unpack_width<const WIDTH: usize>(packed: &[u8], bit: usize, target: &mut [i64]) {
    let mut at = bit / 8;
    let mut rest = target;
    // 8 values take WIDTH bytes; each is read as 8 bytes, so that the last may read some beyond, and those that lie in
    // a ninth byte take their highest bits from there.
    while rest.len() >= 8 && at + WIDTH + 8 <= packed.len() {
        let (group, others) = rest.split_at_mut(8);
        let source = &packed[at..at + WIDTH + 8];
        for (number, value) in group.iter_mut().enumerate() {
            let (byte, shift) = (number * WIDTH / 8, number * WIDTH % 8);
            let mut word = [0; 8];
            word.copy_from_slice(&source[byte..byte + 8]);
            let mut bits = u64::from_le_bytes(word) >> shift;
            if shift + WIDTH > 64 {
                bits |= u64::from(source[byte + 8]) << (64 - shift);
            }
            *value = (bits & (u64::MAX >> (64 - WIDTH))) as i64;
        }
        at += WIDTH;
        rest = others;
    }
    unpack_each(packed, at * 8, WIDTH as u32, rest);
}

fn unpack_each(packed: &[u8], bit: usize, width: u32, target: &mut [i64]) {
    for (number, value) in target.iter_mut().enumerate() {
        *value = wide_value(packed, bit + number * width as usize, width) as i64;
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

struct VarintReader<'a> {
    data: &'a [u8],
    at: usize,
}

impl VarintReader<'_> {
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
mod tests;
