//! Encoding columns of byte strings, of any length or of one fixed length.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, ByteView, MAX_INLINE_VIEW_LEN};
use arrow::buffer::NullBuffer;
use lakerace_io::{Error, Result};
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;
use parquet::schema::types::ColumnDescPtr;

use super::buffer::PageBuffer;
use super::dictionary::BytesDictionary;
use super::encoder::{
    ColumnEncoder, DICTIONARY_BYTES, DictionaryReview, EncoderScratch, HeldChunk, PAGE_ROWS, PIECE_ROWS, SampleResult,
    folded, new_bloom_filter,
};
use super::page::{EncodedChunk, PageWriter};
use super::rle::index_bits;
use super::statistics::{ValueBounds, ValueOrder, is_utf8};
use super::values::{ByteLayout, ByteStrings, DictionaryTexts};
use crate::parquet::write::options::CheckedOptions;
use crate::prefetch;

/// Bytes that may be held back before deciding on a dictionary.
const HELD_BYTES: u64 = 4 << 20;
/// Parquet stores lengths as positive i32, those of pages as well: this leaves room for the other bytes of a value's
/// page.
const VALUE_BYTES: usize = i32::MAX as usize - (1 << 20);

/// Encodes byte strings.
pub(crate) struct BytesEncoder {
    writer: PageWriter,
    bloom: Option<Sbbf>,
    order: ValueOrder,
    is_utf8: bool,
    has_lengths: bool,
    page_bytes: usize,
    mode: ByteEncodingMode,
    held: HeldChunk<ByteStrings>,
    held_bytes: u64,
    page: PageBuffer,
    /// Bytes of the page's values without their lengths.
    value_bytes: u64,
    review: DictionaryReview,
}

enum ByteEncodingMode {
    Undecided,
    Plain,
    Dictionary(BytesDictionary),
}

/// Values by their position.
trait ValueAccess {
    fn get(&self, at: usize) -> &[u8];
    /// Bytes of the values in a range, nulls included.
    fn total(&self, from: usize, to: usize) -> usize;
    /// Prefetches the values of a range into the cache, if they may lie anywhere in memory.
    fn prefetch(&self, _from: usize, _to: usize) {}
    /// The words of a range by number, where equal values have equal numbers.
    fn numbers(&self, _from: usize, _to: usize) -> Option<&[u8]> {
        None
    }
}

impl BytesEncoder {
    /// An encoder for one chunk of `column`.
    pub(crate) fn new(column: ColumnDescPtr, settings: Arc<CheckedOptions>, bloom: bool) -> Result<Self> {
        let bloom = if bloom { Some(new_bloom_filter(settings.row_group_rows)?) } else { None };
        let has_lengths = column.physical_type() == Type::BYTE_ARRAY;
        let page = PageBuffer::new(column.max_def_level() > 0);
        let page = if has_lengths && settings.differences { page.of_lengths() } else { page };
        let mode = if settings.dictionary { ByteEncodingMode::Undecided } else { ByteEncodingMode::Plain };
        let page_bytes = settings.page_bytes;
        let review = DictionaryReview::new(settings.row_group_rows);
        let writer = PageWriter::new(column, settings);
        Ok(Self {
            order: writer.wanted_order(),
            is_utf8: is_utf8(writer.column()),
            writer,
            bloom,
            has_lengths,
            page_bytes,
            mode,
            held: HeldChunk::new(),
            held_bytes: 0,
            page,
            value_bytes: 0,
            review,
        })
    }

