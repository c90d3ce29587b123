//! Memory of pages, columns and chunks: pools and regions, and the allocator.

use std::hint::black_box;

use divan::Bencher;
use lakerace_format::MemoryPool;
use lakerace_format::internals::ChunkMemory;

const BLOCK_BYTES: usize = 1 << 20;
/// Bytes of a column that is collected.
const COLUMN_BYTES: usize = 128 << 20;
const PAGE_BYTES: usize = 64 << 10;

/// A column that is kept: new memory, each page of it touched. Nothing is freed, or the allocator would have it at hand.
#[divan::bench(sample_count = 12, sample_size = 1)]
fn collected_ours() {
    let pool = MemoryPool::new();
    for _ in 0..COLUMN_BYTES / BLOCK_BYTES {
        let mut block = pool.take(BLOCK_BYTES);
        block.fill(1);
        std::mem::forget(black_box(block));
    }
    std::mem::forget(pool);
}

#[divan::bench(sample_count = 12, sample_size = 1)]
fn collected_plain() {
    for _ in 0..COLUMN_BYTES / BLOCK_BYTES {
        let mut block = vec![0u8; BLOCK_BYTES];
        block.fill(1);
        std::mem::forget(black_box(block));
    }
}

/// Batches that are dropped while the next ones are made: two blocks at once.
#[divan::bench(args = [64 << 10, 1 << 20, 8 << 20])]
fn dropped_ours(bencher: Bencher, bytes: usize) {
    let pool = MemoryPool::new();
    let mut before = pool.take(bytes);
    bencher.bench_local(|| {
        let mut block = pool.take(bytes);
        block[..bytes].fill(1);
        before = black_box(block);
    });
}

#[divan::bench(args = [64 << 10, 1 << 20, 8 << 20])]
fn dropped_plain(bencher: Bencher, bytes: usize) {
    let mut before = vec![0u8; bytes];
    bencher.bench_local(|| {
        let mut block = vec![0u8; bytes];
        block.fill(1);
        before = black_box(block);
    });
}

/// Row groups that are encoded, held until they are complete, and dropped: 16 MiB each.
#[divan::bench]
fn chunk_ours(bencher: Bencher) {
    let (memory, page) = (ChunkMemory::default(), vec![7; PAGE_BYTES]);
    bencher.bench_local(|| memory.chunk(256, &page));
}

#[divan::bench]
fn chunk_plain(bencher: Bencher) {
    let page = vec![7; PAGE_BYTES];
    bencher.bench_local(|| {
        let mut chunk = Vec::new();
        (0..256).for_each(|_| chunk.extend_from_slice(&page));
        chunk
    });
}
