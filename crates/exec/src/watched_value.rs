//! A value that threads change, and wait for others to change.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cancel_token::{CancelToken, Interruption};
use crate::lock::{CANCEL_POLL, lock, wait, wait_briefly};
use crate::owning_process::OwningProcess;

/// A value that threads change, and wait for others to change.
#[derive(Debug)]
pub struct WatchedValue<T> {
    value: Mutex<T>,
    changed: Condvar,
    /// The process whose threads change it.
    owner: OwningProcess,
}

impl<T: Default> Default for WatchedValue<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> WatchedValue<T> {
    /// A value that no thread waits for yet.
    pub fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Condvar::new(), owner: OwningProcess::current() }
    }

    /// Fails in a process that was forked since the value was made: no thread would change it, or release its lock.
    ///
    /// # Errors
    /// `Forked`.
    pub fn check_process(&self) -> Result<(), Interruption> {
        self.owner.check()
    }

    /// Locks the value. A thread that changes it notifies the others by [`Self::notify_all`].
    pub fn lock(&self) -> MutexGuard<'_, T> {
        lock(&self.value)
    }

    /// Has all threads that wait look at the value.
    pub fn notify_all(&self) {
        #[cfg(test)]
        crate::schedule::notify(&self.changed);
        self.changed.notify_all();
    }

    /// Lets the lock go until another thread notifies.
    pub fn wait<'a>(&'a self, value: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        #[cfg(test)]
        if crate::schedule::is_scheduled() {
            drop(value);
            crate::schedule::park(&self.changed, false);
            return self.lock();
        }
        wait(&self.changed, value)
    }

    /// Lets the lock go until another thread notifies, or for [`CANCEL_POLL`](crate::CANCEL_POLL).
    pub fn wait_briefly<'a>(&'a self, value: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        #[cfg(test)]
        if crate::schedule::is_scheduled() {
            drop(value);
            crate::schedule::park(&self.changed, true);
            return self.lock();
        }
        wait_briefly(&self.changed, value)
    }

    /// Like [`Self::wait_briefly`], but for at most `time`.
    pub(crate) fn wait_within<'a>(&'a self, value: MutexGuard<'a, T>, time: Duration) -> MutexGuard<'a, T> {
        let time = time.min(CANCEL_POLL);
        self.changed.wait_timeout(value, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until `is_over` returns true, and returns the lock.
    ///
    /// # Errors
    /// Those of `is_over`; `Cancelled`; `Forked`.
    pub fn wait_until<E: From<Interruption>>(
        &self,
        cancel: &impl AsRef<CancelToken>,
        mut is_over: impl FnMut(&T) -> Result<bool, E>,
    ) -> Result<MutexGuard<'_, T>, E> {
        self.check_process()?;
        let mut value = self.lock();
        while !is_over(&value)? {
            cancel.as_ref().check()?;
            value = self.wait_briefly(value);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