    fn decide(&mut self, is_all: bool, scratch: &mut EncoderScratch) -> Result<()> {
        let mut seen = BytesDictionary::new(self.has_lengths);
        let (mut rows, mut values, mut bytes) = (0, 0, 0);
        let step = self.held.step();
        for held in self.held.iter() {
            for at in (0..held.rows).step_by(step) {
                rows += 1;
                if held.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at)) {
                    let value = held.layout.get(at);
                    // A value of this size pays for no dictionary, and need not be copied to find out.
                    if value.len() <= DICTIONARY_BYTES / 4 {
                        seen.index(value);
                    }
                    values += 1;
                    bytes += value.len() + if self.has_lengths { 4 } else { 0 };
                }
            }
        }
        let sample = SampleResult { values, distinct: seen.len().min(values), bytes, is_all: is_all && step == 1 };
        let chunk_rows = if is_all { self.held.rows() } else { self.review.group_rows() };
        let chunk_values = chunk_rows as f64 * values as f64 / f64::from(rows.max(1));
        let favours = seen.len() > 0 && (sample.favours_dictionary() || sample.favours_large_dictionary(chunk_values));
        self.mode = if favours {
            ByteEncodingMode::Dictionary(BytesDictionary::new(self.has_lengths))
        } else {
            ByteEncodingMode::Plain
        };
        self.held_bytes = 0;
        for held in self.held.take() {
            self.append(&held, scratch)?;
        }
        Ok(())
    }

    fn append(&mut self, strings: &ByteStrings, scratch: &mut EncoderScratch) -> Result<()> {
        match &strings.layout {
            ByteLayout::Offsets32(offsets, data) => {
                self.append_from(&(&offsets[..], data.as_slice()), strings, scratch)
            }
            ByteLayout::Offsets64(offsets, data) => {
                self.append_from(&(&offsets[..], data.as_slice()), strings, scratch)
            }
            ByteLayout::Texts(texts) => self.append_from(texts, strings, scratch),
            ByteLayout::Words(words) => self.append_from(words, strings, scratch),
            ByteLayout::Binaries(binaries) => self.append_from(binaries, strings, scratch),
            ByteLayout::Fixed(width, data) => self.append_from(&(*width, data.as_slice()), strings, scratch),
        }
    }

    fn append_from(
        &mut self,
        access: &impl ValueAccess,
        strings: &ByteStrings,
        scratch: &mut EncoderScratch,
    ) -> Result<()> {
        let mut at = 0;
        while at < strings.rows {
            let mut rows = (strings.rows - at).min(PIECE_ROWS).min(PAGE_ROWS - self.page.levels.rows());
            let mut bytes = access.total(at, at + rows);
            while rows > 1 && bytes > self.page_bytes {
                rows /= 2;
                bytes = access.total(at, at + rows);
            }
            if self.page.plain_bytes() > 0 && self.page.plain_bytes() + bytes + 4 * rows > self.page_bytes {
                self.flush_page(scratch)?;
            }
            let nulls = strings.nulls.as_ref().map(|nulls| nulls.slice(at, rows)).filter(|n| n.null_count() > 0);
            let values = rows - nulls.as_ref().map_or(0, NullBuffer::null_count);
            self.review.push(rows, values, bytes + if self.has_lengths { 4 * values } else { 0 });
            self.append_piece(access, at, rows, nulls)?;
            at += rows;
            if self.page.levels.rows() == PAGE_ROWS {
                self.flush_page(scratch)?;
            }
            if let ByteEncodingMode::Dictionary(dictionary) = &self.mode
                && !self.review.keeps(dictionary.len(), dictionary.plain().len())
            {
                self.flush_page(scratch)?;
                self.end_dictionary(scratch)?;
            }
        }
        Ok(())
    }

    fn append_piece(
        &mut self,
        access: &impl ValueAccess,
        from: usize,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<()> {
        match nulls {
            None => {
                self.page.levels.push_valid(rows);
                self.append_run(access, from, from + rows)
            }
            Some(nulls) => {
                self.page.levels.push(&nulls)?;
                nulls.valid_slices().try_for_each(|(start, end)| self.append_run(access, from + start, from + end))
            }
        }
    }

    /// Appends values without nulls.
    fn append_run(&mut self, access: &impl ValueAccess, from: usize, to: usize) -> Result<()> {
        if let (Some(numbers), ByteEncodingMode::Dictionary(dictionary)) = (access.numbers(from, to), &mut self.mode) {
            self.value_bytes += access.total(from, to) as u64;
            // Each word is looked up only at its first use, so the dictionary keeps the order of first occurrence.
            let mut indices = [None; 256];
            for (at, number) in numbers.iter().enumerate() {
                let index = match indices[usize::from(*number)] {
                    Some(index) => index,
                    None => {
                        let at = from + at;
                        if self.order != ValueOrder::None {
                            widen(&mut self.page.bounds, access, at, at + 1, (self.order, self.is_utf8));
                        }
                        *indices[usize::from(*number)].insert(dictionary.index(checked(access.get(at))?))
                    }
                };
                self.page.indices.push(index);
            }
            return Ok(());
        }
        access.prefetch(from, to);
        if self.order != ValueOrder::None {
            widen(&mut self.page.bounds, access, from, to, (self.order, self.is_utf8));
        }
        match &mut self.mode {
            ByteEncodingMode::Dictionary(dictionary) => {
                self.value_bytes += access.total(from, to) as u64;
                return dictionary.append_indices(from..to, |at| checked(access.get(at)), &mut self.page.indices);
            }
            ByteEncodingMode::Plain | ByteEncodingMode::Undecided if self.has_lengths => {
                let bytes = access.total(from, to);
                self.page.push_strings(bytes, (from..to).map(|at| checked(access.get(at))))?;
                self.value_bytes += bytes as u64;
            }
            ByteEncodingMode::Plain | ByteEncodingMode::Undecided => {
                for at in from..to {
                    self.page.plain.extend_from_slice(access.get(at));
                }
            }
        }
        if let Some(bloom) = &mut self.bloom {
            (from..to).for_each(|at| bloom.insert(access.get(at)));
        }
        Ok(())
    }

    fn flush_page(&mut self, scratch: &mut EncoderScratch) -> Result<()> {
        let dictionary = match &self.mode {
            ByteEncodingMode::Dictionary(dictionary) => Some(dictionary.len()),
            ByteEncodingMode::Plain | ByteEncodingMode::Undecided => None,
        };
        let value_bytes = std::mem::take(&mut self.value_bytes);
        let value_bytes = self.has_lengths.then_some(value_bytes as i64);
        self.page.flush(dictionary, value_bytes, &mut self.writer, scratch)
    }

    /// Writes the dictionary and continues without.
    fn end_dictionary(&mut self, scratch: &mut EncoderScratch) -> Result<()> {
        if let ByteEncodingMode::Dictionary(dictionary) = std::mem::replace(&mut self.mode, ByteEncodingMode::Plain) {
            if let Some(bloom) = &mut self.bloom {
                dictionary.values().for_each(|value| bloom.insert(value));
            }
            if !self.writer.is_empty() {
                self.writer.dictionary_page(dictionary.plain(), dictionary.len(), &mut scratch.compressor)?;
            }
        }
        Ok(())
    }

    /// Makes the page PLAIN where all of the chunk is in the page under way and the dictionary does not pay.
    fn reconsider(&mut self) -> Result<()> {
        let ByteEncodingMode::Dictionary(dictionary) = &self.mode else { return Ok(()) };
        let page = &mut self.page;
        let length_bytes = if self.has_lengths { 4 * page.indices.len() as u64 } else { 0 };
        let index_bytes = page.indices.len() * usize::from(index_bits(dictionary.len())) / 8;
        let dictionary_bytes = (dictionary.plain().len() + index_bytes) as u64;
        if self.writer.is_empty() && dictionary_bytes >= self.value_bytes + length_bytes {
            let indices = std::mem::take(&mut page.indices);
            let values = indices.iter().map(|index| dictionary.value(*index));
            match self.has_lengths {
                true => page.push_strings(self.value_bytes as usize, values.map(Ok))?,
                false => values.for_each(|value| page.plain.extend_from_slice(value)),
            }
            if let Some(bloom) = &mut self.bloom {
                dictionary.values().for_each(|value| bloom.insert(value));
            }
            self.mode = ByteEncodingMode::Plain;
        }
        Ok(())
    }
}

