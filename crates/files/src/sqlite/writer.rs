//! The connection that writes.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use lakerace_io::{Error, Result};
use lakerace_sqlite::last_failure;
use rusqlite::{Connection, ffi};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::connect::connect;
use super::log_file::SqliteLogFile;
use super::read_lock::ReadLockHolder;
use super::record::{ContentPlace, FileRecord, chunk_id, chunk_ids, out_of_order};
use super::schema::PIECE_BITS;
use super::statement::{BoundValue, PreparedStatement, Row, pragma};
use crate::home::{FileVersion, IfExists};
use crate::name::{not_found, prefix_end, shown, taken};
use crate::options::{Durability, Options};
use crate::sqlite_error::{from_rusqlite, from_sqlite};

/// The pages that the writing connection keeps, in KiB.
const CACHE_KIB: u32 = 64 << 10;

/// The most bytes of the log before its pages go to the store: a page that commits change again and again goes there once.
const CHECKPOINT_BYTES: u64 = 32 << 20;

/// Commits that don't wait for the disk, after which the log's file is looked at.
const CHECKED_COMMITS: u32 = 64;

/// How long a log beyond its limit waits for readers.
const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of a row of `files` without its name, metadata and content: the lengths of ten columns and five numbers.
pub(super) const ROW_BYTES: usize = 48;

/// Statements come first: they are dropped before their connection.
#[derive(Debug)]
pub(super) struct StoreWriter {
    begin: PreparedStatement,
    commit: PreparedStatement,
    rollback: PreparedStatement,
    insert: PreparedStatement,
    update: PreparedStatement,
    row: PreparedStatement,
    find: PreparedStatement,
    delete: PreparedStatement,
    prefix: PreparedStatement,
    chunk: PreparedStatement,
    last_chunk: PreparedStatement,
    delete_chunks: PreparedStatement,
    copy_chunks: PreparedStatement,
    upload: PreparedStatement,
    touch_upload: PreparedStatement,
    end_upload: PreparedStatement,
    /// True if the transaction has changed something.
    pub(super) is_dirty: bool,
    read_lock: Arc<ReadLockHolder>,
    /// Pages in the log after the last commit.
    log_pages: Arc<AtomicI32>,
    page_bytes: u64,
    /// The most bytes of a row of `files` that share a page with three others.
    row_limit_bytes: usize,
    log_limit_bytes: u64,
    /// The bytes of the log before its pages go to the store: half of the limit, where that is less.
    checkpoint_bytes: u64,
    looked_at_bytes: u64,
    busy_timeout: Duration,
    log_file: SqliteLogFile,
    /// Commits after which the log is looked at.
    checked_every: u32,
    unchecked_commits: u32,
    pub(super) connection: Connection,
}

/// How far a checkpoint goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckpointMode {
    /// As far as no one is in the way.
    Passive = ffi::SQLITE_CHECKPOINT_PASSIVE as isize,
    /// All of the log, when readers allow it.
    Full = ffi::SQLITE_CHECKPOINT_FULL as isize,
    /// Waits for readers, too, and the log starts over.
    Restart = ffi::SQLITE_CHECKPOINT_RESTART as isize,
    /// Starts the log over, and empties its file.
    Truncate = ffi::SQLITE_CHECKPOINT_TRUNCATE as isize,
}

/// The stored form of a file to be put.
#[derive(Debug, Clone)]
pub(super) struct PreparedFile<'a> {
    pub(super) size: u64,
    pub(super) mtime_ms: i64,
    pub(super) encoding: i64,
    pub(super) checksum: u64,
    pub(super) metadata: Option<Cow<'a, str>>,
    pub(super) body: StoredBody<'a>,
    pub(super) if_exists: IfExists,
}

