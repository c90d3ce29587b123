#![allow(clippy::unwrap_used)]

use std::sync::mpsc;
use std::time::Duration;

use super::*;

#[test]
fn what_the_store_has_takes_no_room() {
    let held = Arc::default();
    let mut first = ByteBudget::share(&held, 2 * BYTES_AT_MOST);
    // Its parts have arrived: whatever time the object takes, the next file does not wait for it.
    first.keep(0);
    let second = ByteBudget::share(&held, BYTES_AT_MOST);
    drop(first);
    assert_eq!(*held.lock(), BYTES_AT_MOST);
    drop(second);
    assert_eq!(*held.lock(), 0);
}

#[test]
fn a_file_waits_until_the_store_has_others() {
    let held = Arc::default();
    let first = ByteBudget::share(&held, BYTES_AT_MOST);
    let (says, hears) = mpsc::channel();
    let theirs = Arc::clone(&held);
    let waiting = std::thread::spawn(move || {
        let share = ByteBudget::share(&theirs, 1);
        // Of both files, had it not waited.
        says.send(*theirs.lock()).unwrap();
        drop(share);
    });
    // Time enough not to wait in.
    assert!(hears.recv_timeout(Duration::from_millis(100)).is_err());
    drop(first);
    assert_eq!(hears.recv(), Ok(1));
    waiting.join().unwrap();
    assert_eq!(*held.lock(), 0);
}
