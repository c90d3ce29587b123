//! Changes by a table's change feed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_delta::{CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, ChangeFeed, ChangeOrigin};
use lakerace_format::Batches;
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Result};

use super::begun::SyncRun;
use super::keys::{DeletedKeys, MOST_KEYS, kept};
use super::{Shared, Synced, shared};
use crate::WriteMode;
use crate::keys::KeyProjection;

/// The outcome of the feed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FeedOutcome {
    /// The target has the changes.
    Brought,
    /// The feed does not cover all of these versions.
    NoFeed,
}

/// Brings the changes of the versions after the one that the target has.
pub(super) fn bring(run: &SyncRun<'_>, done: &mut Synced) -> Result<FeedOutcome> {
    if !run.to.has_change_feed() {
        return Ok(FeedOutcome::NoFeed);
    }
    let mut from = run.from() + 1;
    let to = run.to.version();
    let mut end = to;
    while from <= to {
        let part = VersionPart { run, from, to: end };
        let is_single = from == end;
        match part.bring(false, done)? {
            SentChanges::All => {
                from = end + 1;
                end = to;
            }
            SentChanges::NoFeed => return Ok(FeedOutcome::NoFeed),
            // Fewer versions have fewer keys.
            SentChanges::TooMany if !is_single => end = from + (end - from) / 2,
            SentChanges::TooMany => {
                // Replaced rows are removed before they are sent again, so that no keys are held in memory; they are
                // missing for a moment.
                let part = VersionPart { run, from, to: end };
                if part.bring(true, done)? == SentChanges::NoFeed {
                    return Ok(FeedOutcome::NoFeed);
                }
                from = end + 1;
                end = to;
            }
        }
    }
    Ok(FeedOutcome::Brought)
}

#[derive(Debug, PartialEq, Eq)]
enum SentChanges {
    All,
    /// More keys than memory is meant for.
    TooMany,
    NoFeed,
}

/// Versions that are brought together.
struct VersionPart<'a> {
    run: &'a SyncRun<'a>,
    from: u64,
    to: u64,
}

/// Facts that are learnt while rows are sent.
#[derive(Default)]
struct SeenFacts {
    /// The last version in which each key was inserted.
    came: HashMap<u128, i64>,
    /// The last version that each key went with.
    went: HashMap<u128, i64>,
    gone: DeletedKeys,
    has_too_many: bool,
    /// The feed has failed, and not the target.
    feed_error: Option<ErrorKind>,
}

impl VersionPart<'_> {
    fn bring(&self, removes_first: bool, done: &mut Synced) -> Result<SentChanges> {
        let feed = match ChangeFeed::open(&self.run.target.follower.table, self.from, Some(self.to)) {
            Ok(feed) => feed,
            Err(error) if tells_of_no_feed(error.kind()) => return Ok(SentChanges::NoFeed),
            Err(error) => return Err(error),
        };
        let seen = shared(SeenFacts::default());
        if removes_first {
            let Ok(deleted) = self.send(&feed, FeedPass::Removes, &seen)? else { return Ok(SentChanges::NoFeed) };
            done.deleted += deleted;
            let Ok(rows) = self.send(&feed, FeedPass::Puts, &seen)? else { return Ok(SentChanges::NoFeed) };
            done.upserted += rows;
            return Ok(SentChanges::All);
        }
        if self.learn(&feed, &seen)?.is_err() {
            return Ok(SentChanges::NoFeed);
        }
        if lock(&seen).has_too_many {
            return Ok(SentChanges::TooMany);
        }
        let Ok(rows) = self.send(&feed, FeedPass::PutsAndLearns, &seen)? else { return Ok(SentChanges::NoFeed) };
        let SeenFacts { came, went, gone, has_too_many, .. } = std::mem::take(&mut *lock(&seen));
        if has_too_many {
            return Ok(SentChanges::TooMany);
        }
        done.upserted += rows;
        let Some(schema) = gone.schema() else { return Ok(SentChanges::All) };
        // A row that was deleted and inserted in one version was replaced.
        let is_back =
            move |key: u128| came.get(&key).is_some_and(|came| went.get(&key).is_none_or(|went| came >= went));
        done.deleted += self.run.send(gone.batches(schema, is_back), WriteMode::Delete)?;
        Ok(SentChanges::All)
    }

    /// Reads the deleted rows, of which only keys are needed.
    fn learn(&self, feed: &ChangeFeed, seen: &Shared<SeenFacts>) -> Result<std::result::Result<(), NoFeed>> {
        let (batches, reader) = self.read(feed, FeedPass::Learns)?;
        for batch in batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) if tells_of_no_feed(error.kind()) => return Ok(Err(NoFeed)),
                Err(error) => return Err(error),
            };
            if reader.read(&batch, FeedPass::Learns, &mut lock(seen))?.is_none() {
                break;
            }
        }
        Ok(Ok(()))
    }

    /// Reads the feed once and sends rows of it; returns their number.
    fn send(
        &self,
        feed: &ChangeFeed,
        pass: FeedPass,
        seen: &Shared<SeenFacts>,
    ) -> Result<std::result::Result<u64, NoFeed>> {
        let (batches, reader) = self.read(feed, pass)?;
        let (schema, learnt) = (reader.schema(pass), Arc::clone(seen));
        let rows = batches.map_while(move |batch| match batch {
            Err(error) => {
                lock(&learnt).feed_error = Some(error.kind());
                Some(Err(error))
            }
            Ok(batch) => reader.read(&batch, pass, &mut lock(&learnt)).transpose(),
        });
        let mode = if pass == FeedPass::Removes { WriteMode::Delete } else { WriteMode::Upsert };
        match self.run.send(Batches::new(schema, rows), mode) {
            Ok(rows) => Ok(Ok(rows)),
            // The run knows whether rows were sent before.
            Err(_) if lock(seen).feed_error.is_some_and(tells_of_no_feed) => Ok(Err(NoFeed)),
            Err(error) => Err(error),
        }
    }

    fn read(&self, feed: &ChangeFeed, pass: FeedPass) -> Result<(Batches, ChangeReader)> {
        let key = self.run.key();
        let is_wanted = |name: &str| match pass {
            FeedPass::PutsAndLearns | FeedPass::Puts => name != COMMIT_TIMESTAMP,
            FeedPass::Learns | FeedPass::Removes => {
                key.iter().any(|key| key == name) || [CHANGE_TYPE, COMMIT_VERSION].contains(&name)
            }
        };
        let names = feed.schema().fields().iter().map(|field| field.name());
        let names: Vec<String> = names.filter(|name| is_wanted(name)).cloned().collect();
        let batches = feed.read(pass.origins(), Some(&names))?;
        let reader = ChangeReader::new(batches.schema(), key)?;
        Ok((batches, reader))
    }
}

