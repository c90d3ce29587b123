//! Decompressing pages.

use std::io::Read;
use std::sync::Arc;

use lakerace_io::{Error, Result};
use parquet::basic::CompressionCodec;

use super::block::{Block, MemoryPool};
use super::snappy;
use crate::zstd_contexts;

/// No page may be larger: its header has 32 bits for it, one of them the sign.
pub(crate) const PAGE_BYTES_AT_MOST: usize = i32::MAX as usize;

/// Decompresses `stored` to exactly `length` bytes, which stand at the start of the block.
pub(crate) fn decompress(
    codec: CompressionCodec,
    stored: &[u8],
    length: usize,
    pool: &Arc<MemoryPool>,
) -> Result<Block> {
    check_ratio(codec, stored.len(), length)?;
    let mut block = pool.take_with_slack(length);
    let target = &mut block[..];
    let written = match codec {
        CompressionCodec::SNAPPY => snappy::decompress(stored, target, length).map(|()| length)?,
        CompressionCodec::ZSTD => zstd_contexts::decompress_into(stored, &mut target[..length])
            .map_err(|e| Error::corrupt("zstd data can't be decompressed").because(e))?,
        CompressionCodec::LZ4_RAW => lz4_flex::block::decompress_into(stored, &mut target[..length])
            .map_err(|e| Error::corrupt("lz4 data can't be decompressed").because(e))?,
        CompressionCodec::LZ4 => hadoop_lz4(stored, &mut target[..length])?,
        CompressionCodec::GZIP => fill("gzip", flate2::read::MultiGzDecoder::new(stored), &mut target[..length])?,
        CompressionCodec::BROTLI => fill("brotli", brotli::Decompressor::new(stored, 4096), &mut target[..length])?,
        other => return Err(unsupported(other)),
    };
    if written != length {
        return Err(Error::corrupt(format!("a page has {written} bytes, but its header states {length}")));
    }
    Ok(block)
}

/// The error for a codec that is not supported.
pub(crate) fn unsupported(codec: CompressionCodec) -> Error {
    Error::unsupported(format!("the codec {codec:?} is not supported")).advice("rewrite the file with snappy or zstd")
}

/// Refuses lengths that no such codec can reach, before memory is allocated for them.
fn check_ratio(codec: CompressionCodec, stored: usize, length: usize) -> Result<()> {
    // The most that one byte can stand for: a copy of 64 bytes in 3 (snappy), a length byte of 255 (lz4), deflate's
    // 258 bytes in 2 bits, a block of zstd of 128 KiB in 4 bytes. A meta-block of brotli has 16 MiB in some bytes.
    let ratio = match codec {
        CompressionCodec::SNAPPY => 22,
        CompressionCodec::LZ4 | CompressionCodec::LZ4_RAW => 256,
        CompressionCodec::GZIP => 1040,
        CompressionCodec::BROTLI => 1 << 22,
        _ => 1 << 17,
    };
    if length > PAGE_BYTES_AT_MOST || length > stored.saturating_mul(ratio).saturating_add(ratio) {
        return Err(Error::corrupt(format!("a page of {stored} bytes claims to have {length} bytes uncompressed")));
    }
    Ok(())
}

/// Reads until `target` is full, and makes sure that nothing is left.
fn fill(name: &str, mut reader: impl Read, target: &mut [u8]) -> Result<usize> {
    let failed = |e: std::io::Error| Error::corrupt(format!("{name} data can't be decompressed")).because(e);
    let mut written = 0;
    while written < target.len() {
        match reader.read(&mut target[written..]).map_err(failed)? {
            0 => break,
            n => written += n,
        }
    }
    let surplus = reader.read(&mut [0]).map_err(failed)?;
    Ok(written + surplus)
}

/// The codec named LZ4, which writers understand in three ways: Hadoop's frames, LZ4's own frame format, and a bare block.
fn hadoop_lz4(stored: &[u8], target: &mut [u8]) -> Result<usize> {
    const FRAME_MAGIC: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
    if let Some(written) = hadoop_frames(stored, target) {
        return Ok(written);
    }
    if stored.starts_with(FRAME_MAGIC) {
        return fill("lz4", lz4_flex::frame::FrameDecoder::new(stored), target);
    }
    lz4_flex::block::decompress_into(stored, target)
        .map_err(|e| Error::corrupt("lz4 data can't be decompressed").because(e))
}

/// Hadoop's frames: the length of the plain bytes, then blocks until they are complete, each after its length. A block is cut where
/// the buffer of the writer was full. Lengths are big-endian.
fn hadoop_frames(mut stored: &[u8], target: &mut [u8]) -> Option<usize> {
    let mut written = 0usize;
    while !stored.is_empty() {
        let end = written.checked_add(be_u32(stored, 0)?).filter(|end| *end <= target.len())?;
        stored = &stored[4..];
        if end == written {
            stored = without_empty_block(stored);
        }
        while written < end {
            let packed = be_u32(stored, 0)?;
            let block = stored.get(4..4usize.checked_add(packed)?)?;
            let plain = lz4_flex::block::decompress_into(block, &mut target[written..end]).ok()?;
            // An empty block would never complete the frame.
            written += Some(plain).filter(|plain| *plain > 0)?;
            stored = &stored[4 + packed..];
        }
    }
    (written == target.len()).then_some(written)
}

/// The bytes after the block of a frame without plain bytes. Some writers leave such a block out.
fn without_empty_block(stored: &[u8]) -> &[u8] {
    let block = be_u32(stored, 0).and_then(|packed| stored.get(4..4usize.checked_add(packed)?));
    match block {
        Some(block) if lz4_flex::block::decompress_into(block, &mut []).is_ok_and(|bytes| bytes == 0) => {
            &stored[4 + block.len()..]
        }
        _ => stored,
    }
}

fn be_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 4)?;
    Some(word.iter().fold(0, |value, byte| value << 8 | *byte as usize))
}

#[cfg(test)]
mod tests;
