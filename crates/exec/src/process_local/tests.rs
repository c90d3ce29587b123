#![allow(clippy::unwrap_used)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::ProcessLocal;
use crate::lock::lock;

#[test]
fn threads_that_come_first_together_have_one_value() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    static MADE: AtomicUsize = AtomicUsize::new(0);

    struct Counted(Mutex<usize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    fn make() -> Counted {
        MADE.fetch_add(1, Ordering::SeqCst);
        Counted(Mutex::new(0))
    }

    for _ in 0..200 {
        let local = ProcessLocal::new(make);
        let (made, dropped) = (MADE.load(Ordering::SeqCst), DROPPED.load(Ordering::SeqCst));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| *lock(&local.0) += 1);
            }
        });
        assert_eq!(*lock(&local.0), 4);
        let values = MADE.load(Ordering::SeqCst) - made;
        assert_eq!(DROPPED.load(Ordering::SeqCst) - dropped, values - 1, "of {values}");
    }
}

#[test]
fn a_lock_that_a_thread_holds_at_a_fork_does_not_stop_the_child() {
    static COUNT: ProcessLocal<Mutex<usize>> = ProcessLocal::new(|| Mutex::new(0));

    let held = lock(&COUNT);
    let child = thread::spawn(|| {
        // SAFETY: the child takes one lock, which its own process makes, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            *lock(&COUNT) += 1;
            let count = *lock(&COUNT);
            // SAFETY: no other code of the test runs in the child.
            unsafe { libc::_exit(i32::try_from(count).unwrap_or(-1)) };
        }
        let mut status = 0;
        // SAFETY: the status is a local variable.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        (libc::WIFEXITED(status), libc::WEXITSTATUS(status))
    });
    assert_eq!(child.join().unwrap(), (true, 1));
    assert_eq!(*held, 0);
}
