//! Columns: values of a type out of the streams of a column, level by level.
//!
//! Rows that are null, here or in a level above, have no values in the streams; `validity` says which rows are there. A column
//! reads the values that are there, then spreads them over the rows.

mod build;
mod decimal;
mod micros;
mod nested;
mod text;
mod time;

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, BooleanBufferBuilder, Date32Array, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};

pub(super) use build::SectionBuilder;
use decimal::DecimalReader;
use micros::MicrosReader;
use nested::{ListReader, MapReader, StructReader, UnionReader};
pub(super) use text::DictionaryViews;
use text::{DictionaryText, DirectText};
use time::TimestampReader;

use super::STEP;
use super::calendar::from_julian;
use super::input::{StreamInput, short};
use super::ints::{IntReader, NarrowInteger};
use super::rle_byte::{BitReader, ByteRuns};
use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::spread::{self, BitSlice, ZeroDefault};

/// A column and those below it.
pub(super) struct SubtreeReader {
    id: u32,
    present: Option<BitReader>,
    values: ReaderValues,
}

enum ReaderValues {
    Boolean(BitReader),
    Byte(ByteRuns),
    Short(IntReader),
    Int(IntReader),
    Long(IntReader),
    Float(StreamInput),
    Double(StreamInput),
    Date { days: IntReader, julian: bool },
    Timestamp(Box<TimestampReader>),
    Micros(Box<MicrosReader>),
    Decimal(Box<DecimalReader>),
    Direct(Box<DirectText>),
    Dictionary(Box<DictionaryText>),
    List(Box<ListReader>),
    Map(Box<MapReader>),
    Struct(StructReader),
    Union(Box<UnionReader>),
}

/// Puts the column and stream in front of an error's message.
fn in_stream(column: u32, kind: StreamKind) -> impl Fn(Error) -> Error {
    move |error| error.at(format!("column {column}, stream {kind:?}"))
}

impl SubtreeReader {
    /// The fields of the root, or the root itself where it isn't a struct.
    pub(super) fn read_root(&mut self, rows: usize) -> Result<Vec<ArrayRef>> {
        let validity = self.validity(rows, None)?;
        match &mut self.values {
            ReaderValues::Struct(fields) => fields.read_fields(rows, validity.as_ref()),
            _ => Ok(vec![self.read_values(rows, validity)?]),
        }
    }

    /// The next `rows` rows, of which those that `parent` knows as null have no values.
    fn read(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let validity = self.validity(rows, parent)?;
        self.read_values(rows, validity)
    }

