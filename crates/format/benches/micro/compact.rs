//! Moving the rows that a filter keeps together: AVX-512 where the processor has it, and a loop.

use divan::Bencher;
use lakerace_format::internals::{compact, compact_portably};
use rand::RngExt;

use crate::sample;

const ROWS: usize = 64 << 10;
const KEPT_PERCENT: [u32; 3] = [5, 50, 95];

fn bits(percent: u32) -> Vec<u64> {
    let mut random = sample::random();
    let word = |random: &mut rand::rngs::StdRng| {
        (0..64).fold(0, |word, bit| word | u64::from(random.random_range(0..100) < percent) << bit)
    };
    (0..ROWS / 64).map(|_| word(&mut random)).collect()
}

fn bench<T: Copy + From<u32>>(bencher: Bencher, percent: u32, compact: fn(&mut [T], &[u64]) -> usize) {
    let bits = bits(percent);
    let mut values: Vec<T> = (0..ROWS as u32).map(T::from).collect();
    bencher.bench_local(|| compact(&mut values, &bits));
}

#[divan::bench(args = KEPT_PERCENT)]
fn ours_32(bencher: Bencher, percent: u32) {
    bench::<u32>(bencher, percent, compact);
}

#[divan::bench(args = KEPT_PERCENT)]
fn plain_32(bencher: Bencher, percent: u32) {
    bench::<u32>(bencher, percent, compact_portably);
}

#[divan::bench(args = KEPT_PERCENT)]
fn ours_64(bencher: Bencher, percent: u32) {
    bench::<u64>(bencher, percent, compact);
}

#[divan::bench(args = KEPT_PERCENT)]
fn plain_64(bencher: Bencher, percent: u32) {
    bench::<u64>(bencher, percent, compact_portably);
}
