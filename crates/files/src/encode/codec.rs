//! Compressors. Their contexts are kept by each thread: making one costs more than a small content.

use std::cell::RefCell;
use std::io::{Read, Write};

use lakerace_io::{Error, Result};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

use super::TrainedDictionary;
use crate::options::Codec;

/// The sliding window of Brotli, in bits: a piece's.
const BROTLI_WINDOW_BITS: u32 = 18;

/// The largest distance in bytes that XZ looks back: a piece.
const XZ_DICTIONARY_BYTES: u32 = super::PIECE_BYTES as u32;

thread_local! {
    static PLAIN: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static TRAINED: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    // On the heap: the thread-local data of a library must fit in the few bytes that a process reserves for libraries
    // that it loads later.
    static SNAPPY: RefCell<Option<Box<snap::raw::Encoder>>> = const { RefCell::new(None) };
}

/// Appends the compressed form of `data` to `out`.
pub(super) fn compress(
    codec: Codec,
    level: i32,
    dictionary: Option<&TrainedDictionary>,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    match codec {
        Codec::None => out.extend_from_slice(data),
        Codec::Zstd => zstd(level, dictionary, data, out)?,
        Codec::Lz4 => {
            out.resize(start + lz4_flex::block::get_maximum_output_size(data.len()), 0);
            let len = lz4_flex::block::compress_into(data, &mut out[start..]).map_err(failed)?;
            out.truncate(start + len);
        }
        Codec::Snappy => {
            out.resize(start + snap::raw::max_compress_len(data.len()), 0);
            let len = SNAPPY
                .with_borrow_mut(|encoder| {
                    encoder.get_or_insert_with(|| Box::new(snap::raw::Encoder::new())).compress(data, &mut out[start..])
                })
                .map_err(failed)?;
            out.truncate(start + len);
        }
        Codec::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::new(level as u32));
            encoder.write_all(data).and_then(|()| encoder.finish().map(drop)).map_err(failed)?;
        }
        Codec::Bz2 => {
            let mut encoder = bzip2::write::BzEncoder::new(out, bzip2::Compression::new(level as u32));
            encoder.write_all(data).and_then(|()| encoder.finish().map(drop)).map_err(failed)?;
        }
        Codec::Xz => {
            let mut options = liblzma::stream::LzmaOptions::new_preset(level as u32).map_err(failed)?;
            options.dict_size(XZ_DICTIONARY_BYTES);
            let mut filters = liblzma::stream::Filters::new();
            filters.lzma2(&options);
            let stream = liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc32);
            let mut encoder = liblzma::write::XzEncoder::new_stream(out, stream.map_err(failed)?);
            encoder.write_all(data).and_then(|()| encoder.finish().map(drop)).map_err(failed)?;
        }
        Codec::Brotli => {
            let mut encoder = brotli::CompressorWriter::new(out, 4096, level as u32, BROTLI_WINDOW_BITS);
            encoder.write_all(data).and_then(|()| encoder.flush()).map_err(failed)?;
            drop(encoder);
        }
    }
    Ok(())
}

fn zstd(level: i32, dictionary: Option<&TrainedDictionary>, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.resize(start + compress_bound(data.len()), 0);
    let target = &mut out[start..];
    let compressed = match dictionary {
        None => PLAIN.with_borrow_mut(|context| {
            let context = context.get_or_insert_with(CCtx::create);
            context.compress(target, data, level)
        }),
        Some(dictionary) => {
            let trained = dictionary.compressor(level);
            // SAFETY: the context forgets the dictionary below, before `trained` is dropped.
            let borrowed: &'static _ = unsafe { &*std::sync::Arc::as_ptr(&trained) };
            TRAINED.with_borrow_mut(|slot| {
                let mut context = match slot.take() {
                    Some(context) => context,
                    None => without_header_fields()?,
                };
                let compressed = context.ref_cdict(borrowed).and_then(|_| context.compress2(target, data));
                context.disable_dictionary()?;
                *slot = Some(context);
                compressed
            })
        }
    };
    let len = compressed.map_err(|code| Error::internal(format!("zstd: {}", get_error_name(code))))?;
    out.truncate(start + len);
    Ok(())
}

/// A context whose frames leave out the fields that the store keeps: five bytes of a small content.
fn without_header_fields() -> std::result::Result<CCtx<'static>, usize> {
    let mut context = CCtx::create();
    context.set_parameter(CParameter::ContentSizeFlag(false))?;
    context.set_parameter(CParameter::DictIdFlag(false))?;
    Ok(context)
}

/// Fills `out`, which has the length of the decompressed bytes.
pub(super) fn decompress(
    codec: Codec,
    dictionary: Option<&TrainedDictionary>,
    packed: &[u8],
    out: &mut [u8],
) -> Result<()> {
    let len = match codec {
        Codec::None => return Err(Error::internal("nothing to decompress")),
        Codec::Zstd => DECODER.with_borrow_mut(|context| {
            let context = context.get_or_insert_with(DCtx::create);
            let done = match dictionary {
                None => context.decompress(out, packed),
                Some(dictionary) => context.decompress_using_ddict(out, packed, &dictionary.decompressor),
            };
            done.map_err(|code| Error::corrupt(format!("zstd: {}", get_error_name(code))))
        })?,
        Codec::Lz4 => lz4_flex::block::decompress_into(packed, out).map_err(damaged)?,
        Codec::Snappy => snap::raw::Decoder::new().decompress(packed, out).map_err(damaged)?,
        Codec::Gzip => return read(flate2::read::GzDecoder::new(packed), out),
        Codec::Bz2 => return read(bzip2::read::BzDecoder::new(packed), out),
        Codec::Xz => return read(liblzma::read::XzDecoder::new(packed), out),
        Codec::Brotli => return read(brotli::Decompressor::new(packed, 4096), out),
    };
    match len == out.len() {
        true => Ok(()),
        false => Err(Error::corrupt(format!("decompression returned {len} bytes instead of {}", out.len()))),
    }
}

/// Fills `out` from a decoder that must end with it.
fn read(mut decoder: impl Read, out: &mut [u8]) -> Result<()> {
    decoder.read_exact(out).map_err(damaged)?;
    match decoder.read(&mut [0]).map_err(damaged)? {
        0 => Ok(()),
        _ => Err(Error::corrupt(format!("decompression returned more than {} bytes", out.len()))),
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::internal("compression failed").because(error)
}

fn damaged(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::corrupt("decompression failed").because(error)
}
