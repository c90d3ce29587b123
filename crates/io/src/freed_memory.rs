//! The time at which freed memory returns to the system.
//!
//! Allocators keep freed memory for a while, because most of it is soon needed again. A load passes its buffers from
//! thread to thread and on to a store, so the kept memory would exceed the memory in use. A program whose allocator can
//! be configured registers a function by [`on_change`]; a load holds a [`ReturnedSoon`] in the meantime.

use std::sync::{Mutex, OnceLock};

use lakerace_exec::{ProcessLocal, lock};

static TELL: OnceLock<fn(bool)> = OnceLock::new();

/// The number of [`ReturnedSoon`] values that this process has made.
static HOLDERS: ProcessLocal<Mutex<usize>> = ProcessLocal::new(Mutex::default);

/// Registers the function that makes the allocator return freed memory soon (true), or at its usual time (false). Only
/// the first call has an effect.
pub fn on_change(tell: fn(bool)) {
    let _ = TELL.set(tell);
}

/// Returns true if freed memory is to be returned to the system soon.
pub fn is_returned_soon() -> bool {
    *lock(&HOLDERS) > 0
}

/// The allocator returns freed memory soon as long as a value of this type exists.
#[derive(Debug)]
pub struct ReturnedSoon(());

impl ReturnedSoon {
    /// Starts now.
    #[allow(clippy::new_without_default, reason = "it is held for what it does")]
    pub fn new() -> Self {
        change(|holders| {
            *holders += 1;
            (*holders == 1).then_some(true)
        });
        Self(())
    }
}

impl Drop for ReturnedSoon {
    fn drop(&mut self) {
        change(|holders| {
            // The parent of a forked process may have made it.
            *holders = holders.saturating_sub(1);
            (*holders == 0).then_some(false)
        });
    }
}

/// Counts under the lock, so that the allocator is notified in the order of the counts.
fn change(count: impl FnOnce(&mut usize) -> Option<bool>) {
    let mut holders = lock(&HOLDERS);
    if let (Some(soon), Some(tell)) = (count(&mut holders), TELL.get()) {
        tell(soon);
    }
}

#[cfg(test)]
mod tests;
