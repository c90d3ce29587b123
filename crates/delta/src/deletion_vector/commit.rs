//! Hiding rows: an entry of the log that sets new deletion vectors of files, or replaces files by ones without these
//! rows.

use std::collections::{HashMap, HashSet};

use arrow::array::RecordBatch;
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use delta_kernel::table_features::TableFeature;
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_format::{WriteOptions, Written};
use lakerace_io::option::{ALTER, INSERT_ONLY, UNSET};
use lakerace_io::{Error, Object, Result};
use roaring::RoaringTreemap;

use crate::commit::outcome::EntryOutcome;
use crate::commit::scan_rows::scan_rows;
use crate::commit::{CommitAction, OperationFigures, PendingCommit, added, change_file, for_vectors, selected};
use crate::kernel::error::guarded;
use crate::probe::RowProbe;
use crate::rewrite::{FileRewrites, TouchedFile};
use crate::snapshot::files::TableFile;
use crate::snapshot::{Snapshot, row_counts};
use crate::write::{AddedFile, PublishedFiles};
use crate::{deletion_vector, protocol};

/// The outcome of an upsert or a delete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeOutcome {
    /// The rows and files that were written, and the version that was made; `None`: there was nothing to do.
    pub written: Written,
    /// Rows of the table that were hidden: replaced, or deleted.
    pub hidden: u64,
    /// Files whose deletion vector is new.
    pub vectors: u64,
    /// Files without a row left, which were removed.
    pub removed: u64,
    /// Files that were rewritten without the rows, of a table without deletion vectors.
    pub rewritten: u64,
    /// Bytes of these files as they were.
    pub bytes_replaced: u64,
    /// Bytes of the files that took their place.
    pub bytes_rewritten: u64,
    /// Files whose rows were searched.
    pub probed: u64,
    /// Parts, one after the other in the order of keys, that the source's rows were written in; 1 where they fit into
    /// memory.
    pub windows: u64,
}

/// Removes the rows that a probe finds: by deletion vectors, or by files that are rewritten without them.
pub(crate) struct RemovalCommit {
    probe: Box<dyn RowProbe>,
    operation: UpdateTableOperation,
    /// The parameters of the operation in the log, by name.
    parameters: Vec<(&'static str, String)>,
    /// Each written row replaces the rows with its key.
    is_by_key: bool,
    /// See [`OperationFigures::updated_rows`].
    updated_rows: Option<u64>,
    /// The rows of the source, for the metrics in the log.
    source_rows: Option<u64>,
    /// See [`OperationFigures::unmatched_rows`].
    unmatched_rows: Option<(u64, u64)>,
    removal: RemovalMethod,
    /// The rows that were found, by file: files themselves never change. Contains every file that was searched or left
    /// out.
    found: HashMap<String, RoaringTreemap>,
    /// Rows that stay, and that the written rows depend on, by file.
    watched: HashMap<String, RoaringTreemap>,
    /// The condition of the written rows; see [`RowDependency`].
    depends: RowDependency,
    /// The rows that they depend on are others by now.
    is_outdated: bool,
    /// The vectors of the last attempt, or of the next one.
    packed: Option<Object>,
    /// The vectors that were made ahead of the first attempt, and their version.
    ahead: Option<(u64, NewVectors)>,
    /// The actions that name change files. Where there is none, readers of the feed learn by the files and vectors.
    changes: Vec<RecordBatch>,
    changed: ChangeOutcome,
}

/// The new vectors of files, by their paths.
#[derive(Default)]
struct NewVectors {
    /// The vectors that files get.
    vectors: HashMap<String, DeletionVectorDescriptor>,
    /// The rows of these files, hidden ones included.
    rows: HashMap<String, u64>,
    /// The files that have no row left.
    dead: HashSet<String>,
}

/// The rows of a table that a merge has changed.
pub(crate) struct MergeFigures {
    /// Rows that were updated.
    pub updated: u64,
    /// See [`OperationFigures::unmatched_rows`].
    pub unmatched: Option<(u64, u64)>,
}

/// The way in which rows are removed from a table.
pub(crate) enum RemovalMethod {
    /// By deletion vectors.
    Vectors,
    /// Their files are rewritten without them.
    Rewrite(Box<FileRewrites>),
}

impl RemovalMethod {
    /// The way in which rows are removed from this version (`enables_vectors`: it may get deletion vectors). Files that
    /// have to be rewritten are written with these options.
    pub fn for_snapshot(
        snapshot: &Snapshot,
        enables_vectors: bool,
        options: impl FnOnce() -> WriteOptions,
    ) -> Result<Self> {
        Ok(match protocol::vectors(snapshot, enables_vectors)? {
            protocol::VectorSupport::Enabled | protocol::VectorSupport::Upgrade => Self::Vectors,
            protocol::VectorSupport::Rewrite => Self::Rewrite(Box::new(FileRewrites::new(options()))),
        })
    }
}

/// The dependency of the rows that are written on those of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowDependency {
    /// On no row of the table.
    Nothing,
    /// On the values of the rows that were found, which are hidden.
    Values,
    /// On the absence of rows other than those that were found, which stay.
    Presence,
}

