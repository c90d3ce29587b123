#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn days_become_dates() {
    assert_eq!(civil(0), (1970, 1, 1));
    assert_eq!(civil(19_782), (2024, 2, 29));
    assert_eq!(civil(19_723), (2024, 1, 1));
    assert_eq!(civil(47_540), (2100, 2, 28));
    assert_eq!(civil(47_541), (2100, 3, 1));
}

#[test]
fn a_seed_gives_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    let make = |name: &str, seed| {
        let path = folder.path().join(name);
        let bytes = generate(&path, 1..=25_000, seed, &job).unwrap();
        let text = std::fs::read(&path).unwrap();
        assert_eq!(text.len() as u64, bytes);
        text
    };
    let first = make("a", 1);
    assert_eq!(first, make("b", 1));
    assert_ne!(first, make("c", 2));
    assert!(first.starts_with(HEADER.as_bytes()) && first.ends_with(b"\n"));
}
