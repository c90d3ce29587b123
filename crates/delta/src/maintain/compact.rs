//! Compaction of many small files into few, without the rows that deletion vectors hide.
//!
//! The table's rows stay the same, and so do its earlier versions. Files are divided into groups of one partition
//! ([`bins`]); each group is rewritten, and commits of several groups replace the old files by the new ones.
//!
//! Another writer may change a file while it is rewritten: it then gets a deletion vector or is removed. Before each
//! commit, the files of every group are compared with the version that the commit follows. Rows that were hidden in the
//! meantime are found again in the new files by their number, and hidden there ([`moved`]). A group with a file that is
//! gone, or with rows that were sorted, is given up: its new files are removed, and the other groups are committed.
//! Groups that were given up are tried again a few times. So no update is lost, whichever writer is faster: an upsert
//! that finds our version before its own looks into our files.

mod bins;
mod copy;
mod moved;
mod presence;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{Schema, SchemaRef};
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation, WriteState};
use lakerace_format::sort::RowSorter;
use lakerace_format::{Batches, Expr, InputFile, ParquetSource, ReadRequest, Source, WriteOptions};
use lakerace_io::address_space::memory_within;
use lakerace_io::memory_limit::check_memory;
use lakerace_io::{Error, Object, Result};
use roaring::RoaringTreemap;

use self::bins::{BinRules, FileBin};
use super::zorder::{CurveSample, SortColumns};
use crate::commit::outcome::EntryOutcome;
use crate::commit::scan_rows::scan_rows;
use crate::commit::{CommitAction, PendingCommit, TargetColumns, WriteBase, list_text, selected};
use crate::deletion_vector;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::table::Table;
use crate::write::{AddedFile, DataFiles, PublishedFiles, check_row_tracking, other_rows, streamed_within_memory};

/// The order of rows in new files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Layout {
    /// In their present order.
    #[default]
    AsIs,
    /// Sorted by these columns, over all files of a partition.
    SortBy(Vec<String>),
    /// Along a curve through these columns, over all files of a partition: filters on any of them skip files and row groups.
    ZOrder(Vec<String>),
}

/// The options of a compaction.
#[derive(Debug, Clone)]
pub struct CompactOptions {
    /// The size of new files. Files of three quarters of it and more are not rewritten for their size.
    pub target_bytes: u64,
    /// The order of rows. Anything but [`Layout::AsIs`] rewrites all files.
    pub layout: Layout,
    /// The partitions that are compacted: a condition on partition columns.
    pub condition: Option<Expr>,
    /// The condition as SQL, for the log.
    pub condition_text: Option<String>,
    /// A file is rewritten where more than this share of its rows is hidden; from 0 to 1.
    pub max_hidden_share: f64,
    /// Files of an eighth of the target and more, those with the largest share of hidden rows first, are rewritten
    /// until all of them together have at most so many hidden rows for each visible one.
    pub max_hidden_per_visible: Option<f64>,
    /// The least number of small files that are rewritten, unless it is for the hidden rows of a file of an eighth of
    /// the target or more; with a sort order, the least number of all files.
    pub min_files: usize,
    /// Bytes of rows that are sorted in memory; more are sorted in runs on the local disk. Row groups take a quarter of it at most.
    pub memory_bytes: u64,
    /// The options of written files.
    pub write: WriteOptions,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            target_bytes: 256 << 20,
            layout: Layout::AsIs,
            condition: None,
            condition_text: None,
            max_hidden_share: 0.05,
            max_hidden_per_visible: None,
            min_files: 0,
            memory_bytes: memory_within(512 << 20),
            write: WriteOptions::default(),
        }
    }
}

/// The outcome of a compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compacted {
    /// The last version that it made; `None`: there was nothing to do.
    pub version: Option<u64>,
    /// Commits that it made.
    pub commits: u64,
    /// Files that went.
    pub files_removed: u64,
    /// Files that were added.
    pub files_added: u64,
    /// Bytes of the files that went.
    pub bytes_removed: u64,
    /// Bytes of the files that were added.
    pub bytes_added: u64,
    /// Rows that were written.
    pub rows: u64,
    /// Hidden rows that went with the old files.
    pub rows_dropped: u64,
    /// Groups of files that other writers changed repeatedly in the meantime, and that were left unchanged.
    pub given_up: u64,
}

