//! Floats of 32 and 64 bits.

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};

use crate::encode::codec::Compressor;
use crate::proto::{EncodingKind, StreamKind};
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Encoding, Values, extend_valid};
use crate::{Error, Result};

/// A float as the file holds it.
pub(crate) trait StoredFloat: Copy + Default + Into<f64> + Send {
    /// Appends the bytes, the least significant first.
    fn put_all(values: &[Self], out: &mut Vec<u8>);
}

impl StoredFloat for f32 {
    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

impl StoredFloat for f64 {
    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

pub(crate) struct Floats<F> {
    /// Values of the array at hand.
    scratch: Vec<F>,
    data: [Stream; 1],
}

impl<F: StoredFloat> Floats<F> {
    pub(crate) fn new(block_size: usize) -> Self {
        let data = [Stream::new(StreamKind::Data, Shape::Plain, block_size)];
        Self { scratch: Vec::new(), data }
    }

    fn extend<T: ArrowPrimitiveType>(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        convert: impl Fn(T::Native) -> F,
    ) -> Result<()> {
        let array = array.as_primitive_opt::<T>().ok_or_else(|| Error::internal("not an array of its type"))?;
        extend_valid(&mut self.scratch, array.values(), nulls, convert);
        Ok(())
    }
}

/// Where a float of the file's width comes from.
pub(crate) trait FromArrow: Sized {
    fn extend(floats: &mut Floats<Self>, array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()>;
}

impl FromArrow for f32 {
    fn extend(floats: &mut Floats<Self>, array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()> {
        match array.data_type() {
            DataType::Float16 => floats.extend::<Float16Type>(array, nulls, |value| value.to_f32()),
            _ => floats.extend::<Float32Type>(array, nulls, |value| value),
        }
    }
}

impl FromArrow for f64 {
    fn extend(floats: &mut Floats<Self>, array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()> {
        floats.extend::<Float64Type>(array, nulls, |value| value)
    }
}

impl<F: StoredFloat + FromArrow> Values for Floats<F> {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        self.scratch.clear();
        F::extend(self, array, nulls)?;
        digest.statistics.add_floats(self.scratch.iter().map(|&value| value.into()));
        if let Some(bloom) = &mut digest.bloom {
            self.scratch.iter().for_each(|&value| bloom.add_float(value.into()));
        }
        F::put_all(&self.scratch, &mut self.data[0].raw);
        self.data[0].drain(compressor)
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        self.data[0].drain(compressor)
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
        0
    }

    fn memory_bytes(&self) -> usize {
        self.scratch.capacity() * size_of::<F>()
    }
}
