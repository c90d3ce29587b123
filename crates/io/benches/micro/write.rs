//! A file of 256 MiB by each way of writing, until `finish` has come back and until the disk has it; the plain one is
//! `std::fs::File`. `encoded` has a thread work for each piece, as an encoder does: the writer thread may write meanwhile.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;

use bytes::Bytes;
use divan::Bencher;
use lakerace_io::{FileIo, IfExists, Job, JobOptions, Location, Output, StorageOptions};

const PIECE_BYTES: usize = 1 << 20;
const PIECES: usize = 256;
/// Bytes that the writer thread may be behind.
const BEHIND_BYTES: usize = 64 << 20;
const WAYS: [&str; 4] = ["auto", "sync", "uring", "uring-direct"];

/// A piece's encoding: about as much as a page costs that is compressed by snappy.
fn encode(piece: &Bytes) -> Bytes {
    black_box(piece.chunks(8).fold(0u64, |hash, word| (hash ^ u64::from(word[0])).wrapping_mul(0x100_0000_01b3)));
    Bytes::copy_from_slice(piece)
}

fn write_ours(path: &Path, way: &str, piece: &Bytes) {
    let file_io: FileIo = way.parse().unwrap();
    let job = Job::new(JobOptions { file_io, ..JobOptions::default() });
    let object = Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &job).unwrap();
    let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
    output.write_behind(BEHIND_BYTES);
    for _ in 0..PIECES {
        output.write(encode(piece)).unwrap();
    }
    output.finish().unwrap();
}

fn write_plain(path: &Path, piece: &Bytes) {
    let mut file = File::create(path).unwrap();
    for _ in 0..PIECES {
        file.write_all(&encode(piece)).unwrap();
    }
}

fn bench(bencher: Bencher, is_synced: bool, write: impl Fn(&Path, &Bytes)) {
    let folder = tempfile::tempdir().unwrap();
    let (path, piece) = (folder.path().join("file"), Bytes::from(vec![7; PIECE_BYTES]));
    bencher
        .with_inputs(|| {
            // What a sample before has left to the disk is its own.
            let _ = std::fs::remove_file(&path);
            rustix::fs::sync();
        })
        .bench_local_values(|()| {
            write(&path, &piece);
            if is_synced {
                File::open(&path).unwrap().sync_all().unwrap();
            }
        });
}

#[divan::bench(args = WAYS, sample_count = 5, sample_size = 1)]
fn encoded_ours(bencher: Bencher, way: &str) {
    bench(bencher, false, |path, piece| write_ours(path, way, piece));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn encoded_plain(bencher: Bencher) {
    bench(bencher, false, write_plain);
}

#[divan::bench(args = WAYS, sample_count = 5, sample_size = 1)]
fn synced_ours(bencher: Bencher, way: &str) {
    bench(bencher, true, |path, piece| write_ours(path, way, piece));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn synced_plain(bencher: Bencher) {
    bench(bencher, true, write_plain);
}
