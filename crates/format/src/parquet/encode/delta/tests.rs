#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{append_differences, append_lengths};
use crate::parquet::decode::delta;
use crate::parquet::decode::delta::integers;

fn longs(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn ints(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The bytes that the differences take; none where they are not taken.
fn stored(plain: &[u8], width: usize) -> Option<usize> {
    let mut output = b"levels".to_vec();
    if !append_differences(plain, width, &mut output) {
        assert_eq!(output, b"levels");
        return None;
    }
    let read = integers(&output[6..], width, plain.len() / width).map(|bytes| bytes.to_vec());
    assert_eq!(read.ok().as_deref(), Some(plain));
    Some(output.len() - 6)
}

#[test]
fn numbers_in_a_row_take_next_to_nothing() {
    // Encodings.md, "Delta Encoding", example 1: blocks of 128 values in 4 parts, 5 values from 1, differences of 1.
    let mut output = Vec::new();
    assert!(append_differences(&longs(&[1, 2, 3, 4, 5]), 8, &mut output));
    assert_eq!(output, [128, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
    // 78 blocks of a difference and four widths, behind 8 bytes of a header.
    assert_eq!(stored(&longs(&(0..10_000).collect::<Vec<_>>()), 8), Some(6 + 79 * 5));
    assert_eq!(stored(&ints(&(0..10_000).collect::<Vec<_>>()), 4), Some(6 + 79 * 5));
}

#[test]
fn what_gains_little_stays() {
    assert_eq!(stored(&[], 8), None, "no values");
    assert_eq!(stored(&longs(&[3, 4, 5, 5, 4]), 8), None, "not in order");
    // Of 64 bits, 56 and more are no pattern.
    let spread = |number: u64| ((number << 32) ^ (number * number)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
    let far: Vec<i64> = (1..101).map(|number| ((number << 56) | spread(number)) as i64 ^ i64::MIN).collect();
    assert!(far.is_sorted());
    assert_eq!(stored(&longs(&far), 8), None, "far from each other");
    assert_eq!(stored(&[0; 12], 12), None, "no integers");
}

#[test]
fn the_largest_differences_wrap() {
    let mut values = vec![i64::MIN; 100];
    values.extend([i64::MAX; 100]);
    assert!(stored(&longs(&values), 8).is_some());
    let mut values = vec![i32::MIN; 300];
    values.extend([i32::MAX; 300]);
    assert!(stored(&ints(&values), 4).is_some());
}

fn assert_lengths_come_back(lengths: &[u32]) {
    let mut output = Vec::new();
    append_lengths(lengths, &mut output);
    let end = output.len();
    output.extend_from_slice(b"values");
    let (found, found_end) = delta::lengths(&output, lengths.len()).unwrap();
    assert_eq!((found.peek(usize::MAX), found_end), (lengths, end));
}

#[test]
fn lengths_take_a_byte_or_less() {
    // Encodings.md, "Delta Encoding", example 2: the least difference is -2, others are stored by how much they are above it.
    let mut output = Vec::new();
    append_lengths(&[7, 5, 3, 1, 2, 3, 4, 5], &mut output);
    let packed = [0b1100_0000, 0b0011_1111];
    assert_eq!(output, [&[128, 1, 4, 8, 14, 3, 2, 0, 0, 0], &packed[..], &[0; 6]].concat());
    let lengths: Vec<u32> = (0..20_000).map(|row| 24 + row * 7 % 35).collect();
    let mut output = Vec::new();
    append_lengths(&lengths, &mut output);
    assert!(output.len() < 20_000, "{}", output.len());
    assert_lengths_come_back(&lengths);
    assert_lengths_come_back(&[]);
    assert_lengths_come_back(&[0]);
    assert_lengths_come_back(&[0, i32::MAX as u32, 0, 0, i32::MAX as u32]);
}

proptest! {
    #[test]
    fn lengths_come_back(lengths in prop::collection::vec(prop_oneof![0u32..100, 0..=i32::MAX as u32], 0..700)) {
        assert_lengths_come_back(&lengths);
    }

    #[test]
    fn sorted_integers_come_back(bits in 0u32..63, count in 1usize..700, seed in any::<u64>()) {
        let spread = |number: u64| (number.wrapping_mul(seed | 1) >> 1) & ((1 << bits) - 1);
        let mut values: Vec<i64> = (0..count as u64).map(|number| spread(number) as i64 - (1 << 40)).collect();
        values.sort_unstable();
        stored(&longs(&values), 8);
        let mut values: Vec<i32> = values.iter().map(|value| *value as i32).collect();
        values.sort_unstable();
        stored(&ints(&values), 4);
    }
}