/// A file's stored bytes.
#[derive(Debug, Clone)]
pub(super) enum StoredBody<'a> {
    /// A single piece, in the row if it is short.
    One(Cow<'a, [u8]>),
    Pieces(Vec<Cow<'a, [u8]>>),
    /// Chunks that are there already.
    At(ContentPlace),
}

/// A row with its content.
struct FileRow {
    size: u64,
    mtime_ms: i64,
    encoding: i64,
    checksum: u64,
    metadata: Option<String>,
    place: ContentPlace,
    content: Option<Vec<u8>>,
}

impl StoreWriter {
    pub(super) fn open(path: &std::path::Path, options: &Options, read_lock: Arc<ReadLockHolder>) -> Result<Self> {
        let mut connection = connect(path, options, false)?;
        let page = pragma(&connection, "PRAGMA page_size")?.max(512) as u64;
        let synchronous = match options.durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
            Durability::Off => "OFF",
        };
        let log_pages = Arc::new(AtomicI32::new(0));
        let counted = Arc::clone(&log_pages);
        // In place of SQLite's own checkpoints, which don't know of the [`ReadLockHolder`].
        let count = move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            counted.store(pages, Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(count)).map_err(|e| from_rusqlite(&e))?;
        for sql in [
            format!("PRAGMA synchronous={synchronous}"),
            format!("PRAGMA cache_size=-{CACHE_KIB}"),
            format!("PRAGMA journal_size_limit={}", options.wal_limit_bytes),
        ] {
            pragma(&connection, &sql)?;
        }
        let prepare = |sql: &str| PreparedStatement::prepare(&connection, sql);
        let columns = "name, size, mtime_ms, encoding, checksum, check_sum, metadata, place, start, content";
        Ok(Self {
            begin: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            insert: prepare(&format!(
                "INSERT OR IGNORE INTO files ({columns}) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"
            ))?,
            update: prepare(
                "UPDATE files SET size=?2, mtime_ms=?3, encoding=?4, checksum=?5, check_sum=?6, metadata=?7, place=?8, start=?9, \
                 content=?10 WHERE name=?1",
            )?,
            row: prepare(&format!("SELECT {columns} FROM files WHERE name=?1"))?,
            find: prepare("SELECT name, place, start FROM files WHERE name=?1")?,
            delete: prepare("DELETE FROM files WHERE name=?1")?,
            prefix: prepare("SELECT name, place, start FROM files WHERE name>=?1 ORDER BY name LIMIT 1000")?,
            chunk: prepare("INSERT INTO chunks (id, check_sum, data) VALUES (?1, ?2, ?3)")?,
            last_chunk: prepare(
                "SELECT max(coalesce((SELECT max(id) FROM chunks), 0), coalesce((SELECT max(place) FROM uploads), 0) << 24)",
            )?,
            delete_chunks: prepare("DELETE FROM chunks WHERE id BETWEEN ?1 AND ?2")?,
            copy_chunks: prepare(
                "INSERT INTO chunks SELECT id - ?1 + ?3, check_sum, data FROM chunks WHERE id BETWEEN ?1 AND ?2",
            )?,
            upload: prepare("INSERT INTO uploads VALUES (?1, ?2)")?,
            touch_upload: prepare("UPDATE uploads SET touched_ms=?2 WHERE place=?1")?,
            end_upload: prepare("DELETE FROM uploads WHERE place=?1")?,
            is_dirty: false,
            read_lock,
            log_pages,
            page_bytes: page,
            row_limit_bytes: row_limit_bytes(page as usize),
            log_limit_bytes: options.wal_limit_bytes,
            checkpoint_bytes: CHECKPOINT_BYTES.min(options.wal_limit_bytes / 2),
            looked_at_bytes: 0,
            busy_timeout: options.busy_timeout,
            log_file: SqliteLogFile::new(path),
            checked_every: if options.durability == Durability::Full { 1 } else { CHECKED_COMMITS },
            unchecked_commits: 0,
            connection,
        })
    }

    pub(super) fn begin(&mut self) -> Result<()> {
        self.is_dirty = false;
        self.begin.run(&[]).map(drop)
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        self.commit.run(&[]).map(drop).inspect_err(|_| self.rollback())?;
        self.unchecked_commits += 1;
        if self.unchecked_commits >= self.checked_every {
            self.check_log()?;
        }
        let log_bytes = self.log_pages.load(Ordering::Relaxed).max(0) as u64 * self.page_bytes;
        // A log that is smaller than at the last check has started over.
        if log_bytes < self.looked_at_bytes {
            self.looked_at_bytes = 0;
        }
        if log_bytes > self.looked_at_bytes + self.checkpoint_bytes {
            self.looked_at_bytes = log_bytes;
            self.bound_log(log_bytes);
        }
        Ok(())
    }

    /// An error where the log is not the store's any more.
    pub(super) fn check_log(&mut self) -> Result<()> {
        match std::mem::take(&mut self.unchecked_commits) {
            0 => self.log_file.check(),
            _ => self.log_file.look(),
        }
    }

    /// Moves the log's pages into the store, so that the log starts over. Above its size limit, this waits for readers
    /// of other processes for a second, then warns the user of them.
    fn bound_log(&self, log_bytes: u64) {
        let read_lock = Arc::clone(&self.read_lock);
        let mode = match log_bytes > self.log_limit_bytes {
            true => CheckpointMode::Restart,
            false => CheckpointMode::Passive,
        };
        let moved = read_lock.apart(|| {
            let _ = self.connection.busy_timeout(LOG_PATIENCE);
            let moved = self.checkpoint(mode);
            let _ = self.connection.busy_timeout(self.busy_timeout);
            moved
        });
        match moved {
            // The next transaction overwrites the log from its start, unless a reader needs it.
            Ok(true) => {}
            Ok(false) if mode == CheckpointMode::Passive => {}
            // Committed changes are safe in the log.
            _ => read_lock.warn(format!(
                "the log of the store has {} MB: an open reader, perhaps a snapshot of another process, keeps it from \
                 being emptied",
                log_bytes >> 20
            )),
        }
    }

    /// Moves the log's pages into the store; false where readers keep some of them.
    pub(super) fn checkpoint(&self, mode: CheckpointMode) -> Result<bool> {
        let (mut log, mut moved) = (0, 0);
        // SAFETY: the connection lives; no name means all of its databases, of which there is one.
        let code = unsafe {
            let handle = self.connection.handle();
            ffi::sqlite3_wal_checkpoint_v2(handle, std::ptr::null(), mode as i32, &mut log, &mut moved)
        };
        match code & 0xff {
            ffi::SQLITE_OK => Ok(log == moved),
            ffi::SQLITE_BUSY => Ok(false),
            // SAFETY: the connection lives.
            _ => Err(from_sqlite(unsafe { last_failure(self.connection.handle(), code) })),
        }
    }

    pub(super) fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            // If an error has already ended the transaction, the caller gets that one.
            let _ = self.rollback.run(&[]);
        }
    }

    /// A number for a content with chunks.
    fn new_place(&mut self) -> Result<i64> {
        let last = self.last_chunk.first(&[], |row| Ok(row.int(0)))?.unwrap_or(0);
        Ok((last >> PIECE_BITS) + 1)
    }

    pub(super) fn put(&mut self, name: &str, file: &PreparedFile<'_>) -> Result<()> {
        self.check_version(name, file.if_exists)?;
        match &file.body {
            StoredBody::One(content) if self.fits_in_row(name, file.metadata.as_deref(), content) => {
                self.put_row(name, file, ContentPlace::Inline, Some(content))
            }
            StoredBody::One(content) => self.put_pieces(name, file, std::slice::from_ref(content)),
            StoredBody::At(place) => self.put_row(name, file, *place, None),
            StoredBody::Pieces(pieces) => self.put_pieces(name, file, pieces),
        }
    }

    fn put_pieces(&mut self, name: &str, file: &PreparedFile<'_>, pieces: &[Cow<'_, [u8]>]) -> Result<()> {
        if file.if_exists == IfExists::Error && self.find_content(name)?.is_some() {
            return Err(taken(name));
        }
        let place = self.new_place()?;
        for (piece, stored) in (0..).zip(pieces) {
            self.add_chunk(place, piece, stored)?;
        }
        self.put_row(name, file, ContentPlace::Chunks(place), None)
    }

    /// Returns true if the row needs no page of its own.
    fn fits_in_row(&self, name: &str, metadata: Option<&str>, content: &[u8]) -> bool {
        ROW_BYTES + name.len() + metadata.map_or(0, str::len) + content.len() <= self.row_limit_bytes
    }

    /// Moves a content out of a row that has pages of its own; false where the row has none.
    pub(super) fn shorten_row(&mut self, name: &str) -> Result<bool> {
        let mut row = self.whole(name)?;
        match row.content.take() {
            Some(content) if !self.fits_in_row(name, row.metadata.as_deref(), &content) => {
                let place = ContentPlace::Chunks(self.add_block(&content)?);
                self.put_whole(name, row, place, IfExists::Replace)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn put_row(
        &mut self,
        name: &str,
        file: &PreparedFile<'_>,
        place: ContentPlace,
        content: Option<&[u8]>,
    ) -> Result<()> {
        let record = FileRecord {
            name: name.as_bytes(),
            size: file.size,
            mtime_ms: file.mtime_ms,
            encoding: file.encoding,
            checksum: file.checksum,
            metadata: file.metadata.as_deref(),
            place,
        };
        let (at, start) = place.columns();
        let values = [
            BoundValue::Text(record.name),
            BoundValue::Int(record.size as i64),
            BoundValue::Int(record.mtime_ms),
            BoundValue::Int(record.encoding),
            BoundValue::Int(record.checksum as i64),
            BoundValue::Int(i64::from(record.check_sum())),
            BoundValue::text(record.metadata),
            BoundValue::int(at),
            BoundValue::int(start),
            content.map_or(BoundValue::Null, BoundValue::Blob),
        ];
        if self.insert.run(&values)? == 1 {
            self.is_dirty = true;
            return Ok(());
        }
        if file.if_exists == IfExists::Error {
            return Err(taken(name));
        }
        self.is_dirty = true;
        if let Some(old) = self.find_content(name)? {
            self.free(old)?;
        }
        self.update.run(&values).map(drop)
    }

    /// Returns an error if the file does not have the version that is to be replaced. The writes themselves check that
    /// the file exists.
    fn check_version(&mut self, name: &str, if_exists: IfExists) -> Result<()> {
        let IfExists::ReplaceVersion(_) = if_exists else { return Ok(()) };
        let found = self.row.first(&[BoundValue::Text(name.as_bytes())], |row| {
            let record = FileRecord::from_row(row, name)?;
            Ok(FileVersion::new(record.size, record.mtime_ms, record.checksum, record.metadata))
        });
        if_exists.check(name, || found.map_err(|e| e.at(shown(name))))
    }

    /// Finds a file's stored bytes; `None` where there is no such file.
    pub(super) fn find_content(&mut self, name: &str) -> Result<Option<ContentPlace>> {
        let found =
            self.find.first(&[BoundValue::Text(name.as_bytes())], |row| match row.bytes(0) == name.as_bytes() {
                true => Ok(place_of(row, 1)),
                false => Err(out_of_order()),
            });
        found.map_err(|e| e.at(shown(name)))
    }

    /// Removes chunks that one file owns. Those of a block may be other files', too, and go when the store is compacted.
    fn free(&mut self, place: ContentPlace) -> Result<()> {
        if let ContentPlace::Chunks(place) = place {
            self.is_dirty = true;
            let (first, last) = chunk_ids(place);
            self.delete_chunks.run(&[BoundValue::Int(first), BoundValue::Int(last)])?;
        }
        Ok(())
    }

    pub(super) fn add_chunk(&mut self, place: i64, piece: u64, stored: &[u8]) -> Result<()> {
        if piece >> PIECE_BITS != 0 {
            return Err(Error::unsupported("the content has more than 4 TiB"));
        }
        self.is_dirty = true;
        let sum = xxh3_64_with_seed(stored, piece) as i64;
        self.chunk
            .run(&[BoundValue::Int(chunk_id(place, piece)), BoundValue::Int(sum), BoundValue::Blob(stored)])
            .map(drop)
    }

    /// Adds a block, or a content of one piece, and gives its place.
    pub(super) fn add_block(&mut self, stored: &[u8]) -> Result<i64> {
        let place = self.new_place()?;
        self.add_chunk(place, 0, stored)?;
        Ok(place)
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<()> {
        let place = self.find_content(name)?.ok_or_else(|| not_found(name))?;
        self.free(place)?;
        self.is_dirty = true;
        self.delete.run(&[BoundValue::Text(name.as_bytes())]).map(drop)
    }

    pub(super) fn remove_prefix(&mut self, prefix: &str) -> Result<u64> {
        let (mut from, mut removed) = (prefix.as_bytes().to_vec(), 0);
        let end = prefix_end(prefix.as_bytes());
        loop {
            let mut names: Vec<(Vec<u8>, ContentPlace)> = Vec::new();
            self.prefix.each(&[BoundValue::Text(&from)], |row| {
                let name = row.bytes(0);
                // A damaged page may have led to names that are to stay.
                if name < names.last().map_or(from.as_slice(), |(last, _)| last.as_slice()) {
                    return Err(out_of_order().at(String::from_utf8_lossy(name)));
                }
                let is_in = end.as_deref().is_none_or(|end| name < end);
                if is_in {
                    names.push((name.to_vec(), place_of(row, 1)));
                }
                Ok(is_in)
            })?;
            let Some((last, _)) = names.last() else { return Ok(removed) };
            from = last.clone();
            for (name, place) in names {
                self.free(place)?;
                self.is_dirty = true;
                removed += self.delete.run(&[BoundValue::Text(&name)])?;
            }
        }
    }

    fn whole(&mut self, name: &str) -> Result<FileRow> {
        let found = self.row.first(&[BoundValue::Text(name.as_bytes())], |row| {
            let record = FileRecord::from_row(row, name)?;
            Ok(FileRow {
                size: record.size,
                mtime_ms: record.mtime_ms,
                encoding: record.encoding,
                checksum: record.checksum,
                metadata: record.metadata.map(str::to_owned),
                place: record.place,
                content: (record.place == ContentPlace::Inline).then(|| row.bytes(9).to_vec()),
            })
        });
        found.map_err(|e| e.at(shown(name)))?.ok_or_else(|| not_found(name))
    }

    fn put_whole(&mut self, name: &str, row: FileRow, place: ContentPlace, if_exists: IfExists) -> Result<()> {
        self.check_version(name, if_exists)?;
        let file = PreparedFile {
            size: row.size,
            mtime_ms: row.mtime_ms,
            encoding: row.encoding,
            checksum: row.checksum,
            metadata: row.metadata.map(Cow::Owned),
            body: StoredBody::At(place),
            if_exists,
        };
        self.put_row(name, &file, place, row.content.as_deref())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let row = self.whole(from)?;
        if from == to {
            return Ok(());
        }
        let place = row.place;
        self.put_whole(to, row, place, if_exists)?;
        self.delete.run(&[BoundValue::Text(from.as_bytes())]).map(drop)
    }

    pub(super) fn copy(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let row = self.whole(from)?;
        if from == to {
            return Ok(());
        }
        if if_exists == IfExists::Error && self.find_content(to)?.is_some() {
            return Err(taken(to));
        }
        let place = match row.place {
            ContentPlace::Chunks(old) => {
                let new = self.new_place()?;
                self.is_dirty = true;
                let (first, last) = chunk_ids(old);
                self.copy_chunks.run(&[
                    BoundValue::Int(first),
                    BoundValue::Int(last),
                    BoundValue::Int(chunk_id(new, 0)),
                ])?;
                ContentPlace::Chunks(new)
            }
            other => other,
        };
        self.put_whole(to, row, place, if_exists)
    }

    pub(super) fn set_metadata(&mut self, name: &str, metadata: Option<&str>) -> Result<()> {
        let row = self.whole(name)?;
        let file = FileRecord {
            name: name.as_bytes(),
            size: row.size,
            mtime_ms: row.mtime_ms,
            encoding: row.encoding,
            checksum: row.checksum,
            metadata,
            place: row.place,
        };
        let sum = i64::from(file.check_sum());
        self.is_dirty = true;
        PreparedStatement::prepare(&self.connection, "UPDATE files SET metadata=?2, check_sum=?3 WHERE name=?1")?
            .run(&[BoundValue::Text(name.as_bytes()), BoundValue::text(metadata), BoundValue::Int(sum)])
            .map(drop)
    }

    /// Begins a content that comes in parts.
    pub(super) fn begin_upload(&mut self, now_ms: i64) -> Result<i64> {
        let place = self.new_place()?;
        self.is_dirty = true;
        self.upload.run(&[BoundValue::Int(place), BoundValue::Int(now_ms)])?;
        Ok(place)
    }

    /// Says that an upload continues. One that was given up, by a compaction, is an error of kind `Conflict`.
    pub(super) fn touch_upload(&mut self, place: i64, now_ms: i64) -> Result<()> {
        self.is_dirty = true;
        match self.touch_upload.run(&[BoundValue::Int(place), BoundValue::Int(now_ms)])? {
            0 => Err(Error::conflict("the upload was abandoned, because nothing arrived for an hour")
                .advice("write it again")),
            _ => Ok(()),
        }
    }

    /// Ends an upload: its chunks belong to a file now, or are removed.
    pub(super) fn end_upload(&mut self, place: i64, keep: bool) -> Result<()> {
        self.is_dirty = true;
        self.end_upload.run(&[BoundValue::Int(place)])?;
        if keep { Ok(()) } else { self.free(ContentPlace::Chunks(place)) }
    }
}

/// The most bytes of a row of `files` that SQLite keeps in one page. A longer row has at least one more page of its own, as the table has
/// no row numbers.
pub(super) fn row_limit_bytes(page_bytes: usize) -> usize {
    (page_bytes - 12) * 64 / 255 - 23
}

fn place_of(row: &Row<'_>, column: i32) -> ContentPlace {
    match (row.opt_int(column), row.opt_int(column + 1)) {
        (None, _) => ContentPlace::Inline,
        (Some(place), None) => ContentPlace::Chunks(place),
        (Some(place), Some(start)) => ContentPlace::Block { place, start: start as u64 },
    }
}
