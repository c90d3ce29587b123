//! SQLite's errors as ours.

use lakerace_io::{Error, ErrorKind};
use rusqlite::ErrorCode;

use super::location::ASIDE;

/// Converts an error of SQLite, by the action that it requires of the user.
pub(super) fn failed(error: rusqlite::Error) -> Error {
    let (kind, message, advice) = of_code(error.sqlite_error_code());
    let text = text_of(&error);
    let message = if message.is_empty() { text } else { format!("{message} ({text})") };
    let made = Error::new(kind, message).caused_by(error);
    if advice.is_empty() { made } else { made.advice(advice) }
}

/// The text of an error of SQLite. It names a table that is replaced where SQLite names the one that takes its place.
pub(super) fn text_of(error: &rusqlite::Error) -> String {
    let text = match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    text.replace(ASIDE, "")
}

fn of_code(code: Option<ErrorCode>) -> (ErrorKind, &'static str, &'static str) {
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::Unavailable, "another connection has locked the database", "try again when it has finished")
        }
        Some(ErrorCode::DiskFull) => (ErrorKind::Unavailable, "the disk is full", "free some space, then load again"),
        Some(ErrorCode::OutOfMemory) => (ErrorKind::Unavailable, "SQLite is out of memory", ""),
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            let advice = "check the disk for errors, free some space, or raise the file size limit with ulimit -f";
            (ErrorKind::Unavailable, "the database file can't be read or written", advice)
        }
        Some(ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Corrupt,
            "the database is damaged",
            "restore it from a backup, or recover its rows with: sqlite3 FILE .recover",
        ),
        Some(ErrorCode::NotADatabase) => {
            (ErrorKind::Invalid, "the file is not a SQLite database, or it is encrypted", "choose another file")
        }
        Some(ErrorCode::ReadOnly) => {
            (ErrorKind::Invalid, "the database is read-only", "change its permissions, or choose another file")
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
            (ErrorKind::Invalid, "access to the database is denied", "change its permissions, or choose another file")
        }
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::NotFound,
            "the database can't be opened",
            "choose a file in an existing folder that you may write to",
        ),
        Some(ErrorCode::TooBig) => (ErrorKind::Unsupported, "a value is larger than SQLite allows", ""),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => (ErrorKind::Invalid, "", ""),
        _ => (ErrorKind::Invalid, "", ""),
    }
}
