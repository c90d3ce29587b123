//! Stores that end after the n-th request, for every n: the table reads as before, the next job succeeds, and vacuum removes what
//! was left.

use std::sync::Arc;

use lakerace_delta::{CompactOptions, Table, VersionSpec, compact, delete, restore};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{ErrorKind, Result};

use crate::common::{Model, append, create, failing, less, put, read, rows, stored, table};
use crate::vacuum::vacuum_now;

/// A table of some files with vectors, and a version before.
fn made(inner: &Arc<InMemory>) -> Table {
    let table = table(inner);
    create(&table, 0..50, &[]);
    append(&table, 50..60, "a");
    put(&table, &rows([3, 55, 70], "b")).unwrap();
    delete(&table, &less("id", 10)).unwrap();
    table
}

/// Runs a job on a table whose store ends ever later, until it is done twice.
pub fn every_end(
    made: impl Fn(&Arc<InMemory>) -> Table,
    job: impl Fn(&Table) -> Result<()>,
    after: impl Fn(&Model) -> Model,
) {
    let (mut failures, mut done) = (0, 0);
    for requests in 0.. {
        let inner = Arc::new(InMemory::new());
        let healthy = made(&inner);
        let before = read(&healthy);
        let after = after(&before);
        let outcome = job(&failing(&inner, requests));
        let now = read(&table(&inner));
        match outcome {
            Ok(()) => {
                assert_eq!(now, after, "{requests} requests");
                done += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{requests} requests: {error}");
                assert!(now == before || now == after, "between, after {requests} requests");
                failures += 1;
            }
        }
        let next = table(&inner);
        job(&next).unwrap();
        assert_eq!(read(&next), after, "again, after {requests} requests");
        append(&next, 100..105, "next");
        let expected = read(&next);
        vacuum_now(&next).unwrap();
        assert_eq!(read(&next), expected, "vacuumed, after {requests} requests");
        // Nothing is left but what the last version has.
        let left = stored(&inner).len() as u64;
        assert_eq!(vacuum_now(&next).unwrap().kept, left);
        if done == 2 {
            break;
        }
    }
    assert!(failures > 3, "it failed only {failures} times");
}

#[test]
fn compactions_that_break_off() {
    every_end(made, |table| compact(table, &CompactOptions::default()).map(drop), Model::clone);
}

#[test]
fn vacuums_that_break_off() {
    every_end(made, |table| vacuum_now(table).map(drop), Model::clone);
}

#[test]
fn restores_that_break_off() {
    let after = |_: &Model| rows(0..50, "base").into_iter().collect();
    every_end(made, |table| restore(table, VersionSpec::Version(0)).map(drop), after);
}
