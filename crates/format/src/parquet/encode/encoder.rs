//! The shared state of the encoders of all columns: pages' levels, the sample that decides on a dictionary, bloom filters.

use arrow::array::{ArrayRef, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use lakerace_io::{Error, Result};
use parquet::bloom_filter::Sbbf;

use super::compress::CodecCompressor;
use super::page::EncodedChunk;
use super::rle::append_definition_levels;
use crate::parquet::write::options::CheckedOptions;

/// Limit of rows in a page: small enough for effective pruning by the page index, large enough that headers cost
/// nothing.
pub(crate) const PAGE_ROWS: usize = 32_768;
/// Rows that are processed together: they stay in the first-level cache from one step to the next.
pub(crate) const PIECE_ROWS: usize = 2048;
/// Rows that a column waits for before it decides on a dictionary.
const DECIDE_ROWS: usize = 32_768;
/// Values in the sample for that decision.
const SAMPLE_VALUES: usize = 4096;
/// Limit of bytes in a dictionary; above it, the rest of the chunk has none. Other writers do the same. A dictionary of
/// byte strings may be larger if it is likely to halve the chunk.
pub(crate) const DICTIONARY_BYTES: usize = 1 << 20;
/// Limit of bytes in a dictionary of byte strings. Readers hold it in memory for each chunk that they read.
pub(crate) const LARGE_DICTIONARY_BYTES: usize = 32 << 20;
/// The rate of false positives of a bloom filter.
pub(crate) const BLOOM_FALSE_POSITIVES: f64 = 0.01;

/// Encodes one column of one row group.
pub(crate) trait ColumnEncoder: Send {
    /// Appends the values of an array.
    fn write(&mut self, array: &ArrayRef, scratch: &mut EncoderScratch) -> Result<()>;

    /// Bytes encoded so far, and those waiting to be.
    fn bytes(&self) -> u64;

    /// Ends the chunk; a nested column gives one for each of its leaves.
    fn finish(self: Box<Self>, scratch: &mut EncoderScratch) -> Result<Vec<EncodedChunk>>;
}

/// The memory that a thread needs to encode, kept from column to column.
pub(crate) struct EncoderScratch {
    pub(crate) compressor: CodecCompressor,
    /// The buffer for a page's body.
    pub(crate) body: Vec<u8>,
}

impl EncoderScratch {
    /// For pages of these settings.
    pub(crate) fn new(settings: &CheckedOptions) -> Self {
        Self { compressor: CodecCompressor::new(settings.compression), body: Vec::new() }
    }
}

/// A filter for a chunk of at most `rows` rows, to be folded to the size for its values.
pub(crate) fn new_bloom_filter(rows: usize) -> Result<Sbbf> {
    Sbbf::new_with_ndv_fpp(rows.max(1) as u64, BLOOM_FALSE_POSITIVES).map_err(Error::unexpected)
}

/// Shrinks a filter to the size for its values.
pub(crate) fn folded(filter: Option<Sbbf>) -> Option<Sbbf> {
    filter.map(|mut filter| {
        filter.fold_to_target_fpp(BLOOM_FALSE_POSITIVES);
        filter
    })
}

/// The nulls of a page under way.
pub(crate) struct PageNulls {
    is_optional: bool,
    rows: usize,
    nulls: usize,
    /// Made at the first null.
    validity: Option<BooleanBufferBuilder>,
}

impl PageNulls {
    /// No rows yet.
    pub(crate) fn new(is_optional: bool) -> Self {
        Self { is_optional, rows: 0, nulls: 0, validity: None }
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Nulls so far.
    pub(crate) fn nulls(&self) -> usize {
        self.nulls
    }

    /// Appends rows without a null.
    pub(crate) fn push_valid(&mut self, rows: usize) {
        self.rows += rows;
        if let Some(validity) = &mut self.validity {
            validity.append_n(rows, true);
        }
    }

    /// Appends rows. A null in a column that is not optional is the caller's error.
    pub(crate) fn push(&mut self, nulls: &NullBuffer) -> Result<()> {
        if !self.is_optional && nulls.null_count() > 0 {
            return Err(Error::invalid("a column that is declared not null has a null"));
        }
        let before = self.rows;
        let validity = self.validity.get_or_insert_with(|| {
            let mut builder = BooleanBufferBuilder::new(PAGE_ROWS);
            builder.append_n(before, true);
            builder
        });
        validity.append_buffer(nulls.inner());
        self.rows += nulls.len();
        self.nulls += nulls.null_count();
        Ok(())
    }

    /// Appends the definition levels to a page's body, nothing for a column that is not optional, and starts over.
    pub(crate) fn flush(&mut self, body: &mut Vec<u8>) {
        let validity: Option<BooleanBuffer> = self.validity.take().map(|mut builder| builder.finish());
        if self.is_optional {
            append_definition_levels(validity.as_ref(), self.rows, body);
        }
        (self.rows, self.nulls) = (0, 0);
    }
}

/// A chunk's first values, held back until there are enough to decide whether a dictionary pays.
pub(crate) struct HeldChunk<V> {
    values: Vec<V>,
    rows: usize,
}

impl<V> HeldChunk<V> {
    /// Nothing held.
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), rows: 0 }
    }

    /// Adds an array; returns true if it is time to decide.
    pub(crate) fn push(&mut self, values: V, rows: usize) -> bool {
        self.values.push(values);
        self.rows += rows;
        self.rows >= DECIDE_ROWS
    }

    /// Lets go of all of them.
    pub(crate) fn take(&mut self) -> Vec<V> {
        std::mem::take(&mut self.values)
    }

    /// The rows held.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The values held.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        self.values.iter()
    }

    /// The step through the rows that visits approximately the number of rows that a sample needs.
    pub(crate) fn step(&self) -> usize {
        self.rows.div_ceil(SAMPLE_VALUES).max(1)
    }
}

