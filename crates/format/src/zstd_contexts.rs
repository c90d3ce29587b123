//! The contexts of zstd that a thread keeps. Allocating and clearing one for each page takes about a tenth of the time
//! of decompressing it.

use std::cell::RefCell;
use std::io::Result;

use zstd::bulk::{Compressor, Decompressor};

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses frames into `target`, and returns the length of the plain bytes.
///
/// # Errors
/// Of zstd, for damaged frames, and for plain bytes that are longer than `target`.
pub(crate) fn decompress_into(stored: &[u8], target: &mut [u8]) -> Result<usize> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(stored, target)
    })
}

/// Compresses bytes to a frame; without a level, at the default one of zstd.
///
/// # Errors
/// Of zstd, for a level that it does not have.
pub(crate) fn compress(plain: &[u8], level: Option<i32>) -> Result<Vec<u8>> {
    let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(level)?),
        };
        compressor.set_compression_level(level)?;
        compressor.compress(plain)
    })
}

#[cfg(test)]
mod tests;
