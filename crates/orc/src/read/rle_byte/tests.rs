#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::testing::plain;
use super::*;

#[test]
fn examples_of_the_specification() {
    let mut out = [1; 100];
    ByteRuns::new(plain(&[0x61, 0x00])).read(&mut out).unwrap();
    assert_eq!(out, [0; 100]);
    let mut out = [0; 2];
    ByteRuns::new(plain(&[0xfe, 0x44, 0x45])).read(&mut out).unwrap();
    assert_eq!(out, [0x44, 0x45]);
    // Booleans: one byte 0x80 is true and seven times false.
    let bits = BitReader::new(plain(&[0xff, 0x80])).read(8).unwrap();
    assert_eq!(bits.iter().collect::<Vec<_>>(), [true, false, false, false, false, false, false, false]);
}

#[test]
fn bits_come_in_pieces_of_any_length() {
    let bytes: Vec<u8> = (0..128u32).map(|i| (i * 37 % 251) as u8).collect();
    let mut stream = vec![(256 - 128) as u8];
    stream.extend(&bytes);
    stream.extend([7, 0xa5]);
    let all: Vec<bool> = bytes
        .iter()
        .copied()
        .chain([0xa5; 10])
        .flat_map(|byte| (0..8).map(move |bit| byte << bit & 128 != 0))
        .collect();
    for piece in 1..40 {
        let mut reader = BitReader::new(plain(&stream));
        let mut got = Vec::new();
        while got.len() < all.len() {
            got.extend(reader.read(piece.min(all.len() - got.len())).unwrap().iter());
        }
        assert_eq!(got, all, "{piece}");
        assert!(reader.read(1).is_err());
    }
    let mut reader = BitReader::new(plain(&stream));
    reader.seek(0, 0, 3, 5).unwrap();
    assert_eq!(reader.read(50).unwrap().iter().collect::<Vec<_>>(), all[29..79]);
    reader.seek(129, 0, 9, 8).unwrap();
    assert!(reader.read(1).is_err());
}

#[test]
fn ends_are_errors() {
    for stream in [&[][..], &[5], &[0xfe, 1]] {
        assert!(ByteRuns::new(plain(stream)).read(&mut [0; 2]).is_err());
    }
    // Absurd counts don't allocate: the stream ends first.
    assert!(BitReader::new(plain(&[0, 0])).read(usize::MAX / 16).is_err());
}
