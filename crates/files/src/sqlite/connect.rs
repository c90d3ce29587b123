//! How connections are opened, and direct operations on their file without SQLite.

use std::ffi::{OsString, c_int};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lakerace_io::{Error, ErrorKind, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::statement::pragma;
use crate::options::Options;
use crate::sqlite_error::from_rusqlite;

/// `LRFS`, in the header of the file.
pub(super) const APPLICATION_ID: i32 = 0x4c52_4653;

/// Opens a connection, one that exists or a new store. Nothing of SQLite's own locks threads out: who uses it does.
pub(super) fn connect(path: &Path, options: &Options, create: bool) -> Result<Connection> {
    check_regular(path)?;
    let access = match (options.read_only, create) {
        (true, _) => OpenFlags::SQLITE_OPEN_READ_ONLY,
        (false, true) => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        (false, false) => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    open(path, access, options)
}

/// Opens a connection that reads. Where a store that is not written may not be locked, it is read without locks.
pub(super) fn connect_to_read(path: &Path, options: &Options) -> Result<(Connection, Option<UnlockedFile>)> {
    let connection = connect(path, options, false)?;
    if !options.read_only || !is_refused(&connection) {
        return Ok((connection, None));
    }
    let unlocked = UnlockedFile::new(path)?;
    drop(connection);
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Ok((open(Path::new(&immutable(path)), access, options)?, Some(unlocked)))
}

fn open(path: &Path, access: OpenFlags, options: &Options) -> Result<Connection> {
    lakerace_sqlite::prepare();
    let connection =
        Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(|e| from_rusqlite(&e))?;
    connection.busy_timeout(options.busy_timeout).map_err(|e| from_rusqlite(&e))?;
    pragma(&connection, "PRAGMA cell_size_check=ON")?;
    Ok(connection)
}

/// Returns an error for a path that can't be a store. Opening a pipe would wait for its other end.
fn check_regular(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let what = if found.is_dir() { "a directory" } else { "a pipe, a socket or a device" };
            Err(Error::invalid(format!("{what}: only a regular file can be a store")).advice("choose another file"))
        }
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound
                && path.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.exists()) =>
        {
            Err(Error::not_found("its folder does not exist").advice("create the folder first"))
        }
        // SQLite reports the error of a path without accessible metadata.
        _ => Ok(()),
    }
}

/// Returns true if the file may be read, but the files next to it can't be created.
fn is_refused(connection: &Connection) -> bool {
    let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    let code = read.err().and_then(|e| e.sqlite_error_code());
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied))
}

/// The URI of a file that SQLite takes for one that no one writes.
fn immutable(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            // Writing to a string can't fail.
            other => drop(write!(uri, "%{other:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// Returns true if a store has a log with content.
fn has_log(path: &Path) -> bool {
    let mut log = OsString::from(path);
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// A file that is read without locks. What was read counts for nothing where someone has written it in the meantime.
#[derive(Debug)]
pub(super) struct UnlockedFile {
    path: PathBuf,
    state: [i64; 5],
}

impl UnlockedFile {
    fn new(path: &Path) -> Result<Self> {
        if has_log(path) {
            return Err(Error::invalid("reading the log of the store requires write access to the store's folder")
                .advice("give write access to the folder, or let the process that writes to the store close it"));
        }
        let found = std::fs::metadata(path)?;
        let state = [found.dev() as i64, found.ino() as i64, found.size() as i64, found.mtime(), found.mtime_nsec()];
        Ok(Self { path: path.to_owned(), state })
    }

    pub(super) fn check(&self) -> Result<()> {
        match Self::new(&self.path) {
            Ok(now) if now.state == self.state => Ok(()),
            _ => Err(Error::unavailable("the store was written to while it was read without a lock")
                .advice("try again, or give write access to the store's folder, which holds the locks")),
        }
    }
}

/// The error for a file that SQLite can't read: damage of a store, or no store at all.
pub(super) fn unreadable(connection: &Connection, error: Error) -> Error {
    if error.kind() != ErrorKind::Corrupt {
        return error;
    }
    match read_header(connection) {
        Some(header) if header[68..72] == APPLICATION_ID.to_be_bytes() => cut_off(connection, &header)
            .unwrap_or_else(|| damaged(format!("the store is damaged: {}", error.message()))),
        _ => {
            Error::invalid(format!("not a file store: {}", error.message())).advice("choose another file, or a new one")
        }
    }
}

/// An error where a store lacks pages that it must have. SQLite itself takes a page that is cut off for a whole one.
pub(super) fn check_length(connection: &Connection) -> Result<()> {
    let Some(header) = read_header(connection) else { return Ok(()) };
    let Some(error) = cut_off(connection, &header) else { return Ok(()) };
    // Pages may be in the log still, and another process may have moved them or taken some away.
    let has_log = connection.path().is_some_and(|path| has_log(Path::new(path)));
    if has_log || read_header(connection) != Some(header) { Ok(()) } else { Err(error) }
}

fn cut_off(connection: &Connection, header: &[u8; 100]) -> Option<Error> {
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        bytes => bytes,
    };
    let whole = page * u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]));
    let found = std::fs::metadata(connection.path()?).ok()?.len();
    (found < whole).then(|| damaged(format!("the store is truncated: the file has {found} of {whole} bytes")))
}

fn damaged(message: String) -> Error {
    Error::corrupt(message).advice("restore it from a backup")
}

/// The first bytes of a file; `None` where it has fewer.
fn read_header(connection: &Connection) -> Option<[u8; 100]> {
    let mut header = [0_u8; 100];
    read_at(connection, &mut header, 0).then_some(header)
}

/// Reads bytes of the file; false where it does not have as many.
pub(super) fn read_at(connection: &Connection, out: &mut [u8], offset: u64) -> bool {
    let (Ok(len), Ok(offset)) = (c_int::try_from(out.len()), i64::try_from(offset)) else { return false };
    // SAFETY: `on_file` gives the open file of the connection, and SQLite writes `len` bytes, which `out` has.
    let code = on_file(connection, |file, methods| unsafe {
        methods.xRead.map(|read| read(file, out.as_mut_ptr().cast(), len, offset))
    });
    code == Some(ffi::SQLITE_OK)
}

/// Waits until the file is on the disk.
pub(super) fn sync(connection: &Connection) -> Result<()> {
    // SAFETY: `on_file` gives the open file of the connection.
    let code =
        on_file(connection, |file, methods| unsafe { methods.xSync.map(|sync| sync(file, ffi::SQLITE_SYNC_NORMAL)) });
    match code {
        Some(ffi::SQLITE_OK) => Ok(()),
        _ => Err(Error::unavailable("writes to the store can't be made durable: the disk reports an error")
            .advice("check the disk")),
    }
}

/// Uses the file that SQLite has open. Where another descriptor of it is closed, the process loses its locks of the file.
fn on_file<T>(
    connection: &Connection,
    run: impl FnOnce(*mut ffi::sqlite3_file, &ffi::sqlite3_io_methods) -> Option<T>,
) -> Option<T> {
    let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
    // SAFETY: the connection lives, and the call gives a pointer to its file, which lives as long. Its methods are SQLite's own.
    unsafe {
        let (handle, out) = (connection.handle(), std::ptr::from_mut(&mut file).cast());
        let code = ffi::sqlite3_file_control(handle, std::ptr::null(), ffi::SQLITE_FCNTL_FILE_POINTER, out);
        if code != ffi::SQLITE_OK {
            return None;
        }
        let methods = file.as_ref()?.pMethods.as_ref()?;
        run(file, methods)
    }
}
