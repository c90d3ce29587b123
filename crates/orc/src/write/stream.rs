//! A stream of a column: values that wait to be encoded, bytes cut into compressed blocks, and the starts of row groups.

use crate::encode::booleans::BitCollector;
use crate::encode::codec::BlockCompressor;
use crate::encode::{byte_rle, int_rle};
use crate::error::Result;
use crate::proto::StreamKind;

/// Numbers that wait are encoded at this count even if the row group continues, so that lists of many items do not fill the
/// memory.
const MAX_WAITING: usize = 1 << 16;

/// How values become bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamCoding {
    /// As they are: append them to [`StreamWriter::bytes`].
    Plain,
    /// Integer runs: append to [`StreamWriter::numbers`].
    Ints { signed: bool },
    /// Byte runs of the lowest byte of numbers: append to [`StreamWriter::numbers`].
    Bytes,
    /// Byte runs of bits: append to [`StreamWriter::bits`].
    Bits,
}

/// The observed ratio of sizes, by which the size of other values is estimated.
#[derive(Debug, Clone, Copy, Default)]
struct SizeRatio {
    before: usize,
    after: usize,
}

impl SizeRatio {
    fn note(&mut self, before: usize, after: usize) {
        self.before += before;
        self.after += after;
    }

    /// Estimates the size of `count`; `unknown` of each where nothing was seen yet.
    fn guess(self, count: usize, unknown: usize) -> usize {
        match self.before {
            0 => count * unknown,
            before => (count as u128 * self.after as u128 / before as u128) as usize,
        }
    }
}

/// The assumed bytes of a number in a stream whose encoding is not yet measured.
const BYTES_OF_NUMBER: usize = 4;

/// A stream that is being written.
pub(crate) struct StreamWriter {
    kind: StreamKind,
    coding: StreamCoding,
    /// True if the row index has positions of this stream; one without is read as a whole.
    indexed: bool,
    pub(crate) numbers: Vec<i64>,
    pub(crate) bits: BitCollector,
    /// The bytes that are encoded and not compressed yet.
    pub(crate) bytes: Vec<u8>,
    /// Compressed blocks.
    blocks: Vec<u8>,
    /// The start of each block in `blocks`.
    starts: Vec<usize>,
    /// Bytes in `blocks` before compression.
    compressed: usize,
    /// The start of each row group: byte before compression, and bits of it to be skipped.
    marks: Vec<(usize, u8)>,
    /// The ratio of numbers to encoded bytes, and of those to compressed ones, in the whole file.
    encoding: SizeRatio,
    compression: SizeRatio,
}

/// A stream of a finished stripe.
pub(crate) struct FinishedStream {
    pub(crate) kind: StreamKind,
    pub(crate) bytes: Vec<u8>,
}

impl StreamWriter {
    pub(crate) fn new(kind: StreamKind, coding: StreamCoding) -> Self {
        Self {
            kind,
            coding,
            indexed: true,
            numbers: Vec::new(),
            bits: BitCollector::default(),
            bytes: Vec::new(),
            blocks: Vec::new(),
            starts: Vec::new(),
            compressed: 0,
            marks: Vec::new(),
            encoding: SizeRatio::default(),
            compression: SizeRatio::default(),
        }
    }

    /// A stream that the row index has no positions of.
    pub(crate) fn unindexed(kind: StreamKind, coding: StreamCoding) -> Self {
        Self { indexed: false, ..Self::new(kind, coding) }
    }

    pub(crate) fn coding(&self) -> StreamCoding {
        self.coding
    }

    /// Starts a row group. [`Self::end_group`] has encoded the values of the previous group, except for the bits of a
    /// byte that both share.
    pub(crate) fn start_group(&mut self) {
        if self.indexed {
            self.marks.push((self.compressed + self.bytes.len(), self.bits.partial_bits()));
        }
    }

    /// Encodes and compresses the full portions of the waiting values.
    pub(crate) fn relieve(&mut self, compressor: &mut BlockCompressor) -> Result<()> {
        if self.numbers.len() >= MAX_WAITING {
            let mut numbers = std::mem::take(&mut self.numbers);
            let (portions, rest) = numbers.as_chunks::<MAX_WAITING>();
            let rest = rest.len();
            for portion in portions {
                self.encode(portion);
                self.drain(compressor)?;
            }
            numbers.drain(..numbers.len() - rest);
            self.numbers = numbers;
        }
        self.drain(compressor)
    }

