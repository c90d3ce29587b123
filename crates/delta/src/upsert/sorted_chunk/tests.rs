#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Int64Type};
use lakerace_io::ErrorKind;
use lakerace_io::option::parse_choice;
use proptest::prelude::*;

use super::*;
use crate::rows::value_bytes;

/// A batch of keys and values.
fn rows(pairs: &[(i64, &str)]) -> RecordBatch {
    let keys: Int64Array = pairs.iter().map(|(key, _)| *key).collect();
    let values: StringArray = pairs.iter().map(|(_, value)| Some(*value)).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![("k", Arc::new(keys)), ("v", Arc::new(values))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn builder(batches: &[RecordBatch]) -> ChunkBuilder {
    let schema = rows(&[]).schema();
    let columns = KeyColumns::new(&schema, &["k"]).unwrap();
    let mut builder = ChunkBuilder::new(columns, schema, Some(1), 1);
    batches.iter().for_each(|batch| builder.push(batch.clone()).unwrap());
    builder
}

fn operators(text: &str) -> MergeOperators {
    let schema = rows(&[]).schema();
    MergeOperators::new([("v".to_owned(), text.parse().unwrap())], &schema, &["k"]).unwrap()
}

fn pairs_of(chunk: &SortedChunk, batch_rows: usize) -> Vec<(i64, String)> {
    let batches: Vec<RecordBatch> = chunk.sorted().batches(batch_rows).map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.num_rows() <= batch_rows));
    let all = concat_batches(chunk.schema(), &batches).unwrap();
    assert_eq!(all.num_rows(), chunk.rows());
    let (keys, values) = (all.column(0).as_primitive::<Int64Type>(), all.column(1).as_string::<i32>());
    (0..all.num_rows()).map(|row| (keys.value(row), values.value(row).to_owned())).collect()
}

fn owned(pairs: &[(i64, &str)]) -> Vec<(i64, String)> {
    pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
}

#[test]
fn rows_come_in_the_order_of_their_keys_and_the_last_counts() {
    let batches = [rows(&[(3, "a"), (1, "b")]), rows(&[]), rows(&[(2, "c"), (3, "d"), (1, "e"), (3, "f")])];
    let chunk = builder(&batches).finish(OnDuplicate::Last, &MergeOperators::default()).unwrap();
    assert_eq!(pairs_of(&chunk, 2), owned(&[(1, "e"), (2, "c"), (3, "f")]));
    assert_eq!(chunk.sorted().take(&[2, 0]).unwrap(), rows(&[(3, "f"), (1, "e")]));
}

#[test]
fn sorted_rows_are_passed_on_as_they_are() {
    let batches = [rows(&[(1, "a"), (2, "b"), (3, "c")]), rows(&[(5, "d")])];
    let chunk = builder(&batches).finish(OnDuplicate::Error, &MergeOperators::default()).unwrap();
    let first = chunk.sorted().batches(2).next().unwrap().unwrap();
    assert_eq!(first.column(1).to_data().buffers()[1].as_ptr(), batches[0].column(1).to_data().buffers()[1].as_ptr());
    assert_eq!(pairs_of(&chunk, 2), owned(&[(1, "a"), (2, "b"), (3, "c"), (5, "d")]));
    assert_eq!(
        chunk.sorted().slice(2..4).unwrap(),
        concat_batches(&batches[0].schema(), &[batches[0].slice(2, 1), batches[1].clone()]).unwrap()
    );
    assert_eq!(chunk.sorted().take(&[3, 0]).unwrap(), rows(&[(5, "d"), (1, "a")]));
}

#[test]
fn batches_are_put_together_ahead_in_their_order() {
    let pairs: Vec<(i64, &str)> = (0..1000).map(|n| ((n * 7919) % 1000, "text")).collect();
    let chunk = builder(&[rows(&pairs)]).finish(OnDuplicate::Error, &MergeOperators::default()).unwrap();
    let expected: Vec<RecordBatch> = chunk.sorted().batches(7).map(Result::unwrap).collect();
    assert_eq!(expected.len(), 143);
    for threads in [1, 2, 3, 500] {
        let mut visited = Vec::new();
        chunk
            .sorted()
            .each_batch(7, threads, &mut |batch| {
                visited.push(batch);
                Ok(())
            })
            .unwrap();
        assert_eq!(visited, expected);
        let mut left = 5;
        let error = chunk.sorted().each_batch(7, threads, &mut |_| {
            left -= 1;
            if left == 0 { Err(Error::invalid("enough")) } else { Ok(()) }
        });
        assert_eq!((error.unwrap_err().message(), left), ("enough", 0));
    }
}

