//! Whole numbers of 8 to 64 bits, and days.

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
};

use crate::encode::codec::Compressor;
use crate::encode::{byte_rle, int_rle};
use crate::proto::{EncodingKind, StreamKind};
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Encoding, MAX_WAITING, Values, extend_valid};
use crate::{Error, Result};

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Numbers that wait for their runs, and the stream that takes the runs.
pub(crate) struct RunStream {
    pub(crate) waiting: Vec<i64>,
    signed: bool,
}

impl RunStream {
    pub(crate) fn new(signed: bool) -> Self {
        Self { waiting: Vec::new(), signed }
    }

    /// Encodes full portions.
    pub(crate) fn relieve(&mut self, stream: &mut Stream, compressor: &mut Compressor) -> Result<()> {
        if self.waiting.len() < MAX_WAITING {
            return Ok(());
        }
        let (portions, rest) = self.waiting.as_chunks::<MAX_WAITING>();
        let rest = rest.len();
        for portion in portions {
            int_rle::encode(portion, self.signed, &mut stream.raw);
            stream.drain(compressor)?;
        }
        self.waiting.drain(..self.waiting.len() - rest);
        Ok(())
    }

    /// Encodes everything.
    pub(crate) fn end_group(&mut self, stream: &mut Stream, compressor: &mut Compressor) -> Result<()> {
        int_rle::encode(&self.waiting, self.signed, &mut stream.raw);
        self.waiting.clear();
        stream.drain(compressor)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.waiting.capacity() * 8
    }

    /// A guess that errs to neither side by much.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.len() * 2
    }
}

/// Smallint, int, bigint and date.
pub(crate) struct Integers {
    runs: RunStream,
    data: [Stream; 1],
}

impl Integers {
    pub(crate) fn new(block_size: usize) -> Self {
        Self { runs: RunStream::new(true), data: [Stream::new(StreamKind::Data, Shape::Runs, block_size)] }
    }

    fn extend<T: ArrowPrimitiveType>(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()>
    where
        T::Native: Into<i64>,
    {
        let array = array.as_primitive_opt::<T>().ok_or_else(|| Error::internal("not an array of its type"))?;
        extend_valid(&mut self.runs.waiting, array.values(), nulls, Into::into);
        Ok(())
    }
}

impl Values for Integers {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        let before = self.runs.waiting.len();
        match array.data_type() {
            DataType::Int8 => self.extend::<Int8Type>(array, nulls)?,
            DataType::Int16 => self.extend::<Int16Type>(array, nulls)?,
            DataType::Int32 => self.extend::<Int32Type>(array, nulls)?,
            DataType::Int64 => self.extend::<Int64Type>(array, nulls)?,
            DataType::UInt8 => self.extend::<UInt8Type>(array, nulls)?,
            DataType::UInt16 => self.extend::<UInt16Type>(array, nulls)?,
            DataType::UInt32 => self.extend::<UInt32Type>(array, nulls)?,
            DataType::Date32 => self.extend::<Date32Type>(array, nulls)?,
            DataType::Date64 => {
                self.extend::<Date64Type>(array, nulls)?;
                for value in &mut self.runs.waiting[before..] {
                    *value = i32::try_from(value.div_euclid(DAY))
                        .map_err(|_| Error::invalid(format!("the date {value} ms after 1970 is out of range")))?
                        .into();
                }
            }
            other => return Err(Error::internal(format!("{other} is not a whole number"))),
        }
        let added = &self.runs.waiting[before..];
        digest.statistics.add_ints(added);
        if let Some(bloom) = &mut digest.bloom {
            added.iter().for_each(|&value| bloom.add_int(value));
        }
        self.runs.relieve(&mut self.data[0], compressor)
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        self.runs.end_group(&mut self.data[0], compressor)
    }

    fn streams(&self) -> &[Stream] {
        &self.data
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.data
    }

    fn waiting_bytes(&self) -> usize {
        self.runs.waiting_bytes()
    }

    fn memory_bytes(&self) -> usize {
        self.runs.memory_bytes()
    }
}

/// Tinyint.
pub(crate) struct Bytes {
    waiting: Vec<i64>,
    bytes: Vec<u8>,
    data: [Stream; 1],
}

impl Bytes {
    pub(crate) fn new(block_size: usize) -> Self {
        let data = [Stream::new(StreamKind::Data, Shape::Runs, block_size)];
        Self { waiting: Vec::new(), bytes: Vec::new(), data }
    }
}

impl Values for Bytes {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        _: &mut Compressor,
    ) -> Result<()> {
        let array = array.as_primitive_opt::<Int8Type>().ok_or_else(|| Error::internal("not an array of its type"))?;
        self.waiting.clear();
        extend_valid(&mut self.waiting, array.values(), nulls, Into::into);
        digest.statistics.add_ints(&self.waiting);
        if let Some(bloom) = &mut digest.bloom {
            self.waiting.iter().for_each(|&value| bloom.add_int(value));
        }
        self.bytes.extend(self.waiting.iter().map(|&value| value as u8));
        Ok(())
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        let [data] = &mut self.data;
        byte_rle::encode(&self.bytes, &mut data.raw);
        self.bytes.clear();
        data.drain(compressor)
    }

    fn close(&mut self, compressor: &mut Compressor) -> Result<Encoding> {
        self.data[0].close(compressor)?;
        Ok(Encoding { kind: EncodingKind::Direct, dictionary_size: None })
    }

    fn streams(&self) -> &[Stream] {
        &self.data
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.data
    }

    fn waiting_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn memory_bytes(&self) -> usize {
        self.waiting.capacity() * 8 + self.bytes.capacity()
    }
}
