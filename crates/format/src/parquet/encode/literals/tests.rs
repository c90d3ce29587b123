#![allow(clippy::unwrap_used)]

use super::*;
use crate::parquet::encode::compress::CodecCompressor;
use crate::{Codec, Compression};

/// Bytes that no codec makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn stored(body: &PageBody<'_>) -> Vec<u8> {
    let mut stored = Vec::new();
    body.append_to(&mut stored);
    assert_eq!(stored.len(), body.len());
    stored
}

fn lengths() -> impl Iterator<Item = usize> {
    let borders = [0usize, 15, 255, 15 + 255, 15 + 2 * 255, 1 << 14, 1 << 16, 1 << 17, 1 << 21];
    borders.into_iter().flat_map(|border| border.saturating_sub(1)..border + 2)
}

#[test]
fn other_decoders_read_snappy_literals() {
    for length in lengths() {
        let input = noise(length);
        let stored = stored(&PageBody::Snappy(&input));
        assert_eq!(snap::raw::Decoder::new().decompress_vec(&stored).unwrap(), input);
        assert!(stored.len() <= length + 5 + 3 * length.div_ceil(SNAPPY_LITERAL_BYTES));
    }
}

#[test]
fn other_decoders_read_lz4_literals() {
    for length in lengths() {
        let input = noise(length);
        let stored = stored(&PageBody::Lz4(&input));
        assert_eq!(lz4_flex::block::decompress(&stored, length).unwrap(), input);
        assert!(stored.len() <= length + 2 + length / 255);
    }
}

#[test]
fn pages_are_compressed_where_it_pays() {
    let words: Vec<u8> = noise(100_000).iter().flat_map(|byte| [b'a' + byte % 2; 7]).collect();
    let noise = noise(700_000);
    for codec in [Codec::Snappy, Codec::Lz4] {
        let mut compressor = CodecCompressor::new(Compression { codec, level: None });
        let mut pays = true;
        let mut length = |page: &[u8]| {
            let stored = stored(&compressor.compress(page, &mut pays).unwrap());
            let read = match codec {
                Codec::Lz4 => lz4_flex::block::decompress(&stored, page.len()).unwrap(),
                _ => snap::raw::Decoder::new().decompress_vec(&stored).unwrap(),
            };
            assert_eq!(read, page);
            (stored.len(), pays)
        };
        let (small, pays) = length(&words);
        assert!(small < words.len() / 2 && pays);
        let (large, pays) = length(&noise);
        assert!((noise.len()..noise.len() * 101 / 100).contains(&large) && !pays);
        assert_eq!(length(&noise), (large, false));
        assert_eq!(length(&words), (small, true));
        let (empty, _) = length(&[]);
        assert!(empty <= 1);
    }
}
