#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::testing::plain;
use super::*;

#[test]
fn examples_of_the_specification() {
    let mut out = [0; 100];
    IntsV1::new(plain(&[0x61, 0x00, 0x07]), false).read(&mut out).unwrap();
    assert_eq!(out, [7; 100]);
    let mut reader = IntsV1::new(plain(&[0x61, 0xff, 0x64]), false);
    // In pieces that don't fit the run.
    for (nth, piece) in out.chunks_mut(7).enumerate() {
        reader.read(piece).unwrap();
        assert_eq!(piece[0], 100 - 7 * nth as i64);
    }
    assert!(out.iter().copied().eq((1..=100).rev()));
    assert!(reader.read(&mut [0]).is_err());
    let mut out = [0; 5];
    IntsV1::new(plain(&[0xfb, 0x02, 0x03, 0x04, 0x07, 0x0b]), false).read(&mut out).unwrap();
    assert_eq!(out, [2, 3, 4, 7, 11]);
    IntsV1::new(plain(&[0xfb, 0x02, 0x03, 0x04, 0x07, 0x0b]), true).read(&mut out).unwrap();
    assert_eq!(out, [1, -2, 2, -4, -6]);
}

#[test]
fn ends_are_errors() {
    for stream in [&[][..], &[0x61], &[0x61, 0], &[0x61, 0, 0x80], &[0xfb, 1, 2, 3, 4]] {
        assert!(IntsV1::new(plain(stream), true).read(&mut [0; 5]).is_err(), "{stream:?}");
    }
}
