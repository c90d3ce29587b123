//! Decimals: digits without the point, and the scale of each; or, at a fixed scale, plain integers.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array};
use arrow::buffer::NullBuffer;

use super::super::input::{StreamInput, short};
use super::super::ints::IntReader;
use super::super::varint::{STOP, gather, varint128, zigzag, zigzag128};
use super::{STEP, in_stream, spread};
use crate::error::{Error, Result};
use crate::proto::StreamKind;

/// More bytes than any varint of 128 bits has.
const LONGEST: usize = 20;

/// Values that are decoded between two checks of their scales.
const PIECE: usize = 1024;

pub(super) struct DecimalReader {
    pub(super) id: u32,
    pub(super) digits: DecimalDigits,
    pub(super) precision: u8,
    pub(super) scale: u8,
}

pub(super) enum DecimalDigits {
    /// Integers at the column's scale.
    Short(IntReader),
    /// Varints of any length, each with a separate scale.
    Long { values: StreamInput, scales: IntReader },
}

impl DecimalReader {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let data = in_stream(self.id, StreamKind::Data);
        let values = match &mut self.digits {
            DecimalDigits::Short(ints) => {
                let values: Vec<i64> = ints.take(there).map_err(data)?;
                values.into_iter().map(i128::from).collect()
            }
            DecimalDigits::Long { values, scales } => {
                let mut out = Vec::with_capacity(there.min(STEP));
                let mut scratch = [0i64; PIECE];
                let column_scale = i64::from(self.scale);
                while out.len() < there {
                    let at = out.len();
                    let piece = &mut scratch[..(there - at).min(PIECE)];
                    varints(values, piece.len(), &mut out).map_err(&data)?;
                    scales.read(piece).map_err(in_stream(self.id, StreamKind::Secondary))?;
                    if piece.iter().fold(0, |odd, scale| odd | (scale ^ column_scale)) != 0 {
                        for (value, scale) in out[at..].iter_mut().zip(piece) {
                            *value = rescale(*value, *scale, column_scale).map_err(&data)?;
                        }
                    }
                }
                out
            }
        };
        let array = Decimal128Array::new(spread(values, validity.as_ref()).into(), validity);
        Ok(Arc::new(array.with_precision_and_scale(self.precision, self.scale as i8)?))
    }
}

/// Appends `count` signed varints.
fn varints(input: &mut StreamInput, count: usize, out: &mut Vec<i128>) -> Result<()> {
    let end = out.len() + count;
    while out.len() < end {
        let bytes = input.ensure(LONGEST)?;
        let mut used = 0;
        // As long as any varint lies within the window.
        while out.len() < end
            && let Some(window) = bytes.get(used..used + LONGEST)
        {
            let mut word = [0; 8];
            word.copy_from_slice(&window[..8]);
            let word = u64::from_le_bytes(word);
            let last = !word & STOP;
            if last != 0 {
                let bits = last.trailing_zeros() + 1;
                out.push(i128::from(zigzag(gather(word & (u64::MAX >> (64 - bits))))));
                used += (bits / 8) as usize;
            } else {
                let (value, length) = varint128(window)?;
                out.push(zigzag128(value));
                used += length;
            }
        }
        if out.len() < end && bytes.len() < LONGEST {
            if bytes.is_empty() {
                return Err(short(end - out.len()));
            }
            let (value, length) = varint128(bytes)?;
            out.push(zigzag128(value));
            used = length;
        }
        input.advance(used);
    }
    Ok(())
}

/// `value` at another scale; digits beyond it are cut off, as ORC's C++ reader does.
fn rescale(value: i128, from: i64, to: i64) -> Result<i128> {
    let beyond = || Error::corrupt(format!("a decimal of scale {from} can't be converted to the column's scale, {to}"));
    let power =
        |digits: i64| u32::try_from(digits).ok().and_then(|digits| 10i128.checked_pow(digits)).ok_or_else(beyond);
    if from == to {
        return Ok(value);
    }
    if from < to {
        return value.checked_mul(power(to.checked_sub(from).ok_or_else(beyond)?)?).ok_or_else(beyond);
    }
    Ok(value / power(from.checked_sub(to).ok_or_else(beyond)?)?)
}

#[cfg(test)]
mod tests;
