#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

fn sample(values: usize, distinct: usize, value_bytes: usize) -> SampleResult {
    SampleResult { values, distinct, bytes: values * value_bytes, is_all: false }
}

#[test]
fn a_dictionary_is_tried_where_values_repeat() {
    assert!(sample(4096, 50, 4).favours_dictionary());
    assert!(sample(4096, 2557, 4).favours_dictionary());
    // About 84,000 different values of 8 bytes fit into a dictionary still.
    assert!(sample(4096, 3996, 8).favours_dictionary());
    // The same number of long strings does not.
    assert!(!sample(4096, 3996, 40).favours_dictionary());
    // About 4 million different values.
    assert!(!sample(4096, 4094, 8).favours_dictionary());
    assert!(!sample(4096, 4096, 8).favours_dictionary());
    assert!(!sample(0, 0, 8).favours_dictionary());
}

#[test]
fn a_large_dictionary_is_tried_where_it_halves_a_chunk() {
    const CHUNK_VALUES: f64 = 1e6;
    // About 84,000 different values: a tenth of the chunk, and 2.1 bytes for each index.
    assert!(sample(4096, 3996, 40).favours_large_dictionary(CHUNK_VALUES));
    // Of short values, the indexes alone take half.
    assert!(!sample(4096, 3996, 5).favours_large_dictionary(CHUNK_VALUES));
    // About 760,000 different values, 560,000 of them in the chunk.
    assert!(!sample(4096, 4085, 40).favours_large_dictionary(CHUNK_VALUES));
    // A chunk that ends early has few repeats.
    assert!(!sample(4096, 3996, 40).favours_large_dictionary(40_000.0));
    // The dictionary is larger than its limit.
    assert!(!sample(4096, 3996, 1000).favours_large_dictionary(CHUNK_VALUES));
    assert!(!sample(4096, 4096, 40).favours_large_dictionary(CHUNK_VALUES));
    assert!(!sample(0, 0, 40).favours_large_dictionary(CHUNK_VALUES));
    assert!(!sample(4096, 50, 40).favours_large_dictionary(0.0));
}

#[test]
fn a_sample_gives_the_number_of_values_that_it_is_drawn_from() {
    let mut random = StdRng::seed_from_u64(7);
    for population in [10, 1_000, 5_000, 50_000_u32] {
        let distinct: HashSet<u32> = (0..4096).map(|_| random.random_range(0..population)).collect();
        let found = sample(4096, distinct.len(), 8).population();
        let ratio = found / f64::from(population);
        assert!((0.75..1.33).contains(&ratio), "{population}: {found}");
    }
}

#[test]
fn a_small_column_is_judged_by_its_bytes() {
    let all = |values, distinct| SampleResult { values, distinct, bytes: values * 8, is_all: true };
    assert!(all(10, 2).favours_dictionary());
    assert!(!all(10, 10).favours_dictionary());
    assert!(!all(1, 1).favours_dictionary());
}

#[test]
fn levels_begin_anew_after_a_flush() {
    let mut levels = PageNulls::new(true);
    levels.push_valid(3);
    levels.push(&NullBuffer::from(vec![true, false])).unwrap();
    assert_eq!((levels.rows(), levels.nulls()), (5, 1));
    let mut body = Vec::new();
    levels.flush(&mut body);
    // Length 2; one bit-packed group; bits 1 1 1 1 0.
    assert_eq!(body, [2, 0, 0, 0, 3, 0b0_1111]);
    assert_eq!((levels.rows(), levels.nulls()), (0, 0));
}

#[test]
fn a_null_in_a_required_column_is_an_error() {
    let error = PageNulls::new(false).push(&NullBuffer::from(vec![true, false])).unwrap_err();
    assert_eq!(error.kind(), lakerace_io::ErrorKind::Invalid);
}

#[test]
fn a_dictionary_is_reviewed_each_time_it_doubles() {
    let mut review = DictionaryReview::new(1 << 20);
    // 100 bytes each; all are different at first, and a few repeat then.
    review.push(5_000, 5_000, 500_000);
    assert!(review.keeps(5_000, 500_000));
    review.push(6_000, 6_000, 600_000);
    assert!(review.keeps(10_700, DICTIONARY_BYTES + 1));
    // No new repeats are a reason to end it, but only when it has doubled.
    review.push(9_000, 9_000, 900_000);
    assert!(review.keeps(19_700, 2 * DICTIONARY_BYTES));
    review.push(90_000, 90_000, 9_000_000);
    assert!(!review.keeps(109_700, 10 * DICTIONARY_BYTES));
}

#[test]
fn a_dictionary_ends_at_its_limit() {
    let mut review = DictionaryReview::new(1 << 20);
    review.push(1 << 20, 1 << 20, 1 << 30);
    assert!(review.keeps(1_000, LARGE_DICTIONARY_BYTES));
    assert!(!review.keeps(1_001, LARGE_DICTIONARY_BYTES + 1));
}

#[test]
fn a_dictionary_ends_where_new_values_replace_those_that_repeat() {
    let mut review = DictionaryReview::new(1 << 20);
    review.push(100_000, 100_000, 10_000_000);
    assert!(review.keeps(20_000, 2_000_000));
    // All of the next values are new.
    review.push(30_000, 30_000, 3_000_000);
    assert!(!review.keeps(50_000, 5_000_000));
}
