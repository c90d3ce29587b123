//! Static values of which each process has its own.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::owning_process::OwningProcess;

/// A static value of which a forked process makes its own on first use.
///
/// A fork copies a lock that another thread holds, and the child has no thread that releases it. So a child never looks at the value of
/// its parent, which stays in memory untouched.
///
/// # Examples
/// ```
/// use std::sync::Mutex;
///
/// use lakerace_exec::{ProcessLocal, lock};
///
/// static NAMES: ProcessLocal<Mutex<Vec<String>>> = ProcessLocal::new(Mutex::default);
/// lock(&NAMES).push("orders".to_owned());
/// assert_eq!(*lock(&NAMES), ["orders"]);
/// ```
pub struct ProcessLocal<T> {
    /// Null until the first use. The owner is this process, or the one from which it was forked.
    current: AtomicPtr<OwnedValue<T>>,
    make: fn() -> T,
    _owned: PhantomData<T>,
}

/// A value and its process.
struct OwnedValue<T> {
    owner: OwningProcess,
    value: T,
}

impl<T: Send + Sync> ProcessLocal<T> {
    /// A value that `make` makes for each process. Threads that use it first at the same time may each call `make`; one of these values is
    /// kept.
    pub const fn new(make: fn() -> T) -> Self {
        Self { current: AtomicPtr::new(std::ptr::null_mut()), make, _owned: PhantomData }
    }
}

impl<T: Send + Sync> Deref for ProcessLocal<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let known = self.current.load(Ordering::Acquire);
        // SAFETY: a value that was published is never freed.
        if let Some(known) = unsafe { known.as_ref() }
            && !known.owner.is_forked()
        {
            return &known.value;
        }
        let made = Box::into_raw(Box::new(OwnedValue { owner: OwningProcess::current(), value: (self.make)() }));
        let published = self.current.compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire);
        let first = match published {
            Ok(_) => made,
            Err(first) => {
                // SAFETY: the value was not published: nothing else points to it.
                drop(unsafe { Box::from_raw(made) });
                first
            }
        };
        // SAFETY: as above; a pointer that was exchanged for another is not null.
        unsafe { &(*first).value }
    }
}

impl<T: Send + Sync + fmt::Debug> fmt::Debug for ProcessLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests;
