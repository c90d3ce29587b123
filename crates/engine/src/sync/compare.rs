//! Changes by comparing two versions: for tables without a change feed.
//!
//! Files that both versions have, with the same rows deleted, have no change. Of the others, the rows of both versions are
//! compared by their hashes: a row that was only written anew, as a compaction does, is not sent.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::Schema;
use lakerace_delta::{DeltaSource, Snapshot, VersionSpec};
use lakerace_format::{Batches, ReadRequest, Source};
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Result};

use super::begun::Run;
use super::keys::{Gone, MOST_KEYS, kept};
use super::{Synced, shared};
use crate::CopyMode;
use crate::checksum::row_hashes;
use crate::keys::Key;

/// Brings the changes between the version that the target has and a later one.
pub(super) fn bring(run: &Run<'_>, done: &mut Synced) -> Result<()> {
    let before = run.follower.table.snapshot(Some(VersionSpec::Version(run.from()))).map_err(lost)?;
    let mut parts = 1;
    let mut part = 0;
    while part < parts {
        if bring_part(run, &before, (part, parts), done)? {
            part += 1;
        } else {
            // Keys of a part of the rows are fewer; what was sent is sent again.
            (part, parts) = (0, parts * 4);
        }
    }
    Ok(())
}

/// An old version that can't be read any more.
pub(super) fn lost(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => {
            error.advice("the version that the target has is gone: load the table anew by --mode overwrite (mode)")
        }
        _ => error,
    }
}

fn rows(snapshot: &Snapshot, other: &Snapshot) -> Result<Batches> {
    let source = DeltaSource::open_changed(snapshot.clone(), other)?;
    let plan = source.plan(&ReadRequest::default())?;
    source.read(&plan)
}

/// Brings the changes of the keys whose hash falls on a part of so many. False: they are too many for memory.
fn bring_part(run: &Run<'_>, before: &Snapshot, (part, parts): (u128, u128), done: &mut Synced) -> Result<bool> {
    let (to, key) = (run.to, run.key());
    let (mut old_rows, mut gone) = (HashSet::new(), Gone::default());
    let old_key = Key::new(before.schema(), key)?;
    // Hashes of rows tell values by the positions of their columns.
    let is_comparable = has_same_names(before.schema(), to.schema());
    for batch in rows(before, to).map_err(lost)? {
        run.follower.job.check()?;
        let batch = batch.map_err(lost)?;
        let hashes = old_key.hashes(&batch)?;
        let mine: Vec<bool> = hashes.iter().map(|hash| hash % parts == part).collect();
        if is_comparable {
            let all = row_hashes(&batch)?;
            old_rows.extend(all.into_iter().zip(&mine).filter(|(_, mine)| **mine).map(|(hash, _)| hash));
        }
        let keys = kept(&old_key.of(&batch)?, |row| mine[row])?;
        gone.add(keys, hashes.into_iter().zip(&mine).filter(|(_, mine)| **mine).map(|(hash, _)| hash).collect());
        if gone.len > MOST_KEYS {
            return Ok(false);
        }
    }
    let new_key = Key::new(to.schema(), key)?;
    // Keys of old rows alone are held: new rows may be any number.
    let left = shared(gone.hashes());
    let known = Arc::clone(&left);
    let changed = rows(to, before)?.map(move |batch| {
        let batch = batch?;
        let (keys, all) = (new_key.hashes(&batch)?, row_hashes(&batch)?);
        let mut known = lock(&known);
        kept(&batch, |row| {
            let mine = keys[row] % parts == part;
            if mine {
                known.remove(&keys[row]);
            }
            mine && !old_rows.contains(&all[row])
        })
    });
    let batches = Batches::new(Arc::clone(to.schema()), changed);
    done.upserted += run.send(batches, CopyMode::Upsert)?;
    let left = std::mem::take(&mut *lock(&left));
    let removed = gone.batches(Arc::clone(&old_key.schema), move |key| !left.contains(&key));
    done.deleted += run.send(removed, CopyMode::Delete)?;
    Ok(true)
}

fn has_same_names(one: &Schema, other: &Schema) -> bool {
    let names = |schema: &Schema| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    names(one) == names(other)
}
