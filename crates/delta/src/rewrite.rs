//! Rewriting files without some of their rows: the removal of rows from a table without deletion vectors.
//!
//! Only files that lose a row are rewritten, each file separately and in its own order of rows. A file that loses all
//! rows is removed, and nothing is written for it. Data files never change: a rewritten file is valid for each later
//! version that still contains the old one with the same deletion vector. Where another writer has replaced a file, its
//! rewritten file is removed again, and the file that came in its place is rewritten if it contains one of the rows.
//!
//! The rows of a file stream from the reader to the writer. Both hold a few row groups at a time, and never a whole
//! file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use delta_kernel::transaction::WriteState;
use lakerace_format::{Batches, DeletedRows, InputFile, ParquetSource, ReadRequest, Source, WriteOptions};
use lakerace_io::option::ENABLE_DELETION_VECTORS;
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use crate::commit::outcome::EntryOutcome;
use crate::commit::{TargetColumns, tracks_rows};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::table::Table;
use crate::upsert::ChangeFiles;
use crate::write::{AddedFile, DataFiles, PublishedFiles, write_split};

/// A file that loses rows.
pub(crate) struct TouchedFile<'a> {
    pub file: &'a TableFile,
    /// Its rows, hidden ones included.
    pub rows: u64,
    /// The rows that a deletion vector hides already.
    pub known: RoaringTreemap,
    /// These, and those that go now.
    pub all: RoaringTreemap,
}

impl TouchedFile<'_> {
    /// Returns true if no row of it stays.
    pub fn is_dead(&self) -> bool {
        self.all.len() == self.rows
    }

    fn path(&self) -> &str {
        &self.file.path
    }
}

/// Files that were rewritten, of a version at a time. Dropped before its commit, they are removed again.
pub(crate) struct FileRewrites {
    options: WriteOptions,
    /// The files that were written for a file, by that file's path.
    rewritten: HashMap<String, RewrittenFile>,
    published: PublishedFiles,
    /// The change files, and the files whose changes they contain: paths and vectors.
    changes: (PublishedFiles, Vec<Identity>),
}

/// A file as it was rewritten.
struct RewrittenFile {
    vector: Option<DeletionVectorDescriptor>,
    /// The names of its new files.
    new: Vec<String>,
}

/// A data file and its deletion vector.
type Identity = (String, Option<DeletionVectorDescriptor>);

/// The outcome of rewriting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RewriteOutcome {
    /// Files that were rewritten.
    pub files: u64,
    /// Bytes of these files.
    pub bytes_before: u64,
    /// Bytes of the files that took their place.
    pub bytes_after: u64,
}

/// Files that are read in one go. Their footers are in memory, and on a local disk their successors are open.
const FILES_AT_ONCE: usize = 256;
/// The size of a new file, relative to the old one, after which a second one starts.
const GROWTH_AT_MOST: u64 = 4;
/// Bytes up to which a new file is not divided, independent of the size of the old one.
const LEAST_FILE_BYTES: u64 = 256 << 20;

impl FileRewrites {
    /// Files are written with these options.
    pub fn new(options: WriteOptions) -> Self {
        let (rewritten, changes) = (HashMap::new(), (PublishedFiles::none(), Vec::new()));
        Self { options, rewritten, published: PublishedFiles::none(), changes }
    }

    /// Rewrites these files of a version, except for those that were rewritten before; the new files of all others are
    /// removed. Also writes change files of the removed rows if `tells` is true.
    pub fn follow(
        &mut self,
        snapshot: &Snapshot,
        state: &Arc<WriteState>,
        touched: &[TouchedFile<'_>],
        tells: bool,
    ) -> Result<RewriteOutcome> {
        let now: HashMap<&str, &TouchedFile<'_>> = touched.iter().map(|touched| (touched.path(), touched)).collect();
        self.rewritten.retain(|path, file| now.get(path.as_str()).is_some_and(|now| now.file.vector == file.vector));
        let wanted: HashSet<&String> = self.rewritten.values().flat_map(|file| &file.new).collect();
        self.published.discard(|file| !wanted.contains(&file.name));
        let lasting: Vec<&TouchedFile<'_>> = touched.iter().filter(|touched| !touched.is_dead()).collect();
        if !lasting.is_empty() {
            check_row_ids(snapshot)?;
        }
        let options = self.options.clone();
        let writer =
            RewriteWriter { snapshot, state, targets: TargetColumns::from_snapshot(snapshot), options: &options };
        let missing: Vec<&TouchedFile<'_>> =
            lasting.iter().filter(|touched| !self.rewritten.contains_key(touched.path())).copied().collect();
        for some in missing.chunks(FILES_AT_ONCE) {
            let (published, ends) = writer.write(some)?;
            let mut begin = 0;
            for (touched, end) in some.iter().zip(ends) {
                let new = published.files()[begin..end].iter().map(|file| file.name.clone()).collect();
                let file = RewrittenFile { vector: touched.file.vector.clone(), new };
                self.rewritten.insert(touched.file.path.clone(), file);
                begin = end;
            }
            self.published.extend(published);
        }
        let changes: &[TouchedFile<'_>] = if tells && !lasting.is_empty() { touched } else { &[] };
        self.tell(&writer, changes)?;
        Ok(RewriteOutcome {
            files: lasting.len() as u64,
            bytes_before: lasting.iter().map(|touched| touched.file.size_bytes).sum(),
            bytes_after: self.published.files().iter().map(|file| file.size_bytes).sum(),
        })
    }

    /// Writes the removed rows to change files. Readers read a version with change files from these alone: they cover
    /// all files that lose rows, including those that lose all of them.
    fn tell(&mut self, writer: &RewriteWriter<'_>, touched: &[TouchedFile<'_>]) -> Result<()> {
        let of: Vec<Identity> =
            touched.iter().map(|touched| (touched.file.path.clone(), touched.file.vector.clone())).collect();
        if of == self.changes.1 {
            return Ok(());
        }
        self.changes = (PublishedFiles::none(), Vec::new());
        self.changes = (if of.is_empty() { PublishedFiles::none() } else { writer.tell(touched)? }, of);
        Ok(())
    }

    /// The files that take the place of others.
    pub fn files(&self) -> &[AddedFile] {
        self.published.files()
    }

    /// The change files.
    pub fn changes(&self) -> &[AddedFile] {
        self.changes.0.files()
    }

    /// The log has them.
    pub fn written(&mut self) {
        self.published.written();
        self.changes.0.written();
    }

    /// The log does not have them, or no one knows.
    pub fn abort(&mut self, outcome: EntryOutcome) {
        self.published.abort(outcome);
        self.changes.0.abort(outcome);
    }
}

/// Writes files of one version again.
struct RewriteWriter<'a> {
    snapshot: &'a Snapshot,
    state: &'a Arc<WriteState>,
    targets: TargetColumns,
    options: &'a WriteOptions,
}

