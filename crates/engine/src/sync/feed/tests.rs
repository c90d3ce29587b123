#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow::array::Int64Array;

use super::*;

/// Changes of the same row, all of one type.
fn changes_of_one_row(change_type: &str, rows: usize) -> RecordBatch {
    let count = i64::try_from(rows).unwrap();
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![7; rows])) as _),
        ("_change_type", Arc::new(StringArray::from(vec![change_type; rows])) as _),
        ("_commit_version", Arc::new(Int64Array::from_iter_values(0..count)) as _),
        ("_commit_timestamp", Arc::new(Int64Array::from(vec![0; rows])) as _),
    ])
    .unwrap()
}

#[test]
fn each_row_that_goes_counts() {
    for (change_type, has_too_many) in [("delete", true), ("update_preimage", true), ("insert", false)] {
        let batch = changes_of_one_row(change_type, MOST_KEYS + 1);
        let reader = ChangeReader::new(&batch.schema(), &["id".to_owned()]).unwrap();
        let mut seen = SeenFacts::default();
        let read = reader.read(&batch, FeedPass::PutsAndLearns, &mut seen).unwrap();
        assert_eq!((seen.has_too_many, read.is_none()), (has_too_many, has_too_many), "{change_type}");
        assert_eq!(seen.came.len() + seen.went.len(), 1);
    }
}
