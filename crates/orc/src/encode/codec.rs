//! Compression of blocks, each with a header of three bytes.

use flate2::{Compress, FlushCompress, Status};

use crate::compress::Codec;
use crate::error::{Error, Result};

/// Bytes of the header in front of each compressed block: its length, and whether it is stored uncompressed.
pub(crate) const HEADER_LEN: usize = 3;

/// Largest block: its length and one bit must fit the header.
pub(crate) const MAX_BLOCK: usize = (1 << 23) - 1;

/// The state of a codec, kept from block to block; one for each thread.
pub(crate) struct BlockCompressor {
    coder: CodecState,
    block_size: usize,
    scratch: Vec<u8>,
}

enum CodecState {
    None,
    Zlib(Box<Compress>),
    Snappy(Box<snap::raw::Encoder>),
    /// Always the large table: the small one makes way for it for good at the first large block, and bytes must not depend
    /// on what was compressed before.
    Lz4(Box<lz4_flex::block::CompressTable>),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl BlockCompressor {
    /// A compressor of blocks of at most `block_size` bytes, at most [`MAX_BLOCK`], for `codec` at `level`, the codec's usual
    /// one where it is not given.
    ///
    /// # Errors
    /// Unsupported for codecs that are only read, Invalid for levels that the codec does not have.
    pub(crate) fn new(codec: Codec, level: Option<i32>, block_size: usize) -> Result<Self> {
        let in_range = |low: i32, high: i32, usual: i32| match level {
            None => Ok(usual),
            Some(level) if (low..=high).contains(&level) => Ok(level),
            Some(level) => {
                Err(Error::invalid(format!("{codec:?} has no level {level}; choose one from {low} to {high}")))
            }
        };
        let no_level = || match level {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("{codec:?} has no levels; omit the level"))),
        };
        let coder = match codec {
            Codec::None => no_level().map(|()| CodecState::None)?,
            Codec::Zlib => {
                let level = flate2::Compression::new(in_range(0, 9, 6)? as u32);
                CodecState::Zlib(Box::new(Compress::new(level, false)))
            }
            Codec::Snappy => no_level().map(|()| CodecState::Snappy(Box::new(snap::raw::Encoder::new())))?,
            Codec::Lz4 => no_level().map(|()| CodecState::Lz4(Box::new(lz4_flex::block::CompressTable::large())))?,
            Codec::Zstd => {
                let range = zstd::compression_level_range();
                let level = in_range(*range.start(), *range.end(), 3)?;
                CodecState::Zstd(zstd::bulk::Compressor::new(level).map_err(|e| Error::internal(format!("zstd: {e}")))?)
            }
            other => {
                return Err(Error::unsupported(format!(
                    "{other:?} can only be read; write with zstd, zlib, snappy, lz4 or none"
                )));
            }
        };
        Ok(Self { coder, block_size, scratch: Vec::new() })
    }

    /// Returns true if blocks are stored uncompressed, without a header.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.coder, CodecState::None)
    }

    /// Bytes of a block before compression; the last one of a stream may be shorter.
    pub(crate) fn block_size(&self) -> usize {
        self.block_size
    }

    /// Appends `block`, which is at most [`MAX_BLOCK`] long and not empty, with its header, compressed if that is shorter.
    pub(crate) fn append(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<()> {
        debug_assert!(block.len() <= MAX_BLOCK);
        if self.is_none() {
            out.extend_from_slice(block);
            return Ok(());
        }
        let compressed = self.compress(block)?;
        let original = compressed >= block.len();
        let content = if original { block } else { &self.scratch[..compressed] };
        let header = (content.len() as u32) << 1 | u32::from(original);
        out.extend_from_slice(&header.to_le_bytes()[..HEADER_LEN]);
        out.extend_from_slice(content);
        Ok(())
    }

    /// Appends all of `bytes`, cut into blocks.
    pub(crate) fn append_all(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        bytes.chunks(self.block_size).try_for_each(|block| self.append(block, out))
    }

    /// Compresses into the scratch buffer and says how long that is.
    fn compress(&mut self, block: &[u8]) -> Result<usize> {
        let scratch = &mut self.scratch;
        let room = match &self.coder {
            CodecState::None => 0,
            // Output that is not shorter than the block is not used.
            CodecState::Zlib(_) => block.len(),
            CodecState::Snappy(_) => snap::raw::max_compress_len(block.len()),
            CodecState::Lz4(_) => lz4_flex::block::get_maximum_output_size(block.len()),
            CodecState::Zstd(_) => zstd::zstd_safe::compress_bound(block.len()),
        };
        if scratch.len() < room {
            scratch.resize(room, 0);
        }
        match &mut self.coder {
            CodecState::None => Ok(block.len()),
            CodecState::Zlib(coder) => {
                coder.reset();
                let status = coder.compress(block, &mut scratch[..room], FlushCompress::Finish).map_err(fail)?;
                Ok(if status == Status::StreamEnd { coder.total_out() as usize } else { block.len() })
            }
            CodecState::Snappy(coder) => coder.compress(block, scratch).map_err(fail),
            CodecState::Lz4(table) => lz4_flex::block::compress_into_with_table(block, scratch, table).map_err(fail),
            CodecState::Zstd(coder) => coder.compress_to_buffer(block, &mut scratch[..]).map_err(fail),
        }
    }
}

fn fail(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("a block could not be compressed: {error}"))
}

#[cfg(test)]
mod tests;