impl RemovalCommit {
    pub fn new(probe: Box<dyn RowProbe>, operation: UpdateTableOperation, removal: RemovalMethod) -> Self {
        Self {
            probe,
            operation,
            parameters: Vec::new(),
            is_by_key: false,
            updated_rows: None,
            source_rows: None,
            unmatched_rows: None,
            removal,
            found: HashMap::new(),
            watched: HashMap::new(),
            depends: RowDependency::Nothing,
            is_outdated: false,
            packed: None,
            ahead: None,
            changes: Vec::new(),
            changed: ChangeOutcome::default(),
        }
    }

    /// Sets the operation parameters that the log records.
    pub fn with_parameters(self, parameters: Vec<(&'static str, String)>) -> Self {
        Self { parameters, ..self }
    }

    /// Makes each written row one that replaces the rows with its key; the source has so many rows, if that is known.
    pub fn by_key(self, source_rows: Option<u64>) -> Self {
        Self { is_by_key: true, source_rows, ..self }
    }

    /// Sets the number of hidden rows that a written row replaces each, if it is known.
    pub fn with_updated_rows(self, updated_rows: Option<u64>) -> Self {
        Self { updated_rows, ..self }
    }

    /// Sets the figures of a merge with a source of so many rows.
    pub fn count_merge(&mut self, source_rows: u64, rows: MergeFigures) {
        self.source_rows = Some(source_rows);
        self.updated_rows = Some(rows.updated);
        self.unmatched_rows = rows.unmatched;
    }

    /// Records rows of the files of the version that the commit starts from on which the written rows depend. They are visible
    /// ones, and need not go.
    pub fn watch(&mut self, files: &[TableFile], rows: Vec<RoaringTreemap>) {
        let named = files.iter().map(|file| file.path.clone()).zip(rows);
        self.watched.extend(named.filter(|(_, rows)| !rows.is_empty()));
    }

    /// Sets the dependency of the written rows on those of the table.
    pub fn depending(self, depends: RowDependency) -> Self {
        Self { depends, ..self }
    }

    /// Returns true if the rows that were written depend on ones that another writer has changed: they have to be made again.
    pub fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Records the rows that were found in the files of the version that the commit starts from. If anything depends on
    /// them, they are visible ones.
    pub fn note(&mut self, files: &[TableFile], found: Vec<Option<RoaringTreemap>>, windows: u64) {
        self.changed.probed += found.iter().flatten().count() as u64;
        self.changed.windows = windows;
        let rows = found.into_iter().map(Option::unwrap_or_default);
        self.found.extend(files.iter().map(|file| file.path.clone()).zip(rows));
    }

    /// Searches the files that were not searched before; returns whether one of them has a wanted row.
    fn look(&mut self, snapshot: &Snapshot) -> Result<bool> {
        let files = &snapshot.files()?.files;
        let new: Vec<&TableFile> = files.iter().filter(|file| !self.found.contains_key(&file.path)).collect();
        let found = self.probe.find(snapshot, &new)?;
        self.changed.probed += found.iter().flatten().count() as u64;
        let mut found: Vec<RoaringTreemap> = found.into_iter().map(Option::unwrap_or_default).collect();
        if self.depends != RowDependency::Nothing {
            let numbers: Vec<usize> = (0..new.len()).filter(|number| !found[*number].is_empty()).collect();
            let touched: Vec<&TableFile> = numbers.iter().map(|number| new[*number]).collect();
            let hidden =
                deletion_vector::treemaps(snapshot.table(), &touched).map_err(|error| snapshot.broken(error))?;
            numbers.into_iter().zip(hidden).for_each(|(number, hidden)| found[number] -= hidden.unwrap_or_default());
        }
        let any = found.iter().any(|rows| !rows.is_empty());
        self.found.extend(new.into_iter().map(|file| file.path.clone()).zip(found));
        Ok(any)
    }

    /// Searches the version that the commit starts from, and returns the rows that were found, by file. If anything depends on
    /// them, they are visible ones.
    pub fn search<'a>(&mut self, snapshot: &'a Snapshot) -> Result<Vec<(&'a TableFile, RoaringTreemap)>> {
        self.look(snapshot)?;
        let rows = |file: &'a TableFile| Some((file, self.found.get(&file.path)?.clone()));
        Ok(self.touched(snapshot)?.into_iter().filter_map(rows).collect())
    }

