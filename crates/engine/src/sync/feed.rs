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

use super::begun::Run;
use super::keys::{Gone, MOST_KEYS, kept};
use super::{Shared, Synced, shared};
use crate::WriteMode;
use crate::keys::Key;

/// The outcome of the feed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The target has the changes.
    Brought,
    /// The feed does not tell of all of these versions.
    NoFeed,
}

/// Brings the changes of the versions behind the one that the target has.
pub(super) fn bring(run: &Run<'_>, done: &mut Synced) -> Result<Outcome> {
    let mut from = run.from() + 1;
    let to = run.to.version();
    let mut end = to;
    while from <= to {
        let part = Part { run, from, to: end };
        let is_single = from == end;
        match part.bring(false, done)? {
            Sent::All => {
                from = end + 1;
                end = to;
            }
            Sent::NoFeed => return Ok(Outcome::NoFeed),
            // Fewer versions have fewer keys.
            Sent::TooMany if !is_single => end = from + (end - from) / 2,
            Sent::TooMany => {
                // Rows that are replaced are gone for a moment, which takes no memory.
                let part = Part { run, from, to: end };
                if part.bring(true, done)? == Sent::NoFeed {
                    return Ok(Outcome::NoFeed);
                }
                from = end + 1;
                end = to;
            }
        }
    }
    Ok(Outcome::Brought)
}

#[derive(Debug, PartialEq, Eq)]
enum Sent {
    All,
    /// More keys than memory is meant for.
    TooMany,
    NoFeed,
}

/// Versions that are brought at once.
struct Part<'a> {
    run: &'a Run<'a>,
    from: u64,
    to: u64,
}

/// Facts that are learnt while rows are sent.
#[derive(Default)]
struct Seen {
    /// The last version that each key came with.
    came: HashMap<u128, i64>,
    /// The last version that each key went with.
    went: HashMap<u128, i64>,
    gone: Gone,
    has_too_many: bool,
    /// The feed has failed, and not the target.
    feed_error: Option<ErrorKind>,
}

impl Part<'_> {
    fn bring(&self, removes_first: bool, done: &mut Synced) -> Result<Sent> {
        let feed = match ChangeFeed::open(&self.run.target.follower.table, self.from, Some(self.to)) {
            Ok(feed) => feed,
            Err(error) if tells_of_no_feed(error.kind()) => return Ok(Sent::NoFeed),
            Err(error) => return Err(error),
        };
        let seen = shared(Seen::default());
        if removes_first {
            let Ok(deleted) = self.send(&feed, Pass::Removes, &seen)? else { return Ok(Sent::NoFeed) };
            done.deleted += deleted;
            let Ok(rows) = self.send(&feed, Pass::Puts, &seen)? else { return Ok(Sent::NoFeed) };
            done.upserted += rows;
            return Ok(Sent::All);
        }
        if self.learn(&feed, &seen)?.is_err() {
            return Ok(Sent::NoFeed);
        }
        if lock(&seen).has_too_many {
            return Ok(Sent::TooMany);
        }
        let Ok(rows) = self.send(&feed, Pass::PutsAndLearns, &seen)? else { return Ok(Sent::NoFeed) };
        let Seen { came, went, gone, has_too_many, .. } = std::mem::take(&mut *lock(&seen));
        if has_too_many {
            return Ok(Sent::TooMany);
        }
        done.upserted += rows;
        let Some(schema) = gone.schema() else { return Ok(Sent::All) };
        // A row that went and came in one version was replaced.
        let is_back =
            move |key: u128| came.get(&key).is_some_and(|came| went.get(&key).is_none_or(|went| came >= went));
        done.deleted += self.run.send(gone.batches(schema, is_back), WriteMode::Delete)?;
        Ok(Sent::All)
    }

    /// Goes through the rows that went, of which keys alone are read.
    fn learn(&self, feed: &ChangeFeed, seen: &Shared<Seen>) -> Result<std::result::Result<(), NoFeed>> {
        let (batches, reader) = self.read(feed, Pass::Learns)?;
        for batch in batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) if tells_of_no_feed(error.kind()) => return Ok(Err(NoFeed)),
                Err(error) => return Err(error),
            };
            if reader.read(&batch, Pass::Learns, &mut lock(seen))?.is_none() {
                break;
            }
        }
        Ok(Ok(()))
    }

    /// Goes through the feed once and sends rows of it; gives their number.
    fn send(&self, feed: &ChangeFeed, pass: Pass, seen: &Shared<Seen>) -> Result<std::result::Result<u64, NoFeed>> {
        let (batches, reader) = self.read(feed, pass)?;
        let (schema, learnt) = (reader.schema(pass), Arc::clone(seen));
        let rows = batches.map_while(move |batch| match batch {
            Err(error) => {
                lock(&learnt).feed_error = Some(error.kind());
                Some(Err(error))
            }
            Ok(batch) => reader.read(&batch, pass, &mut lock(&learnt)).transpose(),
        });
        let mode = if pass == Pass::Removes { WriteMode::Delete } else { WriteMode::Upsert };
        match self.run.send(Batches::new(schema, rows), mode) {
            Ok(rows) => Ok(Ok(rows)),
            // The run knows whether rows were sent before.
            Err(_) if lock(seen).feed_error.is_some_and(tells_of_no_feed) => Ok(Err(NoFeed)),
            Err(error) => Err(error),
        }
    }

    fn read(&self, feed: &ChangeFeed, pass: Pass) -> Result<(Batches, Reader)> {
        let key = self.run.key();
        let is_wanted = |name: &str| match pass {
            Pass::PutsAndLearns | Pass::Puts => name != COMMIT_TIMESTAMP,
            Pass::Learns | Pass::Removes => {
                key.iter().any(|key| key == name) || [CHANGE_TYPE, COMMIT_VERSION].contains(&name)
            }
        };
        let names = feed.schema().fields().iter().map(|field| field.name());
        let names: Vec<String> = names.filter(|name| is_wanted(name)).cloned().collect();
        let batches = feed.read(pass.origins(), Some(&names))?;
        let reader = Reader::new(batches.schema(), key)?;
        Ok((batches, reader))
    }
}