impl ColumnEncoder for BytesEncoder {
    fn write(&mut self, array: &ArrayRef, scratch: &mut EncoderScratch) -> Result<()> {
        let strings = ByteStrings::from_array(array, self.writer.column())?;
        if !matches!(self.mode, ByteEncodingMode::Undecided) {
            return self.append(&strings, scratch);
        }
        let rows = strings.rows;
        self.held_bytes += strings.layout.total(0, rows) as u64;
        if self.held.push(strings, rows) || self.held_bytes > HELD_BYTES { self.decide(false, scratch) } else { Ok(()) }
    }

    fn bytes(&self) -> u64 {
        let dictionary_bytes = match &self.mode {
            ByteEncodingMode::Dictionary(dictionary) => dictionary.plain().len() as u64,
            ByteEncodingMode::Plain | ByteEncodingMode::Undecided => 0,
        };
        self.writer.compressed_bytes() + dictionary_bytes + self.held_bytes + self.page.bytes()
    }

    fn finish(mut self: Box<Self>, scratch: &mut EncoderScratch) -> Result<Vec<EncodedChunk>> {
        if matches!(self.mode, ByteEncodingMode::Undecided) {
            self.decide(true, scratch)?;
        }
        self.reconsider()?;
        self.flush_page(scratch)?;
        self.end_dictionary(scratch)?;
        Ok(vec![self.writer.finish(folded(self.bloom))?])
    }
}

