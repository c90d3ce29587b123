//! Where delimiters and line feeds of CSV are: SSE2, words of eight bytes, and a loop over bytes.

use divan::Bencher;
use lakerace_format::internals::{byte_positions, byte_positions_portably};

use crate::sample;

fn bench(bencher: Bencher, positions: impl Fn(&[u8; 64], u8) -> u64) {
    let text = sample::text_page(1 << 20);
    let (chunks, _) = text.as_chunks::<64>();
    bencher.bench_local(|| {
        chunks.iter().map(|chunk| (positions(chunk, b' ') | positions(chunk, b'\n')).count_ones()).sum::<u32>()
    });
}

#[divan::bench]
fn ours(bencher: Bencher) {
    bench(bencher, byte_positions);
}

#[divan::bench]
fn plain_words(bencher: Bencher) {
    bench(bencher, byte_positions_portably);
}

#[divan::bench]
fn plain_bytes(bencher: Bencher) {
    bench(bencher, |chunk, byte| {
        chunk.iter().enumerate().fold(0, |bits, (at, found)| bits | u64::from(*found == byte) << at)
    });
}
