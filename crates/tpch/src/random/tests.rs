use tpchgen::random::{RandomBoundedInt, RowRandomInt};

use super::*;

#[test]
fn draws_are_those_of_the_reference() {
    for (seed, draws_per_row, start) in [(209_208_115, 7, 0), (1_066_728_069, 1, 12_345), (709_314_158, 92, 99_999)] {
        let mut reference = RowRandomInt::new(seed, draws_per_row);
        reference.advance_rows(start);
        let mut stream = ColumnStream::at(seed as u64, draws_per_row as u64, start as u64);
        for _ in 0..50 {
            let row = stream.next_row();
            for number in 1..=draws_per_row.min(5) {
                assert_eq!(row.draw(number as usize).seed(), reference.next_rand() as u64);
            }
            reference.row_finished();
        }
    }
}

#[test]
fn picks_are_those_of_the_reference() {
    let ranges = [(1, 50), (0, 10), (1, 7), (-99_999, 420_000), (1, 1 << 19), (0, 90), (100, 100_000)];
    for (low, high) in ranges {
        let mut reference = RandomBoundedInt::new(1_769_349_045, low, high);
        let (few, many) = (FewNumbers::new(low.into(), high.into()), ManyNumbers::new(low.into(), high.into()));
        assert!(few.count <= FewNumbers::MAX + 100_000);
        for draw in ColumnStream::at(1_769_349_045, 1, 0).draws(200_000) {
            let expected = i64::from(reference.next_value());
            assert_eq!(few.pick(draw), expected);
            assert_eq!(many.pick(draw), expected);
        }
    }
}

#[test]
fn the_extremes_of_the_modulus_are_right() {
    for count in [1, 2, 3, 7, 50, 999, 524_287, FewNumbers::MAX] {
        for draw in [1, 2, MODULUS / 2, MODULUS / 2 + 1, MODULUS - 2, MODULUS - 1] {
            let expected = draw * count / MODULUS;
            assert_eq!(FewNumbers { low: 0, count }.pick(RandomDraw(draw)), expected as i64, "{draw} of {count}");
            assert_eq!(ManyNumbers { low: 0, count: count as f64 }.pick(RandomDraw(draw)), expected as i64);
        }
    }
    assert_eq!(multiply(MODULUS - 1, MODULUS - 1), 1);
    assert_eq!(power(MULTIPLIER, MODULUS - 1), 1);
}

#[test]
fn all_alphanumeric_draws_are_the_references() {
    // The range of these is all of 31 bits, and wraps in 32.
    let mut reference = RowRandomInt::new(706_178_559, 9);
    let pick = ManyNumbers::new(0, i32::MAX.into());
    let mut sequence = ColumnStream::at(706_178_559, 9, 0).next_row().sequence();
    for _ in 0..9 {
        assert_eq!(pick.pick(sequence.draw()), i64::from(reference.next_int(0, i32::MAX)));
    }
}
