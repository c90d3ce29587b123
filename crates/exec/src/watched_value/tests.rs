#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use super::WatchedValue;
use crate::{CancelToken, Interruption, into_value, lock};

#[test]
fn a_value_that_is_right_is_not_waited_for_even_after_a_cancellation() {
    let (watched, cancel) = (WatchedValue::new(3), CancelToken::default());
    cancel.cancel();
    assert_eq!(*watched.wait_until(&cancel, |value| Ok::<_, Interruption>(*value == 3)).unwrap(), 3);
}

#[test]
fn a_thread_that_waits_hears_of_a_change() {
    let watched = Arc::new(WatchedValue::new(0));
    let theirs = Arc::clone(&watched);
    let thread = std::thread::spawn(move || {
        *theirs.lock() = 1;
        theirs.notify_all();
    });
    let reached = watched.wait_until(&CancelToken::default(), |value| Ok::<_, Interruption>(*value == 1));
    assert_eq!(*reached.unwrap(), 1);
    thread.join().unwrap();
}

#[test]
fn an_error_or_a_cancellation_ends_the_wait() {
    let (watched, cancel) = (WatchedValue::new(()), CancelToken::default());
    let error = watched.wait_until(&cancel, |()| Err(Interruption::Ended)).unwrap_err();
    assert!(matches!(error, Interruption::Ended));
    cancel.cancel();
    let error = watched.wait_until(&cancel, |()| Ok::<_, Interruption>(false)).unwrap_err();
    assert!(matches!(error, Interruption::Cancelled));
}

#[test]
fn a_value_outlives_a_thread_that_panicked_with_its_lock() {
    let mutex = Arc::new(Mutex::new(5));
    let theirs = Arc::clone(&mutex);
    let _ = std::thread::spawn(move || {
        let _value = theirs.lock();
        panic!("with the lock");
    })
    .join();
    assert_eq!(*lock(&mutex), 5);
    assert_eq!(into_value(Arc::into_inner(mutex).unwrap()), 5);
}
