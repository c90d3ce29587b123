//! The codecs of blocks.

use std::io::{Read, Write};

use lakerace_io::option::COMPRESSION;
use lakerace_io::{Error, Result};

use crate::options::{Codec, WriteOptions};
use crate::text::xz_decoder;
use crate::zstd_contexts;

/// Bytes of a block at most, packed or not: it is in memory as a whole.
pub(super) const MAX_BLOCK_BYTES: u64 = 1 << 30;

/// Bytes of the checksum after a block that is packed with snappy.
const CRC_BYTES: usize = 4;

/// The codec of a file's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCodec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
    Bzip2,
    Xz,
}

const NAMES: [(BlockCodec, &str); 6] = [
    (BlockCodec::Null, "null"),
    (BlockCodec::Deflate, "deflate"),
    (BlockCodec::Snappy, "snappy"),
    (BlockCodec::Zstandard, "zstandard"),
    (BlockCodec::Bzip2, "bzip2"),
    (BlockCodec::Xz, "xz"),
];

impl BlockCodec {
    /// The codec that a header names.
    ///
    /// # Errors
    /// `Unsupported` for another one.
    pub fn named(name: Option<&[u8]>) -> Result<Self> {
        let Some(name) = name else { return Ok(Self::Null) };
        NAMES.iter().find(|(_, known)| known.as_bytes() == name).map(|(codec, _)| *codec).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
            let name = String::from_utf8_lossy(name);
            Error::unsupported(format!("the blocks are packed with {name:?}, which is not supported"))
                .advice(format!("write the file with one of {}", known.join(", ")))
        })
    }

    /// The name in a header.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(codec, _)| *codec == self).map_or("null", |(_, name)| name)
    }

    /// The unpacked bytes of a block.
    ///
    /// # Errors
    /// `Corrupt` for bytes that the codec has not made, `Unsupported` for more bytes than a block may have.
    pub fn unpack(self, packed: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Self::Null => Ok(packed),
            Self::Deflate => self.read(flate2::bufread::DeflateDecoder::new(&packed[..])),
            Self::Snappy => self.unsnap(&packed),
            Self::Zstandard => self.read(zstd::stream::read::Decoder::with_buffer(&packed[..])?),
            Self::Bzip2 => self.read(bzip2::bufread::MultiBzDecoder::new(&packed[..])),
            Self::Xz => self.read(xz_decoder(&packed[..]).map_err(|error| self.damaged(&error))?),
        }
    }

    fn read(self, unpacked: impl Read) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        unpacked.take(MAX_BLOCK_BYTES + 1).read_to_end(&mut bytes).map_err(|error| self.damaged(&error))?;
        if bytes.len() as u64 > MAX_BLOCK_BYTES { Err(too_large()) } else { Ok(bytes) }
    }

    fn unsnap(self, packed: &[u8]) -> Result<Vec<u8>> {
        let Some((packed, crc)) = packed.split_last_chunk::<CRC_BYTES>() else {
            return Err(Error::corrupt("the block is too short for the checksum of snappy"));
        };
        let length = snap::raw::decompress_len(packed).map_err(|error| self.damaged(&error))?;
        if length as u64 > MAX_BLOCK_BYTES {
            return Err(too_large());
        }
        // Each byte of snappy unpacks to 64 at most: a length beyond is wrong, and nothing is allocated for it.
        if length as u64 > packed.len() as u64 * 64 {
            return Err(Error::corrupt(format!("the block can't be unpacked with snappy: it states {length} bytes")));
        }
        let bytes = snap::raw::Decoder::new().decompress_vec(packed).map_err(|error| self.damaged(&error))?;
        let mut found = flate2::Crc::new();
        found.update(&bytes);
        match found.sum() == u32::from_be_bytes(*crc) {
            true => Ok(bytes),
            false => Err(Error::corrupt("the checksum of the block does not match its bytes")
                .advice("fetch or write the file again: it is damaged")),
        }
    }

    fn damaged(self, error: &dyn std::error::Error) -> Error {
        Error::corrupt(format!("the block can't be unpacked with {}: {error}", self.name()))
            .advice("fetch or write the file again: it is damaged, or its header names another codec")
    }

    /// The packed bytes of a block.
    ///
    /// # Errors
    /// `Internal` for a failure of the codec.
    pub fn pack(self, bytes: Vec<u8>, level: Option<i32>) -> Result<Vec<u8>> {
        match self {
            Self::Null => Ok(bytes),
            Self::Deflate => {
                let level = level.and_then(|level| u32::try_from(level).ok());
                let level = level.map_or_else(flate2::Compression::default, flate2::Compression::new);
                let mut packer = flate2::write::DeflateEncoder::new(Vec::with_capacity(bytes.len() / 3), level);
                packer.write_all(&bytes)?;
                Ok(packer.finish()?)
            }
            Self::Snappy => {
                let mut packed = snap::raw::Encoder::new().compress_vec(&bytes).map_err(Error::unexpected)?;
                let mut crc = flate2::Crc::new();
                crc.update(&bytes);
                packed.extend_from_slice(&crc.sum().to_be_bytes());
                Ok(packed)
            }
            Self::Zstandard => Ok(zstd_contexts::compress(&bytes, level)?),
            Self::Bzip2 | Self::Xz => Err(Error::internal("blocks are not written with this codec")),
        }
    }

    /// The codec of a file that is written. Without an option, it is one of the two that every reader has.
    ///
    /// # Errors
    /// `Usage` for a codec that Avro does not have.
    pub fn of_options(options: &WriteOptions) -> Result<Self> {
        match options.compression.map_or(Codec::Gzip, |compression| compression.codec) {
            Codec::None => Ok(Self::Null),
            Codec::Gzip => Ok(Self::Deflate),
            Codec::Snappy => Ok(Self::Snappy),
            Codec::Zstd => Ok(Self::Zstandard),
            Codec::Lz4 | Codec::Brotli => Err(Error::usage("Avro files can't be written with lz4 or brotli")
                .advice(format!("choose {COMPRESSION} none, snappy, gzip (which is Avro's deflate) or zstd"))),
        }
    }
}

fn too_large() -> Error {
    Error::unsupported(format!("the block unpacks to more than {MAX_BLOCK_BYTES} bytes"))
        .advice("write the file with smaller blocks")
}

#[cfg(test)]
mod tests;
