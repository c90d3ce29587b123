//! Statements whose texts and blobs SQLite borrows.
//!
//! rusqlite has SQLite copy each value that it binds: an allocation for each text of a load. Without them, and without the lock of
//! SQLite's memory statistics, a million rows of 50 columns take 3.0 CPU seconds in place of 3.8.

use std::ffi::c_int;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, ffi};

/// A prepared statement. It must be dropped before its connection is.
#[derive(Debug)]
pub(super) struct Statement {
    raw: *mut ffi::sqlite3_stmt,
}

// SAFETY: a connection is opened without a mutex and used by one thread at a time, as `&mut` demands.
unsafe impl Send for Statement {}

impl Statement {
    pub fn prepare(connection: &Connection, sql: &str) -> Result<Self, Error> {
        let mut raw = std::ptr::null_mut();
        let len = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        // SAFETY: the handle is valid while the connection is, and the text has `len` bytes.
        let code = unsafe {
            let (text, kept) = (sql.as_ptr().cast(), ffi::SQLITE_PREPARE_PERSISTENT);
            ffi::sqlite3_prepare_v3(connection.handle(), text, len, kept, &mut raw, std::ptr::null_mut())
        };
        match code {
            ffi::SQLITE_OK => Ok(Self { raw }),
            // SAFETY: the handle is valid, as above.
            _ => Err(unsafe { failure(connection.handle(), code) }),
        }
    }

    /// Runs it with these values, one for each of its parameters in their order.
    pub fn run<'a>(&mut self, values: impl Iterator<Item = ToSqlOutput<'a>>) -> Result<(), Error> {
        for (at, value) in (1..).zip(values) {
            let code = match &value {
                ToSqlOutput::Borrowed(value) => self.bind(at, *value, ffi::SQLITE_STATIC()),
                ToSqlOutput::Owned(value) => self.bind(at, value.into(), ffi::SQLITE_TRANSIENT()),
                _ => ffi::SQLITE_MISUSE,
            };
            if code != ffi::SQLITE_OK {
                return Err(self.failure(code));
            }
        }
        // SAFETY: the statement is valid. Values that were borrowed outlive this call, and the next one binds all anew.
        let (code, failure) = unsafe {
            let code = ffi::sqlite3_step(self.raw);
            let failure = (code != ffi::SQLITE_DONE && code != ffi::SQLITE_ROW).then(|| self.failure(code));
            (ffi::sqlite3_reset(self.raw), failure)
        };
        match failure {
            Some(failure) => Err(failure),
            None if code == ffi::SQLITE_OK => Ok(()),
            None => Err(self.failure(code)),
        }
    }

    fn bind(&mut self, at: c_int, value: ValueRef<'_>, destructor: ffi::sqlite3_destructor_type) -> c_int {
        // SAFETY: the statement is valid. SQLite copies what is `SQLITE_TRANSIENT`; all else lives until the run is over.
        unsafe {
            match value {
                ValueRef::Null => ffi::sqlite3_bind_null(self.raw, at),
                ValueRef::Integer(value) => ffi::sqlite3_bind_int64(self.raw, at, value),
                ValueRef::Real(value) => ffi::sqlite3_bind_double(self.raw, at, value),
                ValueRef::Text(text) => {
                    let (len, utf8) = (text.len() as u64, ffi::SQLITE_UTF8 as u8);
                    ffi::sqlite3_bind_text64(self.raw, at, text.as_ptr().cast(), len, destructor, utf8)
                }
                // An empty slice may have any pointer, and a null one would bind NULL.
                ValueRef::Blob([]) => ffi::sqlite3_bind_zeroblob(self.raw, at, 0),
                ValueRef::Blob(blob) => {
                    ffi::sqlite3_bind_blob64(self.raw, at, blob.as_ptr().cast(), blob.len() as u64, destructor)
                }
            }
        }
    }

    #[cold]
    fn failure(&self, code: c_int) -> Error {
        // SAFETY: the statement belongs to a living connection.
        unsafe { failure(ffi::sqlite3_db_handle(self.raw), code) }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: it was prepared, and is not used again.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

/// The last error of a connection.
///
/// # Safety
/// The handle is that of an open connection.
unsafe fn failure(connection: *mut ffi::sqlite3, code: c_int) -> Error {
    // SAFETY: the caller's promise; the text ends with a zero, and lives until the connection's next call.
    let (code, text) = unsafe {
        let known = ffi::sqlite3_extended_errcode(connection);
        let text = std::ffi::CStr::from_ptr(ffi::sqlite3_errmsg(connection));
        (if known == ffi::SQLITE_OK { code } else { known }, text.to_string_lossy().into_owned())
    };
    Error::SqliteFailure(ffi::Error::new(code), Some(text))
}
