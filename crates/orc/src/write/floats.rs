//! Floats of 32 and 64 bits.

use arrow::array::{ArrayRef, ArrowPrimitiveType};
use arrow::datatypes::{Float32Type, Float64Type};

use crate::error::Result;
use crate::proto::StreamKind;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{ValueStreams, ValueTarget, WrittenRows};

/// A column of floats.
pub(crate) struct FloatWriter<T: StoredFloat> {
    scratch: Vec<T::Native>,
}

impl<T: StoredFloat> FloatWriter<T> {
    pub(crate) fn new() -> Self {
        Self { scratch: Vec::new() }
    }
}

/// A float as the file holds it.
pub(crate) trait StoredFloat: ArrowPrimitiveType<Native: Into<f64>> {
    /// Appends the bytes, the least significant first.
    fn put_all(values: &[Self::Native], out: &mut Vec<u8>);
}

impl StoredFloat for Float32Type {
    fn put_all(values: &[f32], out: &mut Vec<u8>) {
        out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

impl StoredFloat for Float64Type {
    fn put_all(values: &[f64], out: &mut Vec<u8>) {
        out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

impl<T: StoredFloat> ValueStreams for FloatWriter<T> {
    fn streams(&self) -> Vec<StreamWriter> {
        vec![StreamWriter::new(StreamKind::Data, StreamCoding::Plain)]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let ([data], digest) = out.parts()?;
        let values = rows.values::<T>(&mut self.scratch)?;
        digest.add_floats(values.iter().map(|&value| value.into()));
        T::put_all(values, &mut data.bytes);
        Ok(Vec::new())
    }

    fn memory_bytes(&self) -> usize {
        self.scratch.capacity() * size_of::<T::Native>()
    }
}