    /// Encodes the waiting values, so that the next row group starts with a new run, and compresses full blocks.
    pub(crate) fn end_group(&mut self, compressor: &mut BlockCompressor) -> Result<()> {
        self.encode_waiting();
        self.drain(compressor)
    }

    /// Encodes and compresses everything; positions can be asked for from now on.
    pub(crate) fn close(&mut self, compressor: &mut BlockCompressor) -> Result<()> {
        self.encode_waiting();
        self.bits.take_all(&mut self.bytes);
        if compressor.is_none() { Ok(()) } else { self.compress(self.bytes.len(), compressor) }
    }

    fn encode_waiting(&mut self) {
        let mut numbers = std::mem::take(&mut self.numbers);
        self.encode(&numbers);
        numbers.clear();
        self.numbers = numbers;
        self.bits.take_full(&mut self.bytes);
    }

    fn encode(&mut self, numbers: &[i64]) {
        let before = self.bytes.len();
        match self.coding {
            StreamCoding::Ints { signed } => int_rle::encode(numbers, signed, &mut self.bytes),
            StreamCoding::Bytes => {
                let bytes: Vec<u8> = numbers.iter().map(|&number| number as u8).collect();
                byte_rle::encode(&bytes, &mut self.bytes);
            }
            StreamCoding::Plain | StreamCoding::Bits => debug_assert!(numbers.is_empty()),
        }
        self.encoding.note(numbers.len(), self.bytes.len() - before);
    }

    /// Compresses all full blocks.
    fn drain(&mut self, compressor: &mut BlockCompressor) -> Result<()> {
        if compressor.is_none() || self.bytes.len() < compressor.block_size() {
            return Ok(());
        }
        let full = self.bytes.len() / compressor.block_size() * compressor.block_size();
        self.compress(full, compressor)
    }

    fn compress(&mut self, len: usize, compressor: &mut BlockCompressor) -> Result<()> {
        let before = self.blocks.len();
        for block in self.bytes[..len].chunks(compressor.block_size()) {
            self.starts.push(self.blocks.len());
            compressor.append(block, &mut self.blocks)?;
        }
        self.bytes.drain(..len);
        self.compressed += len;
        self.compression.note(len, self.blocks.len() - before);
        Ok(())
    }

    /// Appends the position of row group `group` to an entry of the row index; of a closed stream only.
    pub(crate) fn push_position(&self, group: usize, compressor: &BlockCompressor, positions: &mut Vec<u64>) {
        let Some(&(byte, bits)) = self.marks.get(group) else { return };
        if compressor.is_none() {
            positions.push(byte as u64);
        } else {
            let block = byte / compressor.block_size();
            positions.push(self.starts.get(block).map_or(self.blocks.len(), |&start| start) as u64);
            // A group that starts at the end of the last block gets a position in that block, not in a new one.
            positions.push((byte % compressor.block_size()) as u64);
        }
        match self.coding {
            StreamCoding::Plain => (),
            // The values of the run to be skipped: none, as each row group starts a run.
            StreamCoding::Ints { .. } | StreamCoding::Bytes => positions.push(0),
            // Also the bits of the byte to be skipped.
            StreamCoding::Bits => positions.extend([0, u64::from(bits)]),
        }
    }

    /// The bytes of a closed stream, which starts again.
    pub(crate) fn take(&mut self) -> FinishedStream {
        let compressed = !self.starts.is_empty();
        let bytes = std::mem::take(if compressed { &mut self.blocks } else { &mut self.bytes });
        self.clear();
        FinishedStream { kind: self.kind, bytes }
    }

    /// Forgets everything but how well it could be compressed.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.bits.clear();
        self.bytes.clear();
        self.blocks.clear();
        self.starts.clear();
        self.compressed = 0;
        self.marks.clear();
    }

    /// An estimate of the bytes that the stream takes in the file.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let waiting = self.bytes.len() + self.encoding.guess(self.numbers.len(), BYTES_OF_NUMBER);
        self.blocks.len() + self.compression.guess(waiting, 1)
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        let waiting = self.numbers.capacity() * 8 + self.bits.memory_bytes();
        let index = self.starts.capacity() * 8 + self.marks.capacity() * 16;
        waiting + self.bytes.capacity() + self.blocks.capacity() + index
    }
}

#[cfg(test)]
mod tests;
