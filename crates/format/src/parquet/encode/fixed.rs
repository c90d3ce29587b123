//! Encoding columns of 32- and 64-bit numbers.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{ArrowNativeType, ToByteSlice};
use lakerace_io::Result;
use lakerace_orc::skipped_days::TimeScale;
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;
use parquet::schema::types::ColumnDescPtr;

use super::bloom::insert_numbers;
use super::buffer::PageBuffer;
use super::dictionary::NumberDictionary;
use super::encoder::{
    ColumnEncoder, DICTIONARY_BYTES, EncoderScratch, HeldChunk, PAGE_ROWS, PIECE_ROWS, SampleResult, folded,
    new_bloom_filter,
};
use super::page::{EncodedChunk, PageWriter};
use super::physical::{NumberArray, Physical};
use super::rle::index_bits;
use super::statistics::{MinMax, ValueOrder, time_scale};
use crate::parquet::write::options::CheckedOptions;

/// Encodes numbers of type `P`.
pub(crate) struct FixedEncoder<P: Physical> {
    writer: PageWriter,
    bloom: Option<Sbbf>,
    order: ValueOrder,
    /// The scale of days or times.
    scale: Option<TimeScale>,
    mode: FixedEncodingMode<P>,
    held: HeldChunk<NumberArray<P::Native>>,
    held_bytes: u64,
    page: PageBuffer,
    page_rows: usize,
    /// The values of a piece without its nulls.
    present: Vec<P::Native>,
}

enum FixedEncodingMode<P: Physical> {
    Undecided,
    Plain,
    Dictionary(NumberDictionary<P>),
}

impl<P: Physical> FixedEncoder<P> {
    /// An encoder for one chunk of `column`.
    pub(crate) fn new(column: ColumnDescPtr, settings: Arc<CheckedOptions>, bloom: bool) -> Result<Self> {
        let bloom = if bloom { Some(new_bloom_filter(settings.row_group_rows)?) } else { None };
        let mut page = PageBuffer::new(column.max_def_level() > 0);
        if settings.differences && matches!(column.physical_type(), Type::INT32 | Type::INT64) {
            page = page.of_integers(size_of::<P::Native>());
        }
        let page_rows = (settings.page_bytes / size_of::<P::Native>()).clamp(1, PAGE_ROWS);
        let mode = if settings.dictionary { FixedEncodingMode::Undecided } else { FixedEncodingMode::Plain };
        let writer = PageWriter::new(column, settings);
        Ok(Self {
            order: writer.wanted_order(),
            scale: time_scale(writer.column()),
            writer,
            bloom,
            mode,
            held: HeldChunk::new(),
            held_bytes: 0,
            page,
            page_rows,
            present: Vec::new(),
        })
    }

