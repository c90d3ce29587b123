//! SQLite below rusqlite, for loads of millions of rows: statements that borrow what they bind.

use std::sync::Once;

use rusqlite::ffi;

mod failure;
mod statement;

pub use failure::{Failure, last_failure};
pub use statement::{Row, Statement};

/// Has SQLite not count its memory: it counts under a lock that all threads share, and nobody reads the counts.
///
/// It must come before the first connection of the process. Behind it, SQLite refuses and changes nothing.
pub fn without_memory_statistics() {
    static ONCE: Once = Once::new();
    // SAFETY: the option takes one number.
    ONCE.call_once(|| unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0);
    });
}
