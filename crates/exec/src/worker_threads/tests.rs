#![allow(clippy::unwrap_used)]

use std::thread::current;

use super::spawn_with;
use crate::schedule::limit_threads;

#[test]
fn a_value_goes_to_the_thread_or_comes_back() {
    let work = |text: String| (text + " there", current().name().map(str::to_owned));
    let ended = spawn_with("test", "hello".to_owned(), work).unwrap().join().unwrap();
    assert_eq!(ended, Ok(("hello there".to_owned(), Some("test".to_owned()))));
    limit_threads(0);
    let given_back = spawn_with("test", "hello".to_owned(), work).unwrap_err();
    limit_threads(usize::MAX);
    assert_eq!(given_back, "hello");
}

#[test]
fn a_panic_is_that_of_the_thread() {
    let panics = |()| std::panic::resume_unwind(Box::new("injected"));
    assert!(spawn_with::<_, ()>("test", (), panics).unwrap().join().is_err());
}
