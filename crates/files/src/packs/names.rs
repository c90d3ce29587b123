//! The names of a version of the index, in bounded memory.
//!
//! Most names are in a file that does not change ([`NamesFile`]); those that have changed since are in memory. Where these become many, a new file
//! takes them in. Files are kept by version for the next opening ([`NameCache`]).

mod base;
mod build;
mod cache;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use lakerace_io::Result;

use self::base::NamesFile;
use self::build::NamesBuilder;
pub(super) use self::cache::NameCache;
use crate::index::{IndexEntry, IndexVersion};
use crate::name::prefix_end;

/// Names that get other entries, or none.
pub(super) type Changes = BTreeMap<Arc<str>, Option<Arc<IndexEntry>>>;

/// A file of the index.
pub(super) type Named = (Arc<str>, Arc<IndexEntry>);

/// Names in memory: with more, a file takes them in.
const CHANGED_NAMES: usize = 32_768;

/// Rows of a file that are read at a time.
const PAGE_ROWS: usize = 1_000;

/// Which version of which table. A table that was put back from a copy has other commits of the same numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionId {
    pub(super) table: Arc<str>,
    pub(super) version: u64,
    /// The commit; `None` where it is not known: then the names can't be found again by their version.
    pub(super) commit: Option<u64>,
}

impl VersionId {
    pub(super) fn from_version(version: &dyn IndexVersion) -> Self {
        Self { table: version.table_id().into(), version: version.version(), commit: version.commit() }
    }

    /// Returns true if this is surely the same version.
    pub(super) fn is(&self, other: &Self) -> bool {
        self == other && self.commit.is_some()
    }
}

/// The names of a version. A clone is a snapshot.
#[derive(Debug, Clone, Default)]
pub(super) struct StoreNames {
    /// `None` before there is a table.
    pub(super) id: Option<VersionId>,
    base: Option<Arc<NamesFile>>,
    changed: Arc<Changes>,
}

impl StoreNames {
    /// Loads the names of a version: from `known` or from the cache, by the changes since, or from the whole table.
    pub(super) fn load(version: &dyn IndexVersion, known: &Self, cache: &NameCache) -> Result<Self> {
        let id = VersionId::from_version(version);
        if let Some(names) = known.advance(version, &id, cache)? {
            return Ok(names);
        }
        // Only one of the processes that open the store at the same time reads the table.
        let _alone = cache.alone()?;
        if let Some(kept) = cache.newest(&id)? {
            let kept = Self { id: Some(kept.0), base: Some(Arc::new(kept.1)), changed: Arc::default() };
            if let Some(names) = kept.advance(version, &id, cache)? {
                return Ok(names);
            }
        }
        let mut builder = NamesBuilder::new(cache, &Self::default());
        version.each(&mut |name, entry| builder.give(name.into(), entry.map(Arc::new)))?;
        builder.finish(Some(id))
    }

    /// Advances these names to a later version; `None` if the changes since their version are not available.
    fn advance(&self, version: &dyn IndexVersion, id: &VersionId, cache: &NameCache) -> Result<Option<Self>> {
        let own = self.id.as_ref().filter(|own| own.table == id.table && own.version <= id.version);
        let Some((own, commit)) = own.and_then(|own| Some((own, own.commit?))) else { return Ok(None) };
        if own.version == id.version {
            return Ok(own.is(id).then(|| self.clone()));
        }
        let mut builder = NamesBuilder::new(cache, self);
        let is_known = version
            .each_since(own.version, commit, &mut |name, entry| builder.give(name.into(), entry.map(Arc::new)))?;
        if is_known { builder.finish(Some(id.clone())).map(Some) } else { Ok(None) }
    }

    /// These names with changes that make the version `id`.
    pub(super) fn changed(
        &self,
        changes: &[(Arc<str>, Option<Arc<IndexEntry>>)],
        id: Option<VersionId>,
        cache: &NameCache,
    ) -> Result<Self> {
        let mut builder = NamesBuilder::new(cache, self);
        for (name, entry) in changes {
            builder.give(Arc::clone(name), entry.clone())?;
        }
        builder.finish(id)
    }

