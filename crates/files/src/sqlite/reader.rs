//! A connection that reads.

use std::cmp::Ordering;
use std::mem::MaybeUninit;

use lakerace_io::{Error, ErrorKind, Result};
use rusqlite::{Connection, MAIN_DB};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_64_with_seed};

use super::catalog::{StoreCatalog, encoding_text};
use super::connect::{UnlockedFile, connect_to_read};
use super::record::{ContentPlace, FileRecord, chunk_id, out_of_order};
use super::schema::{COLUMNS, PIECE_BITS, SHORT_BYTES};
use super::statement::{BoundValue, PreparedStatement, Row, pragma};
use crate::encode::{self, Encoding, PIECE_BYTES};
use crate::home::{ContentSink, Stat};
use crate::name::{not_found, prefix_end, shown};
use crate::options::Options;
use crate::sqlite_error::from_rusqlite;

/// The pages that a reading connection keeps, in KiB.
const CACHE_KIB: u32 = 16 << 10;

/// Statements come first: they are dropped before their connection.
#[derive(Debug)]
pub(super) struct StoreReader {
    find: PreparedStatement,
    stat: PreparedStatement,
    before: PreparedStatement,
    behind: PreparedStatement,
    list: PreparedStatement,
    list_all: PreparedStatement,
    chunk: PreparedStatement,
    chunk_sum: PreparedStatement,
    begin: PreparedStatement,
    end: PreparedStatement,
    touch: PreparedStatement,
    in_transaction: bool,
    scratch: Vec<u8>,
    /// The last block that was decoded, by its row number and checksum.
    block: Option<(i64, i64, Vec<u8>)>,
    /// The unlocked file, where it is read without locks.
    unlocked: Option<UnlockedFile>,
    pub(super) connection: Connection,
}

/// The parts of a row that stay when its statement is reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedFile {
    pub(super) size: u64,
    pub(super) mtime_ms: i64,
    pub(super) encoding: i64,
    pub(super) checksum: u64,
    pub(super) place: ContentPlace,
}

impl From<&FileRecord<'_>> for LocatedFile {
    fn from(record: &FileRecord<'_>) -> Self {
        let FileRecord { size, mtime_ms, encoding, checksum, place, .. } = *record;
        Self { size, mtime_ms, encoding, checksum, place }
    }
}

impl StoreReader {
    pub(super) fn open(path: &std::path::Path, options: &Options) -> Result<Self> {
        let (connection, unlocked) = connect_to_read(path, options)?;
        pragma(&connection, &format!("PRAGMA cache_size=-{CACHE_KIB}"))?;
        Self::over(connection, unlocked)
    }

    fn over(connection: Connection, unlocked: Option<UnlockedFile>) -> Result<Self> {
        let prepare = |sql: &str| PreparedStatement::prepare(&connection, sql);
        let row = |rest: &str| format!("SELECT {COLUMNS} FROM files WHERE {rest}");
        Ok(Self {
            // One statement reads a row and the chunk of a short content in one transaction.
            find: prepare(&format!(
                "SELECT {COLUMNS}, CASE WHEN place IS NULL THEN content WHEN start IS NULL AND size<={SHORT_BYTES} \
                 THEN (SELECT data FROM chunks WHERE id=place<<{PIECE_BITS}) END FROM files WHERE name=?1"
            ))?,
            stat: prepare(&row("name=?1"))?,
            before: prepare(&row("name<?1 ORDER BY name DESC LIMIT 1"))?,
            behind: prepare(&row("name>?1 ORDER BY name LIMIT 1"))?,
            list: prepare(&row("name>=?1 AND name<?2 ORDER BY name LIMIT ?3"))?,
            list_all: prepare(&row("name>=?1 ORDER BY name LIMIT ?2"))?,
            chunk: prepare("SELECT check_sum, data FROM chunks WHERE id=?1")?,
            chunk_sum: prepare("SELECT check_sum FROM chunks WHERE id=?1")?,
            begin: prepare("BEGIN")?,
            end: prepare("COMMIT")?,
            touch: prepare("SELECT 1 FROM settings LIMIT 1")?,
            in_transaction: false,
            scratch: Vec::new(),
            block: None,
            unlocked,
            connection,
        })
    }

    /// Returns an error if the data that was read is not valid.
    pub(super) fn check(&self) -> Result<()> {
        self.unlocked.as_ref().map_or(Ok(()), UnlockedFile::check)
    }

