//! Decimals of up to 38 digits: whole numbers of any length, and a scale for each, which is always the column's.

use arrow::array::{Array, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal32Type, Decimal64Type, Decimal128Type, i256};

use crate::encode::codec::Compressor;
use crate::encode::{int_rle, varint};
use crate::proto::StreamKind;
use crate::write::statistics::decimal_text;
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Values, extend_valid};
use crate::{Error, Result};

/// Decimals of at most this precision fit 64 bits.
const NARROW: u8 = 18;

pub(crate) struct Decimals {
    precision: u8,
    scale: u8,
    /// Values of the array at hand, of a column that fits 64 bits, and of one that does not.
    narrow: Vec<i64>,
    wide: Vec<i128>,
    /// Values of the row group.
    rows: usize,
    /// Numbers, scales.
    streams: [Stream; 2],
}

impl Decimals {
    pub(crate) fn new(precision: u8, scale: u8, block_size: usize) -> Self {
        let data = Stream::new(StreamKind::Data, Shape::Plain, block_size);
        let scales = Stream::new(StreamKind::Secondary, Shape::Runs, block_size);
        Self { precision, scale, narrow: Vec::new(), wide: Vec::new(), rows: 0, streams: [data, scales] }
    }

    fn append_narrow(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>, digest: &mut Digest<'_>) -> Result<()> {
        let values = &mut self.narrow;
        values.clear();
        // Larger numbers than 64 bits hold are larger than the precision allows too: they saturate, and the check below
        // finds them.
        let saturate = |v: i128| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        match array.data_type() {
            DataType::Decimal32(..) => {
                extend_valid(values, array.as_primitive::<Decimal32Type>().values(), nulls, i64::from)
            }
            DataType::Decimal64(..) => {
                extend_valid(values, array.as_primitive::<Decimal64Type>().values(), nulls, |v| v)
            }
            DataType::Decimal128(..) => {
                extend_valid(values, array.as_primitive::<Decimal128Type>().values(), nulls, saturate);
            }
            other => return Err(Error::internal(format!("{other} is not a decimal"))),
        }
        let Some(&first) = values.first() else { return Ok(()) };
        let (min, max) = values.iter().fold((first, first), |(min, max), &v| (min.min(v), max.max(v)));
        let sum = values.iter().map(|&v| i128::from(v)).sum();
        let sum = i256::from_i128(sum);
        self.check(min.into(), max.into())?;
        digest.statistics.add_decimals(min.into(), max.into(), sum);
        varint::put_all_signed_narrow(&self.narrow, &mut self.streams[0].raw);
        self.rows += self.narrow.len();
        if let Some(bloom) = &mut digest.bloom {
            self.narrow.iter().for_each(|&v| bloom.add_bytes(bloom_text(v.into(), self.scale).as_bytes()));
        }
        Ok(())
    }

    fn append_wide(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>, digest: &mut Digest<'_>) -> Result<()> {
        let values = &mut self.wide;
        values.clear();
        let array = array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| Error::internal("not a wide decimal"))?;
        extend_valid(values, array.values(), nulls, |v| v);
        let Some(&first) = values.first() else { return Ok(()) };
        let (min, max) = values.iter().fold((first, first), |(min, max), &v| (min.min(v), max.max(v)));
        // The halves of the numbers add up without an overflow.
        let (low, high) = values.iter().fold((0, 0), |(low, high), &v| (low + i128::from(v as u64), high + (v >> 64)));
        let sum = i256::from_i128(high).wrapping_mul(i256::from_i128(1 << 64)).wrapping_add(i256::from_i128(low));
        self.check(min, max)?;
        digest.statistics.add_decimals(min, max, sum);
        varint::put_all_signed(&self.wide, &mut self.streams[0].raw);
        self.rows += self.wide.len();
        if let Some(bloom) = &mut digest.bloom {
            self.wide.iter().for_each(|&v| bloom.add_bytes(bloom_text(v, self.scale).as_bytes()));
        }
        Ok(())
    }

    /// Arrow does not hold arrays to their precision; readers may hold files to it.
    fn check(&self, min: i128, max: i128) -> Result<()> {
        let limit = 10i128.pow(u32::from(self.precision));
        match [min, max].into_iter().find(|v| !(-limit < *v && *v < limit)) {
            None => Ok(()),
            Some(value) => Err(Error::invalid(format!(
                "{} has more than {} digits; cast the column to a larger precision",
                decimal_text(value, self.scale),
                self.precision
            ))),
        }
    }
}

/// As the reference implementation prints decimals: no zeros at the end of the fraction.
fn bloom_text(value: i128, scale: u8) -> String {
    let text = decimal_text(value, scale);
    if scale == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

impl Values for Decimals {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        if self.precision <= NARROW {
            self.append_narrow(array, nulls, digest)?;
        } else {
            self.append_wide(array, nulls, digest)?;
        }
        self.streams[0].drain(compressor)
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        let [data, scales] = &mut self.streams;
        int_rle::encode_repeated(self.scale.into(), self.rows, true, &mut scales.raw);
        self.rows = 0;
        data.drain(compressor)?;
        scales.drain(compressor)
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.streams
    }

    fn waiting_bytes(&self) -> usize {
        0
    }

    fn memory_bytes(&self) -> usize {
        self.narrow.capacity() * 8 + self.wide.capacity() * 16
    }
}
