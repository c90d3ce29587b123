//! The codecs of a file.

use crate::proto::CompressionKind;
use crate::{Error, Result};

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
    pub fn from_proto(kind: Option<i32>) -> Result<Self> {
        let kind = kind.unwrap_or_default();
        match CompressionKind::try_from(kind) {
            Ok(CompressionKind::None) => Ok(Self::None),
            Ok(CompressionKind::Zlib) => Ok(Self::Zlib),
            Ok(CompressionKind::Snappy) => Ok(Self::Snappy),
            Ok(CompressionKind::Lzo) => Ok(Self::Lzo),
            Ok(CompressionKind::Lz4) => Ok(Self::Lz4),
            Ok(CompressionKind::Zstd) => Ok(Self::Zstd),
            Ok(CompressionKind::Brotli) => Ok(Self::Brotli),
            Err(_) => Err(Error::unsupported(format!("the file is compressed by the unknown codec {kind}"))),
        }
    }

    /// The codec as a postscript names it.
    pub fn to_proto(self) -> CompressionKind {
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
