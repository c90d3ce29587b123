use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{
    BitSlice, WORD_ROWS, ZeroDefault, deposit, spread, spread_bits, spread_from, spread_from_portably, spread_portably,
};

/// The bits of rows, after `start` others.
fn bits_of(valid: &[bool], start: usize) -> Vec<u8> {
    let mut bits = vec![0xa5u8; (start + valid.len()) / 8 + 1];
    for (row, valid) in valid.iter().enumerate() {
        let bit = start + row;
        bits[bit / 8] = bits[bit / 8] & !(1 << (bit % 8)) | u8::from(*valid) << (bit % 8);
    }
    bits
}

/// One row after the other.
fn spread_by_rows<T: Copy + Default>(values: &[T], valid: &[bool]) -> Vec<T> {
    let mut left = values.iter();
    valid.iter().map(|valid| if *valid { *left.next().unwrap() } else { T::default() }).collect()
}

fn check<T: ZeroDefault + PartialEq + std::fmt::Debug>(valid: &[bool], start: usize, value: fn(u8) -> T) {
    let bits = bits_of(valid, start);
    let dense = valid.iter().filter(|valid| **valid).count();
    let values: Vec<T> = (0..dense).map(|number| value((number % 251) as u8 + 1)).collect();
    let expected = spread_by_rows(&values, valid);
    for spread in [spread, spread_portably] {
        let mut slots = values.clone();
        slots.resize(valid.len(), value(255));
        spread(&mut slots, dense, BitSlice::new(&bits, start));
        assert_eq!(slots, expected, "{valid:?}");
    }
    // The last bytes are no whole value, and they begin at an odd address.
    for extra in [0, WORD_ROWS] {
        let mut source = vec![9; 1];
        for value in values.iter().chain(std::iter::repeat_n(&value(77), extra)) {
            // SAFETY: the value's bytes, of which none is padding.
            source.extend_from_slice(unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>())
            });
        }
        for spread_from in [spread_from, spread_from_portably] {
            let mut slots = vec![value(255); valid.len()];
            let (rows, taken) = spread_from(&source[1..], &mut slots, BitSlice::new(&bits, start));
            assert_eq!(slots[..rows], expected[..rows], "{valid:?}");
            assert!(slots[rows..].iter().all(|slot| *slot == value(255)));
            assert_eq!(taken, valid[..rows].iter().filter(|valid| **valid).count());
            assert!(rows == valid.len() || (extra == 0 && dense - taken < WORD_ROWS), "{rows} of {valid:?}");
        }
    }
}

fn check_widths(valid: &[bool], start: usize) {
    check::<i8>(valid, start, |value| value as i8);
    check::<u16>(valid, start, u16::from);
    check::<f32>(valid, start, f32::from);
    check::<i64>(valid, start, i64::from);
    check::<u128>(valid, start, |value| u128::from(value) << 100 | 1);
    check::<[u8; 16]>(valid, start, |value| [value; 16]);
    check::<[u64; 4]>(valid, start, |value| [value.into(); 4]);
}

fn random_rows() -> impl Iterator<Item = Vec<bool>> {
    let mut random = StdRng::seed_from_u64(7);
    let shares = [0.0, 0.01, 0.5, 0.99, 1.0];
    let rows = [0, 1, 63, 64, 65, 128, 300];
    shares
        .into_iter()
        .flat_map(move |share| rows.map(|rows| (share, rows)))
        .map(move |(share, rows)| (0..rows).map(|_| random.random::<f64>() < share).collect())
}

#[test]
fn values_go_to_the_rows_that_have_one() {
    for valid in random_rows() {
        for start in [0, 3, 64] {
            check_widths(&valid, start);
        }
    }
}

#[test]
fn runs_of_nulls_are_filled() {
    let valid: Vec<bool> = (0..400).map(|row| !(100..300).contains(&row)).collect();
    check_widths(&valid, 0);
    check_widths(&valid, 5);
}

#[test]
fn bits_go_to_the_rows_that_have_one() {
    let mut random = StdRng::seed_from_u64(11);
    for valid in random_rows() {
        let values: Vec<bool> = valid.iter().filter(|valid| **valid).map(|_| random.random()).collect();
        let (packed, bits) = (bits_of(&values, 5), bits_of(&valid, 3));
        let mut rows = Vec::new();
        spread_bits(BitSlice::new(&packed, 5), valid.len(), BitSlice::new(&bits, 3), |word, count| {
            rows.extend((0..count).map(|row| word >> row & 1 == 1));
            assert!(count == 64 || word >> count == 0);
        });
        assert_eq!(rows, spread_by_rows(&values, &valid));
    }
}

#[test]
fn deposited_bits_are_those_of_a_loop() {
    let mut random = StdRng::seed_from_u64(13);
    let masks = [0, 1, 1 << 63, u64::MAX, 0x5555_5555_5555_5555];
    for mask in masks.into_iter().chain((0..200).map(|_| random.random::<u64>() & random.random::<u64>())) {
        let bits: u64 = 0x9e37_79b9_7f4a_7c15;
        let (mut expected, mut next) = (0, 0);
        for place in 0..64 {
            if mask >> place & 1 == 1 {
                expected |= (bits >> next & 1) << place;
                next += 1;
            }
        }
        assert_eq!(deposit(bits, mask), expected, "{mask:x}");
    }
}

/// Damaged lengths must not reach memory beyond the slots.
#[test]
fn a_number_of_values_that_does_not_fit_stays_within_the_slots() {
    for valid in random_rows() {
        let bits = bits_of(&valid, 0);
        for dense in [0, 1, valid.len() / 2, valid.len(), valid.len() + 1] {
            let mut slots = vec![7u64; valid.len()];
            spread(&mut slots, dense, BitSlice::new(&bits, 0));
            assert!(slots.iter().all(|slot| [0, 7].contains(slot)));
        }
    }
}
