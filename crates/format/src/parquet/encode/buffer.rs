//! The data page under way of a column that is not nested.

use lakerace_io::Result;
use parquet::basic::Encoding;

use super::delta::{append_differences, append_lengths};
use super::encoder::{EncoderScratch, PAGE_ROWS, PageNulls};
use super::page::{PageSummary, PageWriter};
use super::rle::{append_hybrid, index_bits};
use super::statistics::ValueBounds;

/// Levels of a page without nulls are shorter than this, and are written before its values without moving them.
const GAP: usize = 16;

/// The gap for lengths that are stored as differences: most take a byte.
const LENGTHS_GAP: usize = PAGE_ROWS * 5 / 4;

/// Levels and values of a page, the values as PLAIN, which may become differences, or as indices of a dictionary.
pub(crate) struct PageBuffer {
    pub(crate) levels: PageNulls,
    pub(crate) bounds: ValueBounds,
    /// PLAIN values, after a gap; append only. Texts are without their lengths if these are stored separately.
    pub(crate) plain: Vec<u8>,
    gap: usize,
    /// Lengths of texts, if these are stored separately.
    lengths: Option<Vec<u32>>,
    /// Dictionary indices.
    pub(crate) indices: Vec<u32>,
    /// The bytes of an integer, where those in ascending order become differences.
    integer_bytes: Option<usize>,
}

impl PageBuffer {
    /// Without a row.
    pub(crate) fn new(is_optional: bool) -> Self {
        Self {
            levels: PageNulls::new(is_optional),
            bounds: ValueBounds::default(),
            plain: vec![0; GAP],
            gap: GAP,
            lengths: None,
            indices: Vec::new(),
            integer_bytes: None,
        }
    }

    /// A page of integers of this many bytes, which become differences if they are in ascending order and the page gets
    /// shorter.
    pub(crate) fn of_integers(self, bytes: usize) -> Self {
        Self { integer_bytes: Some(bytes), ..self }
    }

    /// A page of byte strings whose lengths are stored separately.
    pub(crate) fn of_lengths(self) -> Self {
        Self { plain: vec![0; LENGTHS_GAP], gap: LENGTHS_GAP, lengths: Some(Vec::new()), ..self }
    }

    /// Appends byte strings, each of at most `i32::MAX` bytes, and all together of `bytes`.
    pub(crate) fn push_strings<'a>(
        &mut self,
        bytes: usize,
        strings: impl ExactSizeIterator<Item = Result<&'a [u8]>>,
    ) -> Result<()> {
        let plain = &mut self.plain;
        let Some(lengths) = &mut self.lengths else {
            plain.reserve(bytes + size_of::<u32>() * strings.len());
            for string in strings {
                let string = string?;
                plain.extend_from_slice(&(string.len() as u32).to_le_bytes());
                plain.extend_from_slice(string);
            }
            return Ok(());
        };
        plain.reserve(bytes);
        for string in strings {
            let string = string?;
            lengths.push(string.len() as u32);
            plain.extend_from_slice(string);
        }
        Ok(())
    }

    /// Bytes of PLAIN values so far; of those without their lengths, these are left out.
    pub(crate) fn plain_bytes(&self) -> usize {
        self.plain.len() - self.gap
    }

    /// Bytes that wait here; an index counts as one, and so does a length that is stored separately.
    pub(crate) fn bytes(&self) -> u64 {
        (self.plain_bytes() + self.indices.len() + self.lengths.as_ref().map_or(0, Vec::len)) as u64
    }

    /// Passes the page to `writer`, unless it has no rows, and starts the next one. `dictionary`: the number of values
    /// in the dictionary that the indices refer to. `value_bytes`: bytes of a byte array's values without their
    /// lengths.
    pub(crate) fn flush(
        &mut self,
        dictionary: Option<usize>,
        value_bytes: Option<i64>,
        writer: &mut PageWriter,
        scratch: &mut EncoderScratch,
    ) -> Result<()> {
        let (rows, nulls) = (self.levels.rows(), self.levels.nulls());
        if rows == 0 {
            return Ok(());
        }
        let bounds = std::mem::take(&mut self.bounds);
        let body = &mut scratch.body;
        body.clear();
        self.levels.flush(body);
        let mut summary = PageSummary { rows, nulls, encoding: Encoding::PLAIN, bounds, value_bytes };
        if let Some(values) = dictionary {
            summary.encoding = Encoding::RLE_DICTIONARY;
            let bits = index_bits(values);
            body.push(bits);
            append_hybrid(&self.indices, bits, body);
            self.indices.clear();
            return writer.data_page(body, summary, &mut scratch.compressor);
        }
        let gap = self.gap;
        if self.integer_bytes.is_some_and(|bytes| append_differences(&self.plain[gap..], bytes, body)) {
            summary.encoding = Encoding::DELTA_BINARY_PACKED;
            self.plain.truncate(gap);
            return writer.data_page(body, summary, &mut scratch.compressor);
        }
        if let Some(lengths) = &mut self.lengths {
            summary.encoding = Encoding::DELTA_LENGTH_BYTE_ARRAY;
            append_lengths(lengths, body);
            lengths.clear();
        }
        let body = match gap.checked_sub(body.len()) {
            Some(start) => {
                self.plain[start..gap].copy_from_slice(body);
                &self.plain[start..]
            }
            None => {
                body.extend_from_slice(&self.plain[gap..]);
                &body[..]
            }
        };
        writer.data_page(body, summary, &mut scratch.compressor)?;
        self.plain.truncate(gap);
        Ok(())
    }
}
