//! Cancellation, and the other reasons for which a machine gives up.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that asks threads to stop. Clones are one flag. Threads that wait look at it every [`CANCEL_POLL`](crate::CANCEL_POLL).
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks all who hold the token to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns true if [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Fails once [`Self::cancel`] was called.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn check(&self) -> Result<(), Interruption> {
        if self.is_cancelled() { Err(Interruption::Cancelled) } else { Ok(()) }
    }
}

impl AsRef<Self> for CancelToken {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// The reason for which a machine gives no further value.
#[derive(Debug)]
pub enum Interruption {
    /// The work was cancelled.
    Cancelled,
    /// The other side has gone, or a thread ended without its outcome.
    Ended,
    /// Another process has begun the work, and was forked since then.
    Forked,
    /// A call panicked with this payload.
    Panicked(Box<dyn Any + Send>),
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "cancelled",
            Self::Ended => "a worker thread ended early",
            Self::Forked => "another process has begun this work, and was forked since then",
            Self::Panicked(_) => "a worker thread panicked",
        })
    }
}

impl std::error::Error for Interruption {}

/// The outcome of a call. A panic becomes an [`Interruption`], since other threads wait for the outcome.
///
/// # Errors
/// Those of the call; `Panicked`.
pub fn caught<T, E: From<Interruption>>(call: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(Interruption::Panicked(payload).into()))
}
