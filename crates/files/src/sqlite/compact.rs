//! Space is given back.

use std::collections::HashMap;

use lakerace_io::Result;

use super::inner::Inner;
use super::reader::{LocatedFile, filled};
use super::schema::SHORT_BYTES;
use super::statement::{BoundValue, PreparedStatement, pragma};
use super::writer::{CheckpointMode, ROW_BYTES, row_limit_bytes};
use crate::file_metadata::now_ms;
use crate::home::{CompactOutcome, Progress, PutOptions};
use crate::sqlite_error::is_disk_full;
use crate::stream::go_on;

/// An upload of which nothing was heard for so long is given up, in milliseconds.
const UPLOAD_MS: i64 = 3_600_000;

/// Free pages that one transaction releases, which keeps the log short.
const VACUUM_PAGES: i64 = 4_000;

/// The fewest pages that one transaction releases on a disk that is nearly full.
const LEAST_VACUUM_PAGES: i64 = 16;

/// Files that one transaction encodes again.
const REWRITE_FILES: usize = 1_000;

pub(super) fn compact(inner: &Inner, progress: Progress<'_>) -> Result<CompactOutcome> {
    let mut compacted = CompactOutcome { bytes_before: inner.bytes(), ..CompactOutcome::default() };
    compacted.rewritten =
        from_sparse_blocks(inner, progress)? + with_dictionary(inner, progress)? + from_long_rows(inner, progress)?;
    inner.write(|writer| {
        writer.is_dirty = true;
        let since = now_ms() - UPLOAD_MS;
        PreparedStatement::prepare(&writer.connection, "DELETE FROM uploads WHERE touched_ms<?1")?
            .run(&[BoundValue::Int(since)])?;
        let orphans = "DELETE FROM chunks WHERE (id >> 24) NOT IN \
                       (SELECT place FROM files WHERE place IS NOT NULL UNION ALL SELECT place FROM uploads)";
        compacted.orphans = PreparedStatement::prepare(&writer.connection, orphans)?.run(&[])?;
        Ok(())
    })?;
    let mut pages = VACUUM_PAGES;
    while inner.read(|reader, _| pragma(&reader.connection, "PRAGMA freelist_count"))? > 0 {
        go_on(progress(compacted.rewritten, 0))?;
        let done = inner.write(|writer| {
            writer.is_dirty = true;
            PreparedStatement::prepare(&writer.connection, &format!("PRAGMA incremental_vacuum({pages})"))?
                .each(&[], |_| Ok(true))
        });
        match done {
            // On a disk that is nearly full, the log has room for fewer pages.
            Err(e) if is_disk_full(&e) && pages > LEAST_VACUUM_PAGES => pages /= 4,
            Err(e) => return Err(e),
            Ok(()) if pages < VACUUM_PAGES => inner.connections.checkpoint(CheckpointMode::Truncate)?,
            Ok(()) => {}
        }
    }
    // If a reader needs the log, it is emptied later.
    inner.connections.checkpoint(CheckpointMode::Truncate)?;
    compacted.bytes_after = inner.bytes();
    Ok(compacted)
}

impl Inner {
    /// The bytes of the file and its log.
    fn bytes(&self) -> u64 {
        let path = &self.connections.path;
        let log = format!("{}-wal", path.display());
        let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |found| found.len());
        size(path) + size(log.as_ref())
    }
}

