//! Upsert by key, and delete, without rewriting files.
//!
//! One upsert:
//!
//! 1. The source's rows are gathered, at most [`UpsertOptions::memory_bytes`] of them; their keys go into a hash table. Of
//!    rows with the same key the last one wins, or they are an error.
//! 2. Files that can't hold one of the keys are left out, by the log's statistics and partitions: the sorted keys are
//!    held against each file's least and greatest one, so that a file whose range lies between two keys is left out, too.
//! 3. Of the files that remain the key columns are read, and no other ([`crate::probe`]). Rows whose key is in the table
//!    are noted by their number.
//! 4. These rows join the deletion vectors of their files; all vectors of the commit are packed into one file. A file
//!    without any row left is removed.
//! 5. The source's rows are written as new files, sorted by key, so that later upserts leave out most of them.
//! 6. One entry of the log makes all of this the next version, put where there is none. Where another writer was faster,
//!    its version is opened: data files never change, so what was found in a file stays found, and only files that
//!    came are read. Vectors are made anew from those of the new version. So no update is lost, and no key comes
//!    twice, however many writers there are. A change of schema, properties or protocol is an error that says so.
//!
//! A delete is the same without rows to write: a condition takes the place of the keys.

use std::collections::HashMap;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_format::{Batches, Expr, Predicate, WriteOptions, Written};
use lakerace_io::{Error, IfExists, Object, Output, Result};
use roaring::RoaringTreemap;

use crate::error::guarded;
use crate::files::TableFile;
use crate::keys::{Keys, OnDuplicate};
use crate::probe::{Probe, find};
use crate::statistics::FileStatistics;
use crate::vectors::{self, Packed};
use crate::write::{
    Base, Commit, DataFiles, Outcome, Published, Stage, check_change_feed, check_row_tracking, scan_rows, selected,
};
use crate::{Snapshot, Table};

/// How to upsert.
#[derive(Debug, Clone)]
pub struct UpsertOptions {
    /// The key's columns; none: the table's own (`lakerace.primaryKey`).
    pub key: Vec<String>,
    /// Rows of the source with the same key.
    pub on_duplicate: OnDuplicate,
    /// Bytes that the source's rows and their keys may take.
    pub memory_bytes: u64,
    /// How new files are written.
    pub write: WriteOptions,
}

/// What an upsert or a delete did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// The rows and files that were written, and the version that was made; `None`: there was nothing to do.
    pub written: Written,
    /// Rows of the table that were hidden: replaced, or deleted.
    pub hidden: u64,
    /// Files whose deletion vector is new.
    pub vectors: u64,
    /// Files without a row left, which were removed.
    pub removed: u64,
    /// Files whose rows were looked at.
    pub probed: u64,
}

/// Rows of a new file that are sorted at once.
const SLICE_ROWS: usize = 65_536;

/// Inserts rows, or replaces those of the table that have their key.
pub fn upsert(table: &Table, batches: Batches, options: &UpsertOptions) -> Result<Changed> {
    let named = |error: Error| error.at(table.place());
    let snapshot = table.snapshot(None)?;
    let key = if options.key.is_empty() { snapshot.key() } else { options.key.clone() };
    if key.is_empty() {
        return Err(named(
            Error::usage("no key is given, and the table has none (lakerace.primaryKey)")
                .advice("name the key's columns"),
        ));
    }
    check_vectors(&snapshot).map_err(named)?;
    let schema = batches.schema().clone();
    let rows = gather(batches, options.memory_bytes, table)?;
    let keys = Keys::of(&rows, &key, snapshot.schema(), options.on_duplicate).map_err(named)?;
    if keys.order().is_empty() {
        return Ok(Changed::default());
    }
    let sorted = keys.order().to_vec();
    let hide = Hide::new(Box::new(keys), UpdateTableOperation::Merge);
    let commit = Commit::new(table.clone(), Base::Existing(Box::new(snapshot)), hide).map_err(named)?;
    let state = commit.write_state().map_err(named)?;
    let mut files = DataFiles::new(table, &schema, &commit.targets(&state)?, state, &options.write).map_err(named)?;
    write_sorted(&mut files, &rows, &sorted)?;
    drop(rows);
    change(commit, files.publish()?)
}

