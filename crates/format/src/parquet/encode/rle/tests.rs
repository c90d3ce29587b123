#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::*;

fn read_varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

/// A plain decoder, written from the specification alone.
fn decode(bytes: &[u8], bits: u8, count: usize) -> Vec<u32> {
    let mut values = Vec::new();
    let mut at = 0;
    while values.len() < count {
        let header = read_varint(bytes, &mut at);
        if header & 1 == 0 {
            let width = usize::from(bits).div_ceil(8);
            let mut raw = [0; 4];
            raw[..width].copy_from_slice(&bytes[at..at + width]);
            at += width;
            values.extend(std::iter::repeat_n(u32::from_le_bytes(raw), (header >> 1) as usize));
        } else {
            let length = (header >> 1) as usize * usize::from(bits);
            for i in 0..(header >> 1) as usize * 8 {
                let mut value = 0u32;
                for bit in 0..usize::from(bits) {
                    let position = i * usize::from(bits) + bit;
                    value |= u32::from(bytes[at + position / 8] >> (position % 8) & 1) << bit;
                }
                values.push(value);
            }
            at += length;
        }
    }
    assert_eq!(at, bytes.len(), "bytes are left over");
    // Only the last bit-packed group may go beyond the count.
    assert!(values.len() < count + 8);
    values.truncate(count);
    values
}

#[test]
fn bits_of_indices() {
    let expected = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8), (257, 9), (1 << 20, 20)];
    for (count, bits) in expected {
        assert_eq!(index_bits(count), bits, "{count}");
    }
}

#[test]
fn a_long_repeat_takes_a_few_bytes() {
    let mut out = Vec::new();
    append_hybrid(&[7; 100_000], 3, &mut out);
    assert_eq!(out.len(), 4);
    assert_eq!(decode(&out, 3, 100_000), vec![7; 100_000]);
}

#[test]
fn definition_levels_follow_the_validity() {
    for rows in [1usize, 7, 8, 9, 1000] {
        for valid in [|_: usize| true, |_: usize| false, |i: usize| i.is_multiple_of(3)] {
            let bits: BooleanBuffer = (0..rows + 5).map(|i| i >= 5 && valid(i - 5)).collect();
            let mut out = Vec::new();
            append_definition_levels(Some(&bits.slice(5, rows)), rows, &mut out);
            let length = u32::from_le_bytes(out[..4].try_into().unwrap()) as usize;
            assert_eq!(length, out.len() - 4);
            let expected: Vec<u32> = (0..rows).map(|i| u32::from(valid(i))).collect();
            assert_eq!(decode(&out[4..], 1, rows), expected);
        }
    }
}

proptest! {
    #[test]
    fn hybrid_round_trips(bits in 1u8..=32, runs in prop::collection::vec((any::<u32>(), 1usize..40), 0..60)) {
        let mask = (u64::from(u32::MAX) >> (32 - bits)) as u32;
        let values: Vec<u32> = runs.iter().flat_map(|(v, n)| std::iter::repeat_n(v & mask, *n)).collect();
        let mut out = Vec::new();
        append_hybrid(&values, bits, &mut out);
        prop_assert_eq!(decode(&out, bits, values.len()), values);
    }
}