/// Widens bounds by the values of a range. Of values, which may have megabytes, only the bytes that bounds need are copied.
fn widen(
    bounds: &mut ValueBounds,
    access: &impl ValueAccess,
    from: usize,
    to: usize,
    (order, is_utf8): (ValueOrder, bool),
) {
    if from == to {
        return;
    }
    if order == ValueOrder::Float16 {
        return (from..to).for_each(|at| {
            let value = access.get(at).to_vec();
            let min_max = order.float_bounds(value.clone(), value);
            let nans = u64::from(min_max.is_none());
            bounds.merge(&ValueBounds { min_max, nans }, order);
        });
    }
    let (min, max) = extremes(access, from, to, order);
    let (min, max) = order.kept(access.get(min), access.get(max), is_utf8);
    match &mut bounds.min_max {
        Some((old_min, old_max)) => {
            if order.compare(min, old_min) == Ordering::Less {
                old_min.clear();
                old_min.extend_from_slice(min);
            }
            if order.compare(max, old_max) == Ordering::Greater {
                old_max.clear();
                old_max.extend_from_slice(max);
            }
        }
        None => bounds.min_max = Some((min.to_vec(), max.to_vec())),
    }
}

/// The positions of the least and the greatest value. Eight bytes decide almost always, as one number.
fn extremes(access: &impl ValueAccess, from: usize, to: usize, order: ValueOrder) -> (usize, usize) {
    // The sign of a decimal is its first bit: inverted, negative numbers come first.
    let flip = if order == ValueOrder::SignedBytes { 1 << 63 } else { 0 };
    let first = prefix(access.get(from)) ^ flip;
    let ((mut min, mut min_at), (mut max, mut max_at)) = ((first, from), (first, from));
    for at in from + 1..to {
        let key = prefix(access.get(at)) ^ flip;
        if key <= min && (key < min || order.compare(access.get(at), access.get(min_at)).is_lt()) {
            (min, min_at) = (key, at);
        }
        if key >= max && (key > max || order.compare(access.get(at), access.get(max_at)).is_gt()) {
            (max, max_at) = (key, at);
        }
    }
    (min_at, max_at)
}

/// The first eight bytes as a number of the same order; a shorter value is filled up with zeros.
fn prefix(value: &[u8]) -> u64 {
    match value.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..value.len()].copy_from_slice(value);
            u64::from_be_bytes(bytes)
        }
    }
}

