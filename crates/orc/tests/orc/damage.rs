//! Files that were cut or changed: errors or rows, never a panic, and no more memory than the file can hold.

use std::path::Path;

use bytes::Bytes;
use lakerace_orc::read::ReadOptions;
use lakerace_testing::corpus;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::{common, memory};

fn options() -> ReadOptions {
    ReadOptions { batch_rows: 1000, ..Default::default() }
}

fn small_files(folder: &Path, most_bytes: usize) -> Vec<(String, Bytes)> {
    let mut files = common::files(folder);
    files.extend(common::files(&folder.join("corrupt")));
    files.retain(|(_, file)| !file.is_empty() && file.len() <= most_bytes);
    assert!(files.len() > 3);
    files
}

#[test]
fn files_cut_at_any_length_are_errors() {
    corpus("orc", |folder| cut_at_any_length(small_files(folder, 2500)));
}

fn cut_at_any_length(files: Vec<(String, Bytes)>) {
    for (name, file) in files {
        for length in 0..file.len() {
            // What looks like another file's end by chance must not give rows either, but for none.
            if let Ok(batches) = common::read(&file.slice(..length), &options()) {
                assert!(batches.iter().all(|batch| batch.num_rows() == 0), "{name} cut to {length} bytes has rows");
            }
        }
    }
}

#[test]
fn changed_bytes_give_errors_or_rows() {
    corpus("orc", |folder| change_bytes(small_files(folder, 130_000)));
}

fn change_bytes(files: Vec<(String, Bytes)>) {
    let mut random = StdRng::seed_from_u64(20_260_101);
    for (name, file) in files {
        let (_, undamaged_bytes) = memory::peak_bytes(|| common::read(&file, &options()).map(|batches| batches.len()));
        // Runs of numbers and dictionary entries may have become longer.
        let most_bytes = 2 * undamaged_bytes + (32 << 20);
        let (times, whole) = if file.len() < 5000 { (400, true) } else { (25, false) };
        for time in 0..times {
            let mut bytes = file.to_vec();
            for _ in 0..1 + time % 3 {
                // The tail decides most, so it gets half of the changes.
                let from = if random.random_bool(0.5) && !whole { file.len() - 1000 } else { 0 };
                let at = random.random_range(from..file.len());
                bytes[at] = match time % 4 {
                    0 => 0xff,
                    1 => bytes[at] ^ 1 << random.random_range(0..8),
                    _ => random.random(),
                };
            }
            let rows = || common::read(&Bytes::from(bytes), &options()).map(|batches| batches.len());
            let (rows, peak_bytes) = memory::peak_bytes(rows);
            assert!(peak_bytes <= most_bytes, "{name}: {peak_bytes} bytes of memory for {:?}", rows.err());
        }
    }
}
