#![allow(clippy::unwrap_used, clippy::panic)]

use std::thread::{Builder, current, scope};

use super::{ScopedWork, not_started, spawn_or_run, spawn_or_run_by};
use crate::ErrorKind;

/// No system has so much address space for a stack.
fn without_memory() -> Builder {
    Builder::new().stack_size(1 << 60)
}

#[test]
fn work_runs_on_a_thread_of_its_own_or_else_on_the_calling_one() {
    let (mine, mut changed) = (current().id(), 0);
    let (other, same) = scope(|scope| {
        let other = spawn_or_run(scope, || current().id());
        let same = spawn_or_run_by(without_memory(), scope, || {
            changed += 1;
            current().id()
        });
        assert!(matches!(same, ScopedWork::Done(_)));
        (other.join().unwrap(), same.join().unwrap())
    });
    assert_ne!(other, mine);
    assert_eq!((same, changed), (mine, 1));
}

#[test]
fn a_panic_of_the_work_is_that_of_its_thread() {
    let joined = scope(|scope| spawn_or_run(scope, || panic!("of this test")).join());
    assert!(joined.is_err());
}

#[test]
fn a_thread_that_does_not_start_is_an_error_that_says_what_to_do() {
    let error = without_memory().spawn(|| ()).unwrap_err();
    let error = not_started(&error);
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("`threads`"), "{error}");
}
