//! The tables of a store, as `docs/guide/files.md` documents them.

use std::time::{Duration, Instant};

use lakerace_io::{Error, Result};
use rusqlite::Connection;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::connect::{APPLICATION_ID, check_length, unreadable};
use super::statement::{BoundValue, PreparedStatement, pragma};
use crate::options::{Codec, Options};
use crate::sqlite_error::from_rusqlite;

/// The version of the tables.
pub(super) const VERSION: i32 = 1;

/// The tables, each as SQLite keeps its text.
pub(super) const TABLES: [(&str, &str); 6] = [
    (
        "settings",
        "CREATE TABLE settings (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL, check_sum INTEGER NOT NULL) WITHOUT ROWID",
    ),
    (
        "encodings",
        "CREATE TABLE encodings (id INTEGER PRIMARY KEY, encoding TEXT NOT NULL, check_sum INTEGER NOT NULL)",
    ),
    (
        "dictionaries",
        "CREATE TABLE dictionaries (id INTEGER PRIMARY KEY, data BLOB NOT NULL, check_sum INTEGER NOT NULL)",
    ),
    (
        "files",
        "CREATE TABLE files (name TEXT PRIMARY KEY NOT NULL, size INTEGER NOT NULL, mtime_ms INTEGER NOT NULL, encoding INTEGER NOT NULL, \
         checksum INTEGER NOT NULL, check_sum INTEGER NOT NULL, metadata TEXT, place INTEGER, start INTEGER, content BLOB) WITHOUT ROWID",
    ),
    ("chunks", "CREATE TABLE chunks (id INTEGER PRIMARY KEY, check_sum INTEGER NOT NULL, data BLOB NOT NULL)"),
    ("uploads", "CREATE TABLE uploads (place INTEGER PRIMARY KEY, touched_ms INTEGER NOT NULL)"),
];

/// The columns of `files` in the order that [`super::record`] reads them.
pub(super) const COLUMNS: &str = "name, size, mtime_ms, encoding, checksum, check_sum, metadata, place, start";

/// Contents of at most this many bytes are read as a whole, in the statement that finds their row.
pub(super) const SHORT_BYTES: usize = 32 << 10;

/// Places of chunks: the number of the content, then 24 bits for the piece.
pub(super) const PIECE_BITS: u32 = 24;

/// The checksum of a row of `settings`, `encodings` or `dictionaries`: of its value, with that of its key as the seed.
pub(super) fn check_sum(key: &[u8], value: &[u8]) -> i64 {
    xxh3_64_with_seed(value, xxh3_64(key)) as i64
}

fn pragma_text(connection: &Connection, sql: &str) -> Result<String> {
    let found = PreparedStatement::prepare(connection, sql)?.first(&[], |row| row.str(0).map(str::to_owned))?;
    Ok(found.unwrap_or_default())
}

/// Checks that the file is a store of a version that is known, and makes it one where it is empty.
pub(super) fn prepare(connection: &Connection, options: &Options) -> Result<()> {
    let is_new = pragma(connection, "PRAGMA application_id").and_then(|id| Ok(id == 0 && is_empty(connection)?));
    if is_new.map_err(|e| unreadable(connection, e))? {
        if options.read_only || !options.create {
            return Err(Error::invalid("the file is empty, not a file store"));
        }
        create(connection, options)?;
    }
    if pragma(connection, "PRAGMA application_id")? != i64::from(APPLICATION_ID) {
        return Err(Error::invalid("the file is a SQLite database, but not a file store")
            .advice("choose another file, or a new one"));
    }
    check_length(connection)?;
    let version = pragma(connection, "PRAGMA user_version")?;
    if version > i64::from(VERSION) {
        return Err(Error::unsupported(format!(
            "the store's tables have version {version}, but this lakerace supports version {VERSION}"
        ))
        .advice("open it with a newer version of lakerace"));
    }
    for (name, sql) in TABLES {
        let known =
            PreparedStatement::prepare(connection, "SELECT sql FROM sqlite_schema WHERE name=?1 AND type='table'")?
                .first(&[BoundValue::Text(name.as_bytes())], |row| Ok(row.bytes(0) == sql.as_bytes()))?;
        if known != Some(true) {
            return Err(Error::corrupt(format!(
                "the definition of the table {name} differs from that of version {VERSION}"
            )));
        }
    }
    Ok(())
}