/// The feed does not tell of all of these versions.
#[derive(Debug)]
struct NoFeed;

/// Versions without the feed, and those whose entries or files are gone.
fn tells_of_no_feed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unsupported | ErrorKind::NotFound)
}

/// The purpose of a pass through the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Keys of rows that have gone are learnt, but for those in change files.
    Learns,
    /// Rows that have come are put there, and the other keys are learnt.
    PutsAndLearns,
    /// Rows that have come are put there.
    Puts,
    /// Rows that have gone are removed.
    Removes,
}

impl Pass {
    /// The origins of the pass's rows.
    fn origins(self) -> &'static [ChangeOrigin] {
        match self {
            Self::Learns => &[ChangeOrigin::Removed],
            Self::PutsAndLearns | Self::Puts => &[ChangeOrigin::Added, ChangeOrigin::ChangeFile],
            Self::Removes => &[ChangeOrigin::Removed, ChangeOrigin::ChangeFile],
        }
    }
}

/// Takes batches of the feed apart.
struct Reader {
    /// The table's columns.
    columns: Vec<usize>,
    schema: SchemaRef,
    key: Key,
    change_type: usize,
    version: usize,
}

impl Reader {
    fn new(feed: &Schema, key: &[String]) -> Result<Self> {
        let index = |name: &str| feed.index_of(name).map_err(Error::unexpected);
        let (change_type, version) = (index(CHANGE_TYPE)?, index(COMMIT_VERSION)?);
        let columns: Vec<usize> = (0..feed.fields().len()).filter(|at| *at != change_type && *at != version).collect();
        let schema = Arc::new(feed.project(&columns).map_err(Error::unexpected)?);
        let key = Key::new(&schema, key)?;
        Ok(Self { columns, schema, key, change_type, version })
    }

    fn schema(&self, pass: Pass) -> SchemaRef {
        Arc::clone(if pass == Pass::Removes { &self.key.schema } else { &self.schema })
    }

    /// The rows that the pass sends. `None`: it ends here.
    fn read(&self, batch: &RecordBatch, pass: Pass, seen: &mut Seen) -> Result<Option<RecordBatch>> {
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
        if pass == Pass::Removes {
            return kept(&self.key.of(&rows)?, |row| !comes(row)).map(Some);
        }
        if matches!(pass, Pass::Learns | Pass::PutsAndLearns) {
            let hashes = self.key.hashes(&rows)?;
            for (row, hash) in hashes.iter().enumerate() {
                let last = if comes(row) { &mut seen.came } else { &mut seen.went };
                let version = versions.value(row);
                last.entry(*hash).and_modify(|known| *known = (*known).max(version)).or_insert(version);
            }
            let gone = kept(&self.key.of(&rows)?, |row| !comes(row))?;
            let gone_hashes: Vec<u128> =
                hashes.iter().enumerate().filter(|(row, _)| !comes(*row)).map(|(_, hash)| *hash).collect();
            if !gone_hashes.is_empty() {
                seen.gone.add(gone, gone_hashes);
            }
            // A row that goes again and again is among the gone ones each time.
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