#[test]
fn duplicates_are_an_error_on_request() {
    let batches = [rows(&[(7, "a"), (1, "b")]), rows(&[(7, "c")])];
    let error = builder(&batches).finish(OnDuplicate::Error, &MergeOperators::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.message(), "rows 1 and 3 have the same key, k = 7");
    assert_eq!(parse_choice::<OnDuplicate>("first").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn duplicates_are_merged_by_operators() {
    let batches = [rows(&[(2, "a"), (1, "b"), (2, "c")]), rows(&[(3, "d"), (2, "e"), (3, "f")])];
    let chunk = builder(&batches).finish(OnDuplicate::Last, &operators("concat:+")).unwrap();
    assert_eq!(pairs_of(&chunk, 10), owned(&[(1, "b"), (2, "a+c+e"), (3, "d+f")]));
}

#[test]
fn a_chunk_is_full_by_its_bytes() {
    let batch = rows(&[(1, "a"), (2, "b")]);
    let empty = builder(&[]);
    assert_eq!((empty.rows(), empty.memory_bytes()), (0, 0));
    let one = builder(&[batch]);
    assert!(one.memory_bytes() > 2 * (4 + 16) && !one.is_full(one.memory_bytes() + 1));
    assert!(one.is_full(one.memory_bytes()));
}

#[test]
fn slices_are_accounted_for_by_their_own_values() {
    let text = "x".repeat(1000);
    let pairs: Vec<(i64, &str)> = (0..1000).map(|key| (key, text.as_str())).collect();
    let whole = rows(&pairs);
    let slices: Vec<RecordBatch> = (0..10).map(|n| whole.slice(n * 100, 100)).collect();
    let bytes =
        |batches: &[RecordBatch]| batches.iter().flat_map(|batch| batch.columns()).map(value_bytes).sum::<usize>();
    let (one, ten) = (bytes(std::slice::from_ref(&whole)), bytes(&slices));
    assert!(ten < one * 11 / 10, "{ten} bytes in slices, {one} whole");
    let views =
        |batch: &RecordBatch| -> ArrayRef { arrow::compute::cast(batch.column(1), &DataType::Utf8View).unwrap() };
    let views: usize = (0..10).map(|n| value_bytes(&views(&whole).slice(n * 100, 100))).sum();
    assert_eq!(views, 1000 * (16 + 1000));
}

proptest! {
    #[test]
    fn a_chunk_is_a_map_in_order(
        batches in proptest::collection::vec(proptest::collection::vec((0i64..40, "[a-c]{0,2}"), 0..20), 0..5),
        batch_rows in 1usize..9,
        merged: bool,
    ) {
        let mut expected: BTreeMap<i64, String> = BTreeMap::new();
        for (key, value) in batches.iter().flatten() {
            let entry = expected.entry(*key);
            match entry {
                std::collections::btree_map::Entry::Occupied(mut entry) if merged => {
                    let both = format!("{}|{value}", entry.get());
                    entry.insert(both);
                }
                entry => { entry.insert_entry(value.clone()); }
            }
        }
        let batches: Vec<RecordBatch> = batches
            .iter()
            .map(|batch| rows(&batch.iter().map(|(key, value)| (*key, value.as_str())).collect::<Vec<_>>()))
            .collect();
        let operators = if merged { operators("concat:|") } else { MergeOperators::default() };
        let chunk = builder(&batches).finish(OnDuplicate::Last, &operators).unwrap();
        prop_assert_eq!(pairs_of(&chunk, batch_rows), expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn all_rows_of_a_key_stay_on_request() {
    let batches = [rows(&[(3, "a"), (1, "b")]), rows(&[(2, "c"), (3, "d"), (1, "e"), (3, "f")])];
    let chunk = builder(&batches).finish(EqualKeys::All, &MergeOperators::default()).unwrap();
    assert_eq!((chunk.rows(), chunk.keys().keys().len()), (3, 3));
    let texts = |key: u32| {
        let rows = chunk.sorted().take(&chunk.places_of(key).collect::<Vec<_>>()).unwrap();
        let texts = rows.column(1).as_string::<i32>().clone();
        texts.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!([texts(0), texts(1), texts(2)], [vec!["b", "e"], vec!["c"], vec!["a", "d", "f"]]);
    // Rows that were in order, with and without equal keys.
    for pairs in [&[(1, "a"), (1, "b"), (4, "c")][..], &[(1, "a"), (2, "b"), (4, "c")]] {
        let chunk = builder(&[rows(pairs)]).finish(EqualKeys::All, &MergeOperators::default()).unwrap();
        let places: Vec<u32> = (0..chunk.rows() as u32).flat_map(|key| chunk.places_of(key)).collect();
        assert_eq!(places, [0, 1, 2]);
    }
}
