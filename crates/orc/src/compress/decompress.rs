//! Chunks, one after the other out of their codec.

use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};

use super::{CHUNK_HEADER, Codec, chunk_header, lzo};
use crate::error::{Error, Result};

/// The assumed ratio of output to input where the codec doesn't store the length of the output.
const GUESSED_RATIO: usize = 4;

/// The state of the codec of a file, used for chunk after chunk.
pub(crate) struct Decompressor {
    codec: Codec,
    /// The compression block size: no chunk may become longer.
    block: usize,
    inflate: Option<Decompress>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decompressor {
    pub(crate) fn new(codec: Codec, block: usize) -> Self {
        Self { codec, block, inflate: None, zstd: None }
    }

    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// Decompresses `chunk` to `out[at..]`, which grows as needed, and says where the output ends.
    pub(crate) fn chunk(&mut self, chunk: &[u8], original: bool, out: &mut Vec<u8>, at: usize) -> Result<usize> {
        if original {
            if chunk.len() > self.block {
                return Err(Error::corrupt(format!(
                    "a stored chunk has {} bytes, more than the compression block size {}",
                    chunk.len(),
                    self.block
                )));
            }
            grow(out, at + chunk.len());
            out[at..at + chunk.len()].copy_from_slice(chunk);
            return Ok(at + chunk.len());
        }
        match self.codec {
            Codec::None => Err(Error::internal("a compressed chunk in an uncompressed file")),
            Codec::Zlib => self.inflate(chunk, out, at),
            Codec::Snappy => {
                let length = snap::raw::decompress_len(chunk).map_err(|e| broken("snappy", &e))?;
                self.check(length)?;
                grow(out, at + length);
                let made = snap::raw::Decoder::new().decompress(chunk, &mut out[at..at + length]);
                Ok(at + made.map_err(|e| broken("snappy", &e))?)
            }
            Codec::Zstd => self.zstd(chunk, out, at),
            Codec::Lz4 => self.guess(chunk, out, at, |chunk, out| match lz4_flex::block::decompress_into(chunk, out) {
                Ok(made) => Ok(Some(made)),
                Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) => Ok(None),
                Err(error) => Err(broken("lz4", &error)),
            }),
            Codec::Lzo => self.guess(chunk, out, at, lzo::decompress),
            Codec::Brotli => {
                let mut reader = brotli::Decompressor::new(chunk, 4096).take(self.block as u64 + 1);
                let mut made = Vec::new();
                reader.read_to_end(&mut made).map_err(|e| broken("brotli", &e))?;
                self.check(made.len())?;
                grow(out, at + made.len());
                out[at..at + made.len()].copy_from_slice(&made);
                Ok(at + made.len())
            }
        }
    }

    fn check(&self, length: usize) -> Result<()> {
        if length > self.block {
            let block = self.block;
            return Err(Error::corrupt(format!(
                "a chunk decompresses to {length} bytes, more than the block size {block}"
            )));
        }
        Ok(())
    }

    fn inflate(&mut self, chunk: &[u8], out: &mut Vec<u8>, at: usize) -> Result<usize> {
        let state = self.inflate.get_or_insert_with(|| Decompress::new(false));
        state.reset(false);
        grow(out, at + first_guess(chunk.len(), self.block));
        loop {
            let (read, made) = (state.total_in() as usize, state.total_out() as usize);
            // One byte more than allowed, so that the end of a full block is detected.
            let end = out.len().min(at + self.block + 1);
            let status = state.decompress(&chunk[read..], &mut out[at + made..end], FlushDecompress::Finish);
            let status = status.map_err(|e| broken("zlib", &e))?;
            let now = state.total_out() as usize;
            if status == Status::StreamEnd {
                return Ok(at + now);
            }
            if at + now < end {
                return Err(Error::corrupt("a zlib chunk ends within its data"));
            }
            if now > self.block {
                return Err(Error::corrupt(format!("a chunk decompresses to more than the block size {}", self.block)));
            }
            grow(out, at + (2 * now).min(self.block + 1));
        }
    }

    fn zstd(&mut self, chunk: &[u8], out: &mut Vec<u8>, at: usize) -> Result<usize> {
        let state = match &mut self.zstd {
            Some(state) => state,
            None => self.zstd.insert(
                zstd::bulk::Decompressor::new()
                    .map_err(|e| Error::internal(format!("zstd can't be initialized: {e}")))?,
            ),
        };
        // A frame that doesn't say its size is given the whole block.
        let length = match zstd::zstd_safe::get_frame_content_size(chunk) {
            Ok(Some(length)) if length > self.block as u64 => {
                let block = self.block;
                return Err(Error::corrupt(format!(
                    "a chunk decompresses to {length} bytes, more than the block size {block}"
                )));
            }
            Ok(Some(length)) => length as usize,
            Ok(None) => self.block,
            Err(_) => return Err(Error::corrupt("a chunk isn't a zstd frame")),
        };
        grow(out, at + length);
        let made = state.decompress_to_buffer(chunk, &mut out[at..at + length]).map_err(|e| broken("zstd", &e))?;
        Ok(at + made)
    }

    /// For codecs that don't say how long the output is: `step` says `None` where its room is too small.
    fn guess(
        &self,
        chunk: &[u8],
        out: &mut Vec<u8>,
        at: usize,
        step: impl Fn(&[u8], &mut [u8]) -> Result<Option<usize>>,
    ) -> Result<usize> {
        let mut room = first_guess(chunk.len(), self.block).max(out.len().saturating_sub(at)).min(self.block);
        loop {
            grow(out, at + room);
            if let Some(made) = step(chunk, &mut out[at..at + room])? {
                return Ok(at + made);
            }
            if room == self.block {
                return Err(Error::corrupt(format!("a chunk decompresses to more than the block size {}", self.block)));
            }
            room = (2 * room).min(self.block);
        }
    }

    /// The whole of a compressed part of the file, such as the footer, of at most `limit` bytes.
    pub(crate) fn all(&mut self, mut bytes: &[u8], limit: usize) -> Result<Vec<u8>> {
        if self.codec == Codec::None {
            return Ok(bytes.to_vec());
        }
        let (mut out, mut end) = (Vec::new(), 0);
        while !bytes.is_empty() {
            let Some((header, rest)) = bytes.split_first_chunk::<CHUNK_HEADER>() else {
                return Err(Error::corrupt("the bytes end within the header of a compression chunk"));
            };
            let (length, original) = chunk_header(*header);
            let Some((chunk, rest)) = rest.split_at_checked(length) else {
                let left = rest.len();
                return Err(Error::corrupt(format!(
                    "a compression chunk has {length} bytes, but only {left} are left"
                )));
            };
            end = self.chunk(chunk, original, &mut out, end)?;
            if end > limit {
                return Err(Error::corrupt(format!("decompresses to more than {limit} bytes")));
            }
            bytes = rest;
        }
        out.truncate(end);
        Ok(out)
    }
}

fn broken(codec: &str, error: &dyn std::fmt::Display) -> Error {
    Error::corrupt(format!("a chunk isn't valid {codec}: {error}"))
}

fn first_guess(input: usize, block: usize) -> usize {
    input.saturating_mul(GUESSED_RATIO).clamp(64, block.max(64)).min(block)
}

/// Makes `out` at least `length` long and leaves its bytes unchanged.
fn grow(out: &mut Vec<u8>, length: usize) {
    if out.len() < length {
        out.resize(length, 0);
    }
}
