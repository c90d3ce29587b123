//! Reads everything and compares it with its checksums.

use lakerace_io::{Error, ErrorKind, Result};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_64_with_seed};

use super::catalog::{StoreCatalog, encoding_text};
use super::inner::Inner;
use super::pages::separators;
use super::reader::{LocatedFile, StoreReader, not_as_written};
use super::record::{ContentPlace, FileRecord, chunk_id, out_of_order};
use super::schema;
use super::statement::{BoundValue, PreparedStatement, pragma};
use super::watch::StatementWatch;
use super::writer::CheckpointMode;
use crate::encode::PIECE_BYTES;
use crate::home::{Damage, Progress, VerifyOutcome};
use crate::name::composed;
use crate::stream::go_on;

/// Files that are looked at between two looks at the tree.
const PAGE: i64 = 500;

/// Problems that SQLite is asked for.
const PROBLEMS: u32 = 100;

pub(super) fn verify(inner: &Inner, progress: Progress<'_>) -> Result<VerifyOutcome> {
    let mut verified = VerifyOutcome::default();
    check_small_tables(inner, &mut verified)?;
    let mut scan = RowScan { inner, verified: &mut verified, progress, last: None, is_lost: false };
    if scan.range(RangeStart::Behind(Vec::new()), None)?.is_some() {
        let after = scan.last.clone();
        scan.beyond_damage(after)?;
    }
    quick_check(inner, &mut verified, progress)?;
    Ok(verified)
}

fn damaged(name: Option<String>, error: &Error) -> Damage {
    Damage { name, between: None, problem: error.message().to_owned() }
}

/// Runs SQLite's own check of the file: lists of free pages, pages that two trees have.
fn quick_check(inner: &Inner, verified: &mut VerifyOutcome, progress: Progress<'_>) -> Result<()> {
    let mut problems = Vec::new();
    let (files, bytes) = (verified.files, verified.bytes);
    let mut is_stopped = false;
    let checked = inner.read(|reader, _| {
        let mut look = || {
            is_stopped = !progress(files, bytes);
            is_stopped
        };
        let _watch = StatementWatch::begin(&reader.connection, &mut look);
        PreparedStatement::prepare(&reader.connection, &format!("PRAGMA quick_check({PROBLEMS})"))?.each(&[], |row| {
            problems.push(String::from_utf8_lossy(row.bytes(0)).into_owned());
            Ok(true)
        })
    });
    go_on(!is_stopped)?;
    problems.retain(|problem| problem != "ok");
    match checked {
        Err(e) if e.kind() == ErrorKind::Corrupt => problems.push(e.message().to_owned()),
        other => other?,
    }
    verified.damage.extend(problems.into_iter().map(|problem| Damage { name: None, between: None, problem }));
    Ok(())
}

fn check_small_tables(inner: &Inner, verified: &mut VerifyOutcome) -> Result<()> {
    let note = |verified: &mut VerifyOutcome, outcome: Result<()>| match outcome {
        Err(e) if e.kind() == ErrorKind::Corrupt => {
            verified.damage.push(damaged(None, &e));
            Ok(())
        }
        other => other,
    };
    for key in ["compression", "pack_bytes"] {
        let read = inner.read(|reader, _| schema::setting(&reader.connection, key).map(drop));
        note(verified, read)?;
    }
    for (table, is_dictionary) in [("encodings", false), ("dictionaries", true)] {
        let mut ids = Vec::new();
        let listed = inner.read(|reader, _| {
            PreparedStatement::prepare(&reader.connection, &format!("SELECT id FROM {table}"))?.each(&[], |row| {
                ids.push(row.int(0));
                Ok(true)
            })
        });
        note(verified, listed)?;
        for id in ids {
            let read = inner.read(|reader, catalog| match is_dictionary {
                true => {
                    let id = u32::try_from(id)
                        .map_err(|_| Error::corrupt(format!("a dictionary has the invalid number {id}")))?;
                    catalog.dictionary(id, &reader.connection).map(drop)
                }
                false => encoding_text(id, &reader.connection).map(drop),
            });
            note(verified, read)?;
        }
    }
    Ok(())
}

/// A row that was read.
enum SeenRow {
    Sound { name: String, located: LocatedFile },
    Damaged { name: Vec<u8>, error: Error },
}

struct RowScan<'a> {
    inner: &'a Inner,
    verified: &'a mut VerifyOutcome,
    progress: Progress<'a>,
    /// The last name that was read.
    last: Option<Vec<u8>>,
    /// True if the last damage is a range whose end is not known.
    is_lost: bool,
}

