//! The seeds of the fuzz targets of tables, and as many changes of them: errors and rows are right, panics and internal errors
//! are not.

use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

// The targets' own, so that both try the same.
#[path = "../../../../fuzz/src/tables.rs"]
mod tables;

/// Changes of each seed.
const CHANGES: usize = 150;

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut seeds: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap()))
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    seeds
}

/// Pieces that parsers look for, and numbers at the ends of their ranges.
const PIECES: &[&[u8]] = &[
    b"-1",
    b"9223372036854775808",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\\u0000",
    b"\n",
    b"..",
    b"%2e%2e",
    b"%",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\x80\0\0\0",
    b"i",
    b"p",
    b"file:///x",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
];

fn changed(seed: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..=bytes.len());
        let end = (at + random.random_range(0..12)).min(bytes.len());
        match random.random_range(0..5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => drop(bytes.splice(at..end, PIECES[random.random_range(0..PIECES.len())].iter().copied())),
        }
    }
    bytes
}

#[test]
fn any_bytes_may_be_a_deletion_vector() {
    let mut random = StdRng::seed_from_u64(7);
    for (name, seed) in seeds("deletion_vector") {
        let left = tables::with_vector(&seed);
        let hidden = usize::from(seed[1]);
        // The file has ten rows; one of the vectors hides a row far behind them.
        assert_eq!(left, (!name.starts_with("far")).then(|| 10 - hidden), "{name}");
        for _ in 0..CHANGES {
            tables::with_vector(&changed(&seed, &mut random));
        }
    }
}

#[test]
fn any_bytes_may_be_an_entry_of_the_log() {
    let mut random = StdRng::seed_from_u64(8);
    for (_, seed) in seeds("log_entry") {
        tables::with_entry(&seed);
        (0..CHANGES).for_each(|_| tables::with_entry(&changed(&seed, &mut random)));
    }
}
