#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::testing::plain;
use super::*;

fn decode(bytes: &[u8], signed: bool, count: usize) -> Result<Vec<i64>> {
    let mut out = vec![-1; count];
    IntsV2::new(plain(bytes), signed).read(&mut out)?;
    // The same in pieces.
    for piece in [1, 3, 7] {
        let mut pieces = vec![-1; count];
        let mut reader = IntsV2::new(plain(bytes), signed);
        pieces.chunks_mut(piece).try_for_each(|piece| reader.read(piece))?;
        assert_eq!(pieces, out);
        assert!(reader.read(&mut [0]).is_err());
    }
    Ok(out)
}

#[test]
fn examples_of_the_specification() {
    assert_eq!(decode(&[0x0a, 0x27, 0x10], false, 5).unwrap(), [10000; 5]);
    let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
    assert_eq!(decode(&direct, false, 4).unwrap(), [23713, 43806, 57005, 48879]);
    let patched = [
        0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
        0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
    ];
    let expected = [
        2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170,
        2180, 2190,
    ];
    assert_eq!(decode(&patched, false, 20).unwrap(), expected);
    let delta = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
    assert_eq!(decode(&delta, false, 10).unwrap(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
}

#[test]
fn signs_and_fixed_deltas() {
    // A short repeat of -1 (zigzag 1) in two bytes.
    assert_eq!(decode(&[0x08, 0, 1], true, 3).unwrap(), [-1; 3]);
    // A fixed delta of -2 from 10.
    assert_eq!(decode(&[0xc0, 4, 20, 3], true, 5).unwrap(), [10, 8, 6, 4, 2]);
    // Falling by 1, 2, 3, 1 from 100: sizes of two bits behind the first.
    assert_eq!(decode(&[0xc2, 4, 0xc8, 0x01, 1, 0b10_11_01_00], true, 5).unwrap(), [100, 99, 97, 94, 93]);
    // A base below zero: the sign is its highest bit. Nine values 0..=8 of four bits, no patches.
    let bytes = [0x80 | 3 << 1, 8, 0, 0, 0x85, 0x01, 0x23, 0x45, 0x67, 0x80];
    assert_eq!(decode(&bytes, true, 9).unwrap(), [-5, -4, -3, -2, -1, 0, 1, 2, 3]);
}

#[test]
fn ends_and_nonsense_are_errors() {
    let streams: [&[u8]; 8] = [
        &[],
        &[0x0a, 0x27],
        &[0x5e],
        &[0x5e, 3, 1, 2, 3],
        &[0x8e, 0x13, 0x2b, 0x21, 0x07],
        // A patch beyond the run.
        &[0x80, 0x01, 0x00, 0x21, 0x01, 0xff, 0xff, 0xff],
        &[0xc6, 0x09, 0x80],
        &[0xc6, 0x09, 0x02, 0x02, 0x22],
    ];
    for stream in streams {
        assert!(IntsV2::new(plain(stream), true).read(&mut [0; 4]).is_err(), "{stream:?}");
    }
}
