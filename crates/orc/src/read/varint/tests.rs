#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn encode(mut value: u128) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[test]
fn examples_of_the_specification() {
    for (value, bytes) in [
        (0, &[0u8][..]),
        (1, &[1]),
        (127, &[0x7f]),
        (128, &[0x80, 1]),
        (16383, &[0xff, 0x7f]),
        (16384, &[0x80, 0x80, 1]),
    ] {
        assert_eq!(varint(bytes).unwrap(), (value, bytes.len()));
    }
    assert_eq!([0, 1, 2, 3, 4].map(zigzag), [0, -1, 1, -2, 2]);
    assert_eq!(zigzag128(u128::MAX), i128::MIN);
}

#[test]
fn every_length_comes_back_with_and_without_bytes_behind() {
    for bits in 0..=128 {
        let value = if bits == 0 { 0 } else { (u128::MAX / 3) >> (128 - bits) };
        let mut bytes = encode(value);
        let length = bytes.len();
        for _ in 0..9 {
            assert_eq!(varint128(&bytes).unwrap(), (value, length));
            match u64::try_from(value) {
                Ok(value) => assert_eq!(varint(&bytes).unwrap(), (value, length)),
                Err(_) => assert!(varint(&bytes).is_err()),
            }
            bytes.push(0xff);
        }
        assert!(varint128(&encode(value)[..length - 1]).is_err());
    }
    assert!(varint128(&[0xff; 19]).is_err());
    assert!(varint(&[0xff; 30]).is_err());
}
