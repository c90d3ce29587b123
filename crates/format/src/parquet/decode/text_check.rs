//! Checks of texts to be UTF-8, one by one.
//!
//! Most texts are ASCII. So the bits of many texts are joined first, by whole vectors, and texts are looked at one by one only where a
//! high bit is set.

use lakerace_io::{Error, Result};

use super::copied_text::{LENGTH_BYTES, length_at};
use super::delta::ValueLengths;
use super::error::page_ends;

/// Texts whose bits are joined.
const GROUP_TEXTS: usize = 64;
/// The bits that no ASCII character has.
const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; 16]);

/// Checks a text.
pub(crate) fn check_utf8(text: &[u8]) -> Result<()> {
    if joined_bits(text) & HIGH_BITS == 0 {
        return Ok(());
    }
    simdutf8::basic::from_utf8(text).map(drop).map_err(|_| Error::corrupt("a text is not valid UTF-8"))
}

/// Checks each of `count` texts, the first at `start`. Without `lengths`, each has its length before it.
pub(crate) fn check_each(data: &[u8], start: usize, count: usize, lengths: Option<&ValueLengths>) -> Result<()> {
    let Some(lengths) = lengths else {
        return check_groups(start, count, |at| {
            let from = *at + LENGTH_BYTES;
            *at = from + length_at(data, *at)?;
            data.get(from..*at).ok_or_else(page_ends)
        });
    };
    let lengths = lengths.peek(count);
    check_groups((start, 0), lengths.len(), |(at, number)| {
        let from = *at;
        *at += *lengths.get(*number).ok_or_else(page_ends)? as usize;
        *number += 1;
        data.get(from..*at).ok_or_else(page_ends)
    })
}

/// Checks `count` texts: `next` takes the next one from a place, and moves the place on.
#[inline(always)]
fn check_groups<'a, P: Copy>(
    mut place: P,
    count: usize,
    mut next: impl FnMut(&mut P) -> Result<&'a [u8]>,
) -> Result<()> {
    let mut left = count;
    while left > 0 {
        let texts = left.min(GROUP_TEXTS);
        let first = place;
        let mut bits = 0;
        for _ in 0..texts {
            bits |= joined_bits(next(&mut place)?);
        }
        if bits & HIGH_BITS != 0 {
            place = first;
            for _ in 0..texts {
                check_utf8(next(&mut place)?)?;
            }
        }
        left -= texts;
    }
    Ok(())
}

/// Bits that are set in any byte, in bytes that are unspecified.
#[inline(always)]
fn joined_bits(text: &[u8]) -> u128 {
    if let Some(last) = text.last_chunk::<16>() {
        // The last vector may overlap the one before it.
        let (vectors, _) = text.as_chunks::<16>();
        return vectors.iter().fold(u128::from_ne_bytes(*last), |bits, vector| bits | u128::from_ne_bytes(*vector));
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        return u128::from(u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last));
    }
    u128::from(text.iter().fold(0, |bits, byte| bits | byte))
}

#[cfg(test)]
mod tests;