impl RewriteWriter<'_> {
    /// The successors of these files, visible and not yet the table's, and the number of them up to the end of each
    /// file.
    fn write(&self, some: &[&TouchedFile<'_>]) -> Result<(PublishedFiles, Vec<usize>)> {
        let hide = |touched: &TouchedFile<'_>| DeletedRows::new(touched.all.iter(), touched.all.max(), touched.rows);
        let source = self.open(some, hide)?;
        let mut rows = vec![0u64; some.len()];
        source.row_groups().iter().for_each(|group| rows[group.file] += group.visible_rows());
        for (touched, rows) in some.iter().zip(&rows) {
            check_rows(touched, *rows)?;
        }
        let largest = some.iter().map(|touched| touched.file.size_bytes).max().unwrap_or(0);
        let file_bytes = Some(largest.saturating_mul(GROWTH_AT_MOST).max(LEAST_FILE_BYTES));
        let options = WriteOptions { file_bytes, ..self.options.clone() };
        let (table, schema) = (self.snapshot.table(), self.snapshot.schema());
        let mut files = DataFiles::new(table, schema, &self.targets, Arc::clone(self.state), &options)?;
        let ends = write_split(&mut read(&source)?, rows, &mut files, table.job())?;
        Ok((files.publish()?, ends))
    }

    /// Change files of the rows that go.
    fn tell(&self, touched: &[TouchedFile<'_>]) -> Result<PublishedFiles> {
        let (table, schema) = (self.snapshot.table(), self.snapshot.schema());
        let mut changes = ChangeFiles::new(table, schema, &self.targets, Arc::clone(self.state), self.options)?;
        for some in touched.chunks(FILES_AT_ONCE) {
            let hide =
                |touched: &TouchedFile<'_>| DeletedRows::all_but((&touched.all - &touched.known).iter(), touched.rows);
            let source = self.open(&some.iter().collect::<Vec<_>>(), hide)?;
            for batch in read(&source)? {
                table.job().check()?;
                changes.deleted(&batch?)?;
            }
        }
        changes.publish()
    }

    fn open(
        &self,
        some: &[&TouchedFile<'_>],
        hide: impl Fn(&TouchedFile<'_>) -> Result<DeletedRows>,
    ) -> Result<ParquetSource> {
        let input = |touched: &&TouchedFile<'_>| {
            let hidden = hide(touched).map_err(|error| error.at(touched.file.object.url()))?;
            let (object, constants) = (touched.file.object.clone(), touched.file.constants.clone());
            Ok(InputFile { object, constants, hidden: Some(Arc::new(hidden)), stated_rows: touched.file.rows })
        };
        let inputs = some.iter().map(input).collect::<Result<Vec<_>>>()?;
        let table: &Table = self.snapshot.table();
        ParquetSource::open_table(inputs, self.snapshot.table_schema(), table.job())
            .map_err(|error| self.snapshot.broken(error))
    }
}

fn read(source: &ParquetSource) -> Result<Batches> {
    source.read(&source.plan(&ReadRequest::default())?)
}

/// An error where a file has other rows than the log says: none must be lost for that.
fn check_rows(touched: &TouchedFile<'_>, found: u64) -> Result<()> {
    let expected = touched.rows - touched.all.len();
    if found == expected {
        return Ok(());
    }
    let has = found.saturating_add(touched.all.len());
    Err(Error::corrupt(format!("it has {has} rows, but the log states {}", touched.rows))
        .at(touched.file.object.url())
        .advice("nothing was changed; restore the file, or an earlier version of the table"))
}

/// An error where rows would have to keep their ids from file to file.
fn check_row_ids(snapshot: &Snapshot) -> Result<()> {
    if tracks_rows(snapshot) {
        let message = "rewriting files of a table whose rows have ids (delta.enableRowTracking)";
        return Err(
            Error::unsupported(message).advice(format!("keep rows in their files with {ENABLE_DELETION_VECTORS}"))
        );
    }
    Ok(())
}
