#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use arrow::array::{ArrayRef, AsArray, Int64Array, StringViewArray};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use lakerace_io::ErrorKind;
use proptest::prelude::*;

use super::*;

/// Keys, and texts as views.
fn rows(pairs: &[(i64, String)]) -> RecordBatch {
    let keys: Int64Array = pairs.iter().map(|(key, _)| *key).collect();
    let values: StringViewArray = pairs.iter().map(|(_, value)| Some(value.as_str())).collect();
    RecordBatch::try_from_iter(vec![("k", Arc::new(keys) as ArrayRef), ("v", Arc::new(values) as ArrayRef)]).unwrap()
}

fn key_columns() -> KeyColumns {
    KeyColumns::new(&rows(&[]).schema(), &["k"]).unwrap()
}

fn runs(
    chunks: &[Vec<(i64, String)>],
    on: OnDuplicate,
    operators: &MergeOperators,
    limit_bytes: usize,
) -> ExternalSort {
    let schema = rows(&[]).schema();
    let mut runs = ExternalSort::new(key_columns(), Arc::clone(&schema), on, operators.clone(), limit_bytes).unwrap();
    for pairs in chunks {
        let mut builder = ChunkBuilder::new(key_columns(), Arc::clone(&schema), None, 1);
        builder.push(rows(pairs)).unwrap();
        runs.push(&builder.finish(OnDuplicate::Last, operators).unwrap()).unwrap();
    }
    runs
}

fn pairs_of(chunk: &SortedChunk) -> Vec<(i64, String)> {
    let batches: Vec<RecordBatch> = chunk.sorted().batches(100).map(Result::unwrap).collect();
    let all = concat_batches(chunk.schema(), &batches).unwrap();
    let (keys, values) = (all.column(0).as_primitive::<Int64Type>(), all.column(1).as_string_view());
    (0..all.num_rows()).map(|row| (keys.value(row), values.value(row).to_owned())).collect()
}

#[test]
fn runs_are_merged_in_windows_of_the_limit() {
    // Three runs of 30,000 rows: more than one batch each.
    let run = |first: i64| (0..30_000).map(|n| (first + 3 * n, format!("{first}"))).collect::<Vec<_>>();
    let runs = runs(&[run(0), run(1), run(2)], OnDuplicate::Error, &MergeOperators::default(), 2 << 20);
    assert_eq!(runs.len(), 3);
    let merged = runs.merge().unwrap();
    drop(runs);
    let mut next = 0;
    let mut chunks = 0;
    for chunk in merged {
        chunks += 1;
        for (key, value) in pairs_of(&chunk.unwrap()) {
            assert_eq!((key, value), (next, (next % 3).to_string()));
            next += 1;
        }
    }
    assert_eq!(next, 90_000);
    assert!((3..20).contains(&chunks), "{chunks}");
}

#[test]
fn a_key_in_two_runs_is_an_error_on_request() {
    let pair = |value: &str| vec![(7, value.to_owned())];
    let runs = runs(&[pair("a"), pair("b")], OnDuplicate::Error, &MergeOperators::default(), 1 << 20);
    let merged = runs.merge().unwrap();
    let error = merged.map(Result::unwrap_err).next().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.message(), "two rows have the same key, k = 7");
}

#[test]
fn keys_are_merged_alone_and_again() {
    let pairs = |first: i64| (0..100).map(|n| (first + 2 * n, "x".to_owned())).collect::<Vec<_>>();
    let runs = runs(&[pairs(0), pairs(1), pairs(0)], OnDuplicate::Last, &MergeOperators::default(), 1 << 20);
    for _ in 0..2 {
        let keys: usize = runs.merge_keys().unwrap().map(|chunk| chunk.unwrap().rows()).sum();
        assert_eq!(keys, 200);
    }
    let chunk = runs.merge_keys().unwrap().next().unwrap().unwrap();
    assert_eq!(chunk.schema().fields().len(), 1);
}

