//! Changes by comparing two versions: for tables without a change feed.
//!
//! Rows at the same position of the same file in both versions have not changed, and are not read. The other rows of
//! both versions are compared by their hashes: a row that was only rewritten, for example by a compaction, is not sent.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_delta::{DeltaSource, Snapshot, VersionSpec};
use lakerace_format::{Batches, ReadRequest, Source};
use lakerace_io::option::MODE;
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Result};

use super::begun::SyncRun;
use super::keys::{DeletedKeys, MOST_KEYS, kept};
use super::{Synced, shared};
use crate::WriteMode;
use crate::checksum::row_hashes;
use crate::keys::KeyProjection;

/// Brings the changes between the version that the target has and a later one.
pub(super) fn bring(run: &SyncRun<'_>, done: &mut Synced) -> Result<()> {
    let before = run.target.follower.table.snapshot(Some(VersionSpec::Version(run.from()))).map_err(lost)?;
    let mut parts = 1;
    let mut part = 0;
    while part < parts {
        if bring_part(run, &before, KeyPart { number: part, of: parts }, done)? {
            part += 1;
        } else {
            // A part of the rows has fewer keys; rows that were already sent are sent again.
            (part, parts) = (0, parts * 4);
        }
    }
    Ok(())
}

/// An old version that can't be read any more.
pub(super) fn lost(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => error.advice(format!(
            "the version that the target has is gone: load the table again with {}",
            MODE.to("overwrite")
        )),
        _ => error,
    }
}

/// Rows of the earlier version that the later one does not have in their place.
#[derive(Default)]
struct EarlierRows {
    keys: DeletedKeys,
    /// The hashes of whole rows, of files that the later version does not have.
    rows: HashSet<u128>,
    /// The columns of the key.
    schema: Option<SchemaRef>,
}

/// A part of the keys, by their hashes.
#[derive(Clone, Copy)]
struct KeyPart {
    number: u128,
    of: u128,
}

impl KeyPart {
    fn has(self, hash: u128) -> bool {
        hash % self.of == self.number
    }
}

impl EarlierRows {
    /// Goes through them. `None`: their keys are too many for memory.
    fn read(run: &SyncRun<'_>, before: &Snapshot, part: KeyPart) -> Result<Option<Self>> {
        let mut old = Self::default();
        let open = || DeltaSource::open_changed(before.clone(), run.to);
        // A row that a deletion vector hides was replaced or deleted, and is not compared: its key is enough.
        let columns = Some(run.key().to_vec());
        let hidden = read(&open()?.in_shared_files(), &ReadRequest { columns, ..ReadRequest::default() })?;
        if !old.add(run, hidden, part, false)? {
            return Ok(None);
        }
        // Hashes of rows identify values by the positions of their columns.
        let is_comparable = has_same_names(before.schema(), run.to.schema());
        let removed = read(&open()?.in_other_files(), &ReadRequest::default())?;
        Ok(old.add(run, removed, part, is_comparable)?.then_some(old))
    }

    /// False: the keys are too many.
    fn add(&mut self, run: &SyncRun<'_>, batches: Batches, part: KeyPart, with_rows: bool) -> Result<bool> {
        let key = KeyProjection::new(batches.schema(), run.key())?;
        self.schema = Some(Arc::clone(&key.schema));
        for batch in batches {
            run.target.follower.job.check()?;
            let batch = batch.map_err(lost)?;
            let hashes = key.hashes(&batch)?;
            let mine: Vec<bool> = hashes.iter().map(|hash| part.has(*hash)).collect();
            if with_rows {
                let all = row_hashes(&batch)?;
                self.rows.extend(all.into_iter().zip(&mine).filter(|(_, mine)| **mine).map(|(hash, _)| hash));
            }
            let keys = kept(&key.project(&batch)?, |row| mine[row])?;
            self.keys
                .add(keys, hashes.into_iter().zip(&mine).filter(|(_, mine)| **mine).map(|(hash, _)| hash).collect());
            if self.keys.len > MOST_KEYS {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn read(source: &DeltaSource, request: &ReadRequest) -> Result<Batches> {
    source.plan(request).and_then(|plan| source.read(&plan)).map_err(lost)
}

/// Brings the changes of the keys of a part. False: they are too many for memory.
fn bring_part(run: &SyncRun<'_>, before: &Snapshot, part: KeyPart, done: &mut Synced) -> Result<bool> {
    let Some(EarlierRows { keys: gone, rows: old_rows, schema }) = EarlierRows::read(run, before, part)? else {
        return Ok(false);
    };
    let to = run.to;
    let new_key = KeyProjection::new(to.schema(), run.key())?;
    // Only keys of old rows are held: there may be any number of new rows.
    let left = shared(gone.hashes());
    let known = Arc::clone(&left);
    let source = DeltaSource::open_changed(to.clone(), before)?;
    let changed = source.read(&source.plan(&ReadRequest::default())?)?.map(move |batch| {
        let batch = batch?;
        let (keys, all) = (new_key.hashes(&batch)?, row_hashes(&batch)?);
        let mut known = lock(&known);
        kept(&batch, |row| {
            let mine = part.has(keys[row]);
            if mine {
                known.remove(&keys[row]);
            }
            mine && !old_rows.contains(&all[row])
        })
    });
    let batches = Batches::new(Arc::clone(to.schema()), changed);
    done.upserted += run.send(batches, WriteMode::Upsert)?;
    let Some(schema) = schema else { return Ok(true) };
    let left = std::mem::take(&mut *lock(&left));
    let removed = gone.batches(schema, move |key| !left.contains(&key));
    done.deleted += run.send(removed, WriteMode::Delete)?;
    Ok(true)
}

fn has_same_names(one: &Schema, other: &Schema) -> bool {
    let names = |schema: &Schema| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    names(one) == names(other)
}
