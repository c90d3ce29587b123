#![allow(clippy::unwrap_used)]

use std::thread::Builder;

use super::not_started;
use crate::ErrorKind;

#[test]
fn a_thread_that_does_not_start_is_an_error_that_says_what_to_do() {
    // No system has so much address space for a stack.
    let error = Builder::new().stack_size(1 << 60).spawn(|| ()).unwrap_err();
    let error = not_started(&error);
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("`threads`"), "{error}");
}
