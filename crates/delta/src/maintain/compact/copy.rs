//! Groups of files whose rows stay in their order, rewritten one after the other.
//!
//! All of them are one read: the next group's bytes are requested while one is written, and the store completes files
//! in the meantime.

use lakerace_format::ReadRequest;
use lakerace_io::Result;

use super::{FileGroup, GroupWriter};
use crate::snapshot::files::TableFile;
use crate::write::{PublishedFiles, write_split};

/// Approximate number of old files that are open at the same time: their footers are in memory.
const FILES_AT_ONCE: usize = 1024;

/// Groups by the reads that they are written by: one or more each, in their order.
pub(super) fn streams(mut groups: &mut [FileGroup]) -> impl Iterator<Item = &mut [FileGroup]> {
    std::iter::from_fn(move || {
        let mut files = 0;
        let fits = |group: &&FileGroup| {
            files += group.bin.files.len();
            files <= FILES_AT_ONCE
        };
        let count = groups.iter().take_while(fits).count().max(1);
        groups.split_off_mut(..count.min(groups.len())).filter(|groups| !groups.is_empty())
    })
}

impl GroupWriter<'_> {
    /// The new files of groups whose rows stay in the order of the old files, visible and not yet the table's.
    pub(super) fn copy(&self, groups: &mut [FileGroup]) -> Result<PublishedFiles> {
        let olds: Vec<&TableFile> = groups.iter().flat_map(|group| &group.bin.files).collect();
        let (source, rows) = self.open(&olds)?;
        let mut batches = self.read(&source, &ReadRequest::default())?;
        // A group has approximately the target size of a file: if its output is a little larger, it still stays one
        // file.
        let mut files = self.files(self.snapshot.schema(), self.options.target_bytes.saturating_mul(2))?;
        let mut visible = rows.iter();
        let rows_of = |group: &FileGroup| visible.by_ref().take(group.bin.files.len()).sum();
        let each: Vec<u64> = groups.iter().map(rows_of).collect();
        let ends = write_split(&mut batches, each, &mut files, self.snapshot.table().job())?;
        let published = files.publish()?;
        let (mut begin, mut visible) = (0, rows.into_iter());
        for (group, end) in groups.iter_mut().zip(ends) {
            group.set_new(&published.files()[begin..end]);
            group.bin.set_visible(visible.by_ref());
            begin = end;
        }
        Ok(published)
    }
}