#[test]
fn many_runs_become_one() {
    let chunks: Vec<_> = (0..*RUNS_AT_ONCE.end() as i64 + 3).map(|n| vec![(n % 50, format!("{n}"))]).collect();
    let mut runs = runs(&chunks, OnDuplicate::Last, &MergeOperators::default(), 1 << 30);
    assert_eq!(runs.len(), 4);
    runs.settle().unwrap();
    assert_eq!(runs.len(), 4);
    let pairs: Vec<_> = runs.merge().unwrap().flat_map(|chunk| pairs_of(&chunk.unwrap())).collect();
    let expected: BTreeMap<i64, String> = chunks.into_iter().flatten().collect();
    assert_eq!(pairs, expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn more_runs_than_are_read_at_once_are_joined_level_by_level() {
    // Four at once, which are joined twice over.
    let chunks: Vec<_> = (0..71).map(|n: i64| vec![(n % 20, format!("{n}")), (100 + n, "one".to_owned())]).collect();
    let mut runs = runs(&chunks, OnDuplicate::Last, &MergeOperators::default(), 1);
    assert_eq!(runs.at_once, 4);
    assert!((5..=10).contains(&runs.len()), "{} runs", runs.len());
    runs.settle().unwrap();
    assert!(runs.len() <= 4, "{} runs", runs.len());
    let pairs: Vec<_> = runs.merge().unwrap().flat_map(|chunk| pairs_of(&chunk.unwrap())).collect();
    let expected: BTreeMap<i64, String> = chunks.into_iter().flatten().collect();
    assert_eq!(pairs, expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn only_the_rows_of_a_batch_are_written() {
    // One text of 100 kB, and 16,000 short ones that share its buffers: two batches.
    let mut pairs: Vec<(i64, String)> = (0..16_000).map(|n| (n, format!("a text of its own, number {n}"))).collect();
    pairs[0].1 = "x".repeat(100_000);
    let written = runs(&[pairs], OnDuplicate::Last, &MergeOperators::default(), 1 << 30);
    let bytes = written.spill.bytes();
    assert!(bytes < 1_100_000, "{bytes}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn merged_runs_are_one_map(
        chunks in proptest::collection::vec(proptest::collection::vec((0i64..60, "[a-c]{0,14}"), 0..40), 1..5),
        limit_bytes in 1usize..4000,
        merged: bool,
    ) {
        let mut expected: BTreeMap<i64, String> = BTreeMap::new();
        for (key, value) in chunks.iter().flatten() {
            let both = expected.get(key).filter(|_| merged).map_or_else(|| value.clone(), |old| format!("{old}|{value}"));
            expected.insert(*key, both);
        }
        let concat = [("v".to_owned(), "concat:|".parse().unwrap())];
        let operators = if merged { MergeOperators::new(concat, &rows(&[]).schema(), &["k"]).unwrap() } else { MergeOperators::default() };
        let windows = runs(&chunks, OnDuplicate::Last, &operators, limit_bytes).merge().unwrap();
        let all: Vec<(i64, String)> = windows.flat_map(|chunk| pairs_of(&chunk.unwrap())).collect();
        prop_assert_eq!(all, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn all_rows_of_a_key_are_in_one_window() {
    // Keys that come many times, in one run and in several: more rows of a key than are read ahead.
    let run = |name: &str| (0..40_000).map(|n| (n / 9_000 * 7, format!("{name} {n}"))).collect::<Vec<_>>();
    let (first, second) = (run("a"), run("b"));
    let schema = rows(&[]).schema();
    let operators = MergeOperators::default();
    let mut runs = ExternalSort::new(key_columns(), Arc::clone(&schema), EqualKeys::All, operators.clone(), 1 << 20);
    for pairs in [&first, &second] {
        let mut builder = ChunkBuilder::new(key_columns(), Arc::clone(&schema), None, 1);
        builder.push(rows(pairs)).unwrap();
        runs.as_mut().unwrap().push(&builder.finish(EqualKeys::All, &operators).unwrap()).unwrap();
    }
    let runs = runs.unwrap();
    let (mut windows, mut seen) = (0, BTreeMap::<i64, Vec<String>>::new());
    for chunk in runs.merge().unwrap() {
        let chunk = chunk.unwrap();
        windows += 1;
        let pairs = pairs_of(&chunk);
        let mut next = 0;
        for key in 0..chunk.rows() as u32 {
            let places = chunk.places_of(key);
            assert_eq!(places.start, next);
            next = places.end;
            let of_key = &pairs[places.start as usize..places.end as usize];
            let texts = of_key.iter().map(|(_, text)| text.clone()).collect();
            assert_eq!(seen.insert(of_key[0].0, texts), None, "a key of two windows");
        }
        assert_eq!(next as usize, pairs.len());
    }
    assert!(windows > 1, "{windows}");
    let mut expected = BTreeMap::<i64, Vec<String>>::new();
    first.into_iter().chain(second).for_each(|(key, text)| expected.entry(key).or_default().push(text));
    assert_eq!(seen, expected);
    assert_eq!(runs.merge_keys().unwrap().map(|chunk| chunk.unwrap().rows()).sum::<usize>(), 5);
}
