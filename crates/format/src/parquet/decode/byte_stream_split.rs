//! BYTE_STREAM_SPLIT, turned into plain pages: the first bytes of all values, then all second ones, and so on.

use lakerace_io::{Error, Result};

use super::block::PageBytes;

/// A page as plain values of `width` bytes.
pub(crate) fn joined_streams(data: &[u8], width: usize) -> Result<PageBytes> {
    if width == 0 || !data.len().is_multiple_of(width) {
        return Err(Error::corrupt("the byte streams have different lengths"));
    }
    let mut plain = Vec::with_capacity(data.len());
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all x86-64 processors have SSE2.
    unsafe {
        match width {
            2 => vectors::join::<2>(data, &mut plain),
            4 => vectors::join::<4>(data, &mut plain),
            8 => vectors::join::<8>(data, &mut plain),
            16 => vectors::join::<16>(data, &mut plain),
            _ => {}
        }
    }
    let joined = plain.len() / width;
    plain.resize(data.len(), 0);
    join_bytes(data, width, joined, &mut plain);
    Ok(PageBytes::Stored(plain.into()))
}

/// Joins the values from `first` on byte by byte.
pub(crate) fn join_bytes(data: &[u8], width: usize, first: usize, plain: &mut [u8]) {
    let count = data.len() / width;
    // By blocks of values, so that all streams' lines stay in the cache.
    const BLOCK: usize = 256;
    for start in (first..count).step_by(BLOCK) {
        let end = count.min(start + BLOCK);
        for (number, stream) in data.chunks_exact(count).enumerate() {
            let values = plain[start * width..end * width].chunks_exact_mut(width);
            for (value, byte) in values.zip(&stream[start..end]) {
                value[number] = *byte;
            }
        }
    }
}

/// Vectors of 16 bytes.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use core::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_setzero_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8,
    };

    const LANES: usize = 16;

    /// Appends values of `WIDTH` bytes, a power of two, as many as fill whole vectors.
    #[target_feature(enable = "sse2")]
    pub fn join<const WIDTH: usize>(data: &[u8], plain: &mut Vec<u8>) {
        let count = data.len() / WIDTH;
        for start in (0..count / LANES * LANES).step_by(LANES) {
            let mut streams = [_mm_setzero_si128(); WIDTH];
            for (number, stream) in streams.iter_mut().enumerate() {
                *stream = load(data, number * count + start);
            }
            let mut values = [[0u8; LANES]; WIDTH];
            for (value, vector) in values.iter_mut().zip(interleaved(streams)) {
                // SAFETY: the array has the bytes of a vector; the store needs no alignment.
                unsafe { _mm_storeu_si128(value.as_mut_ptr().cast(), vector) };
            }
            plain.extend_from_slice(values.as_flattened());
        }
    }

    #[target_feature(enable = "sse2")]
    fn load(data: &[u8], at: usize) -> __m128i {
        let bytes = &data[at..at + LANES];
        // SAFETY: these are the bytes of a vector; the load needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    /// Byte 0 of all vectors, then byte 1 of all, and so on. Each step interleaves the vectors of the first half with
    /// those of the second: after as many steps as `WIDTH` has bits, the bytes of each value stand together.
    #[target_feature(enable = "sse2")]
    fn interleaved<const WIDTH: usize>(mut vectors: [__m128i; WIDTH]) -> [__m128i; WIDTH] {
        for _ in 0..WIDTH.ilog2() {
            let (first, second) = vectors.split_at(WIDTH / 2);
            let mut next = vectors;
            for (pair, (first, second)) in next.chunks_exact_mut(2).zip(first.iter().zip(second)) {
                pair[0] = _mm_unpacklo_epi8(*first, *second);
                pair[1] = _mm_unpackhi_epi8(*first, *second);
            }
            vectors = next;
        }
        vectors
    }
}

#[cfg(test)]
mod tests;
