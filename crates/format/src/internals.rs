//! Parts that the benches of this crate measure, each next to its plain alternative. No interface: it changes without notice.

use lakerace_io::Result;

use crate::csv::bits;
use crate::exec::{self, RowSelection};
use crate::options::{Codec, Compression};
use crate::parquet::decode::packed_gather::{PackedRun, PaddedDictionary};
use crate::parquet::decode::{byte_stream_split, rle, snappy};
use crate::parquet::encode::block::{BlockBuffer, BlockPool};
use crate::parquet::encode::compress::CodecCompressor;
use crate::parquet::encode::literals::PageBody;

/// Bytes after the decompressed ones that [`decompress_snappy`] may write to.
pub const SNAPPY_SLACK_BYTES: usize = 64;

/// Decompresses a block of snappy to `length` bytes of `output`, which has as many and the slack.
pub fn decompress_snappy(input: &[u8], output: &mut [u8], length: usize) -> Result<()> {
    snappy::decompress(input, output, length)
}

/// Moves the values whose bits are set to the front, and gives their number.
pub fn compact<T: Copy>(values: &mut [T], bits: &[u64]) -> usize {
    let rows = values.len();
    exec::compact(values, RowSelection::new(bits, 0..rows))
}

/// As [`compact`], without processor-specific instructions.
pub fn compact_portably<T: Copy>(values: &mut [T], bits: &[u64]) -> usize {
    let rows = values.len();
    exec::compact_portably(values, RowSelection::new(bits, 0..rows))
}

/// The places of a byte among 64, as bits.
#[inline(always)]
pub fn byte_positions(chunk: &[u8; 64], byte: u8) -> u64 {
    bits::positions(chunk, byte)
}

/// As [`byte_positions`], without processor-specific instructions.
#[inline(always)]
pub fn byte_positions_portably(chunk: &[u8; 64], byte: u8) -> u64 {
    bits::positions_portably(chunk, byte)
}

/// Unpacks numbers of `width` bits, the first at bit 0.
pub fn unpack(bytes: &[u8], width: u32, target: &mut [u32]) {
    rle::unpack(bytes, 0, width, target);
}

/// Joins the byte streams of values of `width` bytes.
pub fn joined_streams(data: &[u8], width: usize) -> Result<Vec<u8>> {
    byte_stream_split::joined_streams(data, width).map(|page| page.to_vec())
}

/// As [`joined_streams`], without vectors.
pub fn joined_streams_portably(data: &[u8], width: usize) -> Vec<u8> {
    let mut plain = vec![0; data.len()];
    byte_stream_split::join_bytes(data, width, 0, &mut plain);
    plain
}

/// A dictionary of decimals.
pub struct DecimalDictionary(PaddedDictionary<u128>);

impl DecimalDictionary {
    /// Makes a dictionary of these values.
    pub fn new(values: &[u128]) -> Self {
        let mut dictionary = PaddedDictionary::new(values.len());
        dictionary.values_mut().copy_from_slice(values);
        Self(dictionary)
    }

    /// Writes the values of packed indexes of `width` bits, and returns their number: the last few are not taken.
    pub fn gather(&self, bytes: &[u8], width: u32, target: &mut [u128]) -> usize {
        self.0.gather(&PackedRun { bytes, bit: 0, width, count: target.len() }, target)
    }
}

/// Compresses pages of one column by snappy, as the Parquet writer does.
pub struct PageCompressor {
    compressor: CodecCompressor,
    pays: bool,
}

impl PageCompressor {
    /// For a column that has no pages yet.
    pub fn snappy() -> Self {
        Self { compressor: CodecCompressor::new(Compression { codec: Codec::Snappy, level: None }), pays: true }
    }

    /// Appends a page in its stored form.
    pub fn compress(&mut self, page: &[u8], stored: &mut Vec<u8>) -> Result<()> {
        self.compressor.compress(page, &mut self.pays)?.append_to(stored);
        Ok(())
    }
}

/// Memory of encoded chunks, used again from row group to row group.
#[derive(Default)]
pub struct ChunkMemory(BlockPool);

impl ChunkMemory {
    /// Appends pages one after the other, and gives the chunk's pieces.
    pub fn chunk(&self, pages: usize, page: &[u8]) -> Vec<bytes::Bytes> {
        let mut blocks = BlockBuffer::new(&self.0);
        (0..pages).for_each(|_| blocks.push(&[], &PageBody::Bytes(page)));
        blocks.finish()
    }
}
