//! Values of a dictionary by packed indexes: from words of indexes, and unpacked, checked and gathered one after the other.

use divan::Bencher;
use lakerace_format::internals::{DecimalDictionary, unpack};

use crate::sample;

const VALUES: usize = 64 << 10;
/// Indexes that are unpacked together: they stay in the first-level cache.
const CHUNK: usize = 1024;
const WIDTHS: [u32; 3] = [3, 6, 12];

/// A page of indexes, and a dictionary that has a value for each.
fn case(width: u32) -> (Vec<u8>, Vec<u128>) {
    let bytes = sample::number_page(VALUES * width as usize / 8 + 8, u64::MAX);
    (bytes, (0..1 << width).collect())
}

#[divan::bench(args = WIDTHS)]
fn ours(bencher: Bencher, width: u32) {
    let (bytes, values) = case(width);
    let dictionary = DecimalDictionary::new(&values);
    let mut target = vec![0; VALUES];
    bencher.bench_local(|| dictionary.gather(&bytes, width, &mut target));
}

#[divan::bench(args = WIDTHS)]
fn plain(bencher: Bencher, width: u32) {
    let (bytes, values) = case(width);
    let mut target = vec![0; VALUES];
    let mut indexes = vec![0; CHUNK];
    bencher.bench_local(|| {
        for (number, slots) in target.chunks_mut(CHUNK).enumerate() {
            unpack(&bytes[number * CHUNK / 8 * width as usize..], width, &mut indexes);
            let largest = indexes.iter().copied().max().unwrap_or(0);
            assert!((largest as usize) < values.len());
            for (slot, index) in slots.iter_mut().zip(&indexes) {
                *slot = values[*index as usize];
            }
        }
    });
}
