//! How a file is to be written.

use crate::compress::Codec;
use crate::encode::codec::{BlockCompressor, MAX_BLOCK};
use crate::error::{Error, Result};

/// Options of a [`Writer`](super::Writer).
///
/// ```
/// use lakerace_orc::Codec;
/// use lakerace_orc::write::WriterOptions;
/// let options = WriterOptions { codec: Codec::Snappy, bloom_filters: vec!["id".into()], ..Default::default() };
/// assert_eq!(options.row_index_stride, 10_000);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WriterOptions {
    /// Codec of streams, indexes and footers. Default: zstd.
    pub codec: Codec,
    /// Level of the codec; zlib has 0 to 9 (6 by default), zstd -131072 to 22 (3 by default), the others none.
    pub level: Option<i32>,
    /// Bytes of a block before compression, at most 8 MiB less one: readers take a block as a whole. Default: 256 KiB.
    pub block_size: usize,
    /// A stripe ends when its encoded bytes reach this, at the end of a row group unless that is far. A writer holds at
    /// most approximately two stripes, and for each stream two blocks and two row groups of numbers. Default: 64 MiB.
    pub stripe_size: usize,
    /// Rows of a row group, which readers can skip by its statistics; 0 leaves out the row index. Default: 10,000.
    pub row_index_stride: u32,
    /// A text column is dictionary encoded if it has at most this many distinct values per value, and if that makes it
    /// smaller; 0 switches dictionaries off. Default: 0.8.
    pub dictionary_threshold: f64,
    /// Columns with bloom filters, by name; fields of structs as `column.field`, items of lists as `column._elem`, keys and
    /// values of maps as `column._key` and `column._value`. They need a row index. Default: none.
    pub bloom_filters: Vec<String>,
    /// Share of values that a bloom filter takes for present though they are not. Default: 0.01.
    pub bloom_fpp: f64,
    /// True if timestamps without a zone are written as Spark writes them, and it alone reads them: a bigint of microseconds, marked by
    /// an attribute. Spark takes ORC's own for instants. Default: no.
    pub spark_timestamps: bool,
    /// Names and values that are put into the footer.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// Threads that encode columns; the bytes written are the same for any number. Default: 1.
    pub threads: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            codec: Codec::Zstd,
            level: None,
            block_size: 256 << 10,
            stripe_size: 64 << 20,
            row_index_stride: 10_000,
            dictionary_threshold: 0.8,
            bloom_filters: Vec::new(),
            bloom_fpp: 0.01,
            spark_timestamps: false,
            metadata: Vec::new(),
            threads: 1,
        }
    }
}

/// The smallest block: readers allocate by block, and the headers would outweigh the data of smaller ones.
const MIN_BLOCK: usize = 1 << 10;

/// Rows that are encoded together where there is no row index.
const ROWS_WITHOUT_INDEX: usize = 10_000;

impl WriterOptions {
    /// Checks the ranges and makes the compressors, one for each thread.
    pub(super) fn compressors(&self) -> Result<Vec<BlockCompressor>> {
        let in_range = |name: &str, value: usize, low: usize, high: usize| match (low..=high).contains(&value) {
            true => Ok(()),
            false => Err(Error::invalid(format!("{name} is {value}; choose a value from {low} to {high}"))),
        };
        in_range("block_size", self.block_size, MIN_BLOCK, MAX_BLOCK)?;
        in_range("stripe_size", self.stripe_size, 1, 1 << 40)?;
        in_range("threads", self.threads, 1, 1024)?;
        if !(0.0..=1.0).contains(&self.dictionary_threshold) {
            return Err(Error::invalid(format!(
                "dictionary_threshold is {}; choose a value from 0 to 1",
                self.dictionary_threshold
            )));
        }
        if !(self.bloom_fpp > 0.0 && self.bloom_fpp < 1.0) {
            return Err(Error::invalid(format!("bloom_fpp is {}; choose a value above 0 and below 1", self.bloom_fpp)));
        }
        if self.row_index_stride == 0 && !self.bloom_filters.is_empty() {
            return Err(Error::invalid("bloom filters need a row index; set row_index_stride above 0"));
        }
        (0..self.threads).map(|_| BlockCompressor::new(self.codec, self.level, self.block_size)).collect()
    }

    /// Rows that are encoded together: a row group where there is an index.
    pub(super) fn group_rows(&self) -> usize {
        match self.row_index_stride {
            0 => ROWS_WITHOUT_INDEX,
            stride => stride as usize,
        }
    }
}
