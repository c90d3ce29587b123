//! Pages of a fast codec: stored as literals where compressing them saves little, and compressed in any case.

use divan::Bencher;
use lakerace_format::internals::{PageCompressor, SNAPPY_SLACK_BYTES, decompress_snappy};

use crate::sample;

const PAGES: [&str; 2] = ["comments", "random numbers"];

fn page(name: &str) -> Vec<u8> {
    if name == "comments" { sample::text_page(1 << 20) } else { sample::number_page(1 << 20, u64::MAX) }
}

/// Ten pages of a column, so that those behind the first one are tried only.
#[divan::bench(args = PAGES)]
fn write_ours(bencher: Bencher, name: &str) {
    let (page, mut stored) = (page(name), Vec::new());
    bencher.bench_local(|| {
        let mut compressor = PageCompressor::snappy();
        for _ in 0..10 {
            stored.clear();
            compressor.compress(&page, &mut stored).unwrap();
        }
    });
}

#[divan::bench(args = PAGES)]
fn write_plain(bencher: Bencher, name: &str) {
    let (page, mut stored) = (page(name), Vec::new());
    bencher.bench_local(|| {
        let (mut encoder, mut room) = (snap::raw::Encoder::new(), vec![0; snap::raw::max_compress_len(page.len())]);
        for _ in 0..10 {
            stored.clear();
            let length = encoder.compress(&page, &mut room).unwrap();
            stored.extend_from_slice(&room[..length]);
        }
    });
}

/// Numbers of which a byte in eight is always zero: compressing them saves a little, and costs the reader.
fn nearly_random() -> Vec<u8> {
    sample::number_page(1 << 20, 1 << 56)
}

fn read(bencher: Bencher, stored: &[u8], length: usize) {
    let mut output = vec![0; length + SNAPPY_SLACK_BYTES];
    bencher.bench_local(|| decompress_snappy(stored, &mut output, length).unwrap());
}

#[divan::bench]
fn read_ours(bencher: Bencher) {
    let (page, mut stored) = (nearly_random(), Vec::new());
    PageCompressor::snappy().compress(&page, &mut stored).unwrap();
    read(bencher, &stored, page.len());
}

#[divan::bench]
fn read_plain(bencher: Bencher) {
    let page = nearly_random();
    let stored = snap::raw::Encoder::new().compress_vec(&page).unwrap();
    read(bencher, &stored, page.len());
}