    fn decide(&mut self, is_all: bool, scratch: &mut EncoderScratch) -> Result<()> {
        let mut seen = NumberDictionary::<P>::new();
        let mut values = 0;
        let step = self.held.step();
        for held in self.held.iter() {
            for at in (0..held.values.len()).step_by(step) {
                if held.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at)) {
                    seen.index(held.values[at]);
                    values += 1;
                }
            }
        }
        let bytes = values * size_of::<P::Native>();
        let sample = SampleResult { values, distinct: seen.len(), bytes, is_all: is_all && step == 1 };
        self.mode = if sample.favours_dictionary() {
            FixedEncodingMode::Dictionary(NumberDictionary::new())
        } else {
            FixedEncodingMode::Plain
        };
        self.held_bytes = 0;
        for held in self.held.take() {
            self.append(&held, scratch)?;
        }
        Ok(())
    }

    fn append(&mut self, numbers: &NumberArray<P::Native>, scratch: &mut EncoderScratch) -> Result<()> {
        let mut at = 0;
        while at < numbers.values.len() {
            let rows = (numbers.values.len() - at).min(PIECE_ROWS).min(self.page_rows - self.page.levels.rows());
            let piece = &numbers.values[at..at + rows];
            match numbers.nulls.as_ref().map(|nulls| nulls.slice(at, rows)).filter(|nulls| nulls.null_count() > 0) {
                None => {
                    self.page.levels.push_valid(rows);
                    self.append_present(piece, scratch)?;
                }
                Some(nulls) => {
                    self.page.levels.push(&nulls)?;
                    let mut present = std::mem::take(&mut self.present);
                    present.clear();
                    nulls.valid_slices().for_each(|(from, to)| present.extend_from_slice(&piece[from..to]));
                    let done = self.append_present(&present, scratch);
                    self.present = present;
                    done?;
                }
            }
            at += rows;
            if self.page.levels.rows() == self.page_rows {
                self.flush_page(scratch)?;
            }
        }
        Ok(())
    }

    fn append_present(&mut self, values: &[P::Native], scratch: &mut EncoderScratch) -> Result<()> {
        if self.order != ValueOrder::None {
            self.page.bounds.merge(&P::Native::min_max(values, self.order), self.order);
        }
        match &mut self.mode {
            FixedEncodingMode::Dictionary(dictionary) => {
                dictionary.append_indices(values, &mut self.page.indices);
                if dictionary.plain_bytes() > DICTIONARY_BYTES {
                    self.flush_page(scratch)?;
                    self.end_dictionary(scratch)?;
                }
            }
            FixedEncodingMode::Plain | FixedEncodingMode::Undecided => {
                if let Some(bloom) = &mut self.bloom {
                    insert_numbers(bloom, values, self.scale);
                }
                self.page.plain.extend_from_slice(values.to_byte_slice());
            }
        }
        Ok(())
    }

    fn flush_page(&mut self, scratch: &mut EncoderScratch) -> Result<()> {
        let dictionary = match &self.mode {
            FixedEncodingMode::Dictionary(dictionary) => Some(dictionary.len()),
            FixedEncodingMode::Plain | FixedEncodingMode::Undecided => None,
        };
        self.page.flush(dictionary, None, &mut self.writer, scratch)
    }

    /// Writes the dictionary and continues without.
    fn end_dictionary(&mut self, scratch: &mut EncoderScratch) -> Result<()> {
        if let FixedEncodingMode::Dictionary(mut dictionary) =
            std::mem::replace(&mut self.mode, FixedEncodingMode::Plain)
        {
            dictionary.add_other_bits();
            let values = dictionary.values();
            if let Some(scale) = self.scale
                && values.iter().any(|value| value.to_i64().is_some_and(|value| scale.is_doubtful(value)))
            {
                self.writer.hide_encodings();
            }
            if let Some(bloom) = &mut self.bloom {
                insert_numbers(bloom, values, self.scale);
            }
            if !self.writer.is_empty() {
                self.writer.dictionary_page(values.to_byte_slice(), values.len(), &mut scratch.compressor)?;
            }
        }
        Ok(())
    }

    /// Makes the page PLAIN where all of the chunk is in the page under way and the dictionary does not pay.
    fn reconsider(&mut self) {
        let FixedEncodingMode::Dictionary(dictionary) = &self.mode else { return };
        let plain_bytes = self.page.indices.len() * size_of::<P::Native>();
        let index_bytes = self.page.indices.len() * usize::from(index_bits(dictionary.len())) / 8;
        if self.writer.is_empty() && dictionary.plain_bytes() + index_bytes >= plain_bytes {
            let values = dictionary.values();
            for index in self.page.indices.drain(..) {
                self.page.plain.extend_from_slice(std::slice::from_ref(&values[index as usize]).to_byte_slice());
            }
            if let Some(bloom) = &mut self.bloom {
                insert_numbers(bloom, values, self.scale);
            }
            self.mode = FixedEncodingMode::Plain;
        }
    }
}

impl<P: Physical> ColumnEncoder for FixedEncoder<P> {
    fn write(&mut self, array: &ArrayRef, scratch: &mut EncoderScratch) -> Result<()> {
        let numbers = P::values(array, self.writer.column())?;
        if !matches!(self.mode, FixedEncodingMode::Undecided) {
            return self.append(&numbers, scratch);
        }
        let rows = numbers.values.len();
        self.held_bytes += (rows * size_of::<P::Native>()) as u64;
        if self.held.push(numbers, rows) { self.decide(false, scratch) } else { Ok(()) }
    }

    fn bytes(&self) -> u64 {
        self.writer.compressed_bytes() + self.held_bytes + self.page.bytes()
    }

    fn finish(mut self: Box<Self>, scratch: &mut EncoderScratch) -> Result<Vec<EncodedChunk>> {
        if matches!(self.mode, FixedEncodingMode::Undecided) {
            self.decide(true, scratch)?;
        }
        self.reconsider();
        self.flush_page(scratch)?;
        self.end_dictionary(scratch)?;
        Ok(vec![self.writer.finish(folded(self.bloom))?])
    }
}