    /// Finds the entry of a name.
    pub(super) fn find(&self, name: &str) -> Result<Option<Arc<IndexEntry>>> {
        match (self.changed.get(name), &self.base) {
            (Some(change), _) => Ok(change.clone()),
            (None, Some(base)) => base.find(name).map(|entry| entry.map(Arc::new)),
            (None, None) => Ok(None),
        }
    }

    /// The files whose names begin with `prefix` and are not less than `from`, in the order of names, read `page` at a time.
    pub(super) fn walk<'a>(
        &'a self,
        prefix: &str,
        from: &str,
        page: usize,
    ) -> impl Iterator<Item = Result<Named>> + 'a {
        let (from, end) = (prefix.max(from).to_owned(), prefix_end(prefix.as_bytes()));
        let under = NamePages {
            base: self.base.as_deref(),
            from: Bound::Included(from.clone()),
            end: end.clone(),
            page: page.clamp(1, PAGE_ROWS),
            rows: VecDeque::new(),
        };
        merged(changes(&self.changed, from, end), under)
    }

    /// Every file in the order of places in packs.
    pub(super) fn by_place(&self, each: &mut dyn FnMut(Named) -> Result<()>) -> Result<()> {
        if let Some(base) = &self.base {
            base.by_place(&mut |named| if self.changed.contains_key(&named.0) { Ok(()) } else { each(named) })?;
        }
        let mut changed: Vec<Named> = self
            .changed
            .iter()
            .filter_map(|(name, change)| change.as_ref().map(|entry| (Arc::clone(name), Arc::clone(entry))))
            .collect();
        changed.sort_by_key(|(_, entry)| entry.segments.first().map(|segment| (segment.pack, segment.start)));
        changed.into_iter().try_for_each(each)
    }

    /// Has the file of these names taken for damaged.
    pub(super) fn discard(&self) {
        if let Some(base) = &self.base {
            base.discard();
        }
    }
}

/// Changes of names from `from` up to `end`.
pub(super) fn changes(
    all: &Changes,
    from: String,
    end: Option<Vec<u8>>,
) -> impl Iterator<Item = (&Arc<str>, &Option<Arc<IndexEntry>>)> {
    all.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded))
        .take_while(move |(name, _)| end.as_deref().is_none_or(|end| name.as_bytes() < end))
}

/// Files of which some have changed, in the order of names.
pub(super) fn merged<'a>(
    changes: impl Iterator<Item = (&'a Arc<str>, &'a Option<Arc<IndexEntry>>)>,
    files: impl Iterator<Item = Result<Named>>,
) -> impl Iterator<Item = Result<Named>> {
    let (mut changes, mut files) = (changes.peekable(), files.peekable());
    std::iter::from_fn(move || {
        loop {
            let (is_change, is_same) = match (changes.peek(), files.peek()) {
                (None, _) | (_, Some(Err(_))) => return files.next(),
                (Some(_), None) => (true, false),
                (Some((changed, _)), Some(Ok((name, _)))) => (*changed <= name, *changed == name),
            };
            if !is_change {
                return files.next();
            }
            if is_same {
                files.next();
            }
            if let Some((name, Some(entry))) = changes.next() {
                return Some(Ok((Arc::clone(name), Arc::clone(entry))));
            }
        }
    })
}

/// The rows of a file, page by page.
struct NamePages<'a> {
    base: Option<&'a NamesFile>,
    from: Bound<String>,
    end: Option<Vec<u8>>,
    page: usize,
    rows: VecDeque<Named>,
}

impl Iterator for NamePages<'_> {
    type Item = Result<Named>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rows.is_empty() {
            let base = self.base?;
            match base.page(&self.from, self.end.as_deref(), self.page) {
                Ok(rows) => self.rows = rows.into(),
                Err(error) => {
                    self.base = None;
                    return Some(Err(error));
                }
            }
            if self.rows.len() < self.page {
                self.base = None;
            }
            if let Some((last, _)) = self.rows.back() {
                self.from = Bound::Excluded(last.to_string());
            }
        }
        self.rows.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests;