    /// Searches a version without writing: returns the files that would lose rows, and the rows.
    pub fn rehearse(&mut self, snapshot: &Snapshot) -> Result<(u64, u64)> {
        self.look(snapshot)?;
        let (losing, rows) = self.losing(snapshot)?;
        Ok((losing.len() as u64, rows))
    }

    /// Returns true if rows that the written ones depend on are gone.
    fn has_lost(&self, snapshot: &Snapshot) -> Result<bool> {
        let all = || self.found.iter().chain(&self.watched).filter(|(_, rows)| !rows.is_empty());
        let wanted: HashSet<&str> = all().map(|(path, _)| path.as_str()).collect();
        let files: Vec<&TableFile> =
            snapshot.files()?.files.iter().filter(|file| wanted.contains(file.path.as_str())).collect();
        if files.len() < wanted.len() {
            return Ok(true);
        }
        let vectors = deletion_vector::treemaps(snapshot.table(), &files).map_err(|error| snapshot.broken(error))?;
        let hidden: HashMap<&str, &RoaringTreemap> = files
            .iter()
            .zip(&vectors)
            .filter_map(|(file, hidden)| Some((file.path.as_str(), hidden.as_ref()?)))
            .collect();
        let is_hidden = |(path, rows): (&String, &RoaringTreemap)| {
            hidden.get(path.as_str()).is_some_and(|hidden| !rows.is_disjoint(hidden))
        };
        Ok(all().any(is_hidden))
    }

