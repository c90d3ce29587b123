#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::Int64Type;

use super::*;

fn batch(keys: impl IntoIterator<Item = Option<i64>>) -> RecordBatch {
    let keys: Int64Array = keys.into_iter().collect();
    let texts: StringArray = keys.iter().map(|key| Some(format!("text {key:?}"))).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![("k", Arc::new(keys)), ("t", Arc::new(texts))];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// The keys that were written, by batches, with nothing where a run ended; each row's text is that of its key.
fn written(batches: &[RecordBatch], limit_bytes: usize) -> Vec<Vec<Option<i64>>> {
    let mut by_key = ByKey::new(&batches[0].schema(), &["k".to_owned()], 2, Some(limit_bytes as u64)).unwrap();
    let mut all = Vec::new();
    let mut write = |next: InOrder| {
        let InOrder::Rows(batch) = next else {
            all.push(Vec::new());
            return Ok(());
        };
        let keys: Vec<Option<i64>> = batch.column(0).as_primitive::<Int64Type>().iter().collect();
        let texts = keys.iter().map(|key| format!("text {key:?}"));
        assert!(texts.eq(batch.column(1).as_string::<i32>().iter().flatten()));
        all.push(keys);
        Ok(())
    };
    batches.iter().for_each(|batch| by_key.write(batch, &mut write).unwrap());
    by_key.finish(&mut write).unwrap();
    all
}

#[test]
fn rows_in_order_go_through_as_they_come() {
    let batches = [batch((0..5).map(Some)), batch((4..9).map(Some))];
    assert_eq!(written(&batches, usize::MAX), [(0..5).map(Some).collect::<Vec<_>>(), (4..9).map(Some).collect()]);
    assert!(written(&[batch([])], 0).is_empty());
}

#[test]
fn others_wait_and_are_sorted() {
    let batches = [batch((0..5).map(Some)), batch([3, 9, 1, 3].map(Some)), batch([2].map(Some))];
    let sorted = [1, 2, 3, 3, 9].map(Some).to_vec();
    assert_eq!(written(&batches, usize::MAX), [(0..5).map(Some).collect::<Vec<_>>(), Vec::new(), sorted]);
    // Each batch is more than memory holds; what follows in order goes through again.
    let batches = [batch([3, 1].map(Some)), batch([2, 0].map(Some)), batch([2, 5].map(Some))];
    let (first, second, third) = ([1, 3].map(Some), [0, 2].map(Some), [2, 5].map(Some));
    assert_eq!(written(&batches, 1), [&first[..], &[], &second, &third]);
}

#[test]
fn rows_without_a_key_are_kept() {
    let mut all = written(&[batch([Some(7), None, Some(-3), None])], usize::MAX).concat();
    all.sort_unstable();
    assert_eq!(all, [None, None, Some(-3), Some(7)]);
}

#[test]
fn a_large_batch_is_taken_in_pieces() {
    let rows = 2 * PIECE_ROWS as i64 + 5;
    let all = written(&[batch((0..rows).rev().map(Some))], usize::MAX).concat();
    assert!(all.into_iter().eq((0..rows).map(Some)));
}

#[test]
fn keys_without_an_order_are_left_alone() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let schema = RecordBatch::try_from_iter([("k", floats)]).unwrap().schema();
    assert!(ByKey::new(&schema, &["k".to_owned()], 1, None).is_none());
    assert!(ByKey::new(&schema, &["other".to_owned()], 1, None).is_none());
    assert!(ByKey::new(&schema, &[], 1, None).is_none());
}
