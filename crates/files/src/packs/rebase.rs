//! Pending contents that were made from files which other writers have changed in the meantime.

use std::sync::Arc;

use lakerace_io::Result;
use lakerace_io::wait::lock;

use super::shared::PackStore;
use super::staged::ContentBase;
use super::{appended, read};
use crate::content_copy;
use crate::home::{PendingAppend, PutOptions, RandomAccessFile};
use crate::index::IndexEntry;
use crate::name::changed;

impl PackStore {
    /// Returns true if pending contents require that the files they were made from are unchanged.
    pub(super) fn has_bases(&self) -> bool {
        !lock(&self.state).based.is_empty()
    }

    /// Rebuilds pending contents on the files that others have committed in the meantime. The inner result is the error
    /// for contents that were given up.
    pub(super) fn rebase(self: &Arc<Self>) -> Result<Result<()>> {
        self.refresh()?;
        let mut outcome = Ok(());
        let based = lock(&self.state).based.clone();
        for (name, base) in based {
            let now = self.with_names(|names| names.find(&name))?;
            let Some(pending) = lock(&self.state).pending.get(&name).cloned() else { continue };
            if now == base.entry {
                continue;
            }
            let made = match &pending {
                Some(entry) if base.is_append => Some(append_again(self, &name, (&base, entry), now.as_ref())?),
                _ => None,
            };
            let mut state = lock(&self.state);
            if state.pending.get(&name) != Some(&pending) {
                // Changed in the meantime: the next attempt looks again.
                continue;
            }
            match made {
                Some(made) => {
                    state.pending.insert(Arc::clone(&name), Some(made));
                    state.based.insert(name, ContentBase { entry: now, is_append: true });
                }
                None => {
                    state.pending.remove(&name);
                    state.based.remove(&name);
                    outcome = outcome.and(Err(changed(&name)));
                }
            }
        }
        Ok(outcome)
    }
}

/// Builds a content again whose base has changed: the appended bytes after the current content.
fn append_again(
    shared: &Arc<PackStore>,
    name: &str,
    (base, made): (&ContentBase, &Arc<IndexEntry>),
    now: Option<&Arc<IndexEntry>>,
) -> Result<Arc<IndexEntry>> {
    let start = base.entry.as_ref().map_or(0, |entry| entry.size);
    let mut tail = AppendedPart { content: read::open(shared, name, Arc::clone(made)), start };
    let compression = made.encoding.split(';').next().and_then(|codec| codec.trim().parse().ok());
    let (mtime_ms, metadata) = (Some(made.mtime_ms), made.metadata.clone());
    let options = PutOptions { mtime_ms, metadata, compression, ..PutOptions::default() };
    appended(shared, (name, now), &options, &mut tail)
}

/// The end of a content.
struct AppendedPart {
    content: Box<dyn RandomAccessFile>,
    start: u64,
}

impl PendingAppend for AppendedPart {
    fn give(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        content_copy::copy_from(&mut *self.content, self.start, each)
    }
}
