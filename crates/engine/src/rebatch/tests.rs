#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatchOptions};
use arrow::datatypes::{Int64Type, Schema};
use lakerace_io::ErrorKind;

use super::*;

fn batch(values: std::ops::Range<i64>) -> RecordBatch {
    RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from_iter_values(values)) as ArrayRef)]).unwrap()
}

fn sizes(parts: &[std::ops::Range<i64>], rows: usize) -> Vec<usize> {
    let batches: Vec<Result<RecordBatch>> = parts.iter().map(|r| Ok(batch(r.clone()))).collect();
    let all: Vec<RecordBatch> =
        rebatch(Batches::new(batch(0..0).schema(), batches.into_iter()), rows).map(Result::unwrap).collect();
    let values: Vec<i64> = all.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    let total = parts.iter().map(|r| r.end).max().unwrap_or(0);
    assert_eq!(values, (0..total).collect::<Vec<_>>());
    all.iter().map(RecordBatch::num_rows).collect()
}

#[test]
fn slices_and_joins() {
    assert_eq!(sizes(&[0..10], 4), [4, 4, 2]);
    assert_eq!(sizes(&[0..1, 1..2, 2..2, 2..9], 4), [4, 4, 1]);
    assert_eq!(sizes(&[0..4, 4..8], 4), [4, 4]);
    assert_eq!(sizes(&[0..3, 3..5], usize::MAX), [5]);
    assert_eq!(sizes(&[], 3), [] as [usize; 0]);
    assert_eq!(sizes(&[0..2], 0), [1, 1]);
}

#[test]
fn keeps_rows_without_columns() {
    let schema = Arc::new(Schema::empty());
    let empty = |rows| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
    };
    let parts = vec![Ok(empty(5).unwrap()), Ok(empty(2).unwrap())];
    let sizes: Vec<usize> =
        rebatch(Batches::new(schema, parts.into_iter()), 3).map(|b| b.unwrap().num_rows()).collect();
    assert_eq!(sizes, [3, 3, 1]);
}

#[test]
fn passes_errors_on() {
    let parts = vec![Ok(batch(0..5)), Err(Error::corrupt("bad"))];
    let mut batches = rebatch(Batches::new(batch(0..0).schema(), parts.into_iter()), 4);
    assert_eq!(batches.next().unwrap().unwrap().num_rows(), 4);
    assert_eq!(batches.next().unwrap().unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(batches.next().is_none());
}
