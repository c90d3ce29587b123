//! Texts, stored directly or by a dictionary.

use arrow::array::{AnyDictionaryArray, Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;

use crate::encode::codec::BlockCompressor;
use crate::encode::dictionary::DistinctStrings;
use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::write::byte_strings::{self, for_each};
use crate::write::options::WriterOptions;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{GroupDigest, ValueStreams, ValueTarget, WrittenRows};

/// A column whose share of distinct values is below this part of the threshold certainly gets its dictionary: its
/// numbers are encoded immediately rather than kept until the stripe ends.
const SURE: f64 = 0.25;

/// The encoding of the current stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StripeEncoding {
    Direct,
    /// By a dictionary that may still be given up.
    Trial,
    Dictionary,
}

/// A column of texts.
///
/// Streams of a stripe by mode: texts and their lengths; else numbers, lengths of the dictionary's texts, the texts.
pub(crate) struct TextWriter {
    threshold: f64,
    mode: StripeEncoding,
    dictionary: DistinctStrings,
    /// By number: one more than the row group in which the text was last met.
    met: Vec<u32>,
    /// Row groups of the stripe so far, this one included.
    groups: u32,
    /// Numbers of a dictionary's texts that are not encoded yet: of the row group, or of the stripe while on trial.
    numbers: Vec<u32>,
    /// The starts of the row groups in `numbers`.
    starts: Vec<usize>,
    /// Values and bytes of the stripe.
    values: u64,
    bytes: u64,
}

impl TextWriter {
    pub(crate) fn new(options: &WriterOptions) -> Self {
        let threshold = options.dictionary_threshold;
        Self {
            threshold,
            mode: first_mode(threshold),
            dictionary: DistinctStrings::new(),
            met: Vec::new(),
            groups: 0,
            numbers: Vec::new(),
            starts: Vec::new(),
            values: 0,
            bytes: 0,
        }
    }

    fn append_numbers(&mut self, rows: &WrittenRows<'_>, digest: &mut GroupDigest<'_>) -> Result<()> {
        let Self { dictionary, met, groups, numbers, .. } = self;
        let mut full = false;
        let mut added = 0;
        let mut insert = |value: &[u8]| -> u32 {
            let Some(number) = dictionary.insert(value) else {
                full = true;
                return 0;
            };
            added += value.len() as u64;
            if number as usize == met.len() {
                met.push(0);
            }
            // Bounds and filters of the row group need each of its texts once.
            let met = &mut met[number as usize];
            if *met != *groups {
                *met = *groups;
                digest.add_string(value);
            }
            number
        };
        match rows.array.as_any_dictionary_opt() {
            None => for_each(rows, |value| numbers.push(insert(value)))?,
            Some(array) => {
                let (keys, texts) = numbers_and_texts(array)?;
                // Each text of the array's dictionary is looked up once.
                let mut known = vec![None; texts.len()];
                let mut repeated = 0;
                rows.for_each(|row| {
                    let key = keys[row];
                    match known[key] {
                        Some(number) => {
                            repeated += texts[key].len() as u64;
                            numbers.push(number);
                        }
                        None => {
                            let number = insert(&texts[key]);
                            known[key] = Some(number);
                            numbers.push(number);
                        }
                    }
                });
                added += repeated;
            }
        }
        if full {
            let message = "the dictionary of a stripe can hold at most 4 GiB; set a smaller stripe_size, or \
                           dictionary_threshold 0";
            return Err(Error::unsupported(message));
        }
        digest.statistics.add_bytes(added);
        self.bytes += added;
        Ok(())
    }

    /// Returns true if the dictionary is within the threshold, and makes the column smaller.
    fn pays(&self) -> bool {
        let distinct = self.dictionary.len() as u64;
        let bits = u64::from(u64::BITS - distinct.leading_zeros());
        // About a byte for a length, before compression.
        let direct = self.bytes + self.values;
        let by_dictionary = self.dictionary.bytes().len() as u64 + distinct + self.values * bits / 8;
        distinct as f64 <= self.values as f64 * self.threshold && by_dictionary <= direct
    }

    /// Encodes the numbers of the row groups kept so far.
    fn encode_numbers(&mut self, streams: &mut [StreamWriter], compressor: &mut BlockCompressor) -> Result<()> {
        for numbers in self.kept_groups() {
            streams[0].start_group();
            streams[0].numbers.extend(numbers.iter().map(|&number| i64::from(number)));
            streams[0].end_group(compressor)?;
        }
        self.starts.clear();
        self.numbers.clear();
        Ok(())
    }

    /// Gives the dictionary up: writes the texts that the numbers kept so far stand for.
    fn turn_direct(&mut self, streams: &mut Vec<StreamWriter>, compressor: &mut BlockCompressor) -> Result<()> {
        self.mode = StripeEncoding::Direct;
        *streams = self.streams();
        for numbers in self.kept_groups() {
            streams.iter_mut().for_each(StreamWriter::start_group);
            for &number in numbers {
                let text = self.dictionary.get(number);
                streams[0].bytes.extend_from_slice(text);
                streams[1].numbers.push(text.len() as i64);
            }
            streams.iter_mut().try_for_each(|stream| stream.end_group(compressor))?;
        }
        // Most stripes that follow are written so, too: the room is given back rather than kept.
        self.starts = Vec::new();
        self.numbers = Vec::new();
        self.met = Vec::new();
        self.dictionary = DistinctStrings::new();
        Ok(())
    }

