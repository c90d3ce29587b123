//! Texts, as they are or by a dictionary.

use arrow::array::{AnyDictionaryArray, Array, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;

use crate::encode::codec::Compressor;
use crate::encode::dictionary::Dictionary;
use crate::encode::int_rle;
use crate::proto::{EncodingKind, StreamKind};
use crate::write::byte_strings::{for_each, for_each_valid};
use crate::write::integers::RunStream;
use crate::write::options::WriterOptions;
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Encoding, Values};
use crate::{Error, Result};

/// A column whose share of distinct values is below this part of the threshold gets its dictionary for sure: its numbers
/// are encoded at once, rather than kept until the stripe ends.
const SURE: f64 = 0.25;

/// How the stripe at hand is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Direct,
    /// By a dictionary that may still be given up.
    Trial,
    Dictionary,
}

pub(crate) struct Texts {
    threshold: f64,
    mode: Mode,
    dictionary: Dictionary,
    /// By number: one more than the row group in which the text was last met.
    met: Vec<u32>,
    /// Row groups of the stripe so far, this one included.
    groups: u32,
    /// Numbers of a dictionary's texts that are not encoded yet: of the row group, or of the stripe while on trial.
    numbers: Vec<i64>,
    /// Where the row groups begin in `numbers`.
    starts: Vec<usize>,
    /// Values and bytes of the stripe.
    values: u64,
    bytes: u64,
    lengths: RunStream,
    block_size: usize,
    /// Direct: texts, lengths. Dictionary: numbers, lengths of the dictionary's texts, the texts.
    streams: Vec<Stream>,
}

impl Texts {
    pub(crate) fn new(options: &WriterOptions) -> Self {
        let mut texts = Self {
            threshold: options.dictionary_threshold,
            mode: Mode::Direct,
            dictionary: Dictionary::new(),
            met: Vec::new(),
            groups: 0,
            numbers: Vec::new(),
            starts: Vec::new(),
            values: 0,
            bytes: 0,
            lengths: RunStream::new(false),
            block_size: options.block_size,
            streams: Vec::new(),
        };
        texts.reset();
        texts
    }

    fn stream(&self, kind: StreamKind, shape: Shape) -> Stream {
        Stream::new(kind, shape, self.block_size)
    }

    fn direct_streams(&self) -> Vec<Stream> {
        vec![self.stream(StreamKind::Data, Shape::Plain), self.stream(StreamKind::Length, Shape::Runs)]
    }

    fn append_direct(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>, digest: &mut Digest<'_>) -> Result<()> {
        let raw = &mut self.streams[0].raw;
        let before = raw.len();
        let waiting = &mut self.lengths.waiting;
        let each = |value: &[u8]| {
            raw.extend_from_slice(value);
            waiting.push(value.len() as i64);
            digest.statistics.add_text(value);
            if let Some(bloom) = &mut digest.bloom {
                bloom.add_bytes(value);
            }
        };
        for_each(array, nulls, each)?;
        digest.statistics.add_bytes((raw.len() - before) as u64);
        Ok(())
    }

