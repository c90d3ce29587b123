#![allow(clippy::unwrap_used, clippy::panic)]
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, Int64Array};
use lakerace_io::{Error, ErrorKind};

use super::*;

fn batch(n: i64) -> RecordBatch {
    RecordBatch::try_from_iter([("x", Arc::new(Int64Array::from(vec![n; 100])) as ArrayRef)]).unwrap()
}

fn batches(items: impl Iterator<Item = Result<RecordBatch>> + Send + 'static) -> Batches {
    Batches::new(batch(0).schema(), items)
}

#[test]
fn keeps_the_order() {
    let job = Job::default();
    let read = read_ahead(batches((0..100).map(|n| Ok(batch(n)))), 2000, &job);
    let all: Vec<RecordBatch> = read.map(Result::unwrap).collect();
    assert_eq!(all, (0..100).map(batch).collect::<Vec<_>>());
}

#[test]
fn reads_no_further_than_it_may() {
    let made = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&made);
    let endless = (0..).map(move |n| {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(batch(n))
    });
    let size = batch(0).get_array_memory_size() as u64;
    let mut read = read_ahead(batches(endless), 3 * size, &Job::default());
    for taken in 1..20 {
        read.next().unwrap().unwrap();
        // Three wait, and one is in the reader's hand.
        assert!(made.load(Ordering::SeqCst) <= taken + 4);
    }
}

#[test]
fn one_batch_passes_whatever_its_size() {
    let read = read_ahead(batches((0..5).map(|n| Ok(batch(n)))), 1, &Job::default());
    assert_eq!(read.count(), 5);
}

#[test]
fn passes_errors_and_panics_on() {
    let failing = vec![Ok(batch(0)), Err(Error::corrupt("bad"))];
    let mut read = read_ahead(batches(failing.into_iter()), 1000, &Job::default());
    read.next().unwrap().unwrap();
    assert_eq!(read.next().unwrap().unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(read.next().is_none());
    let panicking = (0..2).map(|n| if n == 1 { panic!("on purpose") } else { Ok(batch(n)) });
    let outcomes: Vec<_> = read_ahead(batches(panicking), 1000, &Job::default()).collect();
    assert_eq!(outcomes.last().unwrap().as_ref().unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn cancellation_does_not_wait_for_the_reader() {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let stuck = (0..).map(move |n| {
        if n == 1 {
            let _ = held.recv();
        }
        Ok(batch(n))
    });
    let job = Job::default();
    let mut read = read_ahead(batches(stuck), 1000, &job);
    read.next().unwrap().unwrap();
    job.cancel();
    assert_eq!(read.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    drop(hold);
}