fn checked(value: &[u8]) -> Result<&[u8]> {
    if value.len() <= VALUE_BYTES {
        return Ok(value);
    }
    Err(Error::invalid(format!("a value has {} bytes, more than Parquet can hold", value.len())))
}

impl ValueAccess for (&[i32], &[u8]) {
    #[inline]
    fn get(&self, at: usize) -> &[u8] {
        &self.1[self.0[at] as usize..self.0[at + 1] as usize]
    }

    fn total(&self, from: usize, to: usize) -> usize {
        (self.0[to] - self.0[from]) as usize
    }
}

impl ValueAccess for (&[i64], &[u8]) {
    #[inline]
    fn get(&self, at: usize) -> &[u8] {
        &self.1[self.0[at] as usize..self.0[at + 1] as usize]
    }

    fn total(&self, from: usize, to: usize) -> usize {
        (self.0[to] - self.0[from]) as usize
    }
}

impl<T: arrow::datatypes::ByteViewType> ValueAccess for arrow::array::GenericByteViewArray<T> {
    #[inline]
    fn get(&self, at: usize) -> &[u8] {
        self.value(at).as_ref()
    }

    fn total(&self, from: usize, to: usize) -> usize {
        // The low half of a view is its length.
        self.views()[from..to].iter().map(|view| *view as u32 as usize).sum()
    }

    /// Rows that were sorted have their texts in no order: one miss of the cache for each, unless many are under way.
    fn prefetch(&self, from: usize, to: usize) {
        for view in &self.views()[from..to] {
            let view = ByteView::from(*view);
            if view.length > MAX_INLINE_VIEW_LEN {
                let buffer = &self.data_buffers()[view.buffer_index as usize];
                prefetch(&buffer[view.offset as usize]);
            }
        }
    }
}

impl ValueAccess for DictionaryTexts {
    #[inline]
    fn get(&self, at: usize) -> &[u8] {
        self.words.value(usize::from(self.numbers[at])).as_bytes()
    }

    fn total(&self, from: usize, to: usize) -> usize {
        let views = self.words.views();
        self.numbers[from..to].iter().map(|number| views[usize::from(*number)] as u32 as usize).sum()
    }

    fn numbers(&self, from: usize, to: usize) -> Option<&[u8]> {
        Some(&self.numbers[from..to])
    }
}

impl ValueAccess for (usize, &[u8]) {
    #[inline]
    fn get(&self, at: usize) -> &[u8] {
        &self.1[at * self.0..(at + 1) * self.0]
    }

    fn total(&self, from: usize, to: usize) -> usize {
        (to - from) * self.0
    }
}

impl ByteLayout {
    fn get(&self, at: usize) -> &[u8] {
        match self {
            Self::Offsets32(offsets, data) => &data.as_slice()[offsets[at] as usize..offsets[at + 1] as usize],
            Self::Offsets64(offsets, data) => &data.as_slice()[offsets[at] as usize..offsets[at + 1] as usize],
            Self::Texts(texts) => texts.value(at).as_bytes(),
            Self::Words(words) => ValueAccess::get(words, at),
            Self::Binaries(binaries) => binaries.value(at),
            Self::Fixed(width, data) => &data.as_slice()[at * width..(at + 1) * width],
        }
    }

    fn total(&self, from: usize, to: usize) -> usize {
        match self {
            Self::Offsets32(offsets, data) => (&offsets[..], data.as_slice()).total(from, to),
            Self::Offsets64(offsets, data) => (&offsets[..], data.as_slice()).total(from, to),
            Self::Texts(texts) => ValueAccess::total(texts, from, to),
            Self::Words(words) => words.total(from, to),
            Self::Binaries(binaries) => ValueAccess::total(binaries, from, to),
            Self::Fixed(width, _) => (to - from) * width,
        }
    }
}
