//! Upsert by key. Files are not rewritten where the table has deletion vectors.
//!
//! One upsert:
//!
//! 1. The source's rows are sorted by key in chunks that fit into memory ([`sorted_chunk`]); where there are several, they go to
//!    the local disk and are merged again in the order of keys. So the rows of the source come in windows, one after the
//!    other in the order of keys, each as large as memory allows. Of rows with the same key the last one counts, they
//!    are merged by operators, or they are an error.
//! 2. For each window, files and row groups that can't hold one of its keys are left out, by the log's statistics and
//!    partitions and by the files' footers; where a row group can hold few of them, so are its pages, by the page index.
//!    Of what remains the key columns are read, and no other ([`KeyProbe`]). Rows whose key is in the window are noted by
//!    their number.
//! 3. At the same time the window's rows are written to new files, sorted by key, so that later upserts leave out most of
//!    them. Where a column is to be merged with what the table has, or is not in the source, the rows that were found are
//!    read first ([`RowMerge`]). So they are where the table has a change data feed: then they are written as they were and as they
//!    are, too ([`ChangeFiles`]).
//! 4. The rows that were found join the deletion vectors of their files; all vectors of the commit are packed into one
//!    file. A file without any row left is removed. A table without deletion vectors gets the files that have such rows written
//!    again without them ([`FileRewrites`](crate::rewrite::FileRewrites)), and no other file.
//! 5. One entry of the log makes all of this the next version, put where there is none. Where another writer was faster,
//!    its version is opened: data files never change, so what was found in a file stays found, and only files that
//!    came are read. Vectors are made again from those of the new version. So no update is lost, and no key comes
//!    twice, however many writers there are. Where rows depend on old ones that the other writer has changed, they are
//!    made again. A change of schema, properties or protocol is an error that says so.
//!
//! A large source that can be read again, and whose rows depend on nothing that the table has, takes a shorter way ([`KeyPrescan`]):
//! its keys are read first, and so rows that are replaced by later ones are known, and each run of rows is in order without being
//! compared. The rows are sorted and written run by run while they are read ([`StreamingWrite`](streaming_write::StreamingWrite)), so they take little
//! memory, and a store gets the first ones early; steps 2 and 3 are of all keys together.
//!
//! Inserting only, and deleting by keys, are the same with another [`UpsertKind`].

mod explain;
mod external_sort;
mod feed;
mod key_prescan;
mod key_windows;
mod merge_existing;
mod operator;
mod parameters;
mod part;
pub(crate) mod row_mapping;
mod sorted_chunk;
mod source;
mod streaming_write;

use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::{Batches, WriteOptions};
use lakerace_io::address_space::memory_within;
use lakerace_io::memory_limit::check_memory;
use lakerace_io::threads::spawn_or_run;
use lakerace_io::{Error, ErrorKind, Result};
use roaring::RoaringTreemap;

pub use self::explain::{PlannedFile, UpsertPlan, explain, explain_new};
pub use self::operator::MergeOperator;
pub use self::part::{PartKeys, UpsertPart, commit_upsert, files_per_key, is_divisible, upsert_part};
pub use self::sorted_chunk::OnDuplicate;
pub use self::source::SourceRows;

pub(crate) use self::feed::ChangeFiles;
pub(crate) use self::key_windows::{KeyProbe, KeyWindows, Match, SourceKeys, WindowGathering, visible_matches};
pub(crate) use self::operator::MergeOperators;
pub(crate) use self::parameters::quoted;
pub(crate) use self::part::by_files;
pub(crate) use self::sorted_chunk::{EqualKeys, SortedChunk};
pub(crate) use self::source::counted;

