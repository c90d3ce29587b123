//! A run that has the right to write to the target.

use std::cell::Cell;
use std::collections::BTreeSet;

use lakerace_delta::{Snapshot, VersionSpec, entry_digest};
use lakerace_io::{Error, ErrorKind, Result};

use super::begun::{ChangeDetection, InFlightSync, SyncRun};
use super::columns::{lost_columns, types_by_stored_name};
use super::leased::LeasedTarget;
use super::{RunStep, SyncState, Synced, TableFollower, columns_by_stored_name, compare, feed, verify};
use crate::WriteMode;
use crate::copy::into_target;
use crate::delta::named;
use crate::lease::TargetLease;
use crate::options::ReadOptions;

/// A run that has the right to write.
pub(super) struct WriteTurn<'a> {
    follower: &'a TableFollower<'a>,
    target: LeasedTarget<'a>,
    /// The whole table was loaded.
    has_loaded: Cell<bool>,
}

/// The outcome of bringing changes.
enum TurnOutcome {
    /// The target has the version.
    Brought(Box<SyncState>),
    /// The target has a part of the feed, whose rest is missing: only a load makes it right.
    Lost,
}

impl<'a> WriteTurn<'a> {
    pub fn new(follower: &'a TableFollower<'a>, lease: TargetLease) -> Self {
        Self { follower, target: LeasedTarget { follower, lease }, has_loaded: Cell::new(false) }
    }

    /// Executes the step, and releases the lease.
    pub fn take(self, step: RunStep, snapshot: &Snapshot, key: Vec<String>) -> Result<Synced> {
        let version = snapshot.version();
        let mut done = Synced { from_version: Some(version), version, ..Synced::default() };
        let mut state = match step {
            RunStep::Load => self.load(snapshot, &key, &mut done)?,
            RunStep::Nothing(state) => reached(state, snapshot)?,
            RunStep::Bring(state) => {
                done.from_version = Some(state.version);
                match self.bring(state, snapshot, &mut done)? {
                    TurnOutcome::Brought(state) => *state,
                    TurnOutcome::Lost => self.load(snapshot, &key, &mut done)?,
                }
            }
        };
        if !self.target.lease.doubts().is_empty() && !self.is_right(snapshot)? {
            state = self.load(snapshot, &key, &mut done)?;
        }
        state.target = self.follower.state.identity()?;
        // A load that was verified, or has replaced all rows, resolves all doubts of earlier rows.
        self.target.lease.end(&state, |_| true)?;
        Ok(done)
    }

    /// Returns true if the target has the rows of a version, even if rows of a run that was taken over have arrived
    /// late.
    fn is_right(&self, snapshot: &Snapshot) -> Result<bool> {
        // Values that were narrowed can't be compared.
        Ok(!self.follower.options.load.allow_narrowing && verify::verify(self.follower, snapshot)?.is_ok()
            || self.follower.options.load.allow_narrowing && self.has_loaded.get())
    }

    fn following(&self, snapshot: &Snapshot, key: &[String]) -> Result<SyncState> {
        Ok(SyncState {
            table_id: snapshot.table_id().to_owned(),
            key: key.to_vec(),
            version: snapshot.version(),
            entry: entry_digest(snapshot.table(), snapshot.version())?,
            is_loading: false,
            begun: None,
            target: None,
            columns: Some(columns_by_stored_name(snapshot)?),
            lost_columns: BTreeSet::new(),
            types: types_by_stored_name(snapshot)?,
        })
    }

    /// Loads a version whole. All rows appear together, and replace the earlier ones.
    fn load(&self, snapshot: &Snapshot, key: &[String], done: &mut Synced) -> Result<SyncState> {
        let version = snapshot.version();
        let state = self.following(snapshot, key)?;
        self.target.note(&SyncState { is_loading: true, ..state.clone() })?;
        let mut options = self.target.copy_options(WriteMode::Overwrite, key);
        options.read = ReadOptions {
            at: Some(version.to_string()),
            storage: self.follower.options.storage.clone(),
            ..ReadOptions::default()
        };
        let place = self.follower.table.location();
        let source = format!("delta:{}", named(place).unwrap_or(place));
        let how = format!("see which with: SELECT {0} … GROUP BY {0} HAVING count(*) > 1", key.join(", "));
        let job = self.follower.job;
        let written =
            into_target(&source, self.target.target(), &options, job).map_err(|error| match error.kind() {
                // Some systems report the second row of a key themselves. A lost lease has its own advice.
                ErrorKind::Conflict if self.target.lease.is_held() => {
                    error.advice(format!("if rows of the table share a key, {how}"))
                }
                _ => error,
            })?;
        let there = crate::scan::Scan::open_to_count(self.follower.target, &ReadOptions::default(), job)?.count()?;
        if there != written.rows {
            return Err(Error::invalid(format!(
                "{} rows were sent, but the target has {there}: rows of the table share a key",
                written.rows
            ))
            .at(place)
            .advice(how));
        }
        self.has_loaded.set(true);
        *done = Synced { version, upserted: written.rows, ..Synced::default() };
        Ok(state)
    }

    /// Brings the changes since the version that the target has: by the table's change feed, or by comparing versions.
    fn bring(&self, state: SyncState, to: &Snapshot, done: &mut Synced) -> Result<TurnOutcome> {
        let mut state = state;
        if let Some(InFlightSync { version, way: ChangeDetection::Comparison, .. }) = state.begun {
            // The sent rows are right in that version, and no other comparison finds all of them.
            let between = self.follower.table.snapshot(Some(VersionSpec::Version(version)));
            state = self.compare(state, &between.map_err(compare::lost)?, done)?;
        }
        if state.version == to.version() {
            return Ok(TurnOutcome::Brought(Box::new(state)));
        }
        let run = SyncRun::new(&self.target, &state, to, ChangeDetection::Feed)?;
        if feed::bring(&run, done)? == feed::FeedOutcome::Brought {
            return Ok(TurnOutcome::Brought(Box::new(reached(state, to)?)));
        }
        if run.is_dirty() {
            return Ok(TurnOutcome::Lost);
        }
        Ok(TurnOutcome::Brought(Box::new(self.compare(state, to, done)?)))
    }

    /// Brings the differences between the version of the target and a later one, and stores the new version.
    fn compare(&self, state: SyncState, to: &Snapshot, done: &mut Synced) -> Result<SyncState> {
        compare::bring(&SyncRun::new(&self.target, &state, to, ChangeDetection::Comparison)?, done)?;
        let state = reached(state, to)?;
        self.target.note(&state)?;
        Ok(state)
    }
}

/// The state of a target that has a version.
fn reached(state: SyncState, to: &Snapshot) -> Result<SyncState> {
    let (version, entry) = (to.version(), entry_digest(to.table(), to.version())?);
    let columns = columns_by_stored_name(to)?;
    let lost_columns = lost_columns(&state, &columns);
    let types = types_by_stored_name(to)?;
    Ok(SyncState { version, entry, begun: None, columns: Some(columns), lost_columns, types, ..state })
}
