//! Panics that are caught and become errors: they print nothing of their own.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, Once};

use lakerace_exec::{Interruption, ProcessLocal, lock};

use crate::error::Error;
use crate::threads::advice_on_shortage;

/// The message of the last panic that was not printed. A library may replace a panic of one of its threads by another
/// one.
static LAST_QUIET: ProcessLocal<Mutex<Option<String>>> = ProcessLocal::new(Mutex::default);

thread_local! {
    /// The number of calls of [`quietly`] on this thread's stack.
    static QUIET: Cell<u32> = const { Cell::new(0) };
}

/// Runs a call whose panics the caller catches: they are not printed. Panics of other threads and calls are, as before.
pub fn quietly<T>(call: impl FnOnce() -> T) -> T {
    /// Counts down when the call ends, also by a panic.
    struct CallDepth;
    impl Drop for CallDepth {
        fn drop(&mut self) {
            QUIET.set(QUIET.get().saturating_sub(1));
        }
    }
    install();
    QUIET.set(QUIET.get() + 1);
    let _inside = CallDepth;
    call()
}

/// The outcome of a call, or that it panicked, which is not printed. For libraries that panic on damaged data.
pub fn caught<T>(call: impl FnOnce() -> T) -> std::thread::Result<T> {
    catch_unwind(AssertUnwindSafe(|| quietly(call)))
}

/// The error for a panic for lack of threads or memory; `None` for any other panic. Such an error says nothing of the
/// data.
pub fn shortage(payload: &(dyn Any + Send)) -> Option<Error> {
    let last = lock(&LAST_QUIET).take();
    let found = [text_of(payload), last].into_iter().flatten().find_map(|text| shortage_of(&text))?;
    Some(Error::unavailable(format!("the system is out of {found}")).advice(advice_on_shortage()))
}

/// The resource that a text of a panic says to be missing.
fn shortage_of(text: &str) -> Option<&'static str> {
    let is_thread = text.contains("spawn") && text.contains("thread");
    let is_memory =
        text.contains("os error 12") || text.contains("Cannot allocate memory") || text.contains("memory allocation");
    match (is_thread, is_memory) {
        (true, _) => Some("threads: it can't start another one"),
        (false, true) => Some("memory"),
        (false, false) => None,
    }
}

fn text_of(payload: &(dyn Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
}

/// The error for a panic that was caught: a shortage of threads or memory, or else a bug.
pub fn panicked(payload: &(dyn Any + Send)) -> Error {
    if let Some(error) = shortage(payload) {
        return error;
    }
    let what = text_of(payload).unwrap_or_else(|| "a panic".to_owned());
    Error::internal(format!("internal error: {what}")).advice(concat!(
        "please report it at ",
        env!("CARGO_PKG_REPOSITORY"),
        "/issues"
    ))
}

impl From<Interruption> for Error {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Cancelled => Self::cancelled(),
            Interruption::Ended => Self::internal(interruption.to_string()),
            Interruption::Forked => Self::usage(interruption.to_string()).advice("begin again in this process"),
            Interruption::Panicked(payload) => panicked(&*payload),
        }
    }
}

/// Installs a hook before the process's own, once.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(wrap_hook);
}

fn wrap_hook() {
    let before = take_hook();
    set_hook(Box::new(move |info| {
        // A thread that ends has no such number any more, and catches nothing.
        if QUIET.try_with(Cell::get).unwrap_or(0) == 0 {
            before(info);
        } else if let Some(text) = text_of(info.payload()) {
            *lock(&LAST_QUIET) = Some(text);
        }
    }));
}

#[cfg(test)]
mod tests;
