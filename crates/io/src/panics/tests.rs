#![allow(clippy::panic)]

use std::panic::{catch_unwind, set_hook};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{caught, quietly, shortage, wrap_hook};
use crate::ErrorKind;

/// One test for all: the hook is the process's.
#[test]
fn what_is_caught_prints_nothing_and_all_else_does() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    const MINE: &str = "of this test";
    set_hook(Box::new(|info| {
        if info.payload_as_str() == Some(MINE) {
            TOLD.fetch_add(1, Ordering::Relaxed);
        }
    }));
    // Other tests may have installed the hook, which this one has replaced.
    wrap_hook();
    assert!(caught(|| panic!("{MINE}")).is_err());
    assert!(caught(|| caught(|| panic!("{MINE}")).is_err()).is_ok_and(|inner| inner));
    assert!(caught(|| quietly(|| panic!("{MINE}"))).is_err());
    assert_eq!(TOLD.load(Ordering::Relaxed), 0);
    assert!(catch_unwind(|| panic!("{MINE}")).is_err());
    // Another thread's panic is not caught by this one's call.
    let other = caught(|| std::thread::spawn(|| panic!("{MINE}")).join().is_err());
    assert!(other.is_ok_and(|panicked| panicked));
    assert_eq!(TOLD.load(Ordering::Relaxed), 2);
    assert_eq!(caught(|| 7).ok(), Some(7));
    says_what_is_short();
}

/// A panic for want of threads or memory says so.
fn says_what_is_short() {
    let of = |text: &'static str| caught(move || panic!("{text}")).err().and_then(|payload| shortage(&*payload));
    for text in [
        "OS can't spawn worker thread: Resource temporarily unavailable (os error 11)",
        "failed to spawn thread: Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" }",
        "mmap: Cannot allocate memory (os error 12)",
    ] {
        assert_eq!(of(text).map(|error| error.kind()), Some(ErrorKind::Unavailable), "{text}");
    }
    assert!(of("index out of bounds: the len is 0 but the index is 0").is_none());
}