use self::key_prescan::KeyPrescan;
use self::key_windows::join;
use self::merge_existing::{FilesWithRows, RowMerge};
use self::parameters::parameters;
use self::row_mapping::{RowMapping, memory_bytes};
use crate::commit::{CommitFence, PendingCommit, WriteBase, latest};
use crate::delete::AffectedRows;
use crate::deletion_vector::commit::{ChangeOutcome, RemovalCommit, RemovalMethod, RowDependency, change};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::table::Table;
use crate::version_spec::VersionSpec;
use crate::write::{DataFiles, Evolve, PublishedFiles, within_memory};

/// The options of an upsert.
#[derive(Debug, Clone)]
pub struct UpsertOptions {
    /// The key's columns; none: the table's own (`lakerace.primaryKey`).
    pub key: Vec<String>,
    /// Rows of the source with the same key.
    pub on_duplicate: OnDuplicate,
    /// The merge of column values with those of the table; others replace them.
    pub merge: Vec<(String, MergeOperator)>,
    /// Rows with keys that the table has are skipped, and the table's rows stay unchanged.
    pub insert_only: bool,
    /// Approximate bytes that rows, keys and buffers may take in memory. The rest goes to temporary files on the local
    /// disk.
    pub memory_bytes: u64,
    /// A table without deletion vectors gets them when rows have to be hidden, even if another tool made it.
    pub enables_vectors: bool,
    /// The version that the rows were made from. If a later one has other rows with their keys, this is an error of
    /// kind `Conflict`.
    pub from_version: Option<u64>,
    /// The commit fails by `Conflict` where another one has passed this fence.
    pub fence: Option<CommitFence>,
    /// The changes of the table's schema that are allowed.
    pub evolve: Evolve,
    /// The options of new files.
    pub write: WriteOptions,
}

/// Memory of an upsert, unless options say otherwise.
const MEMORY_BYTES: u64 = 1 << 30;

impl Default for UpsertOptions {
    fn default() -> Self {
        Self {
            key: Vec::new(),
            on_duplicate: OnDuplicate::default(),
            merge: Vec::new(),
            insert_only: false,
            memory_bytes: memory_within(MEMORY_BYTES),
            enables_vectors: false,
            from_version: None,
            fence: None,
            evolve: Evolve::default(),
            write: WriteOptions::default(),
        }
    }
}

/// Rows that are sorted and written at a time.
const SLICE_ROWS: usize = 65_536;
/// The parts of the memory where keys are known ahead: one is for the rows that are sorted and written together. Later
/// upserts go through their keys once for each such run of a file.
const RUNS_IN_MEMORY: u64 = 8;
/// Fewer runs, by the bytes that they are read from, are sorted together.
const LEAST_RUNS: u64 = 2;
/// The most times that rows are made again because another writer has changed their base.
const REMAKES: u32 = 100;

/// Inserts rows, or replaces those of the table with the same key. Columns that the rows lack keep their values.
///
/// Errors: `Usage` without a key; `NotFound` for a key column that the table lacks; `Invalid` for rows without a key or
/// that don't fit the table; `Unsupported` for key columns without an equality that all engines agree on; `Conflict`
/// where another writer has changed the table's schema in the meantime.
pub fn upsert(table: &Table, rows: impl Into<SourceRows>, options: &UpsertOptions) -> Result<ChangeOutcome> {
    run(table, rows.into(), options, UpsertKind::Upsert)
}

/// Deletes the rows of the table that have the key of one of these rows. Their other columns do not matter.
pub fn delete_keys(table: &Table, rows: impl Into<SourceRows>, options: &UpsertOptions) -> Result<ChangeOutcome> {
    run(table, rows.into(), options, UpsertKind::Delete)
}

