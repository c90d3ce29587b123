//! A look now and then, while a long statement runs, whether it is to stop.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use rusqlite::{Connection, ffi};

/// Instructions of SQLite's machine between two looks.
const STEPS: c_int = 20_000;

/// Asks, while it lives, whether a connection's statements are to stop.
pub(super) struct StatementWatch<'a, F> {
    connection: &'a Connection,
    asked: PhantomData<&'a mut F>,
}

impl<'a, F: FnMut() -> bool> StatementWatch<'a, F> {
    /// Has statements end with an error as soon as `is_stopped` is true.
    pub(super) fn begin(connection: &'a Connection, is_stopped: &'a mut F) -> Self {
        let context = std::ptr::from_mut(is_stopped).cast();
        // SAFETY: the connection lives, and the function is borrowed until the handler is taken back.
        unsafe { ffi::sqlite3_progress_handler(connection.handle(), STEPS, Some(look::<F>), context) };
        Self { connection, asked: PhantomData }
    }
}

impl<F> Drop for StatementWatch<'_, F> {
    fn drop(&mut self) {
        // SAFETY: the connection lives; without a function, there is no handler.
        unsafe { ffi::sqlite3_progress_handler(self.connection.handle(), 0, None, std::ptr::null_mut()) };
    }
}

unsafe extern "C" fn look<F: FnMut() -> bool>(context: *mut c_void) -> c_int {
    // SAFETY: `begin` gave the function, which is not used elsewhere while the handler is installed.
    let is_stopped = unsafe { &mut *context.cast::<F>() };
    c_int::from(is_stopped())
}