/// The parts of the memory of which a batch takes one: four are decoded ahead, and one is copied with its keys.
const BATCHES_IN_MEMORY: u64 = 32;
/// Bytes of old files that one commit replaces, or a little more: at most these are lost where another writer changes
/// the schema.
const COMMIT_BYTES: u64 = 4 << 30;
/// Consecutive rounds without a group that could be committed, after which the rest is given up.
const FRUITLESS_AT_MOST: u32 = 3;

/// Rewrites small files, and those with many hidden rows.
///
/// # Errors
/// `Corrupt` for a file of the table that does not exist or has another size than the log states, even if it would not
/// be rewritten; others as those of a read and of a commit.
pub fn compact(table: &Table, options: &CompactOptions) -> Result<Compacted> {
    let first = table.snapshot(None)?;
    check_files(&first, options)?;
    compact_from(first, options)
}

/// The files that a compaction would rewrite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactPlan {
    /// The version that it would start from.
    pub version: u64,
    /// Groups of files that would be rewritten together.
    pub groups: u64,
    /// Files that would go.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows that would be written again; `None` where the log does not count them.
    pub rows: Option<u64>,
    /// Hidden rows that would go with the files.
    pub rows_dropped: u64,
}

/// Finds the files that [`compact`] would rewrite, and writes nothing.
///
/// # Errors
/// As those of [`compact`] that are found before it writes.
pub fn plan_compact(table: &Table, options: &CompactOptions) -> Result<CompactPlan> {
    let named = |error: Error| error.at(table.location());
    let snapshot = table.snapshot(None)?;
    let bins = check_files(&snapshot, options)?;
    check_memory(options.memory_bytes, snapshot.schema().fields().len()).map_err(named)?;
    let mut plan = CompactPlan { version: snapshot.version(), rows: Some(0), ..CompactPlan::default() };
    for bin in &bins {
        plan.groups += 1;
        plan.files += bin.files.len() as u64;
        plan.bytes += bin.bytes();
        plan.rows_dropped += bin.hidden();
        plan.rows =
            plan.rows.zip(bin.files.iter().map(TableFile::visible_rows).sum::<Option<u64>>()).map(|(a, b)| a + b);
    }
    if !bins.is_empty() {
        let action = RewriteCommit::new(bins, options);
        let commit = PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(snapshot)), action)?;
        commit.targets(&commit.write_state().map_err(named)?)?;
    }
    Ok(plan)
}

/// The groups of files to be rewritten. Checks that the others are there: those that are rewritten are opened anyway.
fn check_files(first: &Snapshot, options: &CompactOptions) -> Result<Vec<FileBin>> {
    let table = first.table();
    let rules = BinRules::new(first, options).map_err(|error| error.at(table.location()))?;
    let files = &first.files()?.files;
    let bins = rules.bins(files, |_| true);
    let opened: HashSet<&str> = bins.iter().flat_map(|bin| &bin.files).map(|file| file.path.as_str()).collect();
    let stays = |file: &&TableFile| rules.is_meant(file) && !opened.contains(file.path.as_str());
    presence::check(first, &files.iter().filter(stays).collect::<Vec<_>>())?;
    Ok(bins)
}

/// Compacts like [`compact`], after a write through the same [`Table`]: from the version that the write has made, which
/// is opened without a request. Versions that other writers have made in the meantime are handled as in every
/// compaction.
pub fn compact_after_write(table: &Table, options: &CompactOptions) -> Result<Compacted> {
    table.last_written()?.map_or_else(|| compact(table, options), |version| compact_from(version, options))
}

