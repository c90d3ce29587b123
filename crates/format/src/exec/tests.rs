#![allow(clippy::unwrap_used)]

use super::{BATCH_BYTES, batch_rows, steps_ahead};

const MIB: u64 = 1 << 20;

#[test]
fn ordinary_rows_are_counted_between_a_thousand_and_64_thousand() {
    assert_eq!(batch_rows(8, 1), 64 << 10);
    assert_eq!(batch_rows(1000, 50), (BATCH_BYTES / 1000) as usize);
    // Embeddings and many narrow columns are no large rows.
    assert_eq!(batch_rows(60 << 10, 2), 1024);
    assert_eq!(batch_rows(400 << 10, 50_000), 1024);
    assert_eq!(steps_ahead(1024, 60 << 10, 2, 8), 4);
    assert_eq!(steps_ahead(64 << 10, 8, 1, 8), 16);
}

#[test]
fn large_rows_are_counted_by_their_bytes() {
    for (row_bytes, rows) in [(64 << 10, 128), (MIB, 8), (4 * MIB, 2), (20 * MIB, 1), (u64::MAX, 1)] {
        assert_eq!(batch_rows(row_bytes, 2), rows, "{row_bytes} bytes");
    }
    for (row_bytes, steps) in [(MIB, 4), (4 * MIB, 4), (20 * MIB, 1), (u64::MAX, 1)] {
        assert_eq!(steps_ahead(batch_rows(row_bytes, 2), row_bytes, 2, 8), steps, "{row_bytes} bytes");
    }
}
