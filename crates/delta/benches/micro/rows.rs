//! Half a million rows into the order of their keys: packed one by one, gathered by columns, and by Arrow's kernel.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow::compute::interleave_record_batch;
use divan::Bencher;
use lakerace_delta::internals::{gather_rows, sort_rows};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BATCHES: usize = 8;
const BATCH_ROWS: usize = 64 << 10;

fn batches() -> Vec<(RecordBatch, Vec<u64>)> {
    let mut random = StdRng::seed_from_u64(27);
    let batch = |_| {
        let keys: Vec<u64> = (0..BATCH_ROWS).map(|_| random.random_range(0..1 << 62)).collect();
        let numbers = |factor: i64| Int64Array::from_iter_values(keys.iter().map(|key| *key as i64 / factor));
        let texts =
            StringViewArray::from_iter_values(keys.iter().map(|key| format!("a comment of row {key}, and more")));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("key", Arc::new(numbers(1))),
            ("part", Arc::new(numbers(3))),
            ("supplier", Arc::new(numbers(5))),
            ("price", Arc::new(Float64Array::from_iter_values(keys.iter().map(|key| *key as f64)))),
            ("comment", Arc::new(texts)),
        ];
        (RecordBatch::try_from_iter(columns).unwrap(), keys)
    };
    (0..BATCHES).map(batch).collect()
}

/// The places of rows in the order of keys.
fn order(batches: &[(RecordBatch, Vec<u64>)]) -> Vec<(usize, usize)> {
    let mut at: Vec<(usize, usize)> =
        (0..BATCHES * BATCH_ROWS).map(|row| (row / BATCH_ROWS, row % BATCH_ROWS)).collect();
    at.sort_unstable_by_key(|(batch, row)| batches[*batch].1[*row]);
    at
}

fn bench_plain(bencher: Bencher, gather: impl Fn(&[RecordBatch], &[(usize, usize)]) -> RecordBatch) {
    let batches = batches();
    let plain: Vec<RecordBatch> = batches.iter().map(|(batch, _)| batch.clone()).collect();
    bencher.bench_local(|| {
        let at = order(&batches);
        at.chunks(BATCH_ROWS).map(|at| gather(&plain, at).num_rows()).sum::<usize>()
    });
}

fn interleave(batches: &[RecordBatch], at: &[(usize, usize)]) -> RecordBatch {
    interleave_record_batch(&batches.iter().collect::<Vec<_>>(), at).unwrap()
}

#[divan::bench(sample_count = 10)]
fn packed_ours(bencher: Bencher) {
    let batches = batches();
    bencher.bench_local(|| sort_rows(&batches, BATCH_ROWS).unwrap());
}

#[divan::bench(sample_count = 10)]
fn columns_ours(bencher: Bencher) {
    bench_plain(bencher, |batches, at| gather_rows(batches, at).unwrap());
}

#[divan::bench(sample_count = 10)]
fn packed_plain(bencher: Bencher) {
    bench_plain(bencher, interleave);
}

#[divan::bench(sample_count = 10)]
fn columns_plain(bencher: Bencher) {
    bench_plain(bencher, interleave);
}
