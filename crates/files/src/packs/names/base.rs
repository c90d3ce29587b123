//! A file of names that does not change: a SQLite table in the order of names.

use std::fs::File;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lakerace_io::wait::{OwningProcess, lock};
use lakerace_io::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::Named;
use crate::index::{IndexEntry, Segment};
use crate::sqlite_error::from_rusqlite;

pub(super) const TABLE: &str = "CREATE TABLE names (name BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ms INTEGER NOT NULL, \
    encoding TEXT NOT NULL, checksum INTEGER NOT NULL, metadata TEXT, segments BLOB NOT NULL) WITHOUT ROWID";

pub(super) const INSERT: &str = "INSERT OR REPLACE INTO names VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(super) const DELETE: &str = "DELETE FROM names WHERE name = ?1";

const FIND: &str = "SELECT name, size, mtime_ms, encoding, checksum, metadata, segments FROM names WHERE name = ?1";

/// Big-endian: the order of bytes is that of places.
const SEGMENT_BYTES: usize = 32;

/// Connections that wait for the next read.
const IDLE: usize = 8;

/// The owner of the file.
#[derive(Debug)]
pub(super) enum FileOwner {
    /// It is in the cache. The lock keeps others from removing it.
    Locked(#[expect(dead_code, reason = "held, never read")] File),
    /// It goes with the process that made it.
    Own(OwningProcess, #[expect(dead_code, reason = "held, never read")] File),
}

/// A file of names.
#[derive(Debug)]
pub(super) struct NamesFile {
    path: PathBuf,
    kept: FileOwner,
    /// Connections, each with the process that opened it.
    idle: Mutex<Vec<(OwningProcess, Connection)>>,
}

impl NamesFile {
    pub(super) fn new(path: PathBuf, kept: FileOwner) -> Self {
        Self { path, kept, idle: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, so that the next opening makes it again.
    pub(super) fn discard(&self) {
        // Another process may have removed it already.
        let _ = std::fs::remove_file(&self.path);
    }

    /// The kind is `Corrupt` where making the file again helps.
    fn failed(&self, error: &rusqlite::Error) -> Error {
        let told = from_rusqlite(error);
        if told.kind() == ErrorKind::Unavailable {
            return told.at(self.path.display());
        }
        // Gone, not a database, or with other values than were written.
        Error::new(ErrorKind::Corrupt, format!("the local cache of the store's names: {}", told.message()))
            .at(self.path.display())
            .advice("remove the file; it is created again")
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let process = OwningProcess::current();
        let known = {
            let mut idle = lock(&self.idle);
            // A connection from before a fork shares its file offset with the parent's.
            idle.retain(|(opened_by, _)| *opened_by == process);
            idle.pop()
        };
        let connection = match known {
            Some((_, connection)) => connection,
            None => self.connect().map_err(|e| self.failed(&e))?,
        };
        let done = read(&connection).map_err(|e| self.failed(&e));
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE {
            idle.push((process, connection));
        }
        done
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let mut uri = "file:".to_owned();
        for byte in self.path.as_os_str().as_encoded_bytes() {
            match byte {
                b'?' | b'#' | b'%' => uri.push_str(&format!("%{byte:02x}")),
                0x20..0x7f => uri.push(*byte as char),
                _ => uri.push_str(&format!("%{byte:02x}")),
            }
        }
        uri.push_str("?immutable=1");
        lakerace_sqlite::lock_by_descriptions();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(uri, flags)
    }

    pub(super) fn find(&self, name: &str) -> Result<Option<IndexEntry>> {
        self.read(|connection| {
            let mut select = connection.prepare_cached(FIND)?;
            select.query_row([name.as_bytes()], entry).optional()
        })
    }

    /// Up to `limit` files from `from` on, before `end`.
    pub(super) fn page(&self, from: &Bound<String>, end: Option<&[u8]>, limit: usize) -> Result<Vec<Named>> {
        let (comparison, from) = match from {
            Bound::Included(from) => (">=", from.as_bytes()),
            Bound::Excluded(from) => (">", from.as_bytes()),
            Bound::Unbounded => (">=", &[][..]),
        };
        let sql = format!(
            "SELECT name, size, mtime_ms, encoding, checksum, metadata, segments FROM names WHERE name {comparison} ?1 {} \
             ORDER BY name LIMIT ?2",
            if end.is_some() { "AND name < ?3" } else { "" }
        );
        self.read(|connection| {
            let mut select = connection.prepare_cached(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            match end {
                Some(end) => select.query_map(params![from, limit, end], named)?.collect(),
                None => select.query_map(params![from, limit], named)?.collect(),
            }
        })
    }

    /// Every file in the order of places. SQLite sorts them outside of memory.
    pub(super) fn by_place(&self, each: &mut dyn FnMut(Named) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        self.read(|connection| {
            let mut select = connection.prepare(
                "SELECT name, size, mtime_ms, encoding, checksum, metadata, segments FROM names ORDER BY segments",
            )?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                outcome = each(named(row)?);
                if outcome.is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        outcome
    }
}

impl Drop for NamesFile {
    fn drop(&mut self) {
        if matches!(self.kept, FileOwner::Own(owner, _) if !owner.is_forked()) {
            // A file of a process that has ended with it is removed by the next one that looks.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn named(row: &Row<'_>) -> rusqlite::Result<Named> {
    let name = row.get_ref(0)?.as_blob()?;
    let name = str::from_utf8(name).map_err(|_| rusqlite::Error::InvalidQuery)?;
    Ok((name.into(), Arc::new(entry(row)?)))
}

fn entry(row: &Row<'_>) -> rusqlite::Result<IndexEntry> {
    let segments = row.get_ref(6)?.as_blob()?.as_chunks::<SEGMENT_BYTES>().0;
    Ok(IndexEntry {
        size: row.get::<_, i64>(1)?.cast_unsigned(),
        mtime_ms: row.get(2)?,
        encoding: row.get_ref(3)?.as_str()?.into(),
        checksum: row.get::<_, i64>(4)?.cast_unsigned(),
        metadata: row.get(5)?,
        segments: segments.iter().map(segment).collect(),
    })
}

fn segment(bytes: &[u8; SEGMENT_BYTES]) -> Segment {
    let number = |range: std::ops::Range<usize>| {
        bytes[range].iter().fold(0_u128, |number, byte| (number << 8) | u128::from(*byte))
    };
    Segment {
        pack: number(0..16),
        start: number(16..24) as u64,
        len: number(24..28) as u32,
        check_sum: number(28..32) as u32,
    }
}

/// Encodes the location of a content for the file.
pub(super) fn stored_segments(segments: &[Segment], out: &mut Vec<u8>) {
    out.clear();
    for Segment { pack, start, len, check_sum } in segments {
        out.extend_from_slice(&pack.to_be_bytes());
        out.extend_from_slice(&start.to_be_bytes());
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(&check_sum.to_be_bytes());
    }
}
