//! Parquet's hybrid of run-length and bit-packed runs (`RLE` in Encodings.md): dictionary indexes, levels, booleans.

use lakerace_io::{Error, Result};

/// A run under way.
#[derive(Debug, Clone, Copy)]
enum CurrentRun {
    /// So many times this value.
    Repeated { value: u32, left: usize },
    /// So many packed values, the next one at this bit of the data.
    Packed { bit: usize, left: usize },
}

/// Decodes a hybrid sequence, front to back. Its length is not in it: the caller asks for no more values than there are.
#[derive(Debug, Clone)]
pub(crate) struct HybridDecoder {
    /// The position of the next run in the caller's bytes.
    at: usize,
    bit_width: u32,
    run: CurrentRun,
}

/// Values that are consumed as runs.
pub(crate) trait ValueRuns {
    /// `count` times `value`.
    fn repeated(&mut self, value: u32, count: usize) -> Result<()>;
    /// `count` packed values of the sequence's width, the first at `bit` of `bytes`; all of them lie within `bytes`.
    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()>;
}

impl HybridDecoder {
    /// A sequence of values of `bit_width` bits, from byte `at` of the data on.
    pub fn new(bit_width: u32, at: usize) -> Result<Self> {
        if bit_width > 32 {
            return Err(Error::corrupt(format!("the bit width is {bit_width}, more than 32")));
        }
        Ok(Self { at, bit_width, run: CurrentRun::Repeated { value: 0, left: 0 } })
    }

    /// Hands the next `count` values to `runs`.
    pub fn take(&mut self, data: &[u8], mut count: usize, runs: &mut impl ValueRuns) -> Result<()> {
        while count > 0 {
            match &mut self.run {
                CurrentRun::Repeated { left: 0, .. } | CurrentRun::Packed { left: 0, .. } => self.next_run(data)?,
                CurrentRun::Repeated { value, left } => {
                    let taken = count.min(*left);
                    runs.repeated(*value, taken)?;
                    *left -= taken;
                    count -= taken;
                }
                CurrentRun::Packed { bit, left } => {
                    let taken = count.min(*left);
                    runs.packed(data, *bit, taken)?;
                    *bit += taken * self.bit_width as usize;
                    *left -= taken;
                    count -= taken;
                }
            }
        }
        Ok(())
    }

    /// Skips `count` values.
    pub fn skip(&mut self, data: &[u8], count: usize) -> Result<()> {
        struct NoValues;
        impl ValueRuns for NoValues {
            fn repeated(&mut self, _: u32, _: usize) -> Result<()> {
                Ok(())
            }
            fn packed(&mut self, _: &[u8], _: usize, _: usize) -> Result<()> {
                Ok(())
            }
        }
        self.take(data, count, &mut NoValues)
    }

    fn next_run(&mut self, data: &[u8]) -> Result<()> {
        let short = || Error::corrupt("run-length data ends before its values do");
        let mut header = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = *data.get(self.at).ok_or_else(short)?;
            self.at += 1;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            if shift == 28 {
                return Err(Error::corrupt("the length of a run is too long"));
            }
        }
        let count = (header >> 1) as usize;
        let width = self.bit_width as usize;
        self.run = if header & 1 == 0 {
            let bytes = width.div_ceil(8);
            let stored = data.get(self.at..self.at + bytes).ok_or_else(short)?;
            self.at += bytes;
            let value = stored.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            CurrentRun::Repeated { value: value as u32, left: count }
        } else {
            // `count` groups of 8. Some writers cut the last group short: bytes beyond the data are not read.
            let bit = self.at * 8;
            let available = (data.len() - self.at) * 8;
            let values = count.saturating_mul(8);
            let left = available.checked_div(width).map_or(values, |held| values.min(held));
            self.at = self.at.saturating_add(count.saturating_mul(width)).min(data.len());
            if left == 0 && count > 0 {
                return Err(short());
            }
            CurrentRun::Packed { bit, left }
        };
        Ok(())
    }
}

/// Unpacks `target.len()` values of `width` bits (1 to 32), the first at `bit` of `bytes`.
pub(crate) fn unpack(bytes: &[u8], bit: usize, width: u32, target: &mut [u32]) {
    macro_rules! widths {
        ($($w:literal)*) => {
            match width {
                $($w => unpack_width::<$w>(bytes, bit, target),)*
                _ => target.fill(0),
            }
        };
    }
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

/// Unpacks the value of `width` bits at `bit` of `bytes`.
#[inline]
pub(crate) fn unpack_one(bytes: &[u8], bit: usize, width: u32) -> u32 {
    value_at(bytes, bit, u32::MAX >> (32 - width.clamp(1, 32)))
}

fn unpack_width<const WIDTH: usize>(bytes: &[u8], bit: usize, target: &mut [u32]) {
    let mask = if WIDTH == 32 { u32::MAX } else { (1u32 << WIDTH) - 1 };
    let mut at = bit;
    let mut rest = target;
    // A run's values start at a byte; later pieces of it at any bit.
    while !at.is_multiple_of(8) && !rest.is_empty() {
        let (first, others) = rest.split_at_mut(1);
        first[0] = value_at(bytes, at, mask);
        at += WIDTH;
        rest = others;
    }
    // 8 values take WIDTH bytes; each is read as 8 bytes, so that the last may read 7 bytes beyond.
    let mut byte = at / 8;
    while rest.len() >= 8 && byte + WIDTH + 8 <= bytes.len() {
        let (group, others) = rest.split_at_mut(8);
        let source = &bytes[byte..byte + WIDTH + 8];
        for (number, value) in group.iter_mut().enumerate() {
            let bit = number * WIDTH;
            let mut word = [0; 8];
            word.copy_from_slice(&source[bit / 8..bit / 8 + 8]);
            *value = (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask;
        }
        byte += WIDTH;
        rest = others;
    }
    at = if at.is_multiple_of(8) { byte * 8 } else { at };
    for value in rest {
        *value = value_at(bytes, at, mask);
        at += WIDTH;
    }
}

fn value_at(bytes: &[u8], bit: usize, mask: u32) -> u32 {
    let tail = bytes.get(bit / 8..).unwrap_or(&[]);
    let word = tail.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [0; 8];
        let length = tail.len().min(8);
        word[..length].copy_from_slice(&tail[..length]);
        word
    });
    (u64::from_le_bytes(word) >> (bit % 8)) as u32 & mask
}

#[cfg(test)]
mod tests;
