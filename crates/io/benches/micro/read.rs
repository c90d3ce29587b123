//! Pieces of files: read into recycled memory, and into new; read ahead by advice, and by the kernel's own rules.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use divan::Bencher;
use lakerace_io::internals::{advise, read_piece};
use rustix::fs::Advice;

const FILE_BYTES: usize = 128 << 20;
const PIECE_BYTES: [usize; 3] = [64 << 10, 1 << 20, 8 << 20];

fn file() -> File {
    let mut file = tempfile::tempfile().unwrap();
    let block: Vec<u8> = (0..1 << 20).map(|at: u32| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    (0..FILE_BYTES >> 20).for_each(|_| file.write_all(&block).unwrap());
    file.sync_all().unwrap();
    file
}

/// Two pieces are held at once, as a decoder holds the one before.
fn pieces(bencher: Bencher, bytes: usize, read: impl Fn(&File, u64) -> Bytes) {
    let (file, mut at, mut before) = (file(), 0, Bytes::new());
    bencher.bench_local(|| {
        at = (at + bytes) % FILE_BYTES;
        before = black_box(read(&file, at as u64));
    });
}

#[divan::bench(args = PIECE_BYTES)]
fn piece_ours(bencher: Bencher, bytes: usize) {
    pieces(bencher, bytes, |file, at| read_piece(file, at, bytes).unwrap());
}

#[divan::bench(args = PIECE_BYTES)]
fn piece_plain(bencher: Bencher, bytes: usize) {
    pieces(bencher, bytes, |file, at| {
        let mut piece = vec![0; bytes];
        file.read_exact_at(&mut piece, at).unwrap();
        piece.into()
    });
}

/// Every fourth piece of a file that is not in memory, each with as much work as decoding it.
fn columns(bencher: Bencher, is_advised: bool) {
    const PIECE: u64 = 256 << 10;
    const AHEAD_BYTES: u64 = 16 << 20;
    let file = file();
    let places: Vec<u64> = (0..FILE_BYTES as u64 / PIECE).step_by(4).map(|number| number * PIECE).collect();
    bencher.with_inputs(|| rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap()).bench_local_values(|()| {
        let mut advised = 0;
        for (number, place) in places.iter().enumerate() {
            if is_advised {
                let last = (number + (AHEAD_BYTES / PIECE) as usize).min(places.len());
                (advised..last).for_each(|next| advise(&file, places[next], PIECE));
                advised = advised.max(last);
            }
            let piece = read_piece(&file, *place, PIECE as usize).unwrap();
            black_box(piece.iter().fold(0u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)));
        }
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn columns_ours(bencher: Bencher) {
    columns(bencher, true);
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn columns_plain(bencher: Bencher) {
    columns(bencher, false);
}