fn is_empty(connection: &Connection) -> Result<bool> {
    Ok(pragma(connection, "SELECT count(*) FROM sqlite_schema")? == 0)
}

fn create(connection: &Connection, options: &Options) -> Result<()> {
    let page = options.page_bytes;
    if !page.is_power_of_two() || !(4096..=65536).contains(&page) {
        return Err(Error::usage(format!("a page size of {page} bytes is not supported"))
            .advice("choose a power of two from 4096 to 65536"));
    }
    pragma(connection, &format!("PRAGMA page_size={page}"))?;
    pragma(connection, "PRAGMA auto_vacuum=INCREMENTAL")?;
    write_ahead(connection, options.busy_timeout)?;
    let script = |sql: &str| connection.execute_batch(sql).map_err(|e| from_rusqlite(&e));
    script("BEGIN IMMEDIATE")?;
    // Another process may have been faster.
    if is_empty(connection)? {
        for (_, sql) in TABLES {
            script(sql)?;
        }
        for (id, codec) in Codec::ALL.iter().enumerate() {
            add_encoding(connection, id as i64, codec.name())?;
        }
        let compression = options.compression.unwrap_or_default().to_string();
        let pack = options.pack_bytes.unwrap_or(0).to_string();
        for (key, value) in [("compression", compression.as_str()), ("pack_bytes", &pack)] {
            set(connection, key, value)?;
        }
        script(&format!("PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION}"))?;
    }
    script("COMMIT")
}

/// Switches the file to a write-ahead log, for which it must be alone for a moment.
fn write_ahead(connection: &Connection, patience: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        match pragma_text(connection, "PRAGMA journal_mode=WAL") {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(Error::unsupported(format!(
                    "the file system offers SQLite no shared memory (journal mode {mode})"
                ))
                .advice("move the store to a local disk"));
            }
            Err(e) if e.kind() == lakerace_io::ErrorKind::Unavailable && start.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(e) => return Err(e),
        }
    }
}

/// Adds an encoding of that number.
pub(super) fn add_encoding(connection: &Connection, id: i64, text: &str) -> Result<()> {
    let sum = check_sum(&id.to_le_bytes(), text.as_bytes());
    PreparedStatement::prepare(connection, "INSERT INTO encodings VALUES (?1, ?2, ?3)")?.run(&[
        BoundValue::Int(id),
        BoundValue::Text(text.as_bytes()),
        BoundValue::Int(sum),
    ])?;
    Ok(())
}

/// Sets a setting.
pub(super) fn set(connection: &Connection, key: &str, value: &str) -> Result<()> {
    let sum = check_sum(key.as_bytes(), value.as_bytes());
    PreparedStatement::prepare(connection, "INSERT OR REPLACE INTO settings VALUES (?1, ?2, ?3)")?.run(&[
        BoundValue::Text(key.as_bytes()),
        BoundValue::Text(value.as_bytes()),
        BoundValue::Int(sum),
    ])?;
    Ok(())
}

/// A setting.
pub(super) fn setting(connection: &Connection, key: &str) -> Result<Option<String>> {
    let mut select = PreparedStatement::prepare(connection, "SELECT value, check_sum FROM settings WHERE key=?1")?;
    select.first(&[BoundValue::Text(key.as_bytes())], |row| {
        match check_sum(key.as_bytes(), row.bytes(0)) == row.int(1) {
            true => row.str(0).map(str::to_owned),
            false => Err(Error::corrupt(format!("the setting {key} differs from what was written"))),
        }
    })
}
