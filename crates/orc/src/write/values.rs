//! Encoders of the values of a column, one for each kind, behind one trait.

use arrow::array::Array;
use arrow::buffer::NullBuffer;

use crate::Result;
use crate::encode::codec::Compressor;
use crate::proto::EncodingKind;
use crate::write::bloom::Bloom;
use crate::write::column::Column;
use crate::write::statistics::Statistics;
use crate::write::stream::Stream;

/// Values that wait to be encoded are encoded at this count even if the row group goes on, so that lists of many items do
/// not fill the memory.
pub(crate) const MAX_WAITING: usize = 1 << 16;

/// What a column keeps about the values of a row group besides the values.
pub(crate) struct Digest<'a> {
    pub(crate) statistics: &'a mut Statistics,
    pub(crate) bloom: Option<&'a mut Bloom>,
}

/// The values of one column, nulls left out.
pub(crate) trait Values: Send {
    /// Takes in the values of `array` that are not null.
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()>;

    /// Marks where the next row group begins.
    fn start_group(&mut self) {
        self.streams_mut().iter_mut().for_each(|stream| stream.mark(0));
    }

    /// Encodes what waits, so that the next row group starts with a run of its own.
    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()>;

    /// Settles the encoding of the stripe and closes all streams.
    fn close(&mut self, compressor: &mut Compressor) -> Result<Encoding> {
        self.streams_mut().iter_mut().try_for_each(|stream| stream.close(compressor))?;
        Ok(Encoding { kind: EncodingKind::DirectV2, dictionary_size: None })
    }

    /// The streams in the order of their positions in the row index.
    fn streams(&self) -> &[Stream];

    /// As [`Values::streams`].
    fn streams_mut(&mut self) -> &mut [Stream];

    /// Child columns in order.
    fn children_mut(&mut self) -> &mut [Column] {
        &mut []
    }

    /// As [`Values::children_mut`].
    fn children(&self) -> &[Column] {
        &[]
    }

    /// Makes room for the next stripe; the streams have been taken.
    fn reset(&mut self) {}

    /// Bytes that wait outside of the streams and will about take as much in the file.
    fn waiting_bytes(&self) -> usize;

    /// Bytes held outside of the streams.
    fn memory_bytes(&self) -> usize;
}

/// How a column was encoded in a stripe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoding {
    pub(crate) kind: EncodingKind,
    pub(crate) dictionary_size: Option<u32>,
}

/// Appends the values that are not null, converted; `values` and `nulls` have the same length.
pub(crate) fn extend_valid<T: Copy, U: Copy + Default>(
    out: &mut Vec<U>,
    values: &[T],
    nulls: Option<&NullBuffer>,
    convert: impl Fn(T) -> U,
) {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else {
        out.extend(values.iter().map(|&value| convert(value)));
        return;
    };
    let mut at = out.len();
    out.resize(at + values.len(), U::default());
    let chunks = nulls.inner().bit_chunks();
    let (words, rest) = values.as_chunks::<64>();
    // Each value is written, and the place moves on only behind a valid one: no branch that random nulls could mislead.
    let mut put = |value: T, valid: u64| {
        out[at] = convert(value);
        at += (valid & 1) as usize;
    };
    for (values, bits) in words.iter().zip(chunks.iter()) {
        values.iter().enumerate().for_each(|(n, &value)| put(value, bits >> n));
    }
    let bits = chunks.remainder_bits();
    rest.iter().enumerate().for_each(|(n, &value)| put(value, bits >> n));
    out.truncate(at);
}