/// The result of a sample of a column's values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleResult {
    /// Values in it.
    pub(crate) values: usize,
    /// Different ones.
    pub(crate) distinct: usize,
    /// Bytes of all of them in PLAIN encoding.
    pub(crate) bytes: usize,
    /// True if the sample contains all values.
    pub(crate) is_all: bool,
}

impl SampleResult {
    /// Returns true if a dictionary of at most [`DICTIONARY_BYTES`] is worth trying.
    pub(crate) fn favours_dictionary(self) -> bool {
        if self.values == self.distinct {
            return false;
        }
        let (values, distinct) = (self.values as f64, self.distinct as f64);
        let value_bytes = self.bytes as f64 / values;
        if self.is_all {
            let index_bytes = f64::from(super::rle::index_bits(self.distinct)) / 8.0;
            return distinct * value_bytes + values * index_bytes < values * value_bytes;
        }
        let expected = self.population();
        expected * value_bytes <= DICTIONARY_BYTES as f64 && index_bytes(expected) <= value_bytes * 0.75
    }

    /// Returns true if a dictionary of at most [`LARGE_DICTIONARY_BYTES`] is likely to halve a chunk of this number of
    /// values.
    pub(crate) fn favours_large_dictionary(self, chunk_values: f64) -> bool {
        if self.values == self.distinct || chunk_values <= 0.0 {
            return false;
        }
        let value_bytes = self.bytes as f64 / self.values as f64;
        let population = self.population();
        let expected = population * -(-chunk_values / population).exp_m1();
        let dictionary_bytes = expected * value_bytes;
        dictionary_bytes <= LARGE_DICTIONARY_BYTES as f64
            && dictionary_bytes + chunk_values * index_bytes(expected) <= chunk_values * value_bytes / 2.0
    }

    /// The number of different values from which the sample is likely to be drawn, if all are equally likely.
    ///
    /// Of `d` values, `n` draws have `d (1 - exp(-n/d))` different ones. With `x = n/d`, their share of the draws is
    /// `(1 - exp(-x)) / x`, which falls as `x` grows: halving an interval finds `x`.
    fn population(self) -> f64 {
        let (values, share) = (self.values as f64, self.distinct as f64 / self.values as f64);
        let (mut low, mut high) = (0.0, 1.0 / share);
        for _ in 0..40 {
            let middle: f64 = (low + high) / 2.0;
            if -(-middle).exp_m1() / middle > share { low = middle } else { high = middle }
        }
        values / high
    }
}

/// Decides whether a dictionary of byte strings continues, each time it has doubled.
pub(crate) struct DictionaryReview {
    /// Rows of the chunk at most.
    group_rows: usize,
    /// Rows so far.
    rows: usize,
    /// Values so far.
    values: usize,
    /// Their bytes in PLAIN encoding.
    bytes: usize,
    /// Bytes of the values, and of the dictionary, at the last review.
    reviewed: (usize, usize),
    /// The size of the dictionary at which the next review is due.
    due_bytes: usize,
}

impl DictionaryReview {
    /// No rows yet of a chunk of at most `group_rows` rows.
    pub(crate) fn new(group_rows: usize) -> Self {
        Self { group_rows, rows: 0, values: 0, bytes: 0, reviewed: (0, 0), due_bytes: DICTIONARY_BYTES }
    }

    /// Rows of the chunk at most.
    pub(crate) fn group_rows(&self) -> usize {
        self.group_rows
    }

    /// Adds rows with this number of values, which have these bytes in PLAIN encoding.
    pub(crate) fn push(&mut self, rows: usize, values: usize, bytes: usize) {
        self.rows += rows;
        self.values += values;
        self.bytes += bytes;
    }

    /// Returns true if the dictionary, which has this number of values and these bytes by now, is still likely to pay.
    pub(crate) fn keeps(&mut self, distinct: usize, dictionary_bytes: usize) -> bool {
        if dictionary_bytes <= self.due_bytes {
            return true;
        }
        self.due_bytes = (2 * dictionary_bytes).min(LARGE_DICTIONARY_BYTES);
        let (old_bytes, old_dictionary_bytes) = std::mem::replace(&mut self.reviewed, (self.bytes, dictionary_bytes));
        let new_share = (dictionary_bytes - old_dictionary_bytes) as f64 / (self.bytes - old_bytes).max(1) as f64;
        let chunk_values = self.group_rows as f64 * self.values as f64 / self.rows.max(1) as f64;
        let sample = SampleResult { values: self.values, distinct, bytes: self.bytes, is_all: false };
        // Values that are drawn as before are new with this probability. If most are new, others have taken their place.
        let expected_share = (-(self.values as f64) / sample.population()).exp();
        let is_other = new_share > 0.75 && expected_share < new_share / 2.0;
        dictionary_bytes <= LARGE_DICTIONARY_BYTES && !is_other && sample.favours_large_dictionary(chunk_values)
    }
}

/// Bytes of an index into a dictionary of this number of values.
fn index_bytes(distinct: f64) -> f64 {
    distinct.max(2.0).log2().ceil() / 8.0
}

#[cfg(test)]
mod tests;
