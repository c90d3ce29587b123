#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const CODECS: [CompressionCodec; 2] = [CompressionCodec::SNAPPY, CompressionCodec::LZ4_RAW];

/// A snappy block of these literals, their lengths in as many bytes as asked for, or as they need.
fn snappy_block(literals: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let mut stored = Vec::new();
    let mut length: usize = literals.iter().map(|(bytes, _)| bytes.len()).sum();
    while length >= 0x80 {
        stored.push(length as u8 | 0x80);
        length >>= 7;
    }
    stored.push(length as u8);
    for (bytes, extra) in literals {
        let last = bytes.len() - 1;
        let needed = if last < 60 { 0 } else { (usize::BITS - last.leading_zeros()).div_ceil(8) as usize };
        let extra = needed.max(*extra);
        stored.push(if extra == 0 { last as u8 } else { 59 + extra as u8 } << 2);
        stored.extend_from_slice(&last.to_le_bytes()[..extra]);
        stored.extend_from_slice(bytes);
    }
    stored
}

/// All bytes, taken some at a time.
fn taken(mut pieces: PageSlices, sizes: &[usize]) -> Vec<u8> {
    let mut found = Vec::new();
    for size in sizes.iter().cycle() {
        let size = (*size).min(pieces.left());
        let mut part = vec![0; size];
        pieces.take(&mut part).unwrap();
        found.extend(part);
        if pieces.left() == 0 {
            break;
        }
    }
    assert!(pieces.take(&mut [0]).is_err() && pieces.skip(1).is_err());
    assert!(pieces.window().1.is_empty());
    found
}

proptest! {
    #[test]
    fn literals_are_read_in_place(
        first in prop::collection::vec(any::<u8>(), 1..100),
        rest in prop::collection::vec((4100usize..9000, any::<u8>(), 0usize..5), 0..6),
        sizes in prop::collection::vec(1usize..5000, 1..9), skipped in any::<prop::sample::Index>(),
    ) {
        let mut literals = vec![(first, 0)];
        literals.extend(rest.iter().map(|(length, byte, extra)| {
            ((0..*length).map(|at| (at as u8).wrapping_mul(31) ^ *byte).collect(), *extra)
        }));
        let plain: Vec<u8> = literals.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let stored = Bytes::from(snappy_block(&literals));
        let pieces = || PageSlices::literals(CompressionCodec::SNAPPY, &stored, plain.len()).unwrap();
        prop_assert_eq!(pieces().places.len(), literals.len());
        prop_assert_eq!(taken(pieces(), &sizes), &plain[..]);
        prop_assert_eq!(&pieces().join(&MemoryPool::new()).unwrap()[..], &plain[..]);
        prop_assert_eq!(&pieces().head()[..], &literals[0].0[..]);
        let skipped = skipped.index(plain.len());
        let mut behind = pieces();
        behind.skip(skipped).unwrap();
        prop_assert_eq!(taken(behind, &sizes), &plain[skipped..]);
        prop_assert_eq!(taken(PageSlices::whole(PageBytes::Stored(stored.clone())), &sizes), &stored[..]);
    }

    /// Whatever is taken for literals is what the codec makes of it.
    #[test]
    fn nothing_else_is_read_in_place(
        words in prop::collection::vec(any::<u8>(), 0..200), noise in any::<bool>(), cut in any::<prop::sample::Index>(),
        change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())), longer in 0usize..3,
    ) {
        let plain: Vec<u8> = if noise { words } else { words.iter().flat_map(|word| [word % 3; 9]).collect() };
        for codec in CODECS {
            let mut stored = match codec {
                CompressionCodec::SNAPPY => snap::raw::Encoder::new().compress_vec(&plain).unwrap(),
                _ => lz4_flex::block::compress(&plain),
            };
            if let Some((at, byte)) = change {
                let at = at.index(stored.len());
                stored[at] ^= byte;
                stored.truncate(cut.index(stored.len()) + 1);
            }
            let length = plain.len() + longer;
            let stored = Bytes::from(stored);
            if let Some(pieces) = PageSlices::literals(codec, &stored, length) {
                let pool = MemoryPool::new();
                let block = crate::parquet::decode::codec::decompress(codec, &stored, length, &pool).unwrap();
                prop_assert_eq!(&pieces.join(&pool).unwrap()[..], &block[..length]);
            }
        }
    }
}

#[test]
fn many_short_literals_are_not_worth_it() {
    let literals: Vec<(Vec<u8>, usize)> = (0..100).map(|byte| (vec![byte; 50], 0)).collect();
    let stored = Bytes::from(snappy_block(&literals));
    assert!(PageSlices::literals(CompressionCodec::SNAPPY, &stored, 5000).is_none());
    assert!(PageSlices::literals(CompressionCodec::ZSTD, &stored, 5000).is_none());
    let pool = MemoryPool::new();
    assert!(crate::parquet::decode::codec::decompress(CompressionCodec::SNAPPY, &stored, 5000, &pool).is_ok());
}

#[test]
fn a_page_of_noise_is_one_piece_of_lz4() {
    for length in [1usize, 14, 15, 16, 270, 271, 5000] {
        let plain: Vec<u8> = (0..length).map(|at| ((at * at * 31) >> 3) as u8 ^ (at >> 5) as u8).collect();
        let mut stored = vec![(length.min(15) << 4) as u8];
        if let Some(rest) = length.checked_sub(15) {
            stored.extend(vec![255; rest / 255]);
            stored.push((rest % 255) as u8);
        }
        stored.extend_from_slice(&plain);
        let stored = Bytes::from(stored);
        let pieces = PageSlices::literals(CompressionCodec::LZ4_RAW, &stored, length).unwrap();
        assert_eq!(taken(pieces, &[7, 300]), plain);
        assert!(PageSlices::literals(CompressionCodec::LZ4_RAW, &stored, length + 1).is_none());
    }
}
