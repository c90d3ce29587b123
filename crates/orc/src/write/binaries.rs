//! Byte strings.

use arrow::array::Array;
use arrow::buffer::NullBuffer;

use crate::Result;
use crate::encode::codec::Compressor;
use crate::proto::StreamKind;
use crate::write::byte_strings;
use crate::write::integers::RunStream;
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Values};

pub(crate) struct Binaries {
    lengths: RunStream,
    /// Bytes, lengths.
    streams: [Stream; 2],
}

impl Binaries {
    pub(crate) fn new(block_size: usize) -> Self {
        let data = Stream::new(StreamKind::Data, Shape::Plain, block_size);
        let lengths = Stream::new(StreamKind::Length, Shape::Runs, block_size);
        Self { lengths: RunStream::new(false), streams: [data, lengths] }
    }
}

impl Values for Binaries {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        let [data, lengths] = &mut self.streams;
        let waiting = &mut self.lengths.waiting;
        let before = data.raw.len();
        let bloom = &mut digest.bloom;
        byte_strings::for_each(array, nulls, |value| {
            data.raw.extend_from_slice(value);
            waiting.push(value.len() as i64);
            if let Some(bloom) = bloom {
                bloom.add_bytes(value);
            }
        })?;
        digest.statistics.add_bytes((data.raw.len() - before) as u64);
        data.drain(compressor)?;
        self.lengths.relieve(lengths, compressor)
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        self.streams[0].drain(compressor)?;
        self.lengths.end_group(&mut self.streams[1], compressor)
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.streams
    }

    fn waiting_bytes(&self) -> usize {
        self.lengths.waiting_bytes()
    }

    fn memory_bytes(&self) -> usize {
        self.lengths.memory_bytes()
    }
}
