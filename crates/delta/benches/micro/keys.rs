//! Keys: sorting them, and finding a million of them among the rows of a table.

use std::collections::HashMap;

use divan::Bencher;
use lakerace_delta::internals::{BatchKeys, Lookup, sort};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

const KEYS: usize = 1 << 20;
const BATCH_ROWS: usize = 64 << 10;
/// Close together: a set of bits. Spread evenly: buckets. Clustered: a hash table. In order: a walk.
const SHAPES: [&str; 4] = ["close", "spread", "clustered", "in order"];

fn random() -> StdRng {
    StdRng::seed_from_u64(27)
}

/// Keys in order, and a batch of which a tenth is among them.
fn table(shape: &str) -> (Vec<u64>, Vec<u64>) {
    let mut random = random();
    let span = if shape == "close" { KEYS as u64 * 8 } else { u64::MAX / 2 };
    let draw = |random: &mut StdRng| match shape {
        "clustered" => 1u64 << random.random_range(20..60) | random.random_range(0..1 << 16),
        _ => random.random_range(0..span),
    };
    let mut keys: Vec<u64> = (0..KEYS).map(|_| draw(&mut random)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut batch: Vec<u64> = (0..BATCH_ROWS)
        .map(|row| if row % 10 == 0 { keys[random.random_range(0..keys.len())] } else { draw(&mut random) })
        .collect();
    if shape == "in order" {
        batch.sort_unstable();
    } else {
        batch.shuffle(&mut random);
    }
    (keys, batch)
}

#[divan::bench(args = SHAPES)]
fn find_ours(bencher: Bencher, shape: &str) {
    let (keys, batch) = table(shape);
    let (lookup, batch) = (Lookup::new(keys), BatchKeys::new(batch));
    bencher.bench_local(|| lookup.count(&batch));
}

#[divan::bench(args = SHAPES)]
fn find_plain(bencher: Bencher, shape: &str) {
    let (keys, batch) = table(shape);
    let lookup: HashMap<u64, u32> = keys.into_iter().zip(0..).collect();
    bencher.bench_local(|| batch.iter().filter(|key| lookup.contains_key(key)).count());
}

fn unsorted() -> Vec<u64> {
    let mut random = random();
    (0..KEYS).map(|_| random.random()).collect()
}

#[divan::bench]
fn sort_ours(bencher: Bencher) {
    let keys = unsorted();
    bencher.with_inputs(|| keys.clone()).bench_local_values(|keys| sort(keys, 1));
}

#[divan::bench]
fn sort_plain(bencher: Bencher) {
    let keys = unsorted();
    bencher.bench_local(|| {
        let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
        rows.sort_unstable_by_key(|row| (keys[*row as usize], *row));
        rows
    });
}
