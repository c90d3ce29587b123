//! Booleans.

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::filter;

use crate::proto::StreamKind;
use crate::write::stream::{Coding, Stream};
use crate::write::values::{Out, Rows, Values};
use crate::{Error, Result};

/// A column of booleans.
pub(crate) struct Booleans;

impl Values for Booleans {
    fn streams(&self) -> Vec<Stream> {
        vec![Stream::new(StreamKind::Data, Coding::Bits)]
    }

    fn append(&mut self, rows: &Rows<'_>, out: &mut Out<'_>) -> Result<Vec<ArrayRef>> {
        let ([data], digest) = out.parts()?;
        let array = rows.array.as_boolean_opt().ok_or_else(|| Error::internal("not an array of booleans"))?;
        let valid = match rows.nulls {
            Some(nulls) => filter(array, &nulls.inner().clone().into())?.as_boolean().values().clone(),
            None => array.values().clone(),
        };
        digest.statistics.add_trues(valid.count_set_bits() as u64);
        data.bits.push_all(&valid);
        Ok(Vec::new())
    }
}