    /// Begins one state of the store that all reads see, until [`Self::end`].
    pub(super) fn begin(&mut self) -> Result<()> {
        self.begin.run(&[])?;
        self.in_transaction = true;
        // The state is that of the first read.
        self.touch.each(&[], |_| Ok(true)).inspect_err(|_| self.end())
    }

    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.in_transaction) {
            // Nothing was written: there is nothing that may fail to become visible.
            let _ = self.end.run(&[]);
        }
    }

    /// Runs reads that must see one state.
    pub(super) fn in_one_state<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.in_transaction {
            return read(self);
        }
        self.begin()?;
        let done = read(self);
        self.end();
        done
    }

    pub(super) fn get(&mut self, catalog: &StoreCatalog, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        let Self { find, connection, .. } = self;
        let found = find.first(&[BoundValue::Text(name.as_bytes())], |row| {
            let record = FileRecord::from_row(row, name)?;
            if !is_with_row(&record, row) {
                return Ok(None);
            }
            let stored = row.bytes(9);
            let size = size_of(record.size)?;
            let out = sink.begin(size)?;
            one_piece(catalog, connection, &record, stored, out)?;
            Ok(Some(size))
        });
        match found.map_err(|e| e.at(shown(name)))? {
            Some(Some(size)) => Ok(size),
            Some(None) => self.in_one_state(|reader| reader.get_elsewhere(catalog, name, sink)),
            None => Err(self.is_missing(name)),
        }
    }

    fn get_elsewhere(&mut self, catalog: &StoreCatalog, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        let Some(located) = self.locate(name)? else { return Err(not_found(name)) };
        let size = size_of(located.size)?;
        let read = match located.place {
            // It was replaced by a small one in the meantime.
            ContentPlace::Inline => return self.get(catalog, name, sink),
            ContentPlace::Chunks(place) => sink.begin(size).and_then(|out| self.pieces(catalog, &located, place, out)),
            ContentPlace::Block { place, start } => sink.begin(size).and_then(|out| {
                encode::copy(self.in_block(catalog, &located, place, start)?, out);
                Ok(())
            }),
        };
        read.map(|()| size).map_err(|e| e.at(shown(name)))
    }

    /// Calls `see` with a content, or `None` where there is no such file.
    pub(super) fn visit(
        &mut self,
        catalog: &StoreCatalog,
        name: &str,
        see: &mut dyn FnMut(Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        let Self { find, connection, scratch, .. } = self;
        let found = find.first(&[BoundValue::Text(name.as_bytes())], |row| {
            let record = FileRecord::from_row(row, name)?;
            if !is_with_row(&record, row) {
                return Ok(false);
            }
            let stored = row.bytes(9);
            if record.encoding == 0 {
                held(&record, stored)?;
                see(Some(stored))?;
                return Ok(true);
            }
            let out = scratch.begin(size_of(record.size)?)?;
            let out = one_piece(catalog, connection, &record, stored, out)?;
            see(Some(out))?;
            Ok(true)
        });
        match found.map_err(|e| e.at(shown(name)))? {
            Some(true) => Ok(()),
            Some(false) => {
                let mut bytes = std::mem::take(&mut self.scratch);
                let got = self.in_one_state(|reader| reader.get_elsewhere(catalog, name, &mut bytes));
                let seen = got.and_then(|size| see(Some(filled(&mut bytes, size))));
                self.scratch = bytes;
                seen
            }
            None => match self.is_missing(name) {
                e if e.kind() == ErrorKind::NotFound => see(None),
                e => Err(e),
            },
        }
    }

    /// The error for a name that was not found: where a neighbour's row is damaged, the name may be its.
    #[cold]
    fn is_missing(&mut self, name: &str) -> Error {
        let Self { before, behind, .. } = self;
        for (neighbour, side) in [(before, Ordering::Less), (behind, Ordering::Greater)] {
            let sound = neighbour.first(&[BoundValue::Text(name.as_bytes())], |row| {
                match FileRecord::read(row)?.name.cmp(name.as_bytes()) == side {
                    true => Ok(()),
                    false => Err(out_of_order()),
                }
            });
            if let Err(e) = sound {
                return e.at(shown(name));
            }
        }
        not_found(name)
    }

    /// Finds a content; `None` where there is no such file.
    pub(super) fn locate(&mut self, name: &str) -> Result<Option<LocatedFile>> {
        let get = |row: &Row<'_>| FileRecord::from_row(row, name).map(|record| LocatedFile::from(&record));
        let found = self.stat.first(&[BoundValue::Text(name.as_bytes())], get).map_err(|e| e.at(shown(name)))?;
        match found {
            Some(located) => Ok(Some(located)),
            None => match self.is_missing(name) {
                e if e.kind() == ErrorKind::NotFound => Ok(None),
                e => Err(e),
            },
        }
    }

    pub(super) fn stat(&mut self, name: &str) -> Result<Option<Stat>> {
        let Self { stat, connection, .. } = self;
        let mut names = EncodingNames::default();
        let found = stat.first(&[BoundValue::Text(name.as_bytes())], |row| {
            names.stat(&FileRecord::from_row(row, name)?, connection)
        });
        match found.map_err(|e| e.at(shown(name)))? {
            Some(stat) => Ok(Some(stat)),
            None => match self.is_missing(name) {
                e if e.kind() == ErrorKind::NotFound => Ok(None),
                e => Err(e),
            },
        }
    }

    pub(super) fn list(&mut self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        let Self { list, list_all, connection, .. } = self;
        let from = prefix.max(from).as_bytes();
        let limit = BoundValue::Int(i64::try_from(limit).unwrap_or(i64::MAX));
        let (mut found, mut names) = (Vec::new(), EncodingNames::default());
        let mut each = |row: &Row<'_>| {
            let stat = names.stat(&FileRecord::read(row)?, connection)?;
            // A damaged page may have led elsewhere.
            if found.last().is_some_and(|last: &Stat| last.name >= stat.name) || !stat.name.starts_with(prefix) {
                return Err(out_of_order().at(shown(&stat.name)));
            }
            found.push(stat);
            Ok(true)
        };
        match prefix_end(prefix.as_bytes()) {
            Some(end) => list.each(&[BoundValue::Text(from), BoundValue::Text(&end), limit], &mut each)?,
            None => list_all.each(&[BoundValue::Text(from), limit], &mut each)?,
        }
        Ok(found)
    }

    /// Reads a content of pieces into `out`, which has its length.
    fn pieces(
        &mut self,
        catalog: &StoreCatalog,
        located: &LocatedFile,
        place: i64,
        out: &mut [MaybeUninit<u8>],
    ) -> Result<()> {
        let encoding = catalog.encoding(located.encoding, &self.connection)?;
        let is_plain = encoding.is_plain();
        let open = |id| self.connection.blob_open(MAIN_DB, "chunks", "data", id, true);
        let mut blob = open(chunk_id(place, 0)).map_err(|e| from_rusqlite(&e))?;
        let mut hash = Xxh3Default::new();
        for (piece, part) in (0_u64..).zip(out.chunks_mut(PIECE_BYTES)) {
            if piece > 0 {
                blob.reopen(chunk_id(place, piece)).map_err(|e| from_rusqlite(&e))?;
            }
            if is_plain {
                if blob.len() != part.len() {
                    return Err(Error::corrupt(format!("piece {piece} has {} of {} bytes", blob.len(), part.len())));
                }
                // While the piece is in the processor's cache.
                hash.update(blob.raw_read_at_exact(part, 0).map_err(|e| from_rusqlite(&e))?);
                continue;
            }
            let stored = self.scratch.begin(blob.len())?;
            let stored = blob.raw_read_at_exact(stored, 0).map_err(|e| from_rusqlite(&e))?;
            encoding.decode(piece, stored, part)?;
            // SAFETY: decoding has written all of the part.
            hash.update(if encoding.chain.is_empty() { unsafe { part.assume_init_ref() } } else { stored });
        }
        if hash.digest() == located.checksum { Ok(()) } else { Err(not_as_written()) }
    }

    /// Appends the decoded piece number `piece` of a content to `out`, which is cleared.
    pub(super) fn piece(
        &mut self,
        catalog: &StoreCatalog,
        located: &LocatedFile,
        piece: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let ContentPlace::Chunks(place) = located.place else {
            return Err(Error::internal("the content has no pieces"));
        };
        let encoding = catalog.encoding(located.encoding, &self.connection)?;
        let start = piece * PIECE_BYTES as u64;
        let size = located.size.saturating_sub(start).min(PIECE_BYTES as u64) as usize;
        let memory = out.begin(size)?;
        let found = self.chunk.first(&[BoundValue::Int(chunk_id(place, piece))], |row| {
            let stored = row.bytes(1);
            if xxh3_64_with_seed(stored, piece) as i64 != row.int(0) {
                return Err(not_as_written());
            }
            encoding.decode(piece, stored, memory)
        })?;
        found.ok_or_else(|| Error::corrupt(format!("piece {piece} is missing")))?;
        filled(out, size);
        Ok(())
    }

    /// A packed content.
    fn in_block(&mut self, catalog: &StoreCatalog, located: &LocatedFile, place: i64, start: u64) -> Result<&[u8]> {
        let id = chunk_id(place, 0);
        let missing = || Error::corrupt("the block of the content is missing");
        let sum = self.chunk_sum.first(&[BoundValue::Int(id)], |row| Ok(row.int(0)))?.ok_or_else(missing)?;
        let encoding = catalog.encoding(located.encoding, &self.connection)?;
        if self.block.as_ref().is_none_or(|(known, known_sum, _)| (*known, *known_sum) != (id, sum)) {
            let mut bytes = self.block.take().map(|(_, _, bytes)| bytes).unwrap_or_default();
            self.chunk
                .first(&[BoundValue::Int(id)], |row| decode_block(&encoding, row, &mut bytes))?
                .ok_or_else(missing)?;
            self.block = Some((id, sum, bytes));
        }
        let bytes = self.block.as_ref().map(|(_, _, bytes)| bytes.as_slice()).unwrap_or_default();
        let end = start.checked_add(located.size).ok_or_else(not_as_written)?;
        let content = bytes.get(start as usize..end as usize).ok_or_else(not_as_written)?;
        let sound = if encoding.chain.is_empty() { xxh3_64(content) } else { sum as u64 };
        if sound == located.checksum { Ok(content) } else { Err(not_as_written()) }
    }
}

