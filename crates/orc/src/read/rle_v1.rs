//! Integer run-length encoding, version 1: runs with a fixed delta, and literals as varints.

use super::input::StreamInput;
use super::varint::{varint, zigzag};
use crate::error::{Error, Result};

/// The longest run: its header and 128 varints of ten bytes.
const MAX_RUN_BYTES: usize = 1 + 128 * 10;

/// Integers of version 1.
pub(crate) struct IntsV1 {
    pub(super) input: StreamInput,
    signed: bool,
    run: RunState,
}

enum RunState {
    /// The next value, the delta after it, and how many are left.
    Delta(i64, i64, usize),
    /// How many literals are left in the input.
    Literals(usize),
}

impl IntsV1 {
    pub(crate) fn new(input: StreamInput, signed: bool) -> Self {
        Self { input, signed, run: RunState::Literals(0) }
    }

    pub(super) fn forget(&mut self) {
        self.run = RunState::Literals(0);
    }

    /// Fills `out`.
    pub(crate) fn read(&mut self, out: &mut [i64]) -> Result<()> {
        let mut at = 0;
        while at < out.len() {
            let room = &mut out[at..];
            match &mut self.run {
                RunState::Delta(_, _, 0) | RunState::Literals(0) => self.next_run()?,
                RunState::Delta(value, delta, left) => {
                    let step = room.len().min(*left);
                    for out in &mut room[..step] {
                        *out = *value;
                        *value = value.wrapping_add(*delta);
                    }
                    *left -= step;
                    at += step;
                }
                RunState::Literals(left) => {
                    let step = room.len().min(*left);
                    *left -= step;
                    at += step;
                    let bytes = self.input.ensure(MAX_RUN_BYTES)?;
                    let mut used = 0;
                    for out in &mut room[..step] {
                        let (value, length) = varint(&bytes[used..])?;
                        *out = if self.signed { zigzag(value) } else { value as i64 };
                        used += length;
                    }
                    self.input.advance(used);
                }
            }
        }
        Ok(())
    }

    fn next_run(&mut self) -> Result<()> {
        let bytes = self.input.ensure(MAX_RUN_BYTES)?;
        let Some((&header, rest)) = bytes.split_first() else {
            return Err(Error::corrupt("ends, but more integers are needed"));
        };
        if header >= 128 {
            self.run = RunState::Literals(256 - usize::from(header));
            self.input.advance(1);
            return Ok(());
        }
        let Some((&delta, rest)) = rest.split_first() else {
            return Err(Error::corrupt("ends within a run of integers"));
        };
        let (base, length) = varint(rest)?;
        let base = if self.signed { zigzag(base) } else { base as i64 };
        self.run = RunState::Delta(base, i64::from(delta as i8), usize::from(header) + 3);
        self.input.advance(2 + length);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
