#![allow(clippy::unwrap_used)]

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{ValidBits, spread};

/// One row after the other.
fn spread_by_rows(values: &[u128], valid: &[bool]) -> Vec<u128> {
    let mut left = values.iter();
    valid.iter().map(|valid| if *valid { *left.next().unwrap() } else { 0 }).collect()
}

fn check(valid: &[bool], start: usize) {
    let mut bits = vec![0xa5u8; (start + valid.len()) / 8 + 1];
    for (row, valid) in valid.iter().enumerate() {
        let bit = start + row;
        bits[bit / 8] = bits[bit / 8] & !(1 << (bit % 8)) | u8::from(*valid) << (bit % 8);
    }
    let dense = valid.iter().filter(|valid| **valid).count();
    let values: Vec<u128> = (1..=dense as u128).collect();
    let mut slots = values.clone();
    slots.resize(valid.len(), u128::MAX);
    spread(&mut slots, dense, ValidBits::new(&bits, start));
    assert_eq!(slots, spread_by_rows(&values, valid), "{valid:?}");
}

#[test]
fn values_go_to_the_rows_that_have_one() {
    let mut random = StdRng::seed_from_u64(7);
    for share in [0.0, 0.01, 0.5, 0.99, 1.0] {
        for rows in [0, 1, 63, 64, 65, 128, 300] {
            for start in [0, 3, 64] {
                let valid: Vec<bool> = (0..rows).map(|_| random.random::<f64>() < share).collect();
                check(&valid, start);
            }
        }
    }
}

#[test]
fn runs_of_nulls_are_filled() {
    let valid: Vec<bool> = (0..400).map(|row| !(100..300).contains(&row)).collect();
    check(&valid, 0);
    check(&valid, 5);
}
