//! Byte run-length encoding, and the bits of booleans on top of it.

use arrow::buffer::{BooleanBuffer, Buffer};

use super::input::StreamInput;
use crate::error::{Error, Result};

/// The longest run: its header and 128 literals.
const MAX_RUN_BYTES: usize = 129;

/// Bytes out of runs of 3 to 130 equal ones and of 1 to 128 literals.
pub(crate) struct ByteRuns {
    input: StreamInput,
    /// The rest of the run.
    left: usize,
    /// The repeated byte; literals where `None`, still in the input.
    repeated: Option<u8>,
}

impl ByteRuns {
    pub(crate) fn new(input: StreamInput) -> Self {
        Self { input, left: 0, repeated: None }
    }

    pub(crate) fn seek(&mut self, chunk: usize, offset: usize, values: usize) -> Result<()> {
        self.left = 0;
        self.input.seek(chunk, offset)?;
        self.skip(values)
    }

    pub(crate) fn skip(&mut self, mut values: usize) -> Result<()> {
        let mut scratch = [0; 256];
        while values > 0 {
            let step = values.min(scratch.len());
            self.read(&mut scratch[..step])?;
            values -= step;
        }
        Ok(())
    }

    /// Fills `out`.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<()> {
        let mut at = 0;
        while at < out.len() {
            if self.left == 0 {
                self.next_run()?;
            }
            let step = self.left.min(out.len() - at);
            let part = &mut out[at..at + step];
            match self.repeated {
                Some(byte) => part.fill(byte),
                None => {
                    let bytes = self.input.ensure(step)?.get(..step).ok_or_else(ends)?;
                    part.copy_from_slice(bytes);
                    self.input.advance(step);
                }
            }
            self.left -= step;
            at += step;
        }
        Ok(())
    }

    fn next_run(&mut self) -> Result<()> {
        let bytes = self.input.ensure(MAX_RUN_BYTES)?;
        let header = *bytes.first().ok_or_else(ends)?;
        if header < 128 {
            let byte = *bytes.get(1).ok_or_else(ends)?;
            (self.left, self.repeated) = (usize::from(header) + 3, Some(byte));
            self.input.advance(2);
        } else {
            (self.left, self.repeated) = (256 - usize::from(header), None);
            self.input.advance(1);
        }
        Ok(())
    }
}

#[cold]
fn ends() -> Error {
    Error::corrupt("ends, but more bytes are needed")
}

/// Bits, the most significant of each byte first.
pub(crate) struct BitReader {
    bytes: ByteRuns,
    /// Bits of the last byte that aren't taken yet, the next one lowest.
    carry: u8,
    carried: u32,
}

impl BitReader {
    pub(crate) fn new(input: StreamInput) -> Self {
        Self { bytes: ByteRuns::new(input), carry: 0, carried: 0 }
    }

    /// `values` counts bytes of the run, `bits` those of the byte after them.
    pub(crate) fn seek(&mut self, chunk: usize, offset: usize, values: usize, bits: usize) -> Result<()> {
        self.carried = 0;
        self.bytes.seek(chunk, offset, values)?;
        if bits > 8 {
            return Err(Error::corrupt(format!("a row group starts at bit {bits} of a byte")));
        }
        self.read(bits).map(drop)
    }

    /// The next `count` bits; memory grows with the bytes that are there.
    pub(crate) fn read(&mut self, count: usize) -> Result<BooleanBuffer> {
        let mut out = Vec::new();
        let total = count.div_ceil(8);
        let needed = count.saturating_sub(self.carried as usize).div_ceil(8);
        while out.len() < needed {
            let at = out.len();
            out.resize(at + (needed - at).min(super::STEP), 0);
            self.bytes.read(&mut out[at..])?;
        }
        let last = out.last().map(|byte| byte.reverse_bits());
        if self.carried == 0 {
            out.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        } else {
            let (mut carry, shift) = (self.carry, self.carried);
            for byte in &mut out {
                let bits = byte.reverse_bits();
                *byte = carry | bits << shift;
                carry = bits >> (8 - shift);
            }
            if out.len() < total {
                out.push(carry);
            }
        }
        // The remaining bits of the last byte.
        let had = self.carried as usize + 8 * needed;
        let left = had - count;
        if let Some(last) = last {
            self.carry = if left == 0 { 0 } else { last >> (8 - left) };
        } else {
            self.carry = if left == 0 { 0 } else { self.carry >> count };
        }
        self.carried = left as u32;
        Ok(BooleanBuffer::new(Buffer::from_vec(out), 0, count))
    }
}

#[cfg(test)]
mod tests;