/// Finds the rows that [`delete_keys`] would delete, and writes nothing.
pub fn plan_delete_keys(table: &Table, rows: impl Into<SourceRows>, options: &UpsertOptions) -> Result<AffectedRows> {
    let named = |error: Error| error.at(table.location());
    let snapshot = table.snapshot(None)?;
    let rows = rows.into();
    let place = place_of_rows(table, &rows);
    let rows = rows.only(&row_mapping::key(&snapshot, options).map_err(named)?);
    let mapping = RowMapping::of_delete(&snapshot, rows.schema(), options).map_err(named)?;
    check_memory(options.memory_bytes, mapping.written.fields().len()).map_err(named)?;
    let windows = mapping.gather(rows.batches()?, options, table.job()).map_err(|error| at_rows(error, place))?;
    let attempt = UpsertAttempt::new(&snapshot, &mapping, options, UpsertKind::Delete);
    let mut commit = attempt.commit(windows.keys_alone())?;
    commit.write_state().map_err(named)?;
    let (files, rows) = commit.action().rehearse(&snapshot)?;
    Ok(AffectedRows { version: snapshot.version(), rows, files })
}

/// The kind of an upsert: the fate of the source's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UpsertKind {
    Upsert,
    Delete,
}

/// Changes the table. Errors of rows that name no place get the source's.
fn run(table: &Table, rows: SourceRows, options: &UpsertOptions, kind: UpsertKind) -> Result<ChangeOutcome> {
    let place = place_of_rows(table, &rows);
    change_by(table, rows, options, kind).map_err(|error| at_rows(error, place))
}

/// The place of errors of rows.
fn place_of_rows(table: &Table, rows: &SourceRows) -> String {
    rows.location().map_or_else(|| table.location().to_owned(), str::to_owned)
}

/// The error, with the place of the rows where it names none.
fn at_rows(error: Error, place: String) -> Error {
    match (error.kind(), error.location()) {
        (ErrorKind::Invalid, None) => error.at(place),
        _ => error,
    }
}

fn change_by(table: &Table, rows: SourceRows, options: &UpsertOptions, kind: UpsertKind) -> Result<ChangeOutcome> {
    let named = |error: Error| error.at(table.location());
    let mut snapshot = table.snapshot(options.from_version.map(VersionSpec::Version))?;
    let rows = match kind {
        UpsertKind::Upsert => rows,
        UpsertKind::Delete => rows.only(&row_mapping::key(&snapshot, options).map_err(named)?),
    };
    let mapping = match kind {
        UpsertKind::Upsert => RowMapping::of_upsert(&snapshot, rows.schema(), options),
        UpsertKind::Delete => RowMapping::of_delete(&snapshot, rows.schema(), options),
    };
    let mapping = mapping.map_err(named)?;
    check_memory(options.memory_bytes, mapping.written.fields().len()).map_err(named)?;
    let first = UpsertAttempt::new(&snapshot, &mapping, options, kind);
    match first.keys_ahead(&rows)? {
        Some(ahead) if ahead.rows == 0 => return Ok(ChangeOutcome::default()),
        Some(ahead) => return first.of_source(ahead.rows.into()).write_in_runs(rows.batches()?, ahead),
        None => {}
    }
    let (batches, source_rows) = counted(rows.batches()?);
    let mut windows = Some(mapping.gather(batches, options, table.job())?);
    let source_rows = source_rows.load(Ordering::Relaxed);
    if windows.as_ref().is_some_and(KeyWindows::is_empty) {
        return Ok(ChangeOutcome::default());
    }
    for _ in 0..REMAKES {
        let upsert = UpsertAttempt::new(&snapshot, &mapping, options, kind).of_source(source_rows);
        match upsert.attempt(&mut windows)? {
            Some(changed) => return Ok(changed),
            None if options.from_version.is_some() => {
                return Err(named(Error::conflict("another writer has changed rows that these were based on"))
                    .advice("compute them again from the newest version"));
            }
            None => snapshot = latest(&snapshot)?,
        }
    }
    Err(named(Error::conflict(format!("other writers have changed the same rows {REMAKES} times")))
        .advice("run it again when they are done"))
}

/// An attempt from one version.
struct UpsertAttempt<'a> {
    table: &'a Table,
    snapshot: Snapshot,
    mapping: &'a RowMapping,
    options: &'a UpsertOptions,
    kind: UpsertKind,
    /// The rows of the source, if they are known.
    source_rows: Option<u64>,
}

