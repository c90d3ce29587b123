//! Encoders of the values of a column, one for each kind, after one trait.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::buffer::NullBuffer;

use crate::encode::codec::BlockCompressor;
use crate::error::{Error, Result};
use crate::skipped_days::TimeScale;
use crate::write::bloom::BloomWriter;
use crate::write::statistics::{Instant, Statistics};
use crate::write::stream::StreamWriter;

/// The values of one column, nulls left out. Its streams are the column's, which ends their row groups and compresses them.
pub(crate) trait ValueStreams: Send {
    /// The streams of a stripe, in the order of their positions in the row index.
    fn streams(&self) -> Vec<StreamWriter>;

    /// Appends the values of `rows`, and returns the arrays of the child columns.
    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>>;

    /// Starts a row group.
    fn start_group(&mut self, streams: &mut [StreamWriter]) {
        streams.iter_mut().for_each(StreamWriter::start_group);
    }

    /// Moves the values that are kept of the row group into the streams.
    fn end_group(&mut self, _streams: &mut Vec<StreamWriter>, _compressor: &mut BlockCompressor) -> Result<()> {
        Ok(())
    }

    /// Moves the values that are kept of the stripe into the streams, and returns the size of its dictionary, if any.
    fn end_stripe(
        &mut self,
        _streams: &mut Vec<StreamWriter>,
        _compressor: &mut BlockCompressor,
    ) -> Result<Option<u32>> {
        Ok(None)
    }

    /// Makes room for the next stripe; the streams have been taken.
    fn reset(&mut self, _streams: &mut Vec<StreamWriter>) {}

    /// An estimate of the bytes in the file of the values that wait outside of the streams.
    fn waiting_bytes(&self) -> usize {
        0
    }

    /// Bytes held outside of the streams.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// Rows to be written.
pub(crate) struct WrittenRows<'a> {
    pub(crate) array: &'a dyn Array,
    /// The rows that have a value; none where there is one in every row.
    pub(crate) nulls: Option<&'a NullBuffer>,
}

impl WrittenRows<'_> {
    /// Appends the values, converted.
    pub(crate) fn extend<T: ArrowPrimitiveType, U: Copy + Default>(
        &self,
        out: &mut Vec<U>,
        convert: impl Fn(T::Native) -> U,
    ) -> Result<()> {
        extend_valid(out, self.all::<T>()?, self.nulls, convert);
        Ok(())
    }

    /// The values, in `scratch` if they are not all the array has.
    pub(crate) fn values<'a, T: ArrowPrimitiveType>(
        &'a self,
        scratch: &'a mut Vec<T::Native>,
    ) -> Result<&'a [T::Native]> {
        let all = self.all::<T>()?;
        if self.nulls.is_none() {
            return Ok(all);
        }
        scratch.clear();
        extend_valid(scratch, all, self.nulls, |value| value);
        Ok(scratch)
    }

    fn all<T: ArrowPrimitiveType>(&self) -> Result<&[T::Native]> {
        let array = self.array.as_primitive_opt::<T>();
        let wrong =
            || Error::internal(format!("an array of {} is not of type {}", self.array.data_type(), T::DATA_TYPE));
        Ok(array.ok_or_else(wrong)?.values())
    }

    /// Calls `each` with the number of every row that has a value.
    #[inline]
    pub(crate) fn for_each(&self, mut each: impl FnMut(usize)) {
        match self.nulls {
            Some(nulls) => nulls.valid_indices().for_each(each),
            None => (0..self.array.len()).for_each(&mut each),
        }
    }
}

/// The target of values.
pub(crate) struct ValueTarget<'a> {
    pub(crate) streams: &'a mut [StreamWriter],
    pub(crate) digest: GroupDigest<'a>,
}

impl<'a> ValueTarget<'a> {
    /// The streams, of which there are `N`, and the digest.
    pub(crate) fn parts<const N: usize>(&mut self) -> Result<(&mut [StreamWriter; N], &mut GroupDigest<'a>)> {
        let count = self.streams.len();
        let streams = self.streams.try_into();
        Ok((streams.map_err(|_| Error::internal(format!("{count} streams instead of {N}")))?, &mut self.digest))
    }
}

/// The digest of a row group's values that a column keeps besides the values.
pub(crate) struct GroupDigest<'a> {
    pub(crate) statistics: &'a mut Statistics,
    pub(crate) bloom: Option<&'a mut BloomWriter>,
}

impl GroupDigest<'_> {
    /// Takes in whole numbers.
    pub(crate) fn add_ints(&mut self, values: &[i64]) {
        self.statistics.add_ints(values);
        if let Some(bloom) = &mut self.bloom {
            values.iter().for_each(|&value| bloom.add_int(value));
        }
    }

    /// Takes in days since 1970-01-01.
    pub(crate) fn add_days(&mut self, days: &[i64]) {
        self.add_ints(days);
        if let Some(bloom) = &mut self.bloom {
            days.iter().flat_map(|&day| TimeScale::DAYS.others(day)).for_each(|day| bloom.add_int(day));
        }
    }

    /// Takes in points in time from the earliest to the latest, with the milliseconds of each.
    pub(crate) fn add_instants(&mut self, min: Instant, max: Instant, millis: impl Iterator<Item = i64>) {
        self.statistics.add_instants(min, max);
        if let Some(bloom) = &mut self.bloom {
            for millis in millis {
                bloom.add_int(millis);
                TimeScale::MILLISECONDS.others(millis).for_each(|other| bloom.add_int(other));
            }
        }
    }

    /// Takes in floats.
    pub(crate) fn add_floats(&mut self, values: impl Iterator<Item = f64> + Clone) {
        self.statistics.add_floats(values.clone());
        if let Some(bloom) = &mut self.bloom {
            values.for_each(|value| bloom.add_float(value));
        }
    }

    /// Takes in a text or byte string; its length goes to [`Statistics::add_bytes`].
    #[inline]
    pub(crate) fn add_string(&mut self, value: &[u8]) {
        self.statistics.add_text(value);
        if let Some(bloom) = &mut self.bloom {
            bloom.add_bytes(value);
        }
    }
}

/// Appends the values that are not null, converted; `values` and `nulls` have the same length.
fn extend_valid<T: Copy, U: Copy + Default>(
    out: &mut Vec<U>,
    values: &[T],
    nulls: Option<&NullBuffer>,
    convert: impl Fn(T) -> U,
) {
    let Some(nulls) = nulls else {
        out.extend(values.iter().map(|&value| convert(value)));
        return;
    };
    let mut at = out.len();
    out.resize(at + values.len(), U::default());
    let chunks = nulls.inner().bit_chunks();
    let (words, rest) = values.as_chunks::<64>();
    // Each value is written, and the place moves on only after a valid one: no branch that random nulls could mislead.
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