    /// The files in which rows were found.
    fn touched<'a>(&self, snapshot: &'a Snapshot) -> Result<Vec<&'a TableFile>> {
        let has_rows = |file: &&TableFile| self.found.get(&file.path).is_some_and(|rows| !rows.is_empty());
        Ok(snapshot.files()?.files.iter().filter(has_rows).collect())
    }

    /// Removes the vectors of an attempt that has failed.
    pub fn drop_packed(&mut self) {
        self.ahead = None;
        if let Some(object) = self.packed.take() {
            // A file that can't be removed now is no part of the table and is left to its next vacuum.
            object.store.delete_best_effort(vec![object.path]);
        }
    }

    /// Stores the vectors that a commit after this version needs, whose rows are recorded: before the commit, while new
    /// rows are still being written. After an error or without a commit, [`Self::drop_packed`] removes them.
    pub fn prepare(&mut self, snapshot: &Snapshot) -> Result<()> {
        if self.depends != RowDependency::Presence && matches!(self.removal, RemovalMethod::Vectors) {
            self.ahead = Some((snapshot.version(), self.vectors(snapshot)?));
        }
        Ok(())
    }

    /// The files of a version that lose rows, and how many rows those are.
    fn losing<'a>(&self, snapshot: &'a Snapshot) -> Result<(Vec<TouchedFile<'a>>, u64)> {
        let touched = self.touched(snapshot)?;
        let known = deletion_vector::treemaps(snapshot.table(), &touched).map_err(|error| snapshot.broken(error))?;
        let (mut losing, mut rows) = (Vec::new(), 0);
        for (file, known) in touched.into_iter().zip(known) {
            let known = known.unwrap_or_default();
            let Some(found) = self.found.get(&file.path) else { continue };
            let all = &known | found;
            rows += all.len() - known.len();
            if all.len() > known.len() {
                losing.push(TouchedFile { file, rows: 0, known, all });
            }
        }
        let counts = row_counts::count(snapshot, &losing.iter().map(|touched| touched.file).collect::<Vec<_>>())?;
        losing.iter_mut().zip(counts).for_each(|(touched, rows)| touched.rows = rows);
        Ok((losing, rows))
    }

    /// As the commit's version needs them.
    fn vectors(&mut self, snapshot: &Snapshot) -> Result<NewVectors> {
        let (losing, hidden) = self.losing(snapshot)?;
        let (mut rows, mut names, mut maps, mut dead) = (HashMap::new(), Vec::new(), Vec::new(), HashSet::new());
        for touched in losing {
            let path = touched.file.path.clone();
            if touched.is_dead() {
                dead.insert(path);
            } else {
                rows.insert(path.clone(), touched.rows);
                names.push(path);
                maps.push(touched.all);
            }
        }
        (self.changed.hidden, self.changed.vectors, self.changed.removed) =
            (hidden, names.len() as u64, dead.len() as u64);
        if maps.is_empty() {
            return Ok(NewVectors { dead, ..NewVectors::default() });
        }
        let (object, descriptors) = deletion_vector::store(snapshot.table(), &maps)?;
        self.packed = Some(object);
        Ok(NewVectors { vectors: names.into_iter().zip(descriptors).collect(), rows, dead })
    }

    /// Sets the vectors of files that were prepared for this version, or those that they need.
    fn stage_vectors(
        &mut self,
        snapshot: &Snapshot,
        ahead: Option<NewVectors>,
        update: &mut Transaction<UpdateTable>,
    ) -> Result<bool> {
        let NewVectors { vectors, rows, dead } = ahead.map_or_else(|| self.vectors(snapshot), Ok)?;
        if vectors.is_empty() && dead.is_empty() {
            return Ok(false);
        }
        let batches = scan_rows(snapshot)?;
        remove(&batches, &dead, update)?;
        let mut files = Vec::new();
        for batch in &batches {
            let batch = for_vectors(batch, &rows)?;
            files.extend(selected(&batch, &|name: &str| vectors.contains_key(name))?.map(Ok));
        }
        if !vectors.is_empty() {
            guarded(|| update.update_deletion_vectors(vectors, files.into_iter()))?;
        }
        Ok(true)
    }

    /// Puts files that are rewritten in the place of those that lose rows.
    fn stage_rewrites(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        let (losing, hidden) = self.losing(snapshot)?;
        let RemovalMethod::Rewrite(rewrites) = &mut self.removal else { return Ok(false) };
        let state = guarded(|| update.write_state())?;
        // The change files of an upsert contain the rows that it replaces.
        let tells = self.operation == UpdateTableOperation::Delete && snapshot.has_change_feed();
        let done = rewrites.follow(snapshot, &state, &losing, tells)?;
        self.changed.hidden = hidden;
        self.changed.removed = losing.iter().filter(|touched| touched.is_dead()).count() as u64;
        self.changed.rewritten = done.files;
        (self.changed.bytes_replaced, self.changed.bytes_rewritten) = (done.bytes_before, done.bytes_after);
        let gone: HashSet<String> = losing.iter().map(|touched| touched.file.path.clone()).collect();
        if gone.is_empty() {
            return Ok(false);
        }
        remove(&scan_rows(snapshot)?, &gone, update)?;
        for file in rewrites.files() {
            update.add_files(added(file)?);
        }
        Ok(true)
    }
}

/// Removes files from a version.
fn remove(batches: &[RecordBatch], gone: &HashSet<String>, update: &mut Transaction<UpdateTable>) -> Result<()> {
    for batch in batches {
        if let Some(removed) = selected(batch, &|name: &str| gone.contains(name))? {
            update.remove_files(removed);
        }
    }
    Ok(())
}