/// Files that an upsert writes.
struct NewFiles {
    rows: DataFiles,
    /// The change files, where the table has a change data feed.
    changes: Option<ChangeFiles>,
    /// True if all rows are in one window.
    is_one_window: bool,
}

impl NewFiles {
    /// Makes them visible: the table's rows, and the changes.
    fn publish(self) -> Result<(PublishedFiles, PublishedFiles)> {
        let changes = self.changes.map_or_else(|| Ok(PublishedFiles::none()), ChangeFiles::publish)?;
        Ok((self.rows.publish()?, changes))
    }
}

/// The rows that were found in the files of a version.
type FoundRows = Vec<Option<RoaringTreemap>>;

impl<'a> UpsertAttempt<'a> {
    fn new(snapshot: &'a Snapshot, mapping: &'a RowMapping, options: &'a UpsertOptions, kind: UpsertKind) -> Self {
        let table = snapshot.table();
        Self { table, snapshot: snapshot.clone(), mapping, options, kind, source_rows: None }
    }

    /// The attempt with rows of a source of so many.
    fn of_source(self, rows: u64) -> Self {
        Self { source_rows: Some(rows), ..self }
    }
}

impl UpsertAttempt<'_> {
    /// Writes and commits. `None`: the rows were made from old ones that another writer has changed. Rows that depend
    /// on nothing are dropped from memory once they are written.
    fn attempt(&self, windows: &mut Option<KeyWindows>) -> Result<Option<ChangeOutcome>> {
        let all = windows.as_ref().ok_or_else(|| Error::internal("the rows are gone"))?;
        let mut commit = self.commit(all.keys_alone())?;
        let mut new = match self.kind {
            UpsertKind::Delete => None,
            UpsertKind::Upsert => Some(self.new_files(&mut commit, matches!(all, KeyWindows::Memory(_)))?),
        };
        let files: Vec<&TableFile> = self.snapshot.files()?.files.iter().collect();
        let (mut found, mut count): (FoundRows, u64) = (vec![None; files.len()], 0);
        all.each(&mut |window| {
            count += 1;
            join(&mut found, self.window(window, &files, new.as_mut())?);
            Ok(())
        })?;
        commit.action().note(&self.snapshot.files()?.files, found, count);
        if self.depends() == RowDependency::Nothing {
            *windows = None;
        }
        match self.end(&mut commit, new) {
            Ok(changed) => Ok(Some(changed)),
            Err(_) if commit.action().is_outdated() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The keys of a large source, where its rows depend on nothing and its keys can be read first.
    fn keys_ahead(&self, rows: &SourceRows) -> Result<Option<KeyPrescan>> {
        let is_alone =
            self.kind == UpsertKind::Upsert && self.depends() == RowDependency::Nothing && !self.mapping.combines_own();
        match rows.again().filter(|again| is_alone && again.bytes >= LEAST_RUNS * self.run_bytes()) {
            Some(again) => {
                // A run that is written, and the next one.
                let limit_bytes = memory_bytes(self.options).saturating_sub(2 * self.run_bytes() as usize);
                KeyPrescan::read(self.mapping, again, self.options.on_duplicate, limit_bytes, self.table.job())
            }
            None => Ok(None),
        }
    }

    /// Memory of the rows that are sorted and written together where keys are known ahead.
    fn run_bytes(&self) -> u64 {
        self.options.memory_bytes / RUNS_IN_MEMORY
    }

    /// Writes rows while they are read, whose keys are known ahead, and commits.
    fn write_in_runs(&self, batches: Batches, ahead: KeyPrescan) -> Result<ChangeOutcome> {
        let keys = ahead.keys;
        let mut commit = self.commit(KeyWindows::Memory(keys.keys_alone()))?;
        let mut new = self.new_files(&mut commit, true)?;
        let files: Vec<&TableFile> = self.snapshot.files()?.files.iter().collect();
        let probe = KeyProbe { columns: &self.mapping.columns, keys: keys.keys() };
        let (job, run_bytes) = (self.table.job(), usize::try_from(self.run_bytes()).unwrap_or(usize::MAX));
        let found = std::thread::scope(|scope| {
            let finder = spawn_or_run(scope, || probe.rows(&self.snapshot, &files));
            let mut write = |rows: &RecordBatch| new.rows.write(rows);
            let written = self.mapping.in_runs(run_bytes, job).write(batches, ahead.rows, ahead.order, &mut write);
            let found = finder.join().map_err(|_| Error::internal("a thread that looked for rows panicked"))?;
            written.and(found)
        })?;
        commit.action().note(&self.snapshot.files()?.files, found, 1);
        self.end(&mut commit, Some(new))
    }

    /// A commit that hides the rows with these keys.
    fn commit(&self, windows: KeyWindows) -> Result<PendingCommit<RemovalCommit>> {
        let named = |error: Error| error.at(self.table.location());
        let probe = SourceKeys { columns: self.mapping.columns.clone(), windows };
        let operation = match self.kind {
            UpsertKind::Upsert => UpdateTableOperation::Merge,
            UpsertKind::Delete => UpdateTableOperation::Delete,
        };
        let removal =
            RemovalMethod::for_snapshot(&self.snapshot, self.options.enables_vectors, || self.write_options())
                .map_err(named)?;
        let action = RemovalCommit::new(Box::new(probe), operation, removal).depending(self.depends());
        let key: Vec<String> = self.mapping.columns.names().map(str::to_owned).collect();
        let action = action.with_parameters(parameters(&key, self.kind, self.options)).by_key(self.source_rows);
        let base = WriteBase::Existing(Box::new(self.snapshot.clone()));
        let commit = PendingCommit::new(self.table.clone(), base, action).map_err(named)?;
        Ok(commit.evolving(self.mapping.evolved.clone()).fenced(self.options.fence.as_ref()))
    }

    /// The files that rows are written to.
    fn new_files(&self, commit: &mut PendingCommit<RemovalCommit>, is_one_window: bool) -> Result<NewFiles> {
        let named = |error: Error| error.at(self.table.location());
        let state = commit.write_state().map_err(named)?;
        let (targets, options, schema) = (commit.targets(&state)?, self.write_options(), &self.mapping.written);
        let changes = || ChangeFiles::new(self.table, schema, &targets, state.clone(), &options);
        let changes = self.feeds().then(changes).transpose().map_err(named)?;
        let rows = DataFiles::new(self.table, schema, &targets, state, &options).map_err(named)?;
        let rows = rows.checked_by(commit.row_checks(schema, &targets).map_err(named)?);
        Ok(NewFiles { rows, changes, is_one_window })
    }

    /// Makes new files and vectors the next version.
    fn end(&self, commit: &mut PendingCommit<RemovalCommit>, new: Option<NewFiles>) -> Result<ChangeOutcome> {
        let (published, changes) = match new {
            Some(new) => self.publish(new, commit.action())?,
            None => (PublishedFiles::none(), PublishedFiles::none()),
        };
        change(commit, published, changes)
    }

    /// Makes new files visible, and stores vectors in the meantime.
    fn publish(&self, new: NewFiles, action: &mut RemovalCommit) -> Result<(PublishedFiles, PublishedFiles)> {
        let (published, prepared) = std::thread::scope(|scope| {
            let prepared = spawn_or_run(scope, || action.prepare(&self.snapshot));
            (new.publish(), prepared.join())
        });
        let prepared = prepared.unwrap_or_else(|_| Err(Error::internal("the thread of deletion vectors panicked")));
        let outcome = published.and_then(|published| prepared.map(|()| published));
        if outcome.is_err() {
            action.drop_packed();
        }
        outcome
    }

    /// The options of written files.
    fn write_options(&self) -> WriteOptions {
        within_memory(&self.options.write, self.options.memory_bytes, self.mapping.written.fields().len())
    }

    fn depends(&self) -> RowDependency {
        match self.kind {
            UpsertKind::Upsert if self.options.insert_only => RowDependency::Presence,
            // Change files have the rows as they were.
            UpsertKind::Upsert
                if self.options.from_version.is_some() || self.feeds() || self.mapping.operators.combine_rows() =>
            {
                RowDependency::Values
            }
            UpsertKind::Upsert | UpsertKind::Delete => RowDependency::Nothing,
        }
    }

    /// Returns true if change files must contain the replaced rows.
    fn feeds(&self) -> bool {
        self.kind == UpsertKind::Upsert && !self.options.insert_only && self.snapshot.has_change_feed()
    }

    /// Finds the rows of the table that have the keys of a window, and writes the rows of the window.
    fn window(&self, window: &SortedChunk, files: &[&TableFile], new: Option<&mut NewFiles>) -> Result<FoundRows> {
        let probe = KeyProbe { columns: &self.mapping.columns, keys: window.keys() };
        let Some(new) = new else { return probe.rows(&self.snapshot, files) };
        if self.depends() != RowDependency::Nothing {
            let visible = visible_matches(&self.snapshot, files, probe.matches(&self.snapshot, files)?)?;
            let rows = |matches: &Option<Vec<Match>>| Some(matches.as_ref()?.iter().map(|(row, _)| *row).collect());
            let found = visible.iter().map(rows).collect();
            self.write_depending(window, files, visible, new)?;
            return Ok(found);
        }
        // Both cores have work: one decodes keys while the other encodes rows.
        std::thread::scope(|scope| {
            let finder = spawn_or_run(scope, || probe.rows(&self.snapshot, files));
            let threads = self.table.job().options().threads;
            let written = window.sorted().each_batch(SLICE_ROWS, threads, &mut |batch| new.rows.write(&batch));
            let found = finder.join().map_err(|_| Error::internal("a thread that looked for rows panicked"))?;
            written.and(found)
        })
    }

    /// Writes rows that depend on those of the table.
    fn write_depending(
        &self,
        window: &SortedChunk,
        files: &[&TableFile],
        found: Vec<Option<Vec<Match>>>,
        new: &mut NewFiles,
    ) -> Result<()> {
        if self.options.insert_only {
            let mut is_known = vec![false; window.rows()];
            found.iter().flatten().flatten().for_each(|(_, key)| is_known[*key as usize] = true);
            let unknown: Vec<u32> = (0..window.rows() as u32).filter(|key| !is_known[*key as usize]).collect();
            return unknown
                .chunks(SLICE_ROWS)
                .try_for_each(|keys| self.write_whole(&window.sorted().take(keys)?, &mut new.rows));
        }
        let matches = files.iter().copied().zip(found);
        let found = FilesWithRows {
            files: matches
                .filter_map(|(file, matches)| Some((file, matches.filter(|rows| !rows.is_empty())?)))
                .collect(),
        };
        if new.is_one_window && found.files.is_empty() {
            new.changes = None;
        }
        let merge = RowMerge {
            snapshot: &self.snapshot,
            table_schema: self
                .mapping
                .evolved
                .as_ref()
                .map_or(self.snapshot.table_schema(), |evolved| &evolved.columns.schema),
            schema: &self.mapping.written,
            operators: &self.mapping.operators,
            memory_bytes: self.options.memory_bytes as usize / 4,
        };
        merge.rows(window, &found, &mut |batch| new.rows.write(batch), new.changes.as_mut())
    }

    /// Writes rows of the source, which may lack columns.
    fn write_whole(&self, batch: &RecordBatch, new: &mut DataFiles) -> Result<()> {
        new.write(&self.mapping.whole(batch)?)
    }
}
