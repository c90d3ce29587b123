use super::*;
use crate::widths::closest_width;

/// Reads back what [`pack`] wrote, bit by bit.
fn unpack(bytes: &[u8], width: u32, count: usize) -> Vec<u64> {
    let bit = |i: usize| u64::from(bytes[i / 8] >> (7 - i % 8) & 1);
    let width = width as usize;
    (0..count).map(|n| (0..width).fold(0, |value, b| value << 1 | bit(n * width + b))).collect()
}

#[test]
fn packs_every_width_and_length() {
    for width in (1..=64).filter(|&w| closest_width(w) == w) {
        for count in [0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 511, 512] {
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let values: Vec<u64> =
                (0..count as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) & mask).collect();
            let mut out = vec![7];
            pack(&values, width, &mut out);
            assert_eq!(out.len(), 1 + packed_bytes(count, width), "width {width}, {count} values");
            assert_eq!(unpack(&out[1..], width, count), values, "width {width}");
        }
    }
}
