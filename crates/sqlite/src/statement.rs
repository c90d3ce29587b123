//! Prepared statements that run without an allocation.
//!
//! rusqlite has SQLite copy each value that it binds: an allocation for each text of a load. Without them, and without the lock of
//! SQLite's memory statistics, a load of a million rows of 50 columns takes 3.0 CPU seconds in place of 3.8.

use std::ffi::c_int;
use std::slice;

use lakerace_io::{Error, Result};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ffi};

use crate::failure::{SqliteFailure, last_failure};

/// A prepared statement. It must be dropped before its connection is.
///
/// ```
/// use lakerace_sqlite::{SqliteFailure, Statement};
/// use rusqlite::types::{ToSqlOutput, ValueRef};
///
/// let connection = rusqlite::Connection::open_in_memory().unwrap();
/// connection.execute_batch("CREATE TABLE t (word TEXT)").unwrap();
/// let mut insert = Statement::prepare(&connection, "INSERT INTO t VALUES (?)").unwrap();
/// for word in ["one", "two"] {
///     insert.run([ToSqlOutput::Borrowed(ValueRef::Text(word.as_bytes()))]).unwrap();
/// }
/// ```
#[derive(Debug)]
pub struct Statement {
    raw: *mut ffi::sqlite3_stmt,
}

// SAFETY: a connection is opened without a mutex and used by one thread at a time, as `&mut` demands.
unsafe impl Send for Statement {}

/// The row that a statement is at.
#[derive(Debug)]
pub struct Row<'a>(&'a Statement);

impl Statement {
    /// Compiles the text's first statement.
    pub fn prepare(connection: &Connection, sql: &str) -> Result<Self, SqliteFailure> {
        let mut raw = std::ptr::null_mut();
        // A longer text is refused by SQLite.
        let len = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        // SAFETY: the handle is valid while the connection is, and the text has `len` bytes.
        unsafe {
            let (text, kept) = (sql.as_ptr().cast(), ffi::SQLITE_PREPARE_PERSISTENT);
            match ffi::sqlite3_prepare_v3(connection.handle(), text, len, kept, &mut raw, std::ptr::null_mut()) {
                ffi::SQLITE_OK => Ok(Self { raw }),
                code => Err(last_failure(connection.handle(), code)),
            }
        }
    }

    /// Runs it with these values, one for each of its parameters in their order, and calls `each` on its rows until that is false.
    #[inline]
    pub fn each<'a>(
        &mut self,
        values: impl IntoIterator<Item = ToSqlOutput<'a>>,
        failed: impl Fn(SqliteFailure) -> Error,
        mut each: impl FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        self.bind_all(values).map_err(&failed)?;
        let outcome = loop {
            // SAFETY: the statement is valid. Values that were borrowed outlive this call, and the next run binds all again.
            match unsafe { ffi::sqlite3_step(self.raw) } {
                ffi::SQLITE_ROW => match each(&Row(self)) {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                },
                ffi::SQLITE_DONE => break Ok(()),
                code => break Err(failed(self.failure(code))),
            }
        };
        // SAFETY: the statement is valid. What reset answers is the step's own code again.
        unsafe { ffi::sqlite3_reset(self.raw) };
        outcome
    }

    /// Runs it with these values; gives the rows that it changed. A row that it gives ends it.
    #[inline]
    pub fn run<'a>(&mut self, values: impl IntoIterator<Item = ToSqlOutput<'a>>) -> Result<u64, SqliteFailure> {
        self.bind_all(values)?;
        // SAFETY: as above; the statement belongs to a living connection.
        unsafe {
            let code = ffi::sqlite3_step(self.raw);
            let failure = (code != ffi::SQLITE_DONE && code != ffi::SQLITE_ROW).then(|| self.failure(code));
            let code = ffi::sqlite3_reset(self.raw);
            match failure {
                Some(failure) => Err(failure),
                None if code == ffi::SQLITE_OK => Ok(ffi::sqlite3_changes64(ffi::sqlite3_db_handle(self.raw)) as u64),
                None => Err(self.failure(code)),
            }
        }
    }

    #[inline]
    fn bind_all<'a>(&mut self, values: impl IntoIterator<Item = ToSqlOutput<'a>>) -> Result<(), SqliteFailure> {
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
        Ok(())
    }

    #[inline]
    fn bind(&mut self, at: c_int, value: ValueRef<'_>, destructor: ffi::sqlite3_destructor_type) -> c_int {
        // SAFETY: the statement is valid. SQLite copies values bound with `SQLITE_TRANSIENT`; all others live until the
        // run is over.
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
    fn failure(&self, code: c_int) -> SqliteFailure {
        // SAFETY: the statement belongs to a living connection.
        unsafe { last_failure(ffi::sqlite3_db_handle(self.raw), code) }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: it was prepared, and is not used again.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

impl Row<'_> {
    /// A column's whole number, by SQLite's own conversion: 0 of NULL.
    #[inline]
    pub fn int(&self, column: c_int) -> i64 {
        // SAFETY: the statement is at a row; a column that it lacks is NULL.
        unsafe { ffi::sqlite3_column_int64(self.0.raw, column) }
    }

    /// Returns true if a column is NULL.
    #[inline]
    pub fn is_null(&self, column: c_int) -> bool {
        // SAFETY: as above.
        unsafe { ffi::sqlite3_column_type(self.0.raw, column) == ffi::SQLITE_NULL }
    }

    /// Reads like [`int`](Self::int); none of NULL.
    #[inline]
    pub fn opt_int(&self, column: c_int) -> Option<i64> {
        (!self.is_null(column)).then(|| self.int(column))
    }

    /// The bytes of a text or blob, without a copy; none of NULL.
    #[inline]
    pub fn bytes(&self, column: c_int) -> &[u8] {
        // SAFETY: the statement is at a row, and the bytes stay until it steps or is reset, which takes `&mut`.
        unsafe {
            let bytes = ffi::sqlite3_column_blob(self.0.raw, column).cast::<u8>();
            let len = ffi::sqlite3_column_bytes(self.0.raw, column);
            match bytes.is_null() {
                true => &[],
                false => slice::from_raw_parts(bytes, usize::try_from(len).unwrap_or(0)),
            }
        }
    }

    /// A text; an error of kind `Corrupt` where it is not UTF-8.
    #[inline]
    pub fn str(&self, column: c_int) -> Result<&str> {
        str::from_utf8(self.bytes(column)).map_err(|_| Error::corrupt("a text is not valid UTF-8"))
    }

    /// Reads like [`str`](Self::str); none of NULL.
    #[inline]
    pub fn opt_str(&self, column: c_int) -> Result<Option<&str>> {
        if self.is_null(column) { Ok(None) } else { self.str(column).map(Some) }
    }
}

#[cfg(test)]
mod tests;
