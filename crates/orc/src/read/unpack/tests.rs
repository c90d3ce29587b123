#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

fn pack(values: &[i64], width: u32) -> Vec<u8> {
    let mut bytes = vec![0u8; packed_bytes(values.len(), width)];
    for (nth, value) in values.iter().enumerate() {
        for bit in 0..width as usize {
            if *value as u64 >> (width as usize - 1 - bit) & 1 == 1 {
                let at = nth * width as usize + bit;
                bytes[at / 8] |= 128 >> (at % 8);
            }
        }
    }
    bytes
}

#[test]
fn every_width_and_count_comes_back() {
    let mut random = StdRng::seed_from_u64(7);
    for width in 1..=64 {
        for count in [0, 1, 2, 7, 8, 9, 15, 16, 17, 100, 511, 512] {
            let values: Vec<i64> = (0..count).map(|_| (random.random::<u64>() >> (64 - width)) as i64).collect();
            let mut bytes = pack(&values, width);
            let mut out = vec![1; count];
            unpack(&bytes, width, &mut out).unwrap();
            assert_eq!(out, values, "{width} {count}");
            bytes.extend([255; 20]);
            unpack(&bytes, width, &mut out).unwrap();
            assert_eq!(out, values, "{width} {count} with bytes behind");
            if count > 0 {
                bytes.truncate(packed_bytes(count, width) - 1);
                assert!(unpack(&bytes, width, &mut out).is_err());
            }
        }
    }
}
