//! Errors of SQLite as errors of this crate.

use std::ffi::c_int;

use lakerace_io::{Error, ErrorKind};
use lakerace_sqlite::SqliteFailure;
use rusqlite::ffi;

/// The error for a failure that SQLite reports.
pub(crate) fn from_sqlite(failure: SqliteFailure) -> Error {
    classify(failure.code, failure.extended, failure.message)
}

/// The error for one of rusqlite.
pub(crate) fn from_rusqlite(error: &rusqlite::Error) -> Error {
    match error.sqlite_error() {
        Some(code) => classify(code.extended_code & 0xff, code.extended_code, error.to_string()),
        None => Error::internal(error.to_string()),
    }
}

/// The message for a disk that is full.
const NO_SPACE: &str = "no space is left for the store";

/// True for a write that failed as the disk is full.
pub(crate) fn is_disk_full(error: &Error) -> bool {
    error.kind() == ErrorKind::Unavailable && error.message() == NO_SPACE
}

fn classify(code: c_int, extended: c_int, text: String) -> Error {
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Error::unavailable("another process is writing to the store")
            .advice("try again, or wait longer with busy_timeout"),
        ffi::SQLITE_FULL => Error::unavailable(NO_SPACE).advice("free some space on its disk, then try again"),
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB | ffi::SQLITE_FORMAT => {
            Error::corrupt(text).advice("verify the store to see what is damaged")
        }
        ffi::SQLITE_READONLY => {
            Error::invalid(text).advice("open it with read_only, or give write access to the store and its folder")
        }
        ffi::SQLITE_PERM | ffi::SQLITE_CANTOPEN | ffi::SQLITE_AUTH => Error::invalid(text),
        ffi::SQLITE_IOERR if extended == ffi::SQLITE_IOERR_CORRUPTFS => Error::corrupt(text),
        ffi::SQLITE_IOERR if is_of_writes(extended) => Error::unavailable(text).advice(
            "the file, or the index of its log (-shm), can't grow: free some space on its disk, or raise the file size \
             limit with ulimit -f",
        ),
        ffi::SQLITE_IOERR | ffi::SQLITE_NOMEM | ffi::SQLITE_PROTOCOL | ffi::SQLITE_INTERRUPT => {
            Error::unavailable(text)
        }
        ffi::SQLITE_CONSTRAINT => Error::corrupt(format!("{text}: the store's tables contradict each other")),
        ffi::SQLITE_TOOBIG => Error::unsupported(text),
        // The statements are fixed: one that does not fit the tables means that the tables are foreign.
        ffi::SQLITE_ERROR => Error::corrupt(text),
        _ => Error::internal(format!("SQLite: {text} ({extended})")),
    }
}

/// Returns true if a file could not be extended or its bytes not be written. A full disk is mostly reported by another
/// code.
fn is_of_writes(extended: c_int) -> bool {
    matches!(extended, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_TRUNCATE | ffi::SQLITE_IOERR_SHMSIZE)
}
