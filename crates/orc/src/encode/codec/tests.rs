use std::io::Read;

use super::*;

const CODECS: [Codec; 5] = [Codec::None, Codec::Zlib, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn decompressed(codec: Codec, mut bytes: &[u8]) -> Vec<u8> {
    if codec == Codec::None {
        return bytes.to_vec();
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let header = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        let (content, rest) = bytes[HEADER_LEN..].split_at(header as usize >> 1);
        bytes = rest;
        match codec {
            _ if header & 1 == 1 => out.extend_from_slice(content),
            Codec::Zlib => drop(flate2::read::DeflateDecoder::new(content).read_to_end(&mut out).unwrap()),
            Codec::Snappy => out.extend(snap::raw::Decoder::new().decompress_vec(content).unwrap()),
            Codec::Lz4 => out.extend(lz4_flex::block::decompress(content, MAX_BLOCK).unwrap()),
            _ => out.extend(zstd::bulk::decompress(content, MAX_BLOCK).unwrap()),
        }
    }
    out
}

#[test]
fn gives_back_what_went_in() {
    let random = |n: usize| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    let rough: Vec<u8> = (0..10_000).map(|n| random(n) as u8).collect();
    let smooth: Vec<u8> = (0..200_000).map(|n| (random(n / 50) % 4) as u8).collect();
    for codec in CODECS {
        let mut compressor = BlockCompressor::new(codec, None, 65_536).unwrap();
        for input in [&rough[..1], &rough[..], &smooth, &[0; 65_536], &rough[..100]] {
            let mut out = Vec::new();
            compressor.append_all(input, &mut out).unwrap();
            assert!(out.len() <= input.len() + HEADER_LEN * input.len().div_ceil(65_536), "{codec:?}");
            assert_eq!(decompressed(codec, &out), input, "{codec:?}");
        }
    }
}

#[test]
fn leaves_blocks_that_do_not_shrink() {
    // The specification's example: five bytes kept are behind 0x0b 0x00 0x00.
    for codec in &CODECS[1..] {
        let mut out = Vec::new();
        BlockCompressor::new(*codec, None, 65_536).unwrap().append(b"abcde", &mut out).unwrap();
        assert_eq!(out, b"\x0b\0\0abcde", "{codec:?}");
    }
}

#[test]
fn levels_are_checked() {
    assert!(BlockCompressor::new(Codec::Zlib, Some(9), 1024).is_ok());
    for (codec, level) in [(Codec::Zlib, 10), (Codec::Zstd, 99), (Codec::Snappy, 1)] {
        let Err(error) = BlockCompressor::new(codec, Some(level), 1024) else { panic!("{codec:?} took level {level}") };
        assert_eq!(error.kind(), crate::ErrorKind::Invalid);
    }
    let Err(error) = BlockCompressor::new(Codec::Lzo, None, 1024) else { panic!("LZO is not written") };
    assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
}