impl RowScan<'_> {
    /// Checks the files from `start` on and before `end`. What stops it is given: a page that can't be read.
    fn range(&mut self, mut start: RangeStart, end: Option<&[u8]>) -> Result<Option<Error>> {
        loop {
            let (rows, stopped) = self.rows(&start, end)?;
            let is_last = (rows.len() as i64) < PAGE;
            for row in rows {
                start = RangeStart::Behind(self.row(row)?);
            }
            match stopped {
                Some(error) => return Ok(Some(error)),
                None if is_last => return Ok(None),
                None => {}
            }
        }
    }

    fn rows(&self, start: &RangeStart, end: Option<&[u8]>) -> Result<(Vec<SeenRow>, Option<Error>)> {
        let columns = schema::COLUMNS;
        let (compared, name) = match start {
            RangeStart::Behind(name) => (">", name),
            RangeStart::At(name) => (">=", name),
        };
        let bound = if end.is_some() { "AND name<?2" } else { "AND ?2 IS NULL" };
        let sql = format!("SELECT {columns} FROM files WHERE name{compared}?1 {bound} ORDER BY name LIMIT {PAGE}");
        let mut rows = Vec::new();
        let mut last: Option<Vec<u8>> = None;
        let read = self.inner.read(|reader, _| {
            let values = [BoundValue::Text(name), end.map_or(BoundValue::Null, BoundValue::Text)];
            PreparedStatement::prepare(&reader.connection, &sql)?.each(&values, |row| {
                let record = FileRecord::read(row);
                if let Ok(record) = &record {
                    // A damaged page may have led elsewhere, and the next search would start at a name from there.
                    let is_ahead = match &last {
                        Some(last) => record.name > last.as_slice(),
                        None => start.is_before(record.name),
                    };
                    if !is_ahead || end.is_some_and(|end| record.name >= end) {
                        return Err(out_of_order());
                    }
                    last = Some(record.name.to_vec());
                }
                let named = record.and_then(|record| Ok((record.name()?.to_owned(), LocatedFile::from(&record))));
                rows.push(match named {
                    Ok((name, located)) => SeenRow::Sound { name, located },
                    Err(error) => SeenRow::Damaged { name: row.bytes(0).to_vec(), error },
                });
                Ok(true)
            })
        });
        match read {
            Ok(()) => Ok((rows, None)),
            Err(e) if e.kind() == ErrorKind::Corrupt => Ok((rows, Some(e))),
            Err(e) => Err(e),
        }
    }

    /// Checks one file; gives its name.
    fn row(&mut self, row: SeenRow) -> Result<Vec<u8>> {
        let (name, located) = match row {
            SeenRow::Sound { name, located } => (name, located),
            SeenRow::Damaged { name, error } => {
                self.found(&name);
                let lossy = String::from_utf8_lossy(&name).into_owned();
                self.verified.damage.push(damaged(Some(lossy), &error));
                return Ok(name);
            }
        };
        self.found(name.as_bytes());
        go_on((self.progress)(self.verified.files, self.verified.bytes))?;
        self.verified.files += 1;
        if let Some(composed) = composed(&name) {
            let known = self.inner.read(|reader, _| reader.locate(&composed));
            if matches!(known, Ok(Some(_))) {
                self.verified.alike.push((name.clone(), composed));
            }
        }
        match self.inner.read(|reader, catalog| check_content(reader, catalog, &name, &located)) {
            Ok(CheckedRows::Decoded) => self.verified.bytes += located.size,
            Ok(CheckedRows::Stored) => {
                self.verified.bytes += located.size;
                self.verified.undecoded += 1;
            }
            // It was replaced or removed in the meantime.
            Ok(CheckedRows::Gone) => self.verified.files -= 1,
            Err(e) if e.kind() == ErrorKind::Corrupt => self.verified.damage.push(damaged(Some(name.clone()), &e)),
            Err(e) => return Err(e),
        }
        self.last = Some(name.clone().into_bytes());
        Ok(name.into_bytes())
    }

    /// Goes on after a page that can't be read, from one name of the tree's inner pages to the next.
    fn beyond_damage(&mut self, after: Option<Vec<u8>>) -> Result<()> {
        // The pages are read from the file, so pages that are only in the log must be moved to it.
        if !self.inner.connections.options.read_only {
            self.inner.connections.checkpoint(CheckpointMode::Full)?;
        }
        let names = self.inner.read(|reader, _| {
            let root = pragma(&reader.connection, "SELECT rootpage FROM sqlite_schema WHERE name='files'")?;
            let page = pragma(&reader.connection, "PRAGMA page_size")? as usize;
            Ok(separators(&reader.connection, root as u32, page))
        })?;
        let names = names.into_iter().filter(|name| after.as_ref().is_none_or(|after| name > after));
        let mut start = RangeStart::Behind(after.clone().unwrap_or_default());
        for end in names.map(Some).chain([None]) {
            let stopped = self.range(start, end.as_deref())?;
            // A search for a name in an inner page reads the page before it: where that is damaged, the name is lost,
            // too.
            let next = end.unwrap_or_default();
            start = match stopped {
                None => RangeStart::At(next),
                Some(error) => {
                    self.lost(&error);
                    RangeStart::Behind(next)
                }
            };
        }
        Ok(())
    }

    /// Notes a range without its end, which is the next name that is read. A range that has none yet continues.
    fn lost(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.is_lost, true) {
            let last = self.last.as_deref().map(|name| String::from_utf8_lossy(name).into_owned());
            let problem = error.message().to_owned();
            self.verified.damage.push(Damage { name: None, between: Some((last, None)), problem });
        }
    }

    /// Ends the range that is lost, where there is one.
    fn found(&mut self, name: &[u8]) {
        if std::mem::take(&mut self.is_lost)
            && let Some(Damage { between: Some((_, end)), .. }) = self.verified.damage.last_mut()
        {
            *end = Some(String::from_utf8_lossy(name).into_owned());
        }
    }
}