fn compact_from(first: Snapshot, options: &CompactOptions) -> Result<Compacted> {
    let table = first.table().clone();
    check_memory(options.memory_bytes, first.schema().fields().len()).map_err(|error| error.at(table.location()))?;
    // Files that are added in the meantime are left to the next compaction, so that this one ends.
    let known: HashSet<String> = first.files()?.files.iter().map(|file| file.path.clone()).collect();
    let (mut done, mut fruitless, mut snapshot) = (Compacted::default(), 0, first);
    loop {
        let named = |error: Error| error.at(table.location());
        let rules = BinRules::new(&snapshot, options).map_err(named)?;
        let bins = rules.bins(&snapshot.files()?.files, |file| known.contains(&file.path));
        if bins.is_empty() {
            return Ok(done);
        }
        let (left, round) = (bins.len(), one_round(bins));
        let committed = rewrite(snapshot, options, round, &mut done).map_err(named)?;
        if committed == left {
            return Ok(done);
        }
        fruitless = if committed == 0 { fruitless + 1 } else { 0 };
        if fruitless == FRUITLESS_AT_MOST {
            done.given_up = left as u64;
            return Ok(done);
        }
        snapshot = table.snapshot(None)?;
    }
}

fn one_round(bins: Vec<FileBin>) -> Vec<FileBin> {
    let mut bytes = 0;
    let is_in = |bin: &FileBin| {
        let is_in = bytes < COMMIT_BYTES;
        bytes += bin.bytes();
        is_in
    };
    bins.into_iter().take_while(is_in).collect()
}

/// Rewrites groups and commits them; returns how many were not given up.
fn rewrite(snapshot: Snapshot, options: &CompactOptions, bins: Vec<FileBin>, done: &mut Compacted) -> Result<usize> {
    let table = snapshot.table().clone();
    let action = RewriteCommit::new(bins, options);
    let mut commit = PendingCommit::new(table, WriteBase::Existing(Box::new(snapshot.clone())), action)?;
    let state = commit.write_state()?;
    let targets = commit.targets(&state)?;
    let writer = GroupWriter { snapshot: &snapshot, options, state, targets };
    let mut published = writer.write(&mut commit.action().groups)?;
    let version = match commit.run(published.files()) {
        Ok(version) => version,
        Err((error, outcome)) => {
            published.abort(outcome);
            if outcome == EntryOutcome::Absent {
                commit.action().drop_packed();
            }
            return Err(error);
        }
    };
    let action = commit.action();
    published.discard(|file| version.is_none() || action.leaves_out(file));
    published.written();
    let Some(version) = version else {
        action.drop_packed();
        return Ok(0);
    };
    done.version = Some(version);
    done.commits += 1;
    let mut committed = 0;
    for group in action.groups.iter().filter(|group| !group.given_up) {
        committed += 1;
        done.files_removed += group.bin.files.len() as u64;
        done.bytes_removed += group.bin.bytes();
        done.rows_dropped += group.bin.hidden();
        done.files_added += group.new.iter().filter(|(name, _)| !action.left_out.contains(name)).count() as u64;
        done.bytes_added += group.bytes;
        done.rows += group.new.iter().map(|(_, rows)| rows).sum::<u64>();
    }
    Ok(committed)
}

/// Writes groups of one version again.
struct GroupWriter<'a> {
    snapshot: &'a Snapshot,
    options: &'a CompactOptions,
    state: Arc<WriteState>,
    targets: TargetColumns,
}

