//! Values whose bytes are stored as streams: joined by vectors, and byte by byte.

use divan::Bencher;
use lakerace_format::internals::{joined_streams, joined_streams_portably};

use crate::sample;

const WIDTHS: [usize; 3] = [2, 4, 8];

#[divan::bench(args = WIDTHS)]
fn ours(bencher: Bencher, width: usize) {
    let page = sample::number_page(1 << 20, u64::MAX);
    bencher.bench_local(|| joined_streams(&page, width).unwrap());
}

#[divan::bench(args = WIDTHS)]
fn plain(bencher: Bencher, width: usize) {
    let page = sample::number_page(1 << 20, u64::MAX);
    bencher.bench_local(|| joined_streams_portably(&page, width));
}