/// Decodes a block: four little-endian bytes of its decoded length, then its encoded bytes.
pub(super) fn decode_block(encoding: &Encoding, row: &Row<'_>, out: &mut Vec<u8>) -> Result<()> {
    let stored = row.bytes(1);
    let (length, encoded) = stored.split_first_chunk::<4>().ok_or_else(not_as_written)?;
    if xxh3_64_with_seed(stored, 0) as i64 != row.int(0) {
        return Err(not_as_written());
    }
    let size = u32::from_le_bytes(*length) as usize;
    encoding.decode(0, encoded, out.begin(size)?)?;
    filled(out, size);
    Ok(())
}

/// The bytes that a read which succeeded has put into a vector.
pub(super) fn filled(out: &mut Vec<u8>, size: usize) -> &[u8] {
    debug_assert!(size <= out.capacity());
    // SAFETY: a home that answers `Ok` has written all `size` bytes that it asked for.
    unsafe { out.set_len(size) };
    out
}

/// Returns true if the statement that found the row has read the stored bytes, too.
fn is_with_row(record: &FileRecord<'_>, row: &Row<'_>) -> bool {
    record.place == ContentPlace::Inline || !row.is_null(9)
}

/// Decodes and checks a content of one piece.
fn one_piece<'a>(
    catalog: &StoreCatalog,
    connection: &Connection,
    record: &FileRecord<'_>,
    stored: &[u8],
    out: &'a mut [MaybeUninit<u8>],
) -> Result<&'a [u8]> {
    if record.encoding == 0 {
        held(record, stored)?;
        encode::copy(stored, out);
    } else {
        let encoding = catalog.encoding(record.encoding, connection)?;
        if !encoding.chain.is_empty() && xxh3_64(stored) != record.checksum {
            return Err(not_as_written());
        }
        encoding.decode(0, stored, out)?;
        // SAFETY: decoding has written all of it.
        let content = unsafe { out.assume_init_ref() };
        if encoding.chain.is_empty() && xxh3_64(content) != record.checksum {
            return Err(not_as_written());
        }
    }
    // SAFETY: one of the two ways has written all of it.
    Ok(unsafe { out.assume_init_ref() })
}