    fn append_numbers(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>, digest: &mut Digest<'_>) -> Result<()> {
        let Self { dictionary, met, groups, numbers, .. } = self;
        let mut full = false;
        let mut added = 0;
        let mut insert = |value: &[u8]| -> i64 {
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
                digest.statistics.add_text(value);
                if let Some(bloom) = &mut digest.bloom {
                    bloom.add_bytes(value);
                }
            }
            i64::from(number)
        };
        match array.as_any_dictionary_opt() {
            None => for_each(array, nulls, |value| numbers.push(insert(value)))?,
            Some(array) => {
                let (keys, texts) = numbers_and_texts(array)?;
                // Each text of the array's dictionary is looked up once.
                let mut known = vec![None; texts.len()];
                let mut repeated = 0;
                for_each_valid(keys.len(), nulls, |row| {
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
            let message =
                "the dictionary of a stripe holds at most 4 GiB; set a smaller stripe_size, or dictionary_threshold 0";
            return Err(Error::unsupported(message));
        }
        digest.statistics.add_bytes(added);
        self.bytes += added;
        Ok(())
    }

    /// Whether the dictionary is within the threshold, and makes the column smaller.
    fn pays(&self) -> bool {
        let distinct = self.dictionary.len() as u64;
        let bits = u64::from(u64::BITS - distinct.leading_zeros());
        // About a byte for a length, before compression.
        let direct = self.bytes + self.values;
        let by_dictionary = self.dictionary.bytes().len() as u64 + distinct + self.values * bits / 8;
        distinct as f64 <= self.values as f64 * self.threshold && by_dictionary <= direct
    }

    /// Encodes the numbers of the row groups kept so far.
    fn encode_numbers(&mut self, compressor: &mut Compressor) -> Result<()> {
        let stream = &mut self.streams[0];
        for (nth, &start) in self.starts.iter().enumerate() {
            let end = self.starts.get(nth + 1).copied().unwrap_or(self.numbers.len());
            stream.mark(0);
            int_rle::encode(&self.numbers[start..end], false, &mut stream.raw);
            stream.drain(compressor)?;
        }
        self.starts.clear();
        self.numbers.clear();
        Ok(())
    }

    /// Gives the dictionary up: writes the texts that the numbers kept so far stand for.
    fn turn_direct(&mut self, compressor: &mut Compressor) -> Result<()> {
        self.mode = Mode::Direct;
        self.streams = self.direct_streams();
        let [texts, lengths] = &mut self.streams[..] else { return Err(Error::internal("two streams were made")) };
        for (nth, &start) in self.starts.iter().enumerate() {
            let end = self.starts.get(nth + 1).copied().unwrap_or(self.numbers.len());
            texts.mark(0);
            lengths.mark(0);
            for &number in &self.numbers[start..end] {
                let text = self.dictionary.get(number as u32);
                texts.raw.extend_from_slice(text);
                self.lengths.waiting.push(text.len() as i64);
            }
            texts.drain(compressor)?;
            self.lengths.end_group(lengths, compressor)?;
        }
        self.starts.clear();
        self.numbers.clear();
        self.met.clear();
        self.dictionary.clear();
        Ok(())
    }
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
    for_each(values, nulls.as_ref(), |value| {
        texts[valid[next]] = value.into();
        next += 1;
    })?;
    let keys = if texts.is_empty() { vec![0; array.len()] } else { array.normalized_keys() };
    Ok((keys, texts))
}

impl Values for Texts {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        self.values += (array.len() - nulls.map_or(0, NullBuffer::null_count)) as u64;
        // A dictionary of the array's own is of use only where its texts repeat, and ours is looked up.
        let plain = match array.as_any_dictionary_opt() {
            Some(keyed) if self.mode == Mode::Direct || keyed.values().len() > array.len() => {
                Some(cast(array, keyed.values().data_type())?)
            }
            _ => None,
        };
        let array = plain.as_deref().unwrap_or(array);
        if self.mode != Mode::Direct {
            return self.append_numbers(array, nulls, digest);
        }
        self.append_direct(array, nulls, digest)?;
        self.streams[0].drain(compressor)?;
        self.lengths.relieve(&mut self.streams[1], compressor)
    }

    fn start_group(&mut self) {
        self.groups += 1;
        match self.mode {
            Mode::Direct => self.streams.iter_mut().for_each(|stream| stream.mark(0)),
            Mode::Trial | Mode::Dictionary => self.starts.push(self.numbers.len()),
        }
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        match self.mode {
            Mode::Direct => {
                self.streams[0].drain(compressor)?;
                self.lengths.end_group(&mut self.streams[1], compressor)
            }
            Mode::Dictionary => self.encode_numbers(compressor),
            Mode::Trial if self.values > 0 && !self.pays() => self.turn_direct(compressor),
            Mode::Trial => {
                if (self.dictionary.len() as f64) < self.values as f64 * self.threshold * SURE {
                    self.mode = Mode::Dictionary;
                    self.encode_numbers(compressor)?;
                }
                Ok(())
            }
        }
    }

    fn close(&mut self, compressor: &mut Compressor) -> Result<Encoding> {
        if self.mode == Mode::Trial && self.dictionary.len() == 0 {
            // Only nulls: nothing to look up.
            self.turn_direct(compressor)?;
        }
        if self.mode == Mode::Direct {
            self.streams.iter_mut().try_for_each(|stream| stream.close(compressor))?;
            return Ok(Encoding { kind: EncodingKind::DirectV2, dictionary_size: None });
        }
        self.encode_numbers(compressor)?;
        let lengths: Vec<i64> = self.dictionary.lengths().collect();
        int_rle::encode(&lengths, false, &mut self.streams[1].raw);
        self.streams[2].raw.extend_from_slice(self.dictionary.bytes());
        self.streams.iter_mut().try_for_each(|stream| stream.close(compressor))?;
        Ok(Encoding { kind: EncodingKind::DictionaryV2, dictionary_size: Some(self.dictionary.len() as u32) })
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.streams
    }

    fn reset(&mut self) {
        self.dictionary.clear();
        self.met.clear();
        self.numbers.clear();
        self.starts.clear();
        (self.values, self.bytes, self.groups) = (0, 0, 0);
        if self.threshold > 0.0 {
            self.mode = Mode::Trial;
            let lengths = self.stream(StreamKind::Length, Shape::Unindexed);
            let texts = self.stream(StreamKind::DictionaryData, Shape::Unindexed);
            self.streams = vec![self.stream(StreamKind::Data, Shape::Runs), lengths, texts];
        } else if self.streams.is_empty() {
            self.streams = self.direct_streams();
        }
    }

    fn waiting_bytes(&self) -> usize {
        let dictionary = if self.mode == Mode::Direct { 0 } else { self.dictionary.bytes().len() };
        self.lengths.waiting_bytes() + self.numbers.len() * 2 + dictionary
    }

    fn memory_bytes(&self) -> usize {
        let numbers = self.numbers.capacity() * 8 + self.met.capacity() * 4 + self.starts.capacity() * 8;
        self.dictionary.memory_bytes() + numbers + self.lengths.memory_bytes()
    }
}
