//! Booleans.

use arrow::array::{Array, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::filter;

use crate::encode::booleans::BitCollector;
use crate::encode::codec::Compressor;
use crate::proto::{EncodingKind, StreamKind};
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Encoding, Values};
use crate::{Error, Result};

pub(crate) struct Booleans {
    bits: BitCollector,
    data: [Stream; 1],
}

impl Booleans {
    pub(crate) fn new(block_size: usize) -> Self {
        Self { bits: BitCollector::default(), data: [Stream::new(StreamKind::Data, Shape::Bits, block_size)] }
    }
}

impl Values for Booleans {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        _: &mut Compressor,
    ) -> Result<()> {
        let array = array.as_boolean_opt().ok_or_else(|| Error::internal("not an array of booleans"))?;
        let valid = match nulls {
            Some(nulls) => filter(array, &nulls.inner().clone().into())?.as_boolean().values().clone(),
            None => array.values().clone(),
        };
        digest.statistics.add_trues(valid.count_set_bits() as u64);
        self.bits.push_all(&valid);
        Ok(())
    }

    fn start_group(&mut self) {
        let [data] = &mut self.data;
        let bits = self.bits.take_full(&mut data.raw);
        data.mark(bits);
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        let [data] = &mut self.data;
        self.bits.take_full(&mut data.raw);
        data.drain(compressor)
    }

    fn close(&mut self, compressor: &mut Compressor) -> Result<Encoding> {
        let [data] = &mut self.data;
        self.bits.take_all(&mut data.raw);
        data.close(compressor)?;
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
        self.bits.memory_bytes()
    }
}
