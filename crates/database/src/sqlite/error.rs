//! SQLite's errors as ours.

use lakerace_io::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// Converts an error of SQLite, by the action that it requires of the user.
pub(super) fn failed(error: rusqlite::Error) -> Error {
    let (kind, message, advice) = of_code(error.sqlite_error_code());
    let text = match &error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    let message = if message.is_empty() { text } else { format!("{message} ({text})") };
    let made = Error::new(kind, message).caused_by(error);
    if advice.is_empty() { made } else { made.advice(advice) }
}

fn of_code(code: Option<ErrorCode>) -> (ErrorKind, &'static str, &'static str) {
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::Unavailable, "another connection has locked the database", "try again when it is done with it")
        }
        Some(ErrorCode::DiskFull) => (ErrorKind::Unavailable, "the disk is full", "make room, then load again"),
        Some(ErrorCode::OutOfMemory) => (ErrorKind::Unavailable, "SQLite has no memory", ""),
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            let advice = "look for an error of its disk, free some space, or raise the limit of file sizes (ulimit -f)";
            (ErrorKind::Unavailable, "the database file can't be read or written", advice)
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            (ErrorKind::Corrupt, "the database is damaged", "restore it, or save what is left by sqlite3 FILE .recover")
        }
        Some(ErrorCode::NotADatabase) => {
            (ErrorKind::Invalid, "the file is no SQLite database, or it is encrypted", "name another file")
        }
        Some(ErrorCode::ReadOnly) => {
            (ErrorKind::Invalid, "the database is read-only", "change its permissions, or name another file")
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            (ErrorKind::Invalid, "access to the database is denied", "change its permissions, or name another file")
        }
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::NotFound,
            "the database can't be opened",
            "name a file in a folder that exists and that you may write",
        ),
        Some(ErrorCode::TooBig) => (ErrorKind::Unsupported, "a value is larger than SQLite's limit", ""),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => (ErrorKind::Invalid, "", ""),
        _ => (ErrorKind::Invalid, "", ""),
    }
}
