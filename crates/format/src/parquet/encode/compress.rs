//! Compressing pages.

use lakerace_io::{Error, Result};
use parquet::basic::{self, BrotliLevel, GzipLevel, ZstdLevel};

use super::literals::PageBody;
use crate::options::{Codec, Compression};

/// Level 1 costs a third of level 3's time for a few percent more bytes, and is the level of other writers.
const ZSTD_LEVEL: i32 = 1;
/// The default of zlib itself.
const GZIP_LEVEL: u32 = 6;
/// The highest level that is still fast.
const BROTLI_LEVEL: u32 = 4;
/// Brotli's own default window, 2^22 bytes: larger than a page.
const BROTLI_WINDOW: u32 = 22;
/// Brotli's input is passed in pieces of this size.
const BLOCK_BYTES: usize = 64 << 10;
/// A fast codec must save at least this part of a page: less is not worth decompressing.
const LEAST_SAVED: usize = 8;
/// Bytes of a page on which compression is tried if the page before it was not worth compressing.
const TRIED_BYTES: usize = 16 << 10;
/// Working memory that a page which is not worth compressing leaves allocated: few pages are larger.
const ROOM_BYTES: usize = 4 << 20;

/// A codec with its working memory, kept from page to page.
pub(crate) struct CodecCompressor {
    codec: Codec,
    level: Option<i32>,
    snappy: snap::raw::Encoder,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    /// Grows to the largest page and stays, so that it is cleared only once.
    room: Vec<u8>,
}

impl CodecCompressor {
    /// A compressor of this kind.
    pub(crate) fn new(compression: Compression) -> Self {
        Self {
            codec: compression.codec,
            level: compression.level,
            snappy: snap::raw::Encoder::new(),
            zstd: None,
            room: Vec::new(),
        }
    }

    /// Compresses `input`. `pays` is kept from page to page of a column, and starts as true. If a fast codec hardly
    /// shrinks a page, the page is stored as literals in the codec's format, and for the next pages the codec is tried
    /// on a part of each.
    pub(crate) fn compress<'a>(&'a mut self, input: &'a [u8], pays: &mut bool) -> Result<PageBody<'a>> {
        let length = match self.codec {
            Codec::None => return Ok(PageBody::Bytes(input)),
            Codec::Snappy | Codec::Lz4 => return self.compress_fast(input, pays),
            Codec::Zstd => {
                let compressor = match &mut self.zstd {
                    Some(compressor) => compressor,
                    empty => {
                        let level = self.level.unwrap_or(ZSTD_LEVEL);
                        empty.insert(zstd::bulk::Compressor::new(level).map_err(|e| failed("zstd", e))?)
                    }
                };
                let room = grow(&mut self.room, zstd::zstd_safe::compress_bound(input.len()));
                compressor.compress_to_buffer(input, room).map_err(|e| failed("zstd", e))?
            }
            Codec::Gzip => {
                self.room.clear();
                let level = self.level.and_then(|l| u32::try_from(l).ok()).unwrap_or(GZIP_LEVEL);
                let mut encoder = flate2::write::GzEncoder::new(&mut self.room, flate2::Compression::new(level));
                std::io::Write::write_all(&mut encoder, input).map_err(|e| failed("gzip", e))?;
                encoder.finish().map_err(|e| failed("gzip", e))?.len()
            }
            Codec::Brotli => {
                self.room.clear();
                let level = self.level.and_then(|l| u32::try_from(l).ok()).unwrap_or(BROTLI_LEVEL);
                let mut encoder = brotli::CompressorWriter::new(&mut self.room, BLOCK_BYTES, level, BROTLI_WINDOW);
                std::io::Write::write_all(&mut encoder, input).map_err(|e| failed("brotli", e))?;
                // Dropping ends the stream.
                drop(encoder);
                self.room.len()
            }
        };
        Ok(PageBody::Bytes(&self.room[..length]))
    }

    fn compress_fast<'a>(&'a mut self, input: &'a [u8], pays: &mut bool) -> Result<PageBody<'a>> {
        if !*pays {
            let begin = input.len().saturating_sub(TRIED_BYTES) / 2;
            let tried = &input[begin..(begin + TRIED_BYTES).min(input.len())];
            *pays = is_worth_it(tried.len(), self.compress_block(tried)?);
        }
        if *pays {
            let length = self.compress_block(input)?;
            *pays = is_worth_it(input.len(), length);
            if *pays {
                return Ok(PageBody::Bytes(&self.room[..length]));
            }
        }
        if self.room.len() > ROOM_BYTES {
            self.room = Vec::new();
        }
        Ok(match self.codec {
            Codec::Lz4 => PageBody::Lz4(input),
            _ => PageBody::Snappy(input),
        })
    }

    /// Compresses by a fast codec into the room; gives the length.
    fn compress_block(&mut self, input: &[u8]) -> Result<usize> {
        match self.codec {
            Codec::Lz4 => {
                let room = grow(&mut self.room, lz4_flex::block::get_maximum_output_size(input.len()));
                lz4_flex::block::compress_into(input, room).map_err(|e| failed("lz4", e))
            }
            _ => {
                let room = grow(&mut self.room, snap::raw::max_compress_len(input.len()));
                self.snappy.compress(input, room).map_err(|e| failed("snappy", e))
            }
        }
    }
}

fn is_worth_it(length: usize, compressed: usize) -> bool {
    compressed <= length - length / LEAST_SAVED
}

/// Makes `room` at least this long.
fn grow(room: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if room.len() < length {
        room.resize(length, 0);
    }
    &mut room[..length]
}

/// The codec as column metadata names it. Levels are checked here.
pub(crate) fn parquet_codec(compression: Compression) -> Result<basic::Compression> {
    let wrong = |e: parquet::errors::ParquetError| Error::usage(format!("compression {compression}: {e}"));
    let level = compression.level.map(|level| u32::try_from(level).unwrap_or(u32::MAX));
    Ok(match compression.codec {
        Codec::None => basic::Compression::UNCOMPRESSED,
        Codec::Snappy => basic::Compression::SNAPPY,
        Codec::Gzip => basic::Compression::GZIP(GzipLevel::try_new(level.unwrap_or(GZIP_LEVEL)).map_err(wrong)?),
        Codec::Brotli => {
            basic::Compression::BROTLI(BrotliLevel::try_new(level.unwrap_or(BROTLI_LEVEL)).map_err(wrong)?)
        }
        // LZ4_RAW: the block format, without the frame, for which readers differ.
        Codec::Lz4 => basic::Compression::LZ4_RAW,
        Codec::Zstd => {
            let level = compression.level.unwrap_or(ZSTD_LEVEL);
            basic::Compression::ZSTD(ZstdLevel::try_new(level).map_err(wrong)?)
        }
    })
}

fn failed(codec: &str, error: impl std::fmt::Display) -> Error {
    Error::internal(format!("{codec} could not compress a page: {error}"))
}