impl GroupWriter<'_> {
    /// The new files of groups, visible and not yet the table's.
    fn write(&self, groups: &mut [FileGroup]) -> Result<PublishedFiles> {
        let mut published = PublishedFiles::none();
        match &self.options.layout {
            Layout::AsIs => {
                for groups in copy::streams(groups) {
                    published.extend(self.copy(groups)?);
                }
            }
            Layout::SortBy(names) | Layout::ZOrder(names) => {
                for group in groups {
                    published.extend(self.sort(names, group)?);
                }
            }
        }
        Ok(published)
    }

    /// The new files of a group whose rows are put in order.
    fn sort(&self, names: &[String], group: &mut FileGroup) -> Result<PublishedFiles> {
        let columns = SortColumns::new(names, self.snapshot.schema())?;
        let bin = &group.bin;
        let (source, visible) = self.open(&bin.files.iter().collect::<Vec<_>>())?;
        let rows: u64 = visible.iter().sum();
        let curve = match self.options.layout {
            Layout::ZOrder(_) => {
                let mut sample = CurveSample::new(&columns, rows);
                let request = ReadRequest { columns: Some(columns.names().to_vec()), ..ReadRequest::default() };
                for batch in self.read(&source, &request)? {
                    sample.look(&columns, &batch?)?;
                }
                Some(sample.curve())
            }
            _ => None,
        };
        let plain = self.snapshot.columns().logical();
        let mut sorter = RowSorter::new(plain, self.options.memory_bytes);
        for batch in self.read(&source, &ReadRequest::default())? {
            let batch = batch?;
            let keys = match &curve {
                Some(curve) => curve.keys(&columns, &batch)?,
                None => columns.keys(&batch)?,
            };
            sorter.push(&in_types(&batch, plain)?, keys)?;
        }
        let mut files = self.files(&Arc::new(plain.clone()), self.options.target_bytes)?;
        let mut sorted = sorter.finish()?;
        while let Some(batch) = sorted.next_batch()? {
            self.snapshot.table().job().check()?;
            files.write(&batch)?;
        }
        let published = files.publish()?;
        if published.rows() != rows {
            return Err(other_rows());
        }
        group.set_new(published.files());
        group.bin.set_visible(visible.into_iter());
        Ok(published)
    }

    fn files(&self, schema: &SchemaRef, file_bytes: u64) -> Result<DataFiles> {
        let columns = schema.fields().len();
        let options = streamed_within_memory(&self.options.write, self.options.memory_bytes, columns);
        let options = WriteOptions { file_bytes: Some(file_bytes), ..options };
        DataFiles::new(self.snapshot.table(), schema, &self.targets, Arc::clone(&self.state), &options)
    }

    /// Files as one source, and the visible rows of each by its footer.
    ///
    /// Errors: `Corrupt` for a file that is gone, or that has other rows than the log says.
    fn open(&self, files: &[&TableFile]) -> Result<(ParquetSource, Vec<u64>)> {
        let table = self.snapshot.table();
        let hidden = deletion_vector::load(table, files).map_err(|error| self.snapshot.broken(error))?;
        let input = |(file, hidden): (&&TableFile, _)| InputFile {
            object: file.object.clone(),
            constants: file.constants.clone(),
            hidden,
            stated_rows: file.rows,
        };
        let inputs = files.iter().zip(hidden).map(input).collect();
        let source = ParquetSource::open_table(inputs, self.snapshot.table_schema(), table.job())
            .map_err(|error| self.snapshot.broken(error))?;
        let mut rows = vec![0; files.len()];
        for group in source.row_groups() {
            rows[group.file] += group.visible_rows();
        }
        for (file, rows) in files.iter().zip(&rows) {
            if let Some(expected) = file.visible_rows().filter(|expected| expected != rows) {
                return Err(Error::corrupt(format!("it has {rows} visible rows, but the log states {expected}"))
                    .at(file.object.url())
                    .advice("nothing was changed; restore the file, or an earlier version of the table"));
            }
        }
        Ok((source, rows))
    }

    fn read(&self, source: &ParquetSource, request: &ReadRequest) -> Result<Batches> {
        let batch_rows = source.batch_rows_within(self.options.memory_bytes / BATCHES_IN_MEMORY);
        source.read(&source.plan(&ReadRequest { batch_rows, ..request.clone() })?)
    }
}