impl CommitAction for RemovalCommit {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        (self.operation.clone(), self.parameters.clone())
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        if self.depends == RowDependency::Presence {
            // Rows are added, and nothing else.
            return Ok(());
        }
        if snapshot.kernel().table_properties().append_only == Some(true) {
            return Err(Error::invalid("the table accepts new rows only (delta.appendOnly)").advice(format!(
                "add only new keys with {INSERT_ONLY}, or unset it: {}",
                ALTER.with([UNSET.to("delta.appendOnly")])
            )));
        }
        Ok(())
    }

    fn may_upgrade(&self, snapshot: &Snapshot) -> bool {
        let enabled = snapshot.kernel().table_configuration().is_feature_enabled(&TableFeature::DeletionVectors);
        matches!(self.removal, RemovalMethod::Vectors) && self.depends != RowDependency::Presence && !enabled
    }

    fn gives_vectors(&self) -> bool {
        self.changed.vectors > 0
    }

    fn keeps_row_ids(&self) -> bool {
        // Rows that an upsert or an update replaces are added again as new ones.
        let replaces = matches!(self.operation, UpdateTableOperation::Merge | UpdateTableOperation::Update);
        !replaces || self.changed.hidden == 0
    }

    fn figures(&self) -> OperationFigures {
        let removed_rows = Some(self.changed.hidden);
        OperationFigures {
            source_rows: self.source_rows,
            removed_rows,
            updated_rows: self.updated_rows,
            unmatched_rows: self.unmatched_rows,
            is_by_key: self.is_by_key,
            ..OperationFigures::default()
        }
    }

    fn written(&self) -> &[AddedFile] {
        match &self.removal {
            RemovalMethod::Rewrite(rewrites) => rewrites.files(),
            RemovalMethod::Vectors => &[],
        }
    }

    fn more_actions(&mut self) -> Result<Vec<RecordBatch>> {
        let mut actions = self.changes.clone();
        if let RemovalMethod::Rewrite(rewrites) = &self.removal {
            actions.extend(rewrites.changes().iter().map(change_file).collect::<Result<Vec<_>>>()?);
        }
        Ok(actions)
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        let ahead = self.ahead.take().filter(|(version, _)| *version == snapshot.version());
        if ahead.is_none() {
            self.drop_packed();
        }
        let has_more = self.look(snapshot)?;
        if self.depends != RowDependency::Nothing && (has_more || self.has_lost(snapshot)?) {
            self.is_outdated = true;
            return Err(Error::conflict("another writer has changed rows that the new ones are based on"));
        }
        if self.depends == RowDependency::Presence {
            return Ok(false);
        }
        match &self.removal {
            RemovalMethod::Vectors => self.stage_vectors(snapshot, ahead.map(|(_, ahead)| ahead), update),
            RemovalMethod::Rewrite(_) => self.stage_rewrites(snapshot, update),
        }
    }
}

/// Commits the change together with new files and change files. After an error, all of these files are removed, unless
/// it is unknown whether the entry exists. [`RemovalCommit::is_outdated`] then says whether the rows have to be made again.
pub(crate) fn change(
    commit: &mut PendingCommit<RemovalCommit>,
    mut published: PublishedFiles,
    mut changes: PublishedFiles,
) -> Result<ChangeOutcome> {
    commit.action().changes = changes.files().iter().map(change_file).collect::<Result<_>>()?;
    match commit.run(published.files()) {
        Ok(version) => {
            commit.action().packed = None;
            if let RemovalMethod::Rewrite(rewrites) = &mut commit.action().removal {
                rewrites.written();
            }
            changes.written();
            Ok(ChangeOutcome { written: Written { version, ..published.written() }, ..commit.action().changed.clone() })
        }
        Err((error, outcome)) => {
            published.abort(outcome);
            changes.abort(outcome);
            if let RemovalMethod::Rewrite(rewrites) = &mut commit.action().removal {
                rewrites.abort(outcome);
            }
            match outcome {
                EntryOutcome::Absent => commit.action().drop_packed(),
                EntryOutcome::Unknown => commit.action().packed = None,
            }
            Err(error)
        }
    }
}
