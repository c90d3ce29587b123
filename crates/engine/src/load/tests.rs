#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::num::NonZeroU64;
use std::sync::Arc;

use arrow::array::Int64Array;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use lakerace_database::BatchRows;
use lakerace_format::{Batches, Sink, Written};
use lakerace_io::{ErrorKind, Job, Result};

use super::{pour, skip_rows};
use crate::WriteMode;
use crate::options::LoadOptions;
use crate::target::TargetKind;

/// What a sink was told: rows, or a checkpoint.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Rows(Vec<i64>),
    Checkpoint,
}

#[derive(Default)]
struct Listener(Vec<Told>);

impl Sink for Listener {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let ids = batch.column(0).as_any().downcast_ref::<Int64Array>().map(|ids| ids.values().to_vec());
        self.0.push(Told::Rows(ids.unwrap_or_default()));
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.0.push(Told::Checkpoint);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        Ok(Written::default())
    }
}

/// Batches of ids from 0 on, of these sizes.
fn batches(sizes: &[usize]) -> Batches {
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, false)]));
    let mut next = 0i64;
    let made: Vec<_> = sizes
        .iter()
        .map(|size| {
            let ids = Int64Array::from_iter_values(next..next + *size as i64);
            next += *size as i64;
            Ok(RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(ids)]).unwrap())
        })
        .collect();
    Batches::new(schema, made.into_iter())
}

fn options(rows: u64) -> LoadOptions {
    LoadOptions { batch_rows: BatchRows::Rows(NonZeroU64::new(rows).unwrap()), ..LoadOptions::default() }
}

#[test]
fn checkpoints_come_after_exactly_so_many_rows() {
    let mut sink = Listener::default();
    let sent = pour(batches(&[3, 5, 0, 1]), &mut sink, &options(4), &Job::default()).unwrap();
    assert_eq!(sent, 9);
    let told = [
        Told::Rows(vec![0, 1, 2]),
        Told::Rows(vec![3]),
        Told::Checkpoint,
        Told::Rows(vec![4, 5, 6, 7]),
        Told::Checkpoint,
        Told::Rows(vec![8]),
    ];
    assert_eq!(sink.0, told);
}

#[test]
fn rows_that_were_acknowledged_are_left_out() {
    let mut sink = Listener::default();
    pour(skip_rows(batches(&[3, 5]), 4), &mut sink, &LoadOptions::default(), &Job::default()).unwrap();
    assert_eq!(sink.0, [Told::Rows(vec![4, 5, 6, 7])]);
    let error = skip_rows(batches(&[3]), 4).last().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(skip_rows(batches(&[3]), 3).count(), 0);
}

#[test]
fn a_rate_cuts_batches_and_keeps_all_rows() {
    let load = LoadOptions { max_rows_per_second: NonZeroU64::new(1000), ..LoadOptions::default() };
    let mut sink = Listener::default();
    assert_eq!(pour(batches(&[150]), &mut sink, &load, &Job::default()).unwrap(), 150);
    assert_eq!(sink.0, [Told::Rows((0..100).collect()), Told::Rows((100..150).collect())]);
}

#[test]
fn options_that_a_place_cannot_follow_are_errors() {
    let key = LoadOptions { key: vec!["id".to_owned()], ..LoadOptions::default() };
    let resume = LoadOptions { resume: true, ..LoadOptions::default() };
    let verify = LoadOptions { verify: true, ..LoadOptions::default() };
    let none = LoadOptions::default();
    let cases = [
        (&key, TargetKind::Files, WriteMode::Error),
        (&key, TargetKind::Delta, WriteMode::Append),
        (&resume, TargetKind::Files, WriteMode::Append),
        (&options(1), TargetKind::Stream, WriteMode::Error),
        (&none, TargetKind::Database, WriteMode::Upsert),
        (&key, TargetKind::Delta, WriteMode::Upsert),
        (&none, TargetKind::Files, WriteMode::Delete),
        (&verify, TargetKind::Stream, WriteMode::Error),
    ];
    for (load, place, mode) in cases {
        let error = load.check(place, mode).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{load:?} {place:?} {mode:?}");
    }
    key.check(TargetKind::Database, WriteMode::Upsert).unwrap();
    options(1).check(TargetKind::Delta, WriteMode::Append).unwrap();
    verify.check(TargetKind::Files, WriteMode::Overwrite).unwrap();
}
