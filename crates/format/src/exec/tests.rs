#![allow(clippy::unwrap_used)]

use super::{BATCH_BYTES, batch_rows, steps_ahead};

const MIB: u64 = 1 << 20;

#[test]
fn rows_of_a_step_are_bounded_by_their_number_and_bytes() {
    assert_eq!(batch_rows(8, 1), 64 << 10);
    assert_eq!((batch_rows(4, 1), batch_rows(1, 1), batch_rows(0, 0)), (128 << 10, 512 << 10, 512 << 10));
    assert_eq!(batch_rows(1000, 50), (BATCH_BYTES / 1000) as usize);
    // Embeddings and many narrow columns are no large rows.
    assert_eq!(batch_rows(60 << 10, 2), 1024);
    assert_eq!(batch_rows(400 << 10, 50_000), 1024);
    assert_eq!(steps_ahead(1024, &[30 << 10; 2], &[1; 2], 0, 8), 4);
    assert_eq!(steps_ahead(64 << 10, &[8], &[1], 0, 8), 16);
}

#[test]
fn large_rows_are_counted_by_their_bytes() {
    for (row_bytes, rows) in [(64 << 10, 128), (MIB, 8), (4 * MIB, 2), (20 * MIB, 1), (u64::MAX, 1)] {
        assert_eq!(batch_rows(row_bytes, 2), rows, "{row_bytes} bytes");
    }
    for (row_bytes, steps) in [(MIB, 4), (4 * MIB, 4), (20 * MIB, 1), (u64::MAX, 1)] {
        assert_eq!(
            steps_ahead(batch_rows(row_bytes, 2), &[row_bytes / 2, row_bytes.div_ceil(2)], &[1; 2], 0, 8),
            steps,
            "{row_bytes} bytes"
        );
    }
}

#[test]
fn threads_decode_several_units_where_one_column_has_most_of_the_work() {
    let steps = |columns: &[u64], threads| steps_ahead(64 << 10, columns, columns, 16, threads);
    // One column, or one that is much larger than the other: each thread has a unit.
    assert_eq!(steps(&[8], 2), 2 * 2 + 16);
    assert_eq!(steps(&[8], 4), 2 * 4 + 3 * 16);
    assert_eq!(steps(&[1, 30], 2), 2 * 2 + 16);
    // Columns of equal sizes keep as many threads at work.
    assert_eq!(steps(&[8, 8], 2), 2 * 2);
    assert_eq!(steps(&[8; 3], 4), 2 * 4 + 16);
    assert_eq!(steps(&[8; 16], 8), 2 * 8);
    // Columns of equal sizes may differ in their work.
    assert_eq!(steps_ahead(64 << 10, &[8, 8], &[16, 9], 16, 2), 2 * 2 + 16);
    // One thread needs no second unit, and memory is bounded.
    assert_eq!(steps(&[8], 1), 2);
    assert_eq!(steps(&[1 << 10], 2), 4);
    assert_eq!(steps(&[], 4), 2 * 4);
}
