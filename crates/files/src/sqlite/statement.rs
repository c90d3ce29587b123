//! Prepared statements that are kept with their connection, and their failures as this crate's errors.

use std::ffi::c_int;

use lakerace_io::{Error, ErrorKind, Result};
use lakerace_sqlite::Failure;
pub(super) use lakerace_sqlite::Row;
use rusqlite::types::{ToSqlOutput, ValueRef};
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

    fn bound(self) -> ToSqlOutput<'a> {
        ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(int) => ValueRef::Integer(int),
            Self::Text(text) => ValueRef::Text(text),
            Self::Blob(blob) => ValueRef::Blob(blob),
        })
    }
}

/// A prepared statement. It must be dropped before its connection is.
#[derive(Debug)]
pub(super) struct Statement(lakerace_sqlite::Statement);

impl Statement {
    pub(super) fn prepare(connection: &Connection, sql: &str) -> Result<Self> {
        lakerace_sqlite::Statement::prepare(connection, sql).map(Self).map_err(from_sqlite)
    }

    /// Runs the statement and calls `each` on its rows until that is false.
    pub(super) fn each(&mut self, values: &[Value<'_>], each: impl FnMut(&Row<'_>) -> Result<bool>) -> Result<()> {
        self.0.each(values.iter().map(|value| value.bound()), from_sqlite, each)
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
        self.0.run(values.iter().map(|value| value.bound())).map_err(from_sqlite)
    }
}

/// A failure of SQLite's.
pub(super) fn from_sqlite(failure: Failure) -> Error {
    classify(failure.code, failure.extended, failure.message)
}

/// An error of rusqlite's.
pub(crate) fn from_rusqlite(error: &rusqlite::Error) -> Error {
    match error.sqlite_error() {
        Some(code) => classify(code.extended_code & 0xff, code.extended_code, error.to_string()),
        None => Error::internal(error.to_string()),
    }
}

/// The first number that a statement gives; 0 where it gives none.
pub(super) fn pragma(connection: &Connection, sql: &str) -> Result<i64> {
    let found = Statement::prepare(connection, sql)?.first(&[], |row| Ok(row.int(0)))?;
    Ok(found.unwrap_or(0))
}

/// The message for a disk that is full.
const NO_SPACE: &str = "no space is left for the store";

/// Whether a write failed as the disk is full.
pub(super) fn is_full(error: &Error) -> bool {
    error.kind() == ErrorKind::Unavailable && error.message() == NO_SPACE
}

fn classify(code: c_int, extended: c_int, text: String) -> Error {
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Error::unavailable("the store is being written by another process")
            .advice("try again, or wait for longer (busy_timeout)"),
        ffi::SQLITE_FULL => Error::unavailable(NO_SPACE).advice("free some space on its disk, then try again"),
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB | ffi::SQLITE_FORMAT => {
            Error::corrupt(text).advice("verifying the store says what is damaged")
        }
        ffi::SQLITE_READONLY => Error::invalid(text)
            .advice("open it for reading only (read_only), or give write access to the store and its folder"),
        ffi::SQLITE_PERM | ffi::SQLITE_CANTOPEN | ffi::SQLITE_AUTH => Error::invalid(text),
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
