//! Making the names of a version: in memory while they are few, else in a new file.

use std::sync::Arc;

use lakerace_io::Result;
use rusqlite::{Connection, params};

use super::base::{DELETE, INSERT, NamesFile, TABLE, stored_segments};
use super::cache::NamesDraft;
use super::{CHANGED_NAMES, Changes, NameCache, StoreNames, VersionId};
use crate::index::IndexEntry;
use crate::sqlite_error::from_rusqlite;

/// Builds names from existing ones and their changes.
pub(super) struct NamesBuilder<'a> {
    cache: &'a NameCache,
    base: Option<Arc<NamesFile>>,
    changed: Arc<Changes>,
    file: Option<NamesWriter>,
}

impl<'a> NamesBuilder<'a> {
    pub(super) fn new(cache: &'a NameCache, from: &StoreNames) -> Self {
        Self { cache, base: from.base.clone(), changed: Arc::clone(&from.changed), file: None }
    }

    /// Gives a name another entry, or none.
    pub(super) fn give(&mut self, name: Arc<str>, entry: Option<Arc<IndexEntry>>) -> Result<()> {
        if let Some(file) = &mut self.file {
            return file.give(&name, entry.as_deref());
        }
        let changed = Arc::make_mut(&mut self.changed);
        match (entry, &self.base) {
            (None, None) => drop(changed.remove(&name)),
            (entry, _) => drop(changed.insert(name, entry)),
        }
        if changed.len() <= CHANGED_NAMES {
            return Ok(());
        }
        let mut file = NamesWriter::begin(self.cache.draft(self.base.as_deref())?)?;
        for (name, entry) in std::mem::take(&mut self.changed).iter() {
            file.give(name, entry.as_deref())?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// The names, which are those of `id`.
    pub(super) fn finish(self, id: Option<VersionId>) -> Result<StoreNames> {
        let base = match self.file {
            Some(file) => Some(Arc::new(self.cache.keep(file.end()?, id.as_ref())?)),
            None => self.base,
        };
        Ok(StoreNames { id, base, changed: self.changed })
    }
}

/// A file that is being written. It need not survive a crash: it has no name yet.
struct NamesWriter {
    draft: NamesDraft,
    connection: Connection,
    segments: Vec<u8>,
}

impl NamesWriter {
    fn begin(draft: NamesDraft) -> Result<Self> {
        lakerace_sqlite::lock_by_descriptions();
        let connection = Connection::open(draft.path()).map_err(|e| from_rusqlite(&e))?;
        let table = if draft.is_new() { TABLE } else { "" };
        let script = format!(
            "PRAGMA page_size=8192; PRAGMA cache_size=-16384; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; \
             PRAGMA synchronous=OFF; BEGIN; {table}"
        );
        connection.execute_batch(&script).map_err(|e| from_rusqlite(&e).at(draft.path().display()))?;
        Ok(Self { draft, connection, segments: Vec::new() })
    }

    fn give(&mut self, name: &str, entry: Option<&IndexEntry>) -> Result<()> {
        let Self { draft, connection, segments } = self;
        let given = match entry {
            None => connection.prepare_cached(DELETE).and_then(|mut delete| delete.execute([name.as_bytes()])),
            Some(entry) => {
                stored_segments(&entry.segments, segments);
                connection.prepare_cached(INSERT).and_then(|mut insert| {
                    insert.execute(params![
                        name.as_bytes(),
                        entry.size.cast_signed(),
                        entry.mtime_ms,
                        &*entry.encoding,
                        entry.checksum.cast_signed(),
                        entry.metadata,
                        &**segments,
                    ])
                })
            }
        };
        given.map(drop).map_err(|e| from_rusqlite(&e).at(draft.path().display()))
    }

    fn end(self) -> Result<NamesDraft> {
        let ended = self.connection.execute_batch("COMMIT").map_err(|e| from_rusqlite(&e));
        let closed = ended.and_then(|()| self.connection.close().map_err(|(_, e)| from_rusqlite(&e)));
        closed.map_err(|e| e.at(self.draft.path().display())).map(|()| self.draft)
    }
}
