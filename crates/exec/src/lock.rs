//! Locks and waits that outlive a panic of another thread.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// The interval at which a waiting thread looks at its job's cancel flag.
pub const CANCEL_POLL: Duration = Duration::from_millis(100);

/// The value of a mutex. A thread that panicked with the lock has left the value whole: each change is one step.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(test)]
    if crate::schedule::is_scheduled() {
        return crate::schedule::lock(mutex);
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a mutex that no other thread has any more.
pub fn into_value<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a mutex that no other thread has now.
pub fn value_mut<T: ?Sized>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a lock, which others may read in the meantime.
pub fn read_lock<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a lock, which no other thread reads or writes in the meantime.
pub fn write_lock<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the lock go until another thread notifies.
pub(crate) fn wait<'a, T>(changed: &Condvar, value: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    changed.wait(value).unwrap_or_else(PoisonError::into_inner)
}

/// Lets the lock go until another thread notifies, or for [`CANCEL_POLL`]: who calls it looks at the job then.
pub fn wait_briefly<'a, T>(changed: &Condvar, value: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    changed.wait_timeout(value, CANCEL_POLL).unwrap_or_else(PoisonError::into_inner).0
}
