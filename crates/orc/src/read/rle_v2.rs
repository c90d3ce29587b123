//! Integer run-length encoding, version 2: short repeats, packed values, packed values with patches, and deltas.

use super::input::StreamInput;
use super::unpack::unpack;
use super::varint::{varint, zigzag};
use crate::error::{Error, Result};
use crate::widths::{closest_width, packed_bytes, width_of_code};

/// The most values that a run has.
const MAX_RUN: usize = 512;

/// More bytes than any run has: 512 values of 64 bits, 31 patches of 64 bits, headers and a base.
pub(super) const MAX_RUN_BYTES: usize = 4096 + 248 + 32;

/// Integers of version 2.
pub(crate) struct IntsV2 {
    pub(super) input: StreamInput,
    signed: bool,
    /// The values of a run that was longer than the requested number.
    buffer: Box<[i64; MAX_RUN]>,
    start: usize,
    end: usize,
}

impl IntsV2 {
    pub(crate) fn new(input: StreamInput, signed: bool) -> Self {
        Self { input, signed, buffer: Box::new([0; MAX_RUN]), start: 0, end: 0 }
    }

    pub(super) fn forget(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Fills `out`.
    pub(crate) fn read(&mut self, out: &mut [i64]) -> Result<()> {
        let mut at = 0;
        while at < out.len() {
            let room = &mut out[at..];
            if self.start < self.end {
                let step = room.len().min(self.end - self.start);
                room[..step].copy_from_slice(&self.buffer[self.start..self.start + step]);
                self.start += step;
                at += step;
                continue;
            }
            let bytes = self.input.ensure(MAX_RUN_BYTES)?;
            let count = run_length(bytes)?;
            let used = match room.get_mut(..count) {
                Some(room) => {
                    at += count;
                    run(bytes, self.signed, room)?
                }
                None => {
                    (self.start, self.end) = (0, count);
                    run(bytes, self.signed, &mut self.buffer[..count])?
                }
            };
            self.input.advance(used);
        }
        Ok(())
    }
}

#[cold]
fn ends() -> Error {
    Error::corrupt("ends within a run of integers")
}

/// How many values the run at the beginning of `bytes` has.
#[inline]
fn run_length(bytes: &[u8]) -> Result<usize> {
    match bytes {
        [] => Err(Error::corrupt("ends, but more integers are needed")),
        [head @ 0..64, ..] => Ok(usize::from(head & 7) + 3),
        [head, low, ..] => Ok((usize::from(head & 1) << 8 | usize::from(*low)) + 1),
        _ => Err(ends()),
    }
}

/// Decodes the run at the beginning of `bytes`, which has as many values as `out`, and says how many bytes it took.
#[inline]
fn run(bytes: &[u8], signed: bool, out: &mut [i64]) -> Result<usize> {
    let head = bytes.first().ok_or_else(ends)?;
    match head >> 6 {
        0 => short_repeat(bytes, signed, out),
        1 => {
            let width = width_of_code(head >> 1);
            let packed = bytes.get(2..).ok_or_else(ends)?;
            unpack(packed, width, out)?;
            if signed {
                out.iter_mut().for_each(|value| *value = zigzag(*value as u64));
            }
            Ok(2 + packed_bytes(out.len(), width))
        }
        2 => patched(bytes, out),
        _ => delta(bytes, signed, out),
    }
}

fn short_repeat(bytes: &[u8], signed: bool, out: &mut [i64]) -> Result<usize> {
    let width = usize::from(bytes[0] >> 3 & 7) + 1;
    let value = bytes.get(1..1 + width).ok_or_else(ends)?;
    let value = value.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    out.fill(if signed { zigzag(value) } else { value as i64 });
    Ok(1 + width)
}

/// Packed values above a base, some of which have more bits than the packed ones: these bits are the patches.
fn patched(bytes: &[u8], out: &mut [i64]) -> Result<usize> {
    let &[head, _, third, fourth, ref rest @ ..] = bytes else { return Err(ends()) };
    let width = width_of_code(head >> 1);
    let base_bytes = usize::from(third >> 5) + 1;
    let patch_width = width_of_code(third);
    let gap_width = u32::from(fourth >> 5) + 1;
    let patches = usize::from(fourth & 31);
    let (base, rest) = rest.split_at_checked(base_bytes).ok_or_else(ends)?;
    let base = base.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    // The highest bit is the sign of the others.
    let sign = 1u64 << (8 * base_bytes - 1);
    let base = if base & sign != 0 { (base & (sign - 1)).wrapping_neg() } else { base } as i64;

    let packed = packed_bytes(out.len(), width);
    unpack(rest, width, out)?;
    if patch_width + gap_width > 64 {
        return Err(Error::corrupt(format!("a patch has {} bits", patch_width + gap_width)));
    }
    let entry_width = closest_width(patch_width + gap_width);
    let mut entries = [0; 31];
    let entries = &mut entries[..patches];
    let rest = &rest[packed..];
    unpack(rest, entry_width, entries)?;
    let mut at = 0;
    for entry in entries {
        let entry = *entry as u64;
        let (gap, patch) =
            if patch_width == 64 { (0, entry) } else { (entry >> patch_width, entry & ((1 << patch_width) - 1)) };
        at += gap as usize;
        let Some(value) = out.get_mut(at) else {
            return Err(Error::corrupt(format!("a patch refers to value {at} of {}", out.len())));
        };
        if patch != 0 && (width == 64 || patch << width >> width != patch) {
            return Err(Error::corrupt("a patched value has more than 64 bits"));
        }
        *value |= (patch << (width & 63)) as i64;
    }
    out.iter_mut().for_each(|value| *value = value.wrapping_add(base));
    Ok(4 + base_bytes + packed + packed_bytes(patches, entry_width))
}

/// A base, a first delta, and the sizes of further ones, all of the first one's sign; or a fixed delta.
fn delta(bytes: &[u8], signed: bool, out: &mut [i64]) -> Result<usize> {
    let code = bytes[0] >> 1 & 31;
    let mut at = 2;
    let (base, length) = varint(bytes.get(at..).ok_or_else(ends)?)?;
    at += length;
    let (first, length) = varint(&bytes[at..])?;
    at += length;
    let mut value = if signed { zigzag(base) } else { base as i64 };
    let first = zigzag(first);
    if code == 0 {
        for out in out {
            *out = value;
            value = value.wrapping_add(first);
        }
        return Ok(at);
    }
    let width = width_of_code(code);
    let Some((out_base, rest)) = out.split_first_mut() else { return Ok(at) };
    *out_base = value;
    let Some((second, rest)) = rest.split_first_mut() else { return Ok(at) };
    value = value.wrapping_add(first);
    *second = value;
    unpack(&bytes[at..], width, rest)?;
    if first < 0 {
        for out in rest.iter_mut() {
            value = value.wrapping_sub(*out);
            *out = value;
        }
    } else {
        for out in rest.iter_mut() {
            value = value.wrapping_add(*out);
            *out = value;
        }
    }
    Ok(at + packed_bytes(rest.len(), width))
}

#[cfg(test)]
mod tests;
