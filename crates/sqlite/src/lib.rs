//! SQLite by its C API, where rusqlite is not enough.
//!
//! A [`Statement`] borrows its bound values, for loads of millions of rows. [`prepare`] makes SQLite's file locks safe from
//! other SQLite libraries of the process.

use std::path::Path;
use std::sync::Once;

use rusqlite::ffi;

mod failure;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod file_locks;
mod statement;

pub use failure::{SqliteFailure, last_failure};
pub use statement::{Row, Statement};

/// Prepares SQLite for all connections of the process. It must be called before the first one is opened.
///
/// Memory statistics of SQLite are switched off, as they take a lock that all threads share. On Linux, SQLite's file
/// locks become locks of open file descriptions: other SQLite libraries of the process, such as Python's `sqlite3`,
/// respect them and can't drop them.
pub fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the option takes one number. After the first connection, SQLite refuses it and changes nothing.
        unsafe {
            ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0);
        }
        lock_by_descriptions();
    });
}

/// Has SQLite lock files by open file descriptions on Linux, and count its memory as it does otherwise. It must come before the first
/// connection of the process.
pub fn lock_by_descriptions() {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    file_locks::install();
}

/// Reads up to `out.len()` bytes from the start of a database file, and gives their number. No library of the process loses its locks of
/// the file, as it would where the file was opened and closed otherwise.
pub fn read_start(path: &Path, out: &mut [u8]) -> std::io::Result<usize> {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    return file_locks::read_start(path, out);
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    {
        use std::io::Read;
        let mut file = std::fs::File::open(path)?.take(out.len() as u64);
        let mut read = 0;
        loop {
            match file.read(&mut out[read..])? {
                0 => return Ok(read),
                more => read += more,
            }
        }
    }
}
