#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;

use lakerace_io::Error;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

/// More than [`CACHED_BYTES`] of texts, with repeats, in blocks of uneven lengths.
#[test]
fn large_dictionaries_have_the_indexes_of_a_map() {
    let mut random = StdRng::seed_from_u64(3);
    let texts: Vec<String> = (0..60_000)
        .map(|_| {
            let number: u32 = random.random_range(0..20_000);
            format!("{number} {}", "x".repeat(number as usize % 90))
        })
        .collect();
    for has_lengths in [true, false] {
        let mut dictionary = BytesDictionary::new(has_lengths);
        let mut indices = Vec::new();
        for start in (0..texts.len()).step_by(1003) {
            let rows = start..texts.len().min(start + 1003);
            dictionary.append_indices(rows, |at| Ok(texts[at].as_bytes()), &mut indices).unwrap();
        }
        let mut known = HashMap::new();
        let expected: Vec<u32> = texts
            .iter()
            .map(|text| {
                let next = known.len() as u32;
                *known.entry(text).or_insert(next)
            })
            .collect();
        assert_eq!(indices, expected);
        assert!(dictionary.plain().len() > 2 * CACHED_BYTES);
        assert_eq!(dictionary.len(), known.len());
        assert!(known.iter().all(|(text, index)| dictionary.value(*index) == text.as_bytes()));
    }
}

#[test]
fn a_refused_value_ends_a_lookup() {
    let large = "x".repeat(CACHED_BYTES);
    for first in ["small", &large] {
        let mut dictionary = BytesDictionary::new(true);
        dictionary.index(first.as_bytes());
        let get = |at| if at == 300 { Err(Error::invalid("row 300")) } else { Ok(&b"text"[..]) };
        let error = dictionary.append_indices(0..1000, get, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("row 300"), "{error}");
    }
}
