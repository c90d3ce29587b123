//! Files that a write has made visible.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use arrow::array::StructArray;
use lakerace_format::Written;
use lakerace_io::{Object, Result, give_up_folders};

use crate::commit::outcome::EntryOutcome;

/// A file for the log.
pub(crate) struct AddedFile {
    pub name: String,
    pub rows: u64,
    pub size_bytes: u64,
    /// Milliseconds since 1970.
    pub modified: i64,
    /// By the stored names of partition columns.
    pub partition_values: HashMap<String, Option<String>>,
    pub statistics: StructArray,
}

/// Files that are visible, and not the table's until they are in its log. Dropped before that, they are removed.
pub(crate) struct PublishedFiles {
    files: Vec<AddedFile>,
    objects: Vec<Object>,
    written: Written,
    /// The folders of this machine that were made for the files.
    folders: BTreeSet<PathBuf>,
    /// They are the table's, or may be.
    keep: bool,
}

impl PublishedFiles {
    /// No files.
    pub fn none() -> Self {
        let (files, objects, folders) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { files, objects, written: Written::default(), folders, keep: true }
    }

    /// No files yet, of those that are removed again unless the log gets them.
    pub(super) fn removed() -> Self {
        let mut published = Self::none();
        published.keep = false;
        published
    }

    /// Adds a file that is visible, and the folders that were made for it.
    pub(super) fn push(&mut self, file: AddedFile, object: Object, folders: Vec<PathBuf>) {
        self.written.rows += file.rows;
        self.written.bytes += file.size_bytes;
        self.written.files.push(object.url());
        self.folders.extend(folders);
        self.objects.push(object);
        self.files.push(file);
    }

    /// Adds an object that is no file of the write, but may exist.
    pub(super) fn push_failed(&mut self, object: Object) {
        self.objects.push(object);
    }

    pub fn files(&self) -> &[AddedFile] {
        &self.files
    }

    /// Their rows.
    pub fn rows(&self) -> u64 {
        self.written.rows
    }

    /// Puts the names of those of this machine on the disk.
    pub fn sync_names(&self) -> Result<()> {
        self.objects.first().map_or(Ok(()), |object| object.store.job.sync_folders())
    }

    /// Adds the files of others.
    pub fn extend(&mut self, mut other: Self) {
        other.keep = true;
        self.keep = false;
        self.files.append(&mut other.files);
        self.objects.append(&mut other.objects);
        self.folders.append(&mut other.folders);
        self.written.rows += other.written.rows;
        self.written.bytes += other.written.bytes;
        self.written.files.append(&mut other.written.files);
    }

    /// Removes those that are not to be the table's after all.
    pub fn discard(&mut self, is_unwanted: impl Fn(&AddedFile) -> bool) {
        let mut unwanted = Vec::new();
        for number in (0..self.files.len()).rev().filter(|number| is_unwanted(&self.files[*number])).collect::<Vec<_>>()
        {
            self.files.remove(number);
            unwanted.push(self.objects.remove(number));
            self.written.files.remove(number);
        }
        remove(unwanted);
    }

    /// The log has them.
    pub fn written(&mut self) -> Written {
        self.keep = true;
        std::mem::take(&mut self.written)
    }

    /// The log does not have them, or no one knows.
    pub fn abort(&mut self, outcome: EntryOutcome) {
        self.keep = outcome == EntryOutcome::Unknown;
    }
}

impl Drop for PublishedFiles {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        remove(std::mem::take(&mut self.objects));
        give_up_folders(&self.folders.iter().cloned().collect::<Vec<_>>());
    }
}

/// Removes objects. Those that can't be removed now are no part of the table and are left to its next vacuum.
fn remove(objects: Vec<Object>) {
    let Some(store) = objects.first().map(|object| object.store.clone()) else { return };
    store.delete_best_effort(objects.into_iter().map(|object| object.path).collect());
}
