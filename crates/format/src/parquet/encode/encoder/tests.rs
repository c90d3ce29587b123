#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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
