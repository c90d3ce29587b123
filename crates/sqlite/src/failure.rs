//! SQLite's account of a call that failed.

use std::ffi::{CStr, c_int};
use std::fmt;

use rusqlite::ffi;

/// A call that failed: its codes, see <https://www.sqlite.org/rescode.html>, and SQLite's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteFailure {
    /// The result of the call.
    pub code: c_int,
    /// The connection's extended code, which is more exact.
    pub extended: c_int,
    /// In English.
    pub message: String,
}

impl fmt::Display for SqliteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.extended)
    }
}

impl std::error::Error for SqliteFailure {}

impl From<SqliteFailure> for rusqlite::Error {
    fn from(failure: SqliteFailure) -> Self {
        let code = if failure.extended == ffi::SQLITE_OK { failure.code } else { failure.extended };
        Self::SqliteFailure(ffi::Error::new(code), Some(failure.message))
    }
}

/// The last failure of a connection, whose call answered `code`.
///
/// # Safety
/// `connection` is null or an open connection.
pub unsafe fn last_failure(connection: *mut ffi::sqlite3, code: c_int) -> SqliteFailure {
    // SAFETY: the caller's promise. The text ends with a zero, and is copied before anything else is called.
    unsafe {
        let message = ffi::sqlite3_errmsg(connection);
        let message =
            if message.is_null() { String::new() } else { CStr::from_ptr(message).to_string_lossy().into_owned() };
        SqliteFailure { code, extended: ffi::sqlite3_extended_errcode(connection), message }
    }
}