/// Moves files out of blocks that are less than half in use.
fn from_sparse_blocks(inner: &Inner, progress: Progress<'_>) -> Result<u64> {
    let mut used: HashMap<i64, u64> = HashMap::new();
    let mut sparse = Vec::new();
    inner.read(|reader, _| {
        PreparedStatement::prepare(&reader.connection, "SELECT place, size FROM files WHERE start IS NOT NULL")?.each(
            &[],
            |row| {
                *used.entry(row.int(0)).or_default() += row.int(1) as u64;
                Ok(true)
            },
        )?;
        let mut length =
            PreparedStatement::prepare(&reader.connection, "SELECT substr(data, 1, 4) FROM chunks WHERE id=?1 << 24")?;
        for (place, bytes) in &used {
            let whole = length.first(&[BoundValue::Int(*place)], |row| {
                Ok(row.bytes(0).first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
            })?;
            if bytes * 2 < u64::from(whole.unwrap_or(0)) {
                sparse.push(*place);
            }
        }
        Ok(())
    })?;
    if sparse.is_empty() {
        return Ok(0);
    }
    sparse.sort_unstable();
    rewrite(inner, progress, |row| row.in_block && sparse.binary_search(&row.place).is_ok())
}

/// Encodes small files again that were put before the store had its dictionary.
fn with_dictionary(inner: &Inner, progress: Progress<'_>) -> Result<u64> {
    if !inner.compression.dictionary || inner.put_as(inner.compression)?.encoding.dictionary.is_none() {
        return Ok(0);
    }
    let plain = inner.put_as(crate::options::Compression { dictionary: false, ..inner.compression })?.id;
    let newest = inner.put_as(inner.compression)?.id;
    rewrite(inner, progress, |row| {
        let is_short = row.place == 0 || row.size <= SHORT_BYTES as u64;
        !row.in_block && is_short && row.encoding == plain && row.encoding != newest
    })
}

/// Moves contents out of rows that have pages of their own: rows that earlier versions wrote, or that have got a longer name or more metadata.
fn from_long_rows(inner: &Inner, progress: Progress<'_>) -> Result<u64> {
    let mut names: Vec<String> = Vec::new();
    inner.read(|reader, _| {
        let limit = row_limit_bytes(pragma(&reader.connection, "PRAGMA page_size")? as usize);
        let long = "SELECT name FROM files WHERE length(content)>?1 - length(CAST(name AS BLOB)) - \
                    ifnull(length(CAST(metadata AS BLOB)), 0)";
        PreparedStatement::prepare(&reader.connection, long)?.each(
            &[BoundValue::Int(limit.saturating_sub(ROW_BYTES) as i64)],
            |row| {
                names.push(row.str(0)?.to_owned());
                Ok(true)
            },
        )
    })?;
    let mut moved = 0;
    for names in names.chunks(REWRITE_FILES) {
        go_on(progress(moved, 0))?;
        inner.write_alone(|writer| {
            for name in names {
                // It may have been removed since its name was read.
                if writer.find_content(name)?.is_some() {
                    moved += u64::from(writer.shorten_row(name)?);
                }
            }
            Ok(())
        })?;
    }
    Ok(moved)
}

/// The columns by which files are chosen that are put again.
struct StoredRow {
    encoding: i64,
    size: u64,
    in_block: bool,
    /// 0 for a content in its row.
    place: i64,
}

impl From<&LocatedFile> for StoredRow {
    fn from(located: &LocatedFile) -> Self {
        let (place, start) = located.place.columns();
        Self {
            encoding: located.encoding,
            size: located.size,
            in_block: start.is_some(),
            place: place.unwrap_or_default(),
        }
    }
}

/// Puts files again that `is_wanted` chooses, with their times and metadata, and says how many. No one
/// writes between the reading and the putting of a file.
fn rewrite(inner: &Inner, progress: Progress<'_>, is_wanted: impl Fn(&StoredRow) -> bool + Sync) -> Result<u64> {
    let mut names: Vec<String> = Vec::new();
    inner.read(|reader, _| {
        PreparedStatement::prepare(
            &reader.connection,
            "SELECT name, encoding, size, place, start FROM files ORDER BY name",
        )?
        .each(&[], |row| {
            let stored = StoredRow {
                encoding: row.int(1),
                size: row.int(2) as u64,
                in_block: !row.is_null(4),
                place: row.int(3),
            };
            if is_wanted(&stored) {
                names.push(row.str(0)?.to_owned());
            }
            Ok(true)
        })
    })?;
    let mut rewritten = 0;
    for names in names.chunks(REWRITE_FILES) {
        go_on(progress(rewritten, 0))?;
        inner.write_alone(|writer| {
            let mut work = Vec::new();
            for name in names {
                // It may have been put again or removed since its name was read.
                let located = inner.read(|reader, _| reader.locate(name))?;
                if !located.is_some_and(|located| is_wanted(&StoredRow::from(&located))) {
                    continue;
                }
                let Some(stat) = inner.read(|reader, _| reader.stat(name))? else { continue };
                let mut content = Vec::new();
                let size = inner.read(|reader, catalog| reader.get(catalog, name, &mut content))?;
                filled(&mut content, size);
                let options =
                    PutOptions { metadata: stat.metadata, mtime_ms: Some(stat.mtime_ms), ..PutOptions::default() };
                work.push((name.as_str(), content, options));
            }
            rewritten += work.len() as u64;
            super::batch::put_all(inner, writer, work)
        })?;
    }
    Ok(rewritten)
}
