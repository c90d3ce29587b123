#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;

use super::RowSorter;

/// Numbers without a pattern, the same in every run.
fn scattered(seed: u64) -> u64 {
    let z = (seed ^ 0x5bd1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
}

fn batch(range: std::ops::Range<u64>) -> (RecordBatch, BinaryArray) {
    let ids: ArrayRef = Arc::new(range.clone().map(|n| n as i64).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new(range.clone().map(|n| Some(format!("text {n}"))).collect::<StringArray>());
    let keys: Vec<[u8; 8]> = range.map(|n| (scattered(n) % 5000).to_be_bytes()).collect();
    (RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap(), BinaryArray::from_iter_values(keys))
}

fn sorted(limit_bytes: u64) -> (Vec<i64>, usize) {
    let (first, _) = batch(0..1);
    let mut sorter = RowSorter::new(&first.schema(), limit_bytes);
    for at in (0..30_000).step_by(1000) {
        let (rows, keys) = batch(at..at + 1000);
        sorter.push(&rows, keys).unwrap();
    }
    let runs = sorter.runs.len();
    let mut sorted = sorter.finish().unwrap();
    let mut ids = Vec::new();
    while let Some(batch) = sorted.next_batch().unwrap() {
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        let texts = batch.column(1).as_string::<i32>();
        for row in 0..batch.num_rows() {
            assert_eq!(texts.value(row), format!("text {}", numbers.value(row)));
        }
        ids.extend(numbers.values());
    }
    (ids, runs)
}

#[test]
fn rows_come_in_the_order_of_their_keys_whatever_fits_into_memory() {
    let mut expected: Vec<i64> = (0..30_000).collect();
    expected.sort_by_key(|id| scattered(*id as u64) % 5000);
    let (ids, runs) = sorted(1 << 30);
    assert_eq!((ids, runs), (expected.clone(), 0));
    let (ids, runs) = sorted(300_000);
    assert!(runs > 3, "{runs} runs");
    assert_eq!(ids, expected);
    // A run for each batch.
    let (ids, runs) = sorted(1);
    assert_eq!((ids, runs), (expected, 30));
}

#[test]
fn no_rows_are_no_batch() {
    let (first, _) = batch(0..1);
    assert!(RowSorter::new(&first.schema(), 10).finish().unwrap().next_batch().unwrap().is_none());
}
