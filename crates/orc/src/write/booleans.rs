//! Booleans.

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::filter;

use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{ValueStreams, ValueTarget, WrittenRows};

/// A column of booleans.
pub(crate) struct BooleanWriter;

impl ValueStreams for BooleanWriter {
    fn streams(&self) -> Vec<StreamWriter> {
        vec![StreamWriter::new(StreamKind::Data, StreamCoding::Bits)]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let ([data], digest) = out.parts()?;
        let array = rows.array.as_boolean_opt().ok_or_else(|| Error::internal("the array is not of booleans"))?;
        let valid = match rows.nulls {
            Some(nulls) => filter(array, &nulls.inner().clone().into())?.as_boolean().values().clone(),
            None => array.values().clone(),
        };
        digest.statistics.add_trues(valid.count_set_bits() as u64);
        data.bits.push_all(&valid);
        Ok(Vec::new())
    }
}
