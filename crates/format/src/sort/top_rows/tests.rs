#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;

use super::TopRows;

/// Numbers without a pattern, of which many are equal.
fn key(n: u64) -> u64 {
    let z = (n ^ 0x5bd1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) % 3000
}

fn batch(range: std::ops::Range<u64>) -> (RecordBatch, BinaryArray) {
    let ids: ArrayRef = Arc::new(range.clone().map(|n| n as i64).collect::<Int64Array>());
    let text = |n| Some(format!("a text that is in a buffer, {n}"));
    let texts: ArrayRef = Arc::new(range.clone().map(text).collect::<StringViewArray>());
    let keys = range.map(|n| key(n).to_be_bytes());
    (RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap(), BinaryArray::from_iter_values(keys))
}

fn first(limit: u64, limit_bytes: u64) -> Vec<i64> {
    let mut rows = TopRows::new(&batch(0..1).0.schema(), limit, limit_bytes);
    for at in (0..40_000).step_by(1000) {
        let (batch, keys) = batch(at..at + 1000);
        rows.push(&batch, keys).unwrap();
        assert!(rows.waiting <= 2 * limit + super::WAITING_ROWS, "{} rows wait", rows.waiting);
    }
    let mut sorted = rows.finish().unwrap();
    let mut ids = Vec::new();
    while let Some(batch) = sorted.next_batch().unwrap() {
        let (numbers, texts) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string_view());
        for row in 0..batch.num_rows() {
            assert_eq!(texts.value(row), format!("a text that is in a buffer, {}", numbers.value(row)));
        }
        ids.extend(numbers.values());
    }
    ids
}

#[test]
fn the_first_rows_are_those_of_a_whole_sort() {
    let mut expected: Vec<i64> = (0..40_000).collect();
    expected.sort_by_key(|id| key(*id as u64));
    for limit in [1, 10, 999, 12_000, 39_999, 40_000, 50_000] {
        for limit_bytes in [1, 300_000, 1 << 30] {
            let wanted = &expected[..40_000.min(limit as usize)];
            assert_eq!(first(limit, limit_bytes), wanted, "{limit} rows in {limit_bytes} bytes");
        }
    }
}

#[test]
fn of_a_batch_no_more_rows_wait_than_are_wanted() {
    // Each row comes before all that were added until then.
    let mut rows = TopRows::new(&batch(0..1).0.schema(), 10, 1 << 30);
    for at in (0..40_000_u64).step_by(1000) {
        let keys = (at..at + 1000).map(|n| (u64::MAX - n).to_be_bytes());
        let before = rows.waiting;
        rows.push(&batch(at..at + 1000).0, BinaryArray::from_iter_values(keys)).unwrap();
        assert!(rows.waiting <= before + 10);
    }
    let first = rows.finish().unwrap().next_batch().unwrap().unwrap();
    let ids: Vec<i64> = (0..10).map(|n| 39_999 - n).collect();
    assert_eq!(first.column(0).as_primitive::<Int64Type>().values(), &ids);
}

#[test]
fn the_first_zero_rows_are_none() {
    assert_eq!(first(0, 1 << 30), Vec::<i64>::new());
}

#[test]
fn rows_of_large_arrays_do_not_keep_these_in_memory() {
    let (large, keys) = batch(0..100_000);
    let mut rows = TopRows::new(&large.schema(), 10, 16 << 20);
    for at in (0..100_000).step_by(1000) {
        let part = keys.slice(at, 1000);
        rows.push(&large.slice(at, 1000), BinaryArray::from_iter_values(part.iter().flatten())).unwrap();
    }
    assert!(!rows.sorter.is_crowded());
}