/// A batch in the types of a schema with the same columns: texts with their own buffers in place of views.
fn in_types(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch> {
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, column)| cast(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(Error::unexpected)?;
    RecordBatch::try_new(Arc::new(schema.clone()), columns).map_err(Error::unexpected)
}

/// Replaces the files of groups by the new ones.
struct RewriteCommit {
    groups: Vec<FileGroup>,
    /// True if rows are in the order of the old files.
    in_order: bool,
    parameters: Vec<(&'static str, String)>,
    /// New files that are not added: those of groups that were given up, and those without a row left.
    left_out: HashSet<String>,
    /// The vectors of new files, and the file that they are in.
    vectors: HashMap<String, DeletionVectorDescriptor>,
    packed: Option<Object>,
}

struct FileGroup {
    bin: FileBin,
    /// The names of its new files, and their rows.
    new: Vec<(String, u64)>,
    bytes: u64,
    given_up: bool,
}

impl FileGroup {
    /// These are its new files.
    fn set_new(&mut self, files: &[AddedFile]) {
        self.new = files.iter().map(|file| (file.name.clone(), file.rows)).collect();
        self.bytes = files.iter().map(|file| file.size_bytes).sum();
    }
}

impl RewriteCommit {
    fn new(bins: Vec<FileBin>, options: &CompactOptions) -> Self {
        let (zorder, sort): (&[String], &[String]) = match &options.layout {
            Layout::AsIs => (&[], &[]),
            Layout::SortBy(names) => (&[], names),
            Layout::ZOrder(names) => (names, &[]),
        };
        let mut parameters = vec![
            ("predicate", list_text(options.condition_text.as_slice())),
            ("zOrderBy", list_text(zorder)),
            ("targetSize", options.target_bytes.to_string()),
        ];
        if !sort.is_empty() {
            parameters.push(("sortBy", list_text(sort)));
        }
        let group = |bin| FileGroup { bin, new: Vec::new(), bytes: 0, given_up: false };
        Self {
            groups: bins.into_iter().map(group).collect(),
            in_order: options.layout == Layout::AsIs,
            parameters,
            left_out: HashSet::new(),
            vectors: HashMap::new(),
            packed: None,
        }
    }

    /// Removes the vectors of an attempt that has failed.
    fn drop_packed(&mut self) {
        if let Some(object) = self.packed.take() {
            // A file that can't be removed now is no part of the table and is left to its next vacuum.
            object.store.delete_best_effort(vec![object.path]);
        }
    }

    /// Compares the groups with a version: gives up those that can't follow it, and returns the rows of new files that
    /// have been hidden since.
    fn follow(&mut self, snapshot: &Snapshot) -> Result<Vec<(String, RoaringTreemap)>> {
        let now: HashMap<&str, &TableFile> =
            snapshot.files()?.files.iter().map(|file| (file.path.as_str(), file)).collect();
        let mut hidden = Vec::new();
        for group in self.groups.iter_mut().filter(|group| !group.given_up) {
            match moved::hidden(snapshot.table(), &group.bin, &group.new, &now)? {
                Some(rows) if self.in_order || rows.is_empty() => hidden.extend(rows),
                _ => group.given_up = true,
            }
        }
        Ok(hidden)
    }
}

impl CommitAction for RewriteCommit {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        (UpdateTableOperation::Optimize, self.parameters.clone())
    }

    fn changes_data(&self) -> bool {
        false
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        check_row_tracking(snapshot)
    }

    fn leaves_out(&self, file: &AddedFile) -> bool {
        self.left_out.contains(&file.name)
    }

    fn vectors(&mut self) -> HashMap<String, DeletionVectorDescriptor> {
        self.vectors.clone()
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        self.drop_packed();
        let hidden = self.follow(snapshot)?;
        let given_up = self.groups.iter().filter(|group| group.given_up).flat_map(|group| &group.new);
        self.left_out = given_up.map(|(name, _)| name.clone()).collect();
        let kept = self.groups.iter().filter(|group| !group.given_up);
        let sizes: HashMap<&String, u64> =
            kept.clone().flat_map(|g| &g.new).map(|(name, rows)| (name, *rows)).collect();
        let is_dead = |(name, rows): &(String, RoaringTreemap)| sizes.get(name) == Some(&rows.len());
        let (dead, hidden): (Vec<_>, Vec<_>) = hidden.into_iter().partition(is_dead);
        self.left_out.extend(dead.into_iter().map(|(name, _)| name));
        let removed: HashSet<&str> = kept.flat_map(|group| &group.bin.files).map(|file| file.path.as_str()).collect();
        if removed.is_empty() {
            return Ok(false);
        }
        for batch in scan_rows(snapshot)? {
            if let Some(rows) = selected(&batch, &|name: &str| removed.contains(name))? {
                update.remove_files(rows);
            }
        }
        let (names, maps): (Vec<String>, Vec<RoaringTreemap>) = hidden.into_iter().unzip();
        self.vectors = HashMap::new();
        if !maps.is_empty() {
            let (object, descriptors) = deletion_vector::store(snapshot.table(), &maps)?;
            self.packed = Some(object);
            self.vectors = names.into_iter().zip(descriptors).collect();
        }
        Ok(true)
    }
}
