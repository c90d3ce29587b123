//! Decompressing a page: our decoder, and the crate `snap`.

use divan::Bencher;
use lakerace_format::internals::{SNAPPY_SLACK_BYTES, decompress_snappy};

use crate::sample;

const PAGE_BYTES: usize = 1 << 20;
const PAGES: [&str; 3] = ["comments", "numbers below 1000", "numbers below 2^40"];

fn page(name: &str) -> (Vec<u8>, usize) {
    let page = match name {
        "comments" => sample::text_page(PAGE_BYTES),
        "numbers below 1000" => sample::number_page(PAGE_BYTES, 1000),
        _ => sample::number_page(PAGE_BYTES, 1 << 40),
    };
    (snap::raw::Encoder::new().compress_vec(&page).unwrap(), page.len())
}

#[divan::bench(args = PAGES)]
fn ours(bencher: Bencher, name: &str) {
    let (stored, length) = page(name);
    let mut output = vec![0; length + SNAPPY_SLACK_BYTES];
    bencher.bench_local(|| decompress_snappy(&stored, &mut output, length).unwrap());
}

#[divan::bench(args = PAGES)]
fn plain(bencher: Bencher, name: &str) {
    let (stored, length) = page(name);
    let mut output = vec![0; length];
    bencher.bench_local(|| snap::raw::Decoder::new().decompress(&stored, &mut output).unwrap());
}
