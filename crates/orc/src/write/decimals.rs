//! Decimals of up to 38 digits: whole numbers of any length, and a scale for each, which is always the column's.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Decimal32Type, Decimal64Type, Decimal128Type, i256};

use crate::encode::codec::BlockCompressor;
use crate::encode::{int_rle, varint};
use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::write::statistics::decimal_text;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{GroupDigest, ValueStreams, ValueTarget, WrittenRows};

/// Decimals of at most this precision fit 64 bits.
const NARROW: u8 = 18;

/// A column of decimals.
pub(crate) struct DecimalValues {
    format: DecimalFormat,
    /// Values of the current array, of a column that fits 64 bits, and of one that does not.
    narrow: Vec<i64>,
    wide: Vec<i128>,
    /// Values of the row group.
    rows: usize,
}

#[derive(Clone, Copy)]
struct DecimalFormat {
    precision: u8,
    scale: u8,
}

impl DecimalValues {
    pub(crate) fn new(precision: u8, scale: u8) -> Self {
        Self { format: DecimalFormat { precision, scale }, narrow: Vec::new(), wide: Vec::new(), rows: 0 }
    }
}

impl ValueStreams for DecimalValues {
    /// Numbers, scales.
    fn streams(&self) -> Vec<StreamWriter> {
        vec![
            StreamWriter::new(StreamKind::Data, StreamCoding::Plain),
            StreamWriter::new(StreamKind::Secondary, StreamCoding::Ints { signed: true }),
        ]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let ([data, _], digest) = out.parts()?;
        let narrow = &mut self.narrow;
        narrow.clear();
        self.rows += match rows.array.data_type() {
            DataType::Decimal128(..) if self.format.precision > NARROW => {
                let values = rows.values::<Decimal128Type>(&mut self.wide)?;
                self.format.append(values, data, digest)?
            }
            DataType::Decimal128(..) => {
                // Numbers beyond 64 bits also exceed the precision: they saturate, and are then rejected by their size.
                let saturate = |value: i128| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                rows.extend::<Decimal128Type, _>(narrow, saturate)?;
                self.format.append(narrow, data, digest)?
            }
            DataType::Decimal32(..) => {
                rows.extend::<Decimal32Type, _>(narrow, i64::from)?;
                self.format.append(narrow, data, digest)?
            }
            _ => self.format.append(rows.values::<Decimal64Type>(narrow)?, data, digest)?,
        };
        Ok(Vec::new())
    }

    fn end_group(&mut self, streams: &mut Vec<StreamWriter>, _: &mut BlockCompressor) -> Result<()> {
        if let Some(scales) = streams.last_mut() {
            int_rle::encode_repeated(self.format.scale.into(), self.rows, true, &mut scales.bytes);
        }
        self.rows = 0;
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.narrow.capacity() * 8 + self.wide.capacity() * 16
    }
}

impl DecimalFormat {
    /// Writes the numbers of decimals and says how many there are.
    fn append<N: UnscaledDecimal>(
        self,
        values: &[N],
        data: &mut StreamWriter,
        digest: &mut GroupDigest<'_>,
    ) -> Result<usize> {
        let Some(&first) = values.first() else { return Ok(0) };
        let (min, max) = values.iter().fold((first, first), |(min, max), &v| (min.min(v), max.max(v)));
        self.check(min.into())?;
        self.check(max.into())?;
        digest.statistics.add_decimals(min.into(), max.into(), N::sum(values));
        if let Some(bloom) = &mut digest.bloom {
            values.iter().for_each(|&value| bloom.add_bytes(self.bloom_text(value.into()).as_bytes()));
        }
        N::put_all(values, &mut data.bytes);
        Ok(values.len())
    }

    /// Arrow does not hold arrays to their precision; readers may hold files to it.
    fn check(self, value: i128) -> Result<()> {
        if value.unsigned_abs() < 10u128.pow(self.precision.into()) {
            return Ok(());
        }
        let text = decimal_text(value, self.scale);
        let precision = self.precision;
        Err(Error::invalid(format!("{text} has more than {precision} digits; cast the column to a larger precision")))
    }

    /// As the reference implementation prints decimals: no zeros at the end of the fraction.
    fn bloom_text(self, value: i128) -> String {
        let text = decimal_text(value, self.scale);
        if self.scale == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
    }
}

/// The whole number that a decimal is without its point.
trait UnscaledDecimal: Copy + Ord + Into<i128> {
    fn sum(values: &[Self]) -> i256;

    /// Appends all in zigzag form.
    fn put_all(values: &[Self], out: &mut Vec<u8>);
}

impl UnscaledDecimal for i64 {
    fn sum(values: &[Self]) -> i256 {
        i256::from_i128(values.iter().map(|&value| i128::from(value)).sum())
    }

    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        varint::put_all_signed_narrow(values, out);
    }
}

impl UnscaledDecimal for i128 {
    fn sum(values: &[Self]) -> i256 {
        // The halves of the numbers add up without an overflow.
        let (low, high) = values.iter().fold((0, 0), |(low, high), &v| (low + i128::from(v as u64), high + (v >> 64)));
        i256::from_i128(high).wrapping_mul(i256::from_i128(1 << 64)).wrapping_add(i256::from_i128(low))
    }

    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        varint::put_all_signed(values, out);
    }
}