/// The start of a range.
enum RangeStart {
    Behind(Vec<u8>),
    At(Vec<u8>),
}

impl RangeStart {
    fn is_before(&self, name: &[u8]) -> bool {
        match self {
            Self::Behind(start) => name > start.as_slice(),
            Self::At(start) => name >= start.as_slice(),
        }
    }
}

enum CheckedRows {
    Decoded,
    /// Only the stored bytes, as a key or a transform is missing.
    Stored,
    Gone,
}

fn check_content(
    reader: &mut StoreReader,
    catalog: &StoreCatalog,
    name: &str,
    located: &LocatedFile,
) -> Result<CheckedRows> {
    let is_undecodable = match catalog.encoding(located.encoding, &reader.connection) {
        Ok(_) => false,
        Err(e) if matches!(e.kind(), ErrorKind::Usage | ErrorKind::Invalid | ErrorKind::Unsupported) => true,
        Err(e) => return Err(e),
    };
    reader.in_one_state(|reader| {
        if reader.locate(name)?.as_ref() != Some(located) {
            return Ok(CheckedRows::Gone);
        }
        match located.place {
            ContentPlace::Chunks(place) => check_pieces(reader, catalog, located, place, is_undecodable)?,
            ContentPlace::Inline | ContentPlace::Block { .. } if !is_undecodable => {
                reader.get(catalog, name, &mut Vec::new())?;
            }
            ContentPlace::Inline => reader.check_stored(name, located.checksum)?,
            ContentPlace::Block { place, .. } => {
                check_chunk(reader, place, 0)?;
            }
        }
        Ok(if is_undecodable { CheckedRows::Stored } else { CheckedRows::Decoded })
    })
}

/// Checks a long content piece by piece.
fn check_pieces(
    reader: &mut StoreReader,
    catalog: &StoreCatalog,
    located: &LocatedFile,
    place: i64,
    stored_only: bool,
) -> Result<()> {
    let mut hash = Xxh3Default::new();
    let mut decoded = Vec::new();
    for piece in 0..located.size.div_ceil(PIECE_BYTES as u64).max(1) {
        let stored = check_chunk(reader, place, piece)?;
        if stored_only {
            hash.update(&stored);
            continue;
        }
        let is_transformed = !catalog.encoding(located.encoding, &reader.connection)?.chain.is_empty();
        reader.piece(catalog, located, piece, &mut decoded)?;
        hash.update(if is_transformed { &stored } else { &decoded });
    }
    if hash.digest() == located.checksum { Ok(()) } else { Err(not_as_written()) }
}

/// The stored bytes of a piece, which must have their checksum.
fn check_chunk(reader: &StoreReader, place: i64, piece: u64) -> Result<Vec<u8>> {
    let mut select = PreparedStatement::prepare(&reader.connection, "SELECT check_sum, data FROM chunks WHERE id=?1")?;
    let found = select.first(&[BoundValue::Int(chunk_id(place, piece))], |row| {
        let stored = row.bytes(1);
        if xxh3_64_with_seed(stored, piece) as i64 == row.int(0) { Ok(stored.to_vec()) } else { Err(not_as_written()) }
    })?;
    found.ok_or_else(|| Error::corrupt(format!("piece {piece} is missing")))
}

impl StoreReader {
    /// Checks the stored bytes of a content that can't be decoded.
    fn check_stored(&self, name: &str, checksum: u64) -> Result<()> {
        let mut select = PreparedStatement::prepare(&self.connection, "SELECT content FROM files WHERE name=?1")?;
        let sound = select.first(&[BoundValue::Text(name.as_bytes())], |row| Ok(xxh3_64(row.bytes(0)) == checksum))?;
        if sound == Some(true) { Ok(()) } else { Err(not_as_written()) }
    }
}