/// Hides the rows for which a condition is true.
pub fn delete(table: &Table, condition: &Expr) -> Result<Changed> {
    let named = |error: Error| error.at(table.place());
    let snapshot = table.snapshot(None)?;
    check_vectors(&snapshot).map_err(named)?;
    let predicate = Predicate::bind(condition, snapshot.schema()).map_err(named)?;
    let names = predicate.columns().iter().map(|at| snapshot.schema().field(*at).name().clone()).collect();
    let hide = Hide::new(Box::new(Condition { predicate, names }), UpdateTableOperation::Delete);
    let commit = Commit::new(table.clone(), Base::Existing(Box::new(snapshot)), hide).map_err(named)?;
    change(commit, Published::none())
}

fn change(mut commit: Commit<Hide>, mut published: Published) -> Result<Changed> {
    match commit.run(published.files()) {
        Ok(version) => {
            commit.stage().packed = None;
            Ok(Changed { written: Written { version, ..published.written() }, ..commit.stage().changed.clone() })
        }
        Err((error, outcome)) => {
            published.give_up(outcome);
            match outcome {
                Outcome::Absent => commit.stage().drop_packed(),
                Outcome::Unknown => commit.stage().packed = None,
            }
            Err(error)
        }
    }
}

fn check_vectors(snapshot: &Snapshot) -> Result<()> {
    let enabled = snapshot.properties().get("delta.enableDeletionVectors").is_some_and(|value| value == "true");
    if enabled {
        return Ok(());
    }
    Err(Error::unsupported(
        "the table has no deletion vectors (delta.enableDeletionVectors), by which rows are replaced",
    )
    .advice("enable them: ALTER TABLE … SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"))
}

/// All batches of a source, as far as memory goes.
fn gather(batches: Batches, memory_bytes: u64, table: &Table) -> Result<Vec<RecordBatch>> {
    let (mut rows, mut bytes) = (Vec::new(), 0u64);
    for batch in batches {
        table.job().check()?;
        let batch = batch?;
        bytes = bytes.saturating_add(batch.get_array_memory_size() as u64);
        if bytes > memory_bytes {
            return Err(Error::unsupported(format!("the rows take more than {memory_bytes} bytes of memory"))
                .advice("allow more, or upsert in several parts"));
        }
        if batch.num_rows() > 0 {
            rows.push(batch);
        }
    }
    Ok(rows)
}

/// Writes these rows, numbered over all batches, in this order.
fn write_sorted(files: &mut DataFiles, batches: &[RecordBatch], order: &[u32]) -> Result<()> {
    let mut firsts = Vec::with_capacity(batches.len());
    let mut rows = 0;
    for batch in batches {
        firsts.push(rows);
        rows += batch.num_rows();
    }
    let all: Vec<&RecordBatch> = batches.iter().collect();
    let place = |row: &u32| {
        let row = *row as usize;
        let batch = firsts.partition_point(|first| *first <= row) - 1;
        (batch, row - firsts[batch])
    };
    for slice in order.chunks(SLICE_ROWS) {
        let places: Vec<(usize, usize)> = slice.iter().map(place).collect();
        let sorted = interleave_record_batch(&all, &places).map_err(|e| Error::internal(e.to_string()))?;
        files.write(&sorted)?;
    }
    Ok(())
}

/// A condition as a probe.
struct Condition {
    predicate: Predicate,
    names: Vec<String>,
}

impl Probe for Condition {
    fn columns(&self) -> Vec<String> {
        self.names.clone()
    }

    fn may_match(&self, file: &TableFile, snapshot: &Snapshot) -> bool {
        self.predicate.can_match(&FileStatistics { file, columns: snapshot.columns() }).is_ok()
    }

    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.predicate.evaluate(batch)
    }
}

/// Hides the rows that a probe finds.
struct Hide {
    probe: Box<dyn Probe>,
    operation: UpdateTableOperation,
    /// What was found, by file: the files themselves never change.
    found: HashMap<String, RoaringTreemap>,
    /// The vectors of the last attempt.
    packed: Option<Object>,
    changed: Changed,
}