/// Checks a plain content.
fn held(record: &FileRecord<'_>, stored: &[u8]) -> Result<()> {
    match stored.len() as u64 == record.size && xxh3_64(stored) == record.checksum {
        true => Ok(()),
        false => Err(not_as_written()),
    }
}

pub(super) fn not_as_written() -> Error {
    Error::corrupt("the content differs from what was written").advice("verify the store to see what else is damaged")
}

fn size_of(size: u64) -> Result<usize> {
    usize::try_from(size).map_err(|_| Error::corrupt("the size does not fit into memory"))
}

/// Texts of encodings while files are listed: most have the same one.
#[derive(Default)]
struct EncodingNames(Vec<(i64, String)>);

impl EncodingNames {
    fn stat(&mut self, record: &FileRecord<'_>, connection: &Connection) -> Result<Stat> {
        let encoding = match self.0.iter().find(|(id, _)| *id == record.encoding) {
            Some((_, text)) => text.clone(),
            None => {
                let text = encoding_text(record.encoding, connection)?;
                self.0.push((record.encoding, text.clone()));
                text
            }
        };
        Ok(Stat {
            name: record.name()?.to_owned(),
            size: record.size,
            mtime_ms: record.mtime_ms,
            checksum: Some(record.checksum),
            encoding,
            metadata: record.metadata.map(str::to_owned),
        })
    }
}
