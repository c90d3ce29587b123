//! Connections to a database file.

use std::io::ErrorKind as Io;
use std::path::Path;
use std::time::Duration;

use lakerace_io::{Error, Job, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::failed;

/// How long a statement waits for another connection's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Instructions of SQLite's machine between two looks at the job's cancel flag.
const CANCEL_STEPS: i32 = 200_000;
/// The place of the count of commits in a database file.
const CHANGE_COUNTER: std::ops::Range<usize> = 24..28;
const HEADER_BYTES: usize = 100;

/// A connection that reads.
pub(super) fn to_read(path: &Path, job: &Job) -> Result<Connection> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        Io::NotFound => Error::not_found("the database file does not exist").at(path.display()),
        _ => Error::from(error).at(path.display()),
    })?;
    if !metadata.is_file() {
        return Err(Error::invalid("it is not a regular file, so it can't be a SQLite database").at(path.display()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match connect(path, flags, job) {
        // A writer was killed. Only a connection that may write can roll its transaction back.
        Err(error) if needs_recovery(&error) => {
            let writing = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            connect(path, writing, job).and_then(|recovered| {
                drop(recovered);
                connect(path, flags, job)
            })
        }
        opened => opened,
    };
    opened.map_err(|error| unreadable(error).at(path.display()))
}

fn unreadable(error: rusqlite::Error) -> Error {
    if !needs_recovery(&error) {
        return failed(error);
    }
    Error::invalid(
        "a process was killed while it wrote to this database, and its unfinished changes can't be rolled back \
         without write access",
    )
    .advice("give write access to the file and its folder, or open it once with a tool that has write access")
    .caused_by(error)
}

/// Returns true if the file has a journal that must be played back first.
fn needs_recovery(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_READONLY_RECOVERY, SQLITE_READONLY_ROLLBACK};
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_READONLY_RECOVERY | SQLITE_READONLY_ROLLBACK))
}

/// A connection that writes; the file is made where there is none.
pub(super) fn to_write(path: &Path, job: &Job) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(path, flags, job)?;
    // EXTRA is FULL that also syncs the folder from which a journal was removed: one that comes back would undo the commit.
    let level = if job.is_durable() { "EXTRA" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", level).map_err(|error| failed(error).at(path.display()))?;
    Ok(connection)
}

/// Fails where no file could be made, and makes none.
pub(super) fn check_new_file(path: &Path, job: &Job) -> Result<()> {
    let has_folder = path.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir());
    // SQLite's own error for a file in a folder that is not there.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if has_folder { Ok(()) } else { open(path, flags, job).map(drop) }
}

fn open(path: &Path, flags: OpenFlags, job: &Job) -> Result<Connection> {
    connect(path, flags, job).map_err(|error| unopened(error, path).at(path.display()))
}

fn unopened(error: rusqlite::Error, path: &Path) -> Error {
    let has_folder = || path.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir());
    if error.sqlite_error_code() != Some(ErrorCode::CannotOpen) || !has_folder() {
        return failed(error);
    }
    Error::invalid("the database can't be opened, or created in its folder")
        .advice("give write access to the file and its folder, or choose a file in another folder")
        .caused_by(error)
}

fn connect(path: &Path, flags: OpenFlags, job: &Job) -> rusqlite::Result<Connection> {
    lakerace_sqlite::prepare();
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let job = job.clone();
    let is_cancelled = move || job.is_cancelled();
    connection.progress_handler(CANCEL_STEPS, Some(is_cancelled))?;
    // The first statement reads the file.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Reads the number of changes from a database file's header; 0 of an empty file.
pub(super) fn change_counter(path: &Path) -> Result<u32> {
    let mut header = [0; HEADER_BYTES];
    let read = lakerace_sqlite::read_start(path, &mut header).map_err(|error| Error::from(error).at(path.display()))?;
    let counter = header[..read].get(CHANGE_COUNTER).and_then(|bytes| bytes.try_into().ok());
    Ok(counter.map_or(0, u32::from_be_bytes))
}

/// Connections that all read the same state of the database: `n`, or one where others keep changing it.
pub(super) fn same_state(path: &Path, n: usize, job: &Job) -> Result<Vec<Connection>> {
    const ATTEMPTS: usize = 5;
    let named = |error: rusqlite::Error| failed(error).at(path.display());
    let begin = |connection: &Connection| {
        connection.execute_batch("BEGIN")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
    };
    let watcher = to_read(path, job)?;
    // Changes when another connection commits.
    let version = || watcher.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0));
    for _ in 0..ATTEMPTS {
        let before = version().map_err(named)?;
        let connections = (0..n).map(|_| to_read(path, job)).collect::<Result<Vec<_>>>()?;
        connections.iter().try_for_each(begin).map_err(named)?;
        if n == 1 || version().map_err(named)? == before {
            return Ok(connections);
        }
    }
    let connection = to_read(path, job)?;
    begin(&connection).map_err(named)?;
    Ok(vec![connection])
}

#[cfg(test)]
mod tests;