/// The feed does not cover all of these versions.
#[derive(Debug)]
struct NoFeed;

/// Versions without the feed, and those whose entries or files are gone.
fn tells_of_no_feed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unsupported | ErrorKind::NotFound)
}

/// The purpose of a pass through the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FeedPass {
    /// Keys of rows that have gone are learnt, but for those in change files.
    Learns,
    /// Inserted rows are put there, and the other keys are collected.
    PutsAndLearns,
    /// Inserted rows are put there.
    Puts,
    /// Rows that have gone are removed.
    Removes,
}

impl FeedPass {
    /// The origins of the pass's rows.
    fn origins(self) -> &'static [ChangeOrigin] {
        match self {
            Self::Learns => &[ChangeOrigin::Removed],
            Self::PutsAndLearns | Self::Puts => &[ChangeOrigin::Added, ChangeOrigin::ChangeFile],
            Self::Removes => &[ChangeOrigin::Removed, ChangeOrigin::ChangeFile],
        }
    }
}

/// Divides batches of the feed by the kind of change.
struct ChangeReader {
    /// The table's columns.
    columns: Vec<usize>,
    schema: SchemaRef,
    key: KeyProjection,
    change_type: usize,
    version: usize,
}

impl ChangeReader {
    fn new(feed: &Schema, key: &[String]) -> Result<Self> {
        let index = |name: &str| feed.index_of(name).map_err(Error::unexpected);
        let (change_type, version) = (index(CHANGE_TYPE)?, index(COMMIT_VERSION)?);
        let columns: Vec<usize> = (0..feed.fields().len()).filter(|at| *at != change_type && *at != version).collect();
        let schema = Arc::new(feed.project(&columns).map_err(Error::unexpected)?);
        let key = KeyProjection::new(&schema, key)?;
        Ok(Self { columns, schema, key, change_type, version })
    }

    fn schema(&self, pass: FeedPass) -> SchemaRef {
        Arc::clone(if pass == FeedPass::Removes { &self.key.schema } else { &self.schema })
    }

    /// The rows that the pass sends. `None`: it ends here.
    fn read(&self, batch: &RecordBatch, pass: FeedPass, seen: &mut SeenFacts) -> Result<Option<RecordBatch>> {
        let types = cast(batch.column(self.change_type), &DataType::Utf8).map_err(Error::unexpected)?;
        let types: &StringArray = types.as_string();
        let versions = cast(batch.column(self.version), &DataType::Int64).map_err(Error::unexpected)?;
        let versions = versions.as_primitive::<Int64Type>();
        let comes = |row: usize| matches!(types.value(row), "insert" | "update_postimage");
        for row in 0..types.len() {
            if !comes(row) && !matches!(types.value(row), "delete" | "update_preimage") {
                return Err(Error::unsupported(format!("the feed has a change of type {:?}", types.value(row))));
            }
        }
        let rows = batch.project(&self.columns).and_then(|rows| rows.with_schema(Arc::clone(&self.schema)));
        let rows = rows.map_err(Error::unexpected)?;
        if pass == FeedPass::Removes {
            return kept(&self.key.project(&rows)?, |row| !comes(row)).map(Some);
        }
        if matches!(pass, FeedPass::Learns | FeedPass::PutsAndLearns) {
            let hashes = self.key.hashes(&rows)?;
            for (row, hash) in hashes.iter().enumerate() {
                let last = if comes(row) { &mut seen.came } else { &mut seen.went };
                let version = versions.value(row);
                last.entry(*hash).and_modify(|known| *known = (*known).max(version)).or_insert(version);
            }
            let gone = kept(&self.key.project(&rows)?, |row| !comes(row))?;
            let gone_hashes: Vec<u128> =
                hashes.iter().enumerate().filter(|(row, _)| !comes(*row)).map(|(_, hash)| *hash).collect();
            if !gone_hashes.is_empty() {
                seen.gone.add(gone, gone_hashes);
            }
            // A row that is deleted repeatedly is counted each time.
            if seen.came.len() + seen.gone.len > MOST_KEYS {
                seen.has_too_many = true;
                return Ok(None);
            }
        }
        kept(&rows, comes).map(Some)
    }
}

#[cfg(test)]
mod tests;
