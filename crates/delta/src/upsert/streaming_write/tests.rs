#![allow(clippy::unwrap_used)]

use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::{FieldRef, Int64Type};
use lakerace_io::{Error, ErrorKind, JobOptions};

use super::*;
use crate::write::TargetColumn;

/// Rows of keys, the bytes of their texts given by the number of the row.
fn batch(keys: &[i64], first: usize, text_bytes: &dyn Fn(usize) -> usize) -> RecordBatch {
    let texts = (0..keys.len()).map(|row| Some("x".repeat(text_bytes(first + row))));
    let columns: [(&str, ArrayRef); 2] = [
        ("key", Arc::new(keys.iter().map(|key| Some(*key)).collect::<Int64Array>())),
        ("text", Arc::new(texts.collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn batches(keys: &[i64], text_bytes: &dyn Fn(usize) -> usize) -> Vec<RecordBatch> {
    keys.chunks(700).enumerate().map(|(number, keys)| batch(keys, number * 700, text_bytes)).collect()
}

/// What is written of rows, batch by batch.
fn written(batches: Vec<RecordBatch>, order: Option<Vec<u32>>, run_bytes: usize, rows: u32) -> Result<Vec<Vec<i64>>> {
    let schema = batches[0].schema();
    let target = |field: &FieldRef| TargetColumn { logical: Arc::clone(field), stored: Arc::clone(field) };
    let fit = BatchFit::exact(&schema, &schema.fields().iter().map(target).collect::<Vec<_>>()).unwrap();
    let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
    let source = Batches::new(schema, batches.into_iter().map(Ok));
    let mut all = Vec::new();
    StreamingWrite { fit: &fit, run_bytes, job: &job }.write(source, rows, order, &mut |batch| {
        all.push(batch.column(0).as_primitive::<Int64Type>().values().to_vec());
        Ok(())
    })?;
    Ok(all)
}

/// The last row of each key, in the order of keys.
fn order(keys: &[i64]) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..keys.len() as u32).collect();
    rows.sort_by_key(|row| keys[*row as usize]);
    let is_last = |at: usize| rows.get(at + 1).is_none_or(|next| keys[*next as usize] != keys[rows[at] as usize]);
    (0..rows.len()).filter(|at| is_last(*at)).map(|at| rows[at]).collect()
}

fn shuffled(rows: i64, different: i64) -> Vec<i64> {
    (0..rows).map(|row| row * 7919 % different).collect()
}

#[test]
fn each_run_is_in_order_and_holds_its_rows() {
    let keys = shuffled(10_000, 10_000);
    // A row takes 16 bytes and the numbers of its text, so that 1,024 of them are a run.
    let runs = written(batches(&keys, &|_| 4), Some(order(&keys)), 30_000, 10_000).unwrap();
    assert_eq!(runs.iter().map(Vec::len).collect::<Vec<_>>(), [[1024; 9].as_slice(), &[784]].concat());
    for (run, of) in runs.iter().zip(keys.chunks(1024)) {
        let mut of = of.to_vec();
        of.sort_unstable();
        assert_eq!(*run, of);
    }
}

#[test]
fn rows_that_are_replaced_are_left_out() {
    let keys = shuffled(10_000, 4000);
    let mut all = written(batches(&keys, &|_| 4), Some(order(&keys)), 30_000, 10_000).unwrap().concat();
    // The rows of whole runs are replaced.
    assert_eq!(all.len(), 4000);
    all.sort_unstable();
    assert!((0..4000).eq(all));
}

#[test]
fn runs_of_larger_rows_end_early() {
    let keys = shuffled(4000, 4000);
    let text_bytes = |row: usize| if row < 700 { 0 } else { 1000 };
    let runs = written(batches(&keys, &text_bytes), Some(order(&keys)), 100_000, 4000).unwrap();
    // Pieces are 700 rows here, and the first ones promise that all fit.
    assert!(runs.len() >= 5, "{} runs", runs.len());
    assert!(runs.iter().all(|run| run.is_sorted()));
    let mut all = runs.concat();
    all.sort_unstable();
    assert!((0..4000).eq(all));
}

#[test]
fn rows_in_order_are_not_touched() {
    let keys: Vec<i64> = (0..2000).collect();
    let all = written(batches(&keys, &|_| 4), None, 1 << 30, 2000).unwrap();
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [700, 700, 600]);
    assert_eq!(all.concat(), keys);
}

#[test]
fn other_numbers_of_rows_are_errors() {
    let keys = shuffled(3000, 3000);
    let all = batches(&keys, &|_| 4);
    for order in [None, Some(order(&keys))] {
        for other in [all[..all.len() - 1].to_vec(), [&all[..], &all[..1]].concat()] {
            let error = written(other, order.clone(), 1 << 20, 3000).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
        }
    }
}

#[test]
fn an_error_of_the_writer_ends_it() {
    let keys = shuffled(3000, 3000);
    let all = batches(&keys, &|_| 4);
    let schema = all[0].schema();
    let target = |field: &FieldRef| TargetColumn { logical: Arc::clone(field), stored: Arc::clone(field) };
    let fit = BatchFit::exact(&schema, &schema.fields().iter().map(target).collect::<Vec<_>>()).unwrap();
    let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
    let source = Batches::new(schema, all.into_iter().map(Ok));
    let in_runs = StreamingWrite { fit: &fit, run_bytes: 30_000, job: &job };
    let error = in_runs.write(source, 3000, Some(order(&keys)), &mut |_| Err(Error::invalid("full")));
    assert_eq!(error.unwrap_err().message(), "full");
}
