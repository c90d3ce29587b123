//! Changes of names that are being made.

use std::collections::BTreeMap;
use std::sync::Arc;

use lakerace_io::Result;

use super::names::{Changes, StoreNames};
use crate::home::{FileVersion, IfExists};
use crate::index::IndexEntry;
use crate::name::not_found;

/// The bases of contents, by their names.
pub(super) type Bases = BTreeMap<Arc<str>, ContentBase>;

/// The base of a content, which must be unchanged when the content is committed.
#[derive(Debug, Clone)]
pub(super) struct ContentBase {
    /// The committed file; `None` where there was none.
    pub(super) entry: Option<Arc<IndexEntry>>,
    /// True if the content is that of the file and more bytes.
    pub(super) is_append: bool,
}

/// Changes that are being made, on top of the current names.
pub(super) struct StagedChanges<'a> {
    names: &'a StoreNames,
    pending: &'a Changes,
    pending_bases: &'a Bases,
    changes: Changes,
    based: Bases,
}

impl<'a> StagedChanges<'a> {
    pub(super) fn new(names: &'a StoreNames, pending: &'a Changes, pending_bases: &'a Bases) -> Self {
        Self { names, pending, pending_bases, changes: Changes::new(), based: Bases::new() }
    }

    /// The changes, and the bases that they were made from.
    pub(super) fn end(self) -> (Changes, Bases) {
        (self.changes, self.based)
    }

    pub(super) fn find(&self, name: &str) -> Result<Option<Arc<IndexEntry>>> {
        match self.changes.get(name).or_else(|| self.pending.get(name)) {
            Some(change) => Ok(change.clone()),
            None => self.names.find(name),
        }
    }

    pub(super) fn put(&mut self, name: &str, entry: Arc<IndexEntry>, if_exists: IfExists) -> Result<()> {
        if_exists.check(name, || Ok(self.find(name)?.map(|entry| version(&entry))))?;
        let base = match if_exists {
            IfExists::ReplaceVersion(_) => self.base(name)?,
            _ => None,
        };
        self.change(name, Some(entry), base.map(|base| ContentBase { is_append: false, ..base }));
        Ok(())
    }

    /// Puts a content that consists of the name's current content and more bytes.
    pub(super) fn append(&mut self, name: &str, entry: Arc<IndexEntry>) -> Result<()> {
        let base = self.base(name)?;
        self.change(name, Some(entry), base);
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<()> {
        self.find(name)?.ok_or_else(|| not_found(name))?;
        self.change(name, None, None);
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let entry = self.find(from)?.ok_or_else(|| not_found(from))?;
        if from != to {
            self.put(to, entry, if_exists)?;
            self.change(from, None, None);
        }
        Ok(())
    }

    /// The base of a content that is made from its name's content: the committed file, or the base of the name's
    /// pending content. `None` if the pending content replaces any file.
    fn base(&self, name: &str) -> Result<Option<ContentBase>> {
        if self.changes.contains_key(name) {
            return Ok(self.based.get(name).cloned());
        }
        if self.pending.contains_key(name) {
            return Ok(self.pending_bases.get(name).cloned());
        }
        Ok(Some(ContentBase { entry: self.names.find(name)?, is_append: true }))
    }

    fn change(&mut self, name: &str, change: Option<Arc<IndexEntry>>, base: Option<ContentBase>) {
        let name: Arc<str> = name.into();
        match base {
            Some(base) => drop(self.based.insert(Arc::clone(&name), base)),
            None => drop(self.based.remove(&name)),
        }
        self.changes.insert(name, change);
    }
}

/// The version of a file.
pub(super) fn version(entry: &IndexEntry) -> FileVersion {
    FileVersion::new(entry.size, entry.mtime_ms, entry.checksum, entry.metadata.as_deref())
}
