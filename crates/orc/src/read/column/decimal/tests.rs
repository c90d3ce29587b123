#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::super::testing::plain;
use super::*;

#[test]
fn varints_of_all_lengths_come_back() {
    let values: Vec<i128> = (0..127)
        .flat_map(|bits| [1i128 << bits, -(1i128 << bits), (1i128 << bits) - 1])
        .chain([i128::MAX, i128::MIN])
        .collect();
    let mut bytes = Vec::new();
    for value in &values {
        let mut rest = (value << 1 ^ value >> 127) as u128;
        while rest >= 128 {
            bytes.push(rest as u8 | 128);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    let mut out = Vec::new();
    let mut input = plain(&bytes);
    varints(&mut input, 3, &mut out).unwrap();
    varints(&mut input, values.len() - 3, &mut out).unwrap();
    assert_eq!(out, values);
    assert!(varints(&mut input, 1, &mut out).is_err());
}

#[test]
fn scales_are_brought_to_the_columns() {
    assert_eq!(rescale(15, 1, 3).unwrap(), 1500);
    assert_eq!(rescale(1500, 3, 1).unwrap(), 15);
    assert_eq!([1449, 1450, -1449, -1450].map(|v| rescale(v, 3, 1).unwrap()), [14, 14, -14, -14]);
    assert_eq!(rescale(1, -1, 1).unwrap(), 100);
    for (value, from, to) in [(i128::MAX, 0, 1), (1, -40, 0), (1, i64::MIN, 5), (1, i64::MAX, 0)] {
        assert!(rescale(value, from, to).is_err());
    }
}
