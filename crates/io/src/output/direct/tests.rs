#![allow(clippy::unwrap_used)]

use std::io::{Read, Seek, SeekFrom};

use super::*;

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

/// A new file that has `position` bytes, its place behind them.
fn file(position: usize) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes(position)).unwrap();
    file
}

fn read(mut file: &File) -> Vec<u8> {
    let mut all = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut all).unwrap();
    all
}

#[test]
fn all_bytes_come_wherever_they_begin_and_end() {
    for position in [0, 1, 4095, 4096, 10_000] {
        for len in [0, 1, 4095, 4096, 4097, BUFFER_BYTES, BUFFER_BYTES + 4096, 2 * BUFFER_BYTES + 7] {
            for step in [1000, 4096, 1 << 20, usize::MAX] {
                if len > 1 << 20 && step < 4096 {
                    continue;
                }
                let (file, all) = (file(position), bytes(position + len));
                let mut past = UncachedFile::begin(position as u64, usize::MAX).unwrap();
                let refused = |chunk: &[u8]| past.append(&file, chunk).unwrap() == DirectOutcome::Refused;
                let refused =
                    all[position..].chunks(step.min(len.max(1))).map(refused).filter(|refused| *refused).count();
                // Each time it is refused, what it was given is written.
                if refused == 0 {
                    past.end(&file).unwrap();
                }
                assert!(read(&file) == all, "{position} {len} {step}");
            }
        }
    }
}

#[test]
fn what_no_block_allows_goes_through_the_cache() {
    // It was told a wrong place: its blocks are none of the disk's.
    let (file, all) = (file(100), bytes(100 + 2 * BUFFER_BYTES + 9));
    let mut past = UncachedFile::begin(0, usize::MAX).unwrap();
    let kept = past.append(&file, &all[100..]).unwrap();
    if kept == DirectOutcome::Direct {
        // A file system that takes any place.
        past.end(&file).unwrap();
    }
    assert!(read(&file) == all);
    // As everything that follows.
    (&file).write_all(b"x").unwrap();
}

#[test]
fn a_file_that_can_not_be_written_is_an_error() {
    let file = File::open("/dev/null").unwrap();
    let mut past = UncachedFile::begin(0, usize::MAX).unwrap();
    let appended = past.append(&file, &bytes(BUFFER_BYTES + 1));
    assert!(appended.is_err() || past.end(&file).is_err());
}

#[test]
fn a_buffer_is_no_larger_than_its_writer_may_take() {
    // A buffer that others have left may have twice the bytes.
    for (most_bytes, expected) in [(0, 4096), (5000, 8192), (576 << 10, 2 * (576 << 10)), (64 << 20, 2 * BUFFER_BYTES)]
    {
        let (file, all) = (file(0), bytes(2 * BUFFER_BYTES + 9));
        let mut past = UncachedFile::begin(0, most_bytes).unwrap();
        assert!(past.buffer.memory().1 <= expected, "{most_bytes}: {}", past.buffer.memory().1);
        if past.append(&file, &all).unwrap() == DirectOutcome::Direct {
            past.end(&file).unwrap();
        }
        assert!(read(&file) == all, "{most_bytes}");
    }
}