impl Hide {
    fn new(probe: Box<dyn Probe>, operation: UpdateTableOperation) -> Self {
        Self { probe, operation, found: HashMap::new(), packed: None, changed: Changed::default() }
    }

    /// Looks into the files that were not looked into before.
    fn look(&mut self, snapshot: &Snapshot) -> Result<()> {
        let files = &snapshot.files()?.files;
        let is_new = |file: &&TableFile| !self.found.contains_key(&file.path) && self.probe.may_match(file, snapshot);
        let new: Vec<&TableFile> = files.iter().filter(is_new).collect();
        let found = find(snapshot, &new, self.probe.as_ref())?;
        self.changed.probed += new.len() as u64;
        self.found.extend(new.into_iter().map(|file| file.path.clone()).zip(found));
        Ok(())
    }

    /// Removes the vectors of an attempt that has failed.
    fn drop_packed(&mut self) {
        if let Some(object) = self.packed.take() {
            // What can't be removed now is no part of the table and is left to its next vacuum.
            let _ = object.store.delete(&object.path);
        }
    }

    /// The vectors that files get, and the files that have no row left.
    fn vectors(&mut self, snapshot: &Snapshot) -> Result<(HashMap<String, DeletionVectorDescriptor>, Vec<String>)> {
        let files = &snapshot.files()?.files;
        let touched: Vec<&TableFile> =
            files.iter().filter(|file| self.found.get(&file.path).is_some_and(|rows| !rows.is_empty())).collect();
        let known = vectors::treemaps(snapshot.table(), &touched)?;
        let (mut names, mut maps, mut dead) = (Vec::new(), Vec::new(), Vec::new());
        (self.changed.hidden, self.changed.vectors, self.changed.removed) = (0, 0, 0);
        for (file, known) in touched.into_iter().zip(known) {
            let known = known.unwrap_or_default();
            let Some(found) = self.found.get(&file.path) else { continue };
            let all = &known | found;
            if all.len() == known.len() {
                continue;
            }
            let rows = file.rows.ok_or_else(|| {
                Error::unsupported("a file whose log entry does not say how many rows it has")
                    .at(file.object.url())
                    .advice("compute statistics for the table first")
            })?;
            self.changed.hidden += all.len() - known.len();
            if all.len() == rows {
                dead.push(file.path.clone());
            } else {
                names.push(file.path.clone());
                maps.push(all);
            }
        }
        (self.changed.vectors, self.changed.removed) = (names.len() as u64, dead.len() as u64);
        if maps.is_empty() {
            return Ok((HashMap::new(), dead));
        }
        let Packed { name, bytes, descriptors } = vectors::pack(&maps)?;
        let object = snapshot.table().object(&name)?;
        let mut output = Output::create(&object.store, &object.path, IfExists::Error)?;
        output.write(bytes)?;
        output.finish()?;
        self.packed = Some(object);
        Ok((names.into_iter().zip(descriptors).collect(), dead))
    }
}

impl Stage for Hide {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        (self.operation.clone(), Vec::new())
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        if snapshot.kernel().table_properties().append_only == Some(true) {
            return Err(Error::invalid("the table takes new rows only (delta.appendOnly)"));
        }
        check_row_tracking(snapshot)?;
        // Of rows that only go, readers of the feed learn by the vectors.
        if self.operation == UpdateTableOperation::Merge {
            check_change_feed(snapshot)?;
        }
        Ok(())
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        self.drop_packed();
        self.look(snapshot)?;
        let (vectors, dead) = self.vectors(snapshot)?;
        if vectors.is_empty() && dead.is_empty() {
            return Ok(false);
        }
        let rows = scan_rows(snapshot)?;
        for batch in &rows {
            if let Some(removed) = selected(batch, &|name: &str| dead.iter().any(|dead| dead == name))? {
                update.remove_files(removed);
            }
        }
        let files: Vec<_> =
            rows.iter().map(|batch| selected(batch, &|name: &str| vectors.contains_key(name))).collect();
        let files = files.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().map(Ok);
        if !vectors.is_empty() {
            guarded(|| update.update_deletion_vectors(vectors, files))?;
        }
        Ok(true)
    }
}
