#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use super::*;

static TOLD: Mutex<Vec<bool>> = Mutex::new(Vec::new());

#[test]
fn the_first_and_the_last_holder_tell_the_allocator() {
    on_change(|soon| TOLD.lock().unwrap().push(soon));
    let first = ReturnedSoon::new();
    let second = ReturnedSoon::new();
    drop(first);
    assert_eq!(*TOLD.lock().unwrap(), [true]);
    drop(second);
    assert_eq!(*TOLD.lock().unwrap(), [true, false]);
    drop(ReturnedSoon::new());
    assert_eq!(*TOLD.lock().unwrap(), [true, false, true, false]);
}
