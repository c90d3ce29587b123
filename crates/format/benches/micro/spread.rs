//! Moving dense values to the rows that have one: AVX-512 where the processor has it, and a loop without branches.

use divan::Bencher;
use lakerace_orc::spread::{BitSlice, ZeroDefault, spread, spread_portably};
use rand::RngExt;

use crate::sample;

const ROWS: usize = 64 << 10;
const VALID_PERCENT: [u32; 3] = [5, 50, 99];

fn bench<T: ZeroDefault>(bencher: Bencher, percent: u32, spread: fn(&mut [T], usize, BitSlice<'_>)) {
    let mut random = sample::random();
    let byte = |random: &mut rand::rngs::StdRng| {
        (0..8).fold(0, |byte, bit| byte | u8::from(random.random_range(0..100) < percent) << bit)
    };
    let bits: Vec<u8> = (0..ROWS / 8).map(|_| byte(&mut random)).collect();
    let dense = bits.iter().map(|byte| byte.count_ones() as usize).sum();
    let mut slots = vec![T::default(); ROWS];
    bencher.bench_local(|| spread(&mut slots, dense, BitSlice::new(&bits, 0)));
}

#[divan::bench(args = VALID_PERCENT)]
fn ours_64(bencher: Bencher, percent: u32) {
    bench::<u64>(bencher, percent, spread);
}

#[divan::bench(args = VALID_PERCENT)]
fn plain_64(bencher: Bencher, percent: u32) {
    bench::<u64>(bencher, percent, spread_portably);
}

#[divan::bench(args = VALID_PERCENT)]
fn ours_128(bencher: Bencher, percent: u32) {
    bench::<u128>(bencher, percent, spread);
}

#[divan::bench(args = VALID_PERCENT)]
fn plain_128(bencher: Bencher, percent: u32) {
    bench::<u128>(bencher, percent, spread_portably);
}
