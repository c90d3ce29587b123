//! Things of which a process has a few.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The right to one of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(&'static AtomicUsize);

impl Permit {
    /// One more of those that `used` counts, unless there are `most`.
    pub(crate) fn take(used: &'static AtomicUsize, most: usize) -> Option<Self> {
        let take = |used: usize| (used < most).then_some(used + 1);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok().map(|_| Self(used))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
