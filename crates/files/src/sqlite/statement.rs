//! Prepared statements that are kept with their connection, and run without an allocation.

use std::ffi::{CStr, c_int};
use std::slice;

use lakerace_io::{Error, Result};
use rusqlite::{Connection, ffi};

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.as_bytes()))
    }

    pub(super) fn int(int: Option<i64>) -> Self {
        int.map_or(Self::Null, Self::Int)
    }
}

/// A prepared statement. It must be dropped before its connection is.
#[derive(Debug)]
pub(super) struct Statement {
    raw: *mut ffi::sqlite3_stmt,
}

// SAFETY: a connection is opened without a mutex and used by one thread at a time, as `&mut` demands.
unsafe impl Send for Statement {}

/// The row that a statement is at.
pub(super) struct Row<'a>(&'a Statement);

impl Statement {
    pub(super) fn prepare(connection: &Connection, sql: &str) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        let len = c_int::try_from(sql.len()).map_err(|_| Error::internal("a statement of 2 GB"))?;
        // SAFETY: the handle is valid while the connection is; the text has `len` bytes.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                connection.handle(),
                sql.as_ptr().cast(),
                len,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &mut raw,
                std::ptr::null_mut(),
            )
        };
        match code {
            // SAFETY: the handle is valid, as above.
            ffi::SQLITE_OK => Ok(Self { raw }),
            _ => Err(unsafe { failure(connection.handle(), code) }),
        }
    }

    fn bind(&mut self, values: &[Value<'_>]) -> Result<()> {
        for (at, value) in (1..).zip(values) {
            // SAFETY: the statement is valid. Texts and blobs are borrowed, not copied: they outlive the run, and the next run
            // binds every parameter anew.
            let code = unsafe {
                match *value {
                    Value::Null => ffi::sqlite3_bind_null(self.raw, at),
                    Value::Int(int) => ffi::sqlite3_bind_int64(self.raw, at, int),
                    Value::Text(text) => {
                        let (len, utf8) = (text.len() as u64, ffi::SQLITE_UTF8 as u8);
                        ffi::sqlite3_bind_text64(self.raw, at, text.as_ptr().cast(), len, ffi::SQLITE_STATIC(), utf8)
                    }
                    // An empty slice may have any pointer, and a null one would bind NULL.
                    Value::Blob([]) => ffi::sqlite3_bind_zeroblob(self.raw, at, 0),
                    Value::Blob(blob) => {
                        let len = blob.len() as u64;
                        ffi::sqlite3_bind_blob64(self.raw, at, blob.as_ptr().cast(), len, ffi::SQLITE_STATIC())
                    }
                }
            };
            if code != ffi::SQLITE_OK {
                return Err(self.failure(code));
            }
        }
        Ok(())
    }

    /// Runs the statement and calls `each` on its rows until that is false.
    pub(super) fn each(&mut self, values: &[Value<'_>], mut each: impl FnMut(&Row<'_>) -> Result<bool>) -> Result<()> {
        self.bind(values)?;
        let outcome = loop {
            // SAFETY: the statement is valid and its parameters live, as above.
            match unsafe { ffi::sqlite3_step(self.raw) } {
                ffi::SQLITE_ROW => match each(&Row(self)) {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                },
                ffi::SQLITE_DONE => break Ok(()),
                code => break Err(self.failure(code)),
            }
        };
        // SAFETY: the statement is valid. What reset answers is the step's own code again.
        unsafe { ffi::sqlite3_reset(self.raw) };
        outcome
    }

    /// Runs the statement; gives what `get` makes of its first row.
    pub(super) fn first<T>(
        &mut self,
        values: &[Value<'_>],
        mut get: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.each(values, |row| {
            found = Some(get(row)?);
            Ok(false)
        })?;
        Ok(found)
    }

    /// Runs a statement without rows; gives the rows that it changed.
    pub(super) fn run(&mut self, values: &[Value<'_>]) -> Result<u64> {
        self.each(values, |_| Ok(true))?;
        // SAFETY: the statement belongs to a living connection.
        Ok(unsafe { ffi::sqlite3_changes64(ffi::sqlite3_db_handle(self.raw)) } as u64)
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

impl Row<'_> {
    pub(super) fn int(&self, column: c_int) -> i64 {
        // SAFETY: the statement is at a row; a column that it lacks is NULL.
        unsafe { ffi::sqlite3_column_int64(self.0.raw, column) }
    }

    pub(super) fn is_null(&self, column: c_int) -> bool {
        // SAFETY: as above.
        unsafe { ffi::sqlite3_column_type(self.0.raw, column) == ffi::SQLITE_NULL }
    }

    pub(super) fn opt_int(&self, column: c_int) -> Option<i64> {
        (!self.is_null(column)).then(|| self.int(column))
    }

    /// The bytes of a text or blob, without a copy; none of NULL.
    pub(super) fn bytes(&self, column: c_int) -> &[u8] {
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

    /// A text, which must be UTF-8.
    pub(super) fn str(&self, column: c_int) -> Result<&str> {
        str::from_utf8(self.bytes(column)).map_err(|_| Error::corrupt("a text is not UTF-8"))
    }

    pub(super) fn opt_str(&self, column: c_int) -> Result<Option<&str>> {
        if self.is_null(column) { Ok(None) } else { self.str(column).map(Some) }
    }
}

/// The error for a code of SQLite's.
///
/// # Safety
/// `handle` is null or a living connection.
pub(super) unsafe fn failure(handle: *mut ffi::sqlite3, code: c_int) -> Error {
    // SAFETY: the caller's; the text is copied before anything else is called.
    let (extended, text) = unsafe {
        let text = ffi::sqlite3_errmsg(handle);
        let text = if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() };
        (ffi::sqlite3_extended_errcode(handle), text)
    };
    classify(code, extended, text)
}

/// An error of rusqlite's.
pub(crate) fn from_rusqlite(error: &rusqlite::Error) -> Error {
    match error.sqlite_error() {
        Some(code) => classify(code.extended_code & 0xff, code.extended_code, error.to_string()),
        None => Error::internal(error.to_string()),
    }
}

fn classify(code: c_int, extended: c_int, text: String) -> Error {
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Error::unavailable("the store is being written by another process")
            .advice("try again, or wait for longer (busy_timeout)"),
        ffi::SQLITE_FULL => {
            Error::unavailable("no space is left for the store").advice("free some space, then try again")
        }
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB | ffi::SQLITE_FORMAT => {
            Error::corrupt(text).advice("verifying the store says what is damaged")
        }
        ffi::SQLITE_READONLY | ffi::SQLITE_PERM | ffi::SQLITE_CANTOPEN | ffi::SQLITE_AUTH => Error::invalid(text),
        ffi::SQLITE_IOERR if extended == ffi::SQLITE_IOERR_CORRUPTFS => Error::corrupt(text),
        ffi::SQLITE_IOERR | ffi::SQLITE_NOMEM | ffi::SQLITE_PROTOCOL | ffi::SQLITE_INTERRUPT => {
            Error::unavailable(text)
        }
        ffi::SQLITE_CONSTRAINT => Error::corrupt(format!("{text}: the store's tables contradict each other")),
        ffi::SQLITE_TOOBIG => Error::unsupported(text),
        // Statements are ours: one that does not fit the tables tells that they are others.
        ffi::SQLITE_ERROR => Error::corrupt(text),
        _ => Error::internal(format!("SQLite: {text} ({extended})")),
    }
}
