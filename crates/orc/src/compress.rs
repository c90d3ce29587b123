//! The codecs of a file, and the chunks that streams and footers are cut into.
//!
//! A compressed stream is a sequence of chunks. Each starts with a little-endian header of three bytes: twice the
//! length of the chunk's data, plus one if the data is stored uncompressed ("original"). No chunk is larger than the
//! file's compression block size, before or after compression.

mod decompress;
mod lzo;

pub(crate) use decompress::Decompressor;

use crate::error::{Error, Result};
use crate::proto::CompressionKind;

/// Bytes of the header of a chunk.
pub(crate) const CHUNK_HEADER: usize = 3;

/// A chunk's length has 23 bits, so no compression block can be longer.
pub(crate) const MAX_BLOCK_SIZE: u64 = (1 << 23) - 1;

/// The block size of files that don't name theirs.
pub(crate) const DEFAULT_BLOCK_SIZE: u64 = 256 << 10;

/// The length of the chunk and whether it is stored as it was, from its header.
pub(crate) fn chunk_header(header: [u8; CHUNK_HEADER]) -> (usize, bool) {
    let word = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    ((word >> 1) as usize, word & 1 == 1)
}

/// The codec that footers, indexes and streams of a file are compressed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// No compression, and no chunks.
    None,
    /// Raw deflate.
    Zlib,
    /// Snappy's block format.
    Snappy,
    /// LZO1X; for reading only.
    Lzo,
    /// LZ4's block format.
    Lz4,
    /// Zstandard frames.
    Zstd,
    /// Brotli; for reading only.
    Brotli,
}

impl Codec {
    /// The codec that a postscript names.
    ///
    /// # Errors
    /// Unsupported for a codec that this crate doesn't know.
    pub(crate) fn from_proto(kind: Option<i32>) -> Result<Self> {
        let kind = kind.unwrap_or_default();
        match CompressionKind::try_from(kind) {
            Ok(CompressionKind::None) => Ok(Self::None),
            Ok(CompressionKind::Zlib) => Ok(Self::Zlib),
            Ok(CompressionKind::Snappy) => Ok(Self::Snappy),
            Ok(CompressionKind::Lzo) => Ok(Self::Lzo),
            Ok(CompressionKind::Lz4) => Ok(Self::Lz4),
            Ok(CompressionKind::Zstd) => Ok(Self::Zstd),
            Ok(CompressionKind::Brotli) => Ok(Self::Brotli),
            Err(_) => Err(Error::unsupported(format!("the file is compressed with the unknown codec {kind}"))),
        }
    }

    /// The codec as a postscript names it.
    pub(crate) fn to_proto(self) -> CompressionKind {
        match self {
            Self::None => CompressionKind::None,
            Self::Zlib => CompressionKind::Zlib,
            Self::Snappy => CompressionKind::Snappy,
            Self::Lzo => CompressionKind::Lzo,
            Self::Lz4 => CompressionKind::Lz4,
            Self::Zstd => CompressionKind::Zstd,
            Self::Brotli => CompressionKind::Brotli,
        }
    }
}