    fn validity(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<Option<NullBuffer>> {
        let Some(present) = &mut self.present else { return Ok(parent.cloned()) };
        let there = rows - parent.map_or(0, NullBuffer::null_count);
        let bits = present.read(there).map_err(in_stream(self.id, StreamKind::Present))?;
        let bits = match parent {
            Some(parent) if parent.null_count() > 0 => spread_bits(&bits, parent),
            _ => bits,
        };
        Ok(Some(NullBuffer::new(bits)).filter(|validity| validity.null_count() > 0))
    }

    fn read_values(&mut self, rows: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let there = rows - validity.as_ref().map_or(0, NullBuffer::null_count);
        let data = in_stream(self.id, StreamKind::Data);
        Ok(match &mut self.values {
            ReaderValues::Boolean(bits) => {
                let bits = bits.read(there).map_err(data)?;
                let bits = validity.as_ref().map(|validity| spread_bits(&bits, validity)).unwrap_or(bits);
                Arc::new(BooleanArray::new(bits, validity))
            }
            ReaderValues::Byte(bytes) => {
                let mut out: Vec<i8> = Vec::with_capacity(there.min(STEP));
                let mut scratch = [0; 1024];
                while out.len() < there {
                    let part = &mut scratch[..(there - out.len()).min(1024)];
                    bytes.read(part).map_err(&data)?;
                    out.extend(part.iter().map(|byte| *byte as i8));
                }
                primitive::<Int8Type>(out, validity)
            }
            ReaderValues::Short(ints) => integers::<Int16Type>(ints, there, validity).map_err(data)?,
            ReaderValues::Int(ints) => integers::<Int32Type>(ints, there, validity).map_err(data)?,
            ReaderValues::Long(ints) => integers::<Int64Type>(ints, there, validity).map_err(data)?,
            ReaderValues::Float(input) => {
                primitive::<Float32Type>(floats(input, there, f32::from_le_bytes).map_err(data)?, validity)
            }
            ReaderValues::Double(input) => {
                primitive::<Float64Type>(floats(input, there, f64::from_le_bytes).map_err(data)?, validity)
            }
            ReaderValues::Date { days, julian } => {
                let mut days: Vec<i32> = days.take(there).map_err(&data)?;
                if *julian {
                    for day in &mut days {
                        *day = i32::try_from(from_julian((*day).into()))
                            .map_err(|_| data(Error::corrupt(format!("day {day} is out of the calendar's range"))))?;
                    }
                }
                Arc::new(Date32Array::new(spread(days, validity.as_ref()).into(), validity))
            }
            ReaderValues::Timestamp(times) => times.read(there, validity)?,
            ReaderValues::Micros(times) => times.read(there, validity)?,
            ReaderValues::Decimal(decimals) => decimals.read(there, validity)?,
            ReaderValues::Direct(text) => text.read(there, validity)?,
            ReaderValues::Dictionary(text) => text.read(there, validity)?,
            ReaderValues::List(lists) => lists.read(there, validity)?,
            ReaderValues::Map(maps) => maps.read(there, validity)?,
            ReaderValues::Struct(fields) => fields.read(rows, validity)?,
            ReaderValues::Union(unions) => unions.read(rows, there, validity)?,
        })
    }
}

fn integers<T: ArrowPrimitiveType>(ints: &mut IntReader, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef>
where
    T::Native: NarrowInteger + ZeroDefault,
{
    Ok(primitive::<T>(ints.take(there)?, validity))
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, validity: Option<NullBuffer>) -> ArrayRef
where
    T::Native: ZeroDefault,
{
    Arc::new(PrimitiveArray::<T>::new(spread(values, validity.as_ref()).into(), validity))
}

fn floats<T, const N: usize>(input: &mut StreamInput, count: usize, make: fn([u8; N]) -> T) -> Result<Vec<T>> {
    let mut out = Vec::with_capacity(count.min(STEP));
    while out.len() < count {
        let bytes = input.ensure(N)?;
        let step = (bytes.len() / N).min(count - out.len());
        if step == 0 {
            return Err(short((count - out.len()).saturating_mul(N)));
        }
        out.extend(bytes[..step * N].chunks_exact(N).map(|bytes| {
            let mut value = [0; N];
            value.copy_from_slice(bytes);
            make(value)
        }));
        input.advance(step * N);
    }
    Ok(out)
}

/// Spreads the values that are there over all rows; nulls become zero.
fn spread<T: ZeroDefault>(mut values: Vec<T>, validity: Option<&NullBuffer>) -> Vec<T> {
    let Some(validity) = validity else { return values };
    let dense = values.len();
    values.resize(validity.len(), T::default());
    spread::spread(&mut values, dense, valid_bits(validity));
    values
}

/// Spreads bits over the rows that are there; the others become false.
fn spread_bits(bits: &BooleanBuffer, validity: &NullBuffer) -> BooleanBuffer {
    let mut out = BooleanBufferBuilder::new(validity.len());
    let values = BitSlice::new(bits.values(), bits.offset());
    spread::spread_bits(values, validity.len(), valid_bits(validity), |word, count| {
        out.append_packed_range(0..count, &word.to_le_bytes());
    });
    out.finish()
}

fn valid_bits(validity: &NullBuffer) -> BitSlice<'_> {
    BitSlice::new(validity.validity(), validity.offset())
}