    /// The numbers of each row group kept so far.
    fn kept_groups(&self) -> impl Iterator<Item = &[u32]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.numbers.len()]);
        self.starts.iter().zip(ends).map(|(&start, end)| &self.numbers[start..end])
    }
}

fn first_mode(threshold: f64) -> StripeEncoding {
    if threshold > 0.0 { StripeEncoding::Trial } else { StripeEncoding::Direct }
}

/// The texts of an array's dictionary.
type TextsByKey = Vec<Box<[u8]>>;

/// The keys of a dictionary array, and its texts; keys of nulls may be any below the count of texts.
fn numbers_and_texts(array: &dyn AnyDictionaryArray) -> Result<(Vec<usize>, TextsByKey)> {
    let mut texts = Vec::with_capacity(array.values().len());
    // A null among the values is an empty text here: no row that is not null points to it.
    let values = array.values();
    let nulls = values.logical_nulls();
    let mut next = 0;
    let valid: Vec<usize> = match &nulls {
        Some(nulls) => nulls.valid_indices().collect(),
        None => (0..values.len()).collect(),
    };
    texts.resize_with(values.len(), Box::default);
    for_each(&WrittenRows { array: values.as_ref(), nulls: nulls.as_ref() }, |value| {
        texts[valid[next]] = value.into();
        next += 1;
    })?;
    let keys = if texts.is_empty() { vec![0; array.len()] } else { array.normalized_keys() };
    Ok((keys, texts))
}

impl ValueStreams for TextWriter {
    fn streams(&self) -> Vec<StreamWriter> {
        if self.mode == StripeEncoding::Direct {
            return byte_strings::streams();
        }
        vec![
            StreamWriter::new(StreamKind::Data, StreamCoding::Ints { signed: false }),
            StreamWriter::unindexed(StreamKind::Length, StreamCoding::Ints { signed: false }),
            StreamWriter::unindexed(StreamKind::DictionaryData, StreamCoding::Plain),
        ]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let WrittenRows { array, nulls } = *rows;
        self.values += (array.len() - nulls.map_or(0, NullBuffer::null_count)) as u64;
        // A dictionary of the array is useful only where its texts repeat and the stripe's dictionary is looked up.
        let plain = match array.as_any_dictionary_opt() {
            Some(keyed) if self.mode == StripeEncoding::Direct || keyed.values().len() > array.len() => {
                Some(cast(array, keyed.values().data_type())?)
            }
            _ => None,
        };
        let rows = WrittenRows { array: plain.as_deref().unwrap_or(array), nulls };
        match self.mode {
            StripeEncoding::Direct => byte_strings::append(&rows, out)?,
            StripeEncoding::Trial | StripeEncoding::Dictionary => self.append_numbers(&rows, &mut out.digest)?,
        }
        Ok(Vec::new())
    }

    fn start_group(&mut self, streams: &mut [StreamWriter]) {
        self.groups += 1;
        match self.mode {
            StripeEncoding::Direct => streams.iter_mut().for_each(StreamWriter::start_group),
            StripeEncoding::Trial | StripeEncoding::Dictionary => self.starts.push(self.numbers.len()),
        }
    }

    fn end_group(&mut self, streams: &mut Vec<StreamWriter>, compressor: &mut BlockCompressor) -> Result<()> {
        match self.mode {
            StripeEncoding::Trial if self.values > 0 && !self.pays() => return self.turn_direct(streams, compressor),
            StripeEncoding::Trial if (self.dictionary.len() as f64) < self.values as f64 * self.threshold * SURE => {
                self.mode = StripeEncoding::Dictionary;
            }
            _ => (),
        }
        if self.mode == StripeEncoding::Dictionary {
            self.encode_numbers(streams, compressor)?;
        }
        Ok(())
    }

    fn end_stripe(&mut self, streams: &mut Vec<StreamWriter>, compressor: &mut BlockCompressor) -> Result<Option<u32>> {
        if self.mode == StripeEncoding::Trial && self.dictionary.len() == 0 {
            // Only nulls: nothing to look up.
            self.turn_direct(streams, compressor)?;
        }
        if self.mode == StripeEncoding::Direct {
            return Ok(None);
        }
        self.encode_numbers(streams, compressor)?;
        streams[1].numbers.extend(self.dictionary.lengths());
        streams[2].bytes.extend_from_slice(self.dictionary.bytes());
        Ok(Some(self.dictionary.len() as u32))
    }

    fn reset(&mut self, streams: &mut Vec<StreamWriter>) {
        self.dictionary.clear();
        self.met.clear();
        self.numbers.clear();
        self.starts.clear();
        (self.values, self.bytes, self.groups) = (0, 0, 0);
        if self.mode != first_mode(self.threshold) {
            self.mode = first_mode(self.threshold);
            *streams = self.streams();
        }
    }

    fn waiting_bytes(&self) -> usize {
        let dictionary = if self.mode == StripeEncoding::Direct { 0 } else { self.dictionary.bytes().len() };
        self.numbers.len() * 2 + dictionary
    }

    fn memory_bytes(&self) -> usize {
        let numbers = self.numbers.capacity() * 4 + self.met.capacity() * 4 + self.starts.capacity() * 8;
        self.dictionary.memory_bytes() + numbers
    }
}
