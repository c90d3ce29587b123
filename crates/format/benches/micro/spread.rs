//! Moving dense values to the rows that have one: AVX-512 where the processor has it, and a loop without branches. Values
//! of a page go there from the page, without a copy before.

use divan::Bencher;
use lakerace_orc::spread::{BitSlice, ZeroDefault, spread, spread_from, spread_portably};
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

/// Passes a page with the bytes of its values, and the rows that have one.
fn bench_page(bencher: Bencher, percent: u32, mut read: impl FnMut(&[u8], usize, &mut [u64], BitSlice<'_>)) {
    let mut random = sample::random();
    let valid: Vec<bool> = (0..ROWS).map(|_| random.random_range(0..100) < percent).collect();
    let bits: Vec<u8> = valid.chunks(8).map(|rows| rows.iter().rev().fold(0, |b, v| b << 1 | u8::from(*v))).collect();
    let dense = valid.iter().filter(|valid| **valid).count();
    let page = vec![1; ROWS * size_of::<u64>()];
    let mut slots = vec![0_u64; ROWS];
    bencher.bench_local(|| read(&page, dense, &mut slots, BitSlice::new(&bits, 0)));
}

#[divan::bench(args = VALID_PERCENT)]
fn page_ours(bencher: Bencher, percent: u32) {
    bench_page(bencher, percent, |page, _, slots, valid| {
        spread_from(page, slots, valid);
    });
}

#[divan::bench(args = VALID_PERCENT)]
fn page_plain(bencher: Bencher, percent: u32) {
    bench_page(bencher, percent, |page, dense, slots, valid| {
        for (slot, stored) in slots[..dense].iter_mut().zip(page.as_chunks::<8>().0) {
            *slot = u64::from_le_bytes(*stored);
        }
        spread(slots, dense, valid);
    });
}
