//! A target in a database that is synchronised with a Delta table.
//!
//! The target's own state names its version. A run brings the rows that have changed since: existing rows are put by
//! their key, and deleted ones are removed. Then it stores the new version.
//!
//! One run at a time has the right to write ([`TargetLease`]). Before its first row, it notes to which version it goes
//! and how it finds changes ([`InFlightSync`]). A run that is stopped leaves any part of these changes in the target.
//! The feed lists each of them again, and so does the same comparison of versions. A comparison with a later version
//! does not: a row that was inserted and deleted in between is in neither of its versions.

mod begun;
mod columns;
mod compare;
mod feed;
mod keys;
mod leased;
mod turn;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lakerace_database::{DatabaseSystem, TargetState, open_state};
use lakerace_delta::{Snapshot, Table, VersionSpec, entry_digest};
use lakerace_format::suggestions::listed;
use lakerace_io::option::{KEY, MODE};
use lakerace_io::{Error, ErrorKind, Job, Result, StorageOptions};
use serde::{Deserialize, Serialize};

use self::begun::InFlightSync;
use self::columns::columns_by_stored_name;
use self::turn::WriteTurn;
use crate::WriteMode;
use crate::copy::warn_of_idle_options;
use crate::database::{self, DatabaseTarget};
use crate::delta::open_table;
use crate::dry_run::DryRun;
use crate::lease::{self, LeaseClaim, TargetLease};
use crate::new_place::check_new_database;
use crate::options::{LoadOptions, ReadOptions};

/// The options of a sync.
#[derive(Debug, Clone, Default)]
pub struct SyncOptions {
    /// The key columns, in order; empty: those of the table's property `lakerace.primaryKey`.
    pub key: Vec<String>,
    /// Load the table again, over a target that exists.
    pub overwrite: bool,
    /// Rows of a checkpoint, rows per second, and whether values may lose precision that the target lacks.
    pub load: LoadOptions,
    /// At the end, compare the row counts and checksums of the table and the target.
    pub verify: bool,
    /// Settings of the table's store.
    pub storage: StorageOptions,
}

/// The outcome of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Synced {
    /// The version that the target had; `None` where the table was loaded whole.
    pub from_version: Option<u64>,
    /// The version that it has.
    pub version: u64,
    /// Rows that were inserted or replaced.
    pub upserted: u64,
    /// Rows that were removed.
    pub deleted: u64,
    /// The checksum of the rows, where the target was read and has those of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The number of these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_verified: Option<u64>,
}

/// The name of the state in the target: one table is followed.
const STATE: &str = "sync";

/// The state that the target keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SyncState {
    /// The id of the table from its log.
    table_id: String,
    key: Vec<String>,
    version: u64,
    /// The digest of the version's entry, which differs where the log was set back and written again. States of earlier
    /// versions lack it.
    #[serde(default)]
    entry: Option<u64>,
    /// The whole table is on its way.
    is_loading: bool,
    /// Changes are on their way: the target may have any part of them.
    #[serde(default)]
    begun: Option<InFlightSync>,
    /// The identity of the target, which distinguishes it from another one of the same name. States of earlier versions
    /// lack it.
    #[serde(default)]
    target: Option<String>,
    /// The columns and the fields below them by their stored names in files, which do not change. States of earlier
    /// versions lack them, or the fields.
    #[serde(default)]
    columns: Option<BTreeMap<String, String>>,
    /// The names of columns and fields that the table has lost. The target keeps them, with their values. States of earlier versions
    /// lack them.
    #[serde(default)]
    lost_columns: BTreeSet<String>,
    /// The types of columns and fields by their stored names. States of earlier versions lack them.
    #[serde(default)]
    types: BTreeMap<String, String>,
}

/// A table, and a target that follows it.
struct TableFollower<'a> {
    table: Table,
    target: &'a str,
    system: &'static DatabaseSystem,
    state: Arc<dyn TargetState>,
    options: &'a SyncOptions,
    job: &'a Job,
}

/// Brings a collection, an index or a table of a database to the last version of a Delta table.
///
/// # Errors
/// `Conflict` for a target that exists and does not follow this table by this key, that has a version which the table
/// lacks, or to which another run writes; `Usage` for a target that is no database, or where no key is known.
pub fn sync(table: &str, target: &str, options: &SyncOptions, job: &Job) -> Result<Synced> {
    TableFollower::new(table, target, options, job)?.run(options.overwrite)
}

/// Checks a sync without writing: the versions that it would bring, and whether the target can hold them.
pub fn plan_sync(table: &str, target: &str, options: &SyncOptions, job: &Job) -> Result<DryRun> {
    warn_of_idle_options(&LoadOptions { verify: options.verify, ..options.load.clone() }, false, job);
    TableFollower::new(table, target, options, job)?.plan()
}

/// Syncs like [`sync`] repeatedly until the job is cancelled; a cancellation between two runs is no error. Waits for
/// `interval` between looks at the table. `each` is called for each run that has brought a version.
pub fn follow(
    table: &str,
    target: &str,
    options: &SyncOptions,
    interval: Duration,
    job: &Job,
    mut each: impl FnMut(&Synced),
) -> Result<Synced> {
    let follower = TableFollower::new(table, target, options, job)?;
    let mut all: Option<Synced> = None;
    let mut overwrite = options.overwrite;
    loop {
        let run = match follower.run(std::mem::take(&mut overwrite)) {
            Ok(run) => run,
            // The next run repeats the unfinished work of this one.
            Err(error) if error.kind() == ErrorKind::Cancelled => return all.ok_or(error),
            Err(error) => return Err(error),
        };
        if all.is_none() || run.from_version != Some(run.version) {
            each(&run);
        }
        all = Some(match all {
            None => run,
            Some(all) => Synced {
                version: run.version,
                upserted: all.upserted + run.upserted,
                deleted: all.deleted + run.deleted,
                checksum: run.checksum,
                rows_verified: run.rows_verified,
                ..all
            },
        });
        let begun = Instant::now();
        while let Some(left) = interval.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            if job.is_cancelled() {
                return Ok(all.unwrap_or_default());
            }
            std::thread::sleep(left.min(POLL));
        }
    }
}

/// The interval at which a waiting follower checks for its end.
const POLL: Duration = Duration::from_millis(50);

impl<'a> TableFollower<'a> {
    fn new(table: &str, target: &'a str, options: &'a SyncOptions, job: &'a Job) -> Result<Self> {
        let system = DatabaseSystem::for_location(target).ok_or_else(|| {
            let examples = listed(DatabaseSystem::all().map(|system| system.example.to_owned()), "or");
            Error::usage("it names no database")
                .at(target)
                .advice(format!("name {examples}; use upsert for Delta tables"))
        })?;
        let table = open_table(table, &options.storage, job)?;
        // The last state of a cancelled run is also written there.
        check_new_database(system, target, job)?;
        let state = open_state(system, target, &job.uncancelled())?;
        Ok(Self { table, target, system, state, options, job })
    }

    fn run(&self, overwrite: bool) -> Result<Synced> {
        let patience = lease::patience();
        loop {
            if let Some(done) = self.attempt(overwrite, patience)? {
                return Ok(done);
            }
        }
    }

    /// Finds the step of a run, and checks that the target can hold the rows.
    fn plan(&self) -> Result<DryRun> {
        let (snapshot, overwrite) = (self.table.snapshot(None)?, self.options.overwrite);
        let key = self.key(&snapshot)?;
        let text = self.state_text(overwrite, false)?;
        let step = self.next_step(text.as_deref(), &snapshot, &key, overwrite)?;
        let (version, place) = (snapshot.version(), database::shown(self.target));
        let (mode, would, from, earlier) = match step {
            RunStep::Nothing(SyncState { version: from, .. }) => {
                let would = format!("would change nothing: {place} has version {from}");
                return Ok(DryRun::new(would, Some(from)));
            }
            RunStep::Load => {
                (WriteMode::Overwrite, format!("would load version {version} whole into {place}"), None, None)
            }
            RunStep::Bring(state) => {
                let would = format!("would bring {place} from version {} to {version}", state.version);
                // Without the earlier version, the feed tells the changes.
                let earlier = self.table.snapshot(Some(VersionSpec::Version(state.version))).ok();
                (WriteMode::Upsert, would, Some(state.version), earlier)
            }
        };
        let target = DatabaseTarget::new(self.system, self.target).adding_columns();
        target.examine(Arc::clone(snapshot.schema()), &leased::copy_options(self, mode, &key), self.job)?;
        let counted = from.is_none() || earlier.is_some();
        let (files, bytes) = if counted { snapshot.files_since(earlier.as_ref())? } else { (0, 0) };
        let rows = if from.is_none() { snapshot.known_rows()? } else { None };
        Ok(DryRun { would, from_version: from, rows, files: counted.then_some(files), bytes: counted.then_some(bytes) })
    }

    /// The text of the target's state. A load again needs none: one that is damaged does not stop it, and is removed if `forgets`.
    fn state_text(&self, overwrite: bool, forgets: bool) -> Result<Option<String>> {
        match self.state.read(STATE) {
            Err(error) if overwrite && error.kind() == ErrorKind::Corrupt => {
                if forgets {
                    self.state.forget(STATE)?;
                }
                Ok(None)
            }
            text => text,
        }
    }

    /// The step of a run by the text of the target's state.
    fn next_step(&self, text: Option<&str>, snapshot: &Snapshot, key: &[String], overwrite: bool) -> Result<RunStep> {
        let known = text.filter(|_| !overwrite).map(|text| self.parse(text)).transpose()?.flatten();
        match known {
            None => self.first_step(overwrite),
            Some(state) => self.step(state, snapshot, key, lease::has_doubts(text)),
        }
    }

    /// Makes a run. `None`: another run has changed the state after it was read.
    fn attempt(&self, overwrite: bool, patience: Instant) -> Result<Option<Synced>> {
        let snapshot = self.table.snapshot(None)?;
        let key = self.key(&snapshot)?;
        let text = self.state_text(overwrite, true)?;
        let step = self.next_step(text.as_deref(), &snapshot, &key, overwrite)?;
        let has_doubts = lease::has_doubts(text.as_deref());
        if let (RunStep::Nothing(state), false) = (&step, has_doubts) {
            let version = state.version;
            let done = Synced { from_version: Some(version), version, ..Synced::default() };
            return self.verified(&snapshot, done).map(Some);
        }
        let place = database::shown(self.target);
        let place = (place.as_str(), self.system.has_transactions);
        let claim = TargetLease::claim(&self.state, STATE, text.as_deref(), place, patience, self.job)?;
        let LeaseClaim::Held(lease) = claim else { return Ok(None) };
        let done = WriteTurn::new(self, lease).take(step, &snapshot, key)?;
        self.verified(&snapshot, done).map(Some)
    }

    /// The step for a target that follows no table, or whose rows should be replaced.
    fn first_step(&self, overwrite: bool) -> Result<RunStep> {
        if !overwrite && self.state.identity()?.is_some() {
            return Err(self.conflict("it exists, but does not follow a table"));
        }
        Ok(RunStep::Load)
    }

    /// The step for a target that follows a table.
    fn step(&self, state: SyncState, snapshot: &Snapshot, key: &[String], has_doubts: bool) -> Result<RunStep> {
        if state.table_id != snapshot.table_id() {
            return Err(self.conflict("it follows another table"));
        }
        if state.key != key {
            let message = format!("it follows the table by the key {}, not {}", state.key.join(","), key.join(","));
            return Err(self.conflict(&message));
        }
        if state.is_loading || self.state.identity()?.is_none() {
            return Ok(RunStep::Load);
        }
        if let Some(noted) = &state.target
            && !self.state.is_same(noted)?
        {
            // A run that was taken over may have replaced it.
            if has_doubts || self.is_empty()? {
                return Ok(RunStep::Load);
            }
            return Err(
                self.conflict("it was created again after the last run, and has rows that do not belong to this table")
            );
        }
        let (from, to) = (state.version, snapshot.version());
        let highest = state.begun.map_or(from, |begun| begun.version.max(from));
        if highest > to {
            return Err(self.conflict(&format!("it has version {highest} of the table, but the last one is {to}")));
        }
        let begun = state.begun.map(|begun| (begun.version, begun.entry));
        for (version, noted) in [Some((from, state.entry)), begun].into_iter().flatten() {
            // An entry that was cleaned up is older than the rows that a log could get after it was set back.
            let found = if noted.is_some() { entry_digest(&self.table, version)? } else { None };
            if found.is_some() && found != noted {
                let message = format!(
                    "version {version} of the table is another one than the last run has read: the log was set back and written again"
                );
                return Err(self.conflict(&message));
            }
        }
        if from < to {
            self.check_columns(&state, snapshot)?;
        }
        Ok(if from < to { RunStep::Bring(state) } else { RunStep::Nothing(state) })
    }

    fn is_empty(&self) -> Result<bool> {
        let first = ReadOptions { limit: Some(1), ..ReadOptions::default() };
        Ok(crate::scan::Scan::open_to_count(self.target, &first, self.job)?.count()? == 0)
    }

    /// The outcome of a run, with its proof where one is asked for.
    fn verified(&self, snapshot: &Snapshot, done: Synced) -> Result<Synced> {
        if !self.options.verify {
            return Ok(done);
        }
        let checksum = verify::verify(self, snapshot)?.map_err(|difference| {
            Error::corrupt(format!("the target does not have version {}: {difference}", snapshot.version()))
                .at(database::shown(self.target))
                .advice(format!(
                    "another program has written to it; load the table again with {}",
                    MODE.to("overwrite")
                ))
        })?;
        Ok(Synced { checksum: Some(checksum.to_string()), rows_verified: Some(checksum.rows), ..done })
    }

    fn key(&self, snapshot: &Snapshot) -> Result<Vec<String>> {
        let key = if self.options.key.is_empty() { snapshot.key() } else { self.options.key.clone() };
        if key.is_empty() {
            return Err(Error::usage("rows are found by a key, but the table has none")
                .at(self.table.location())
                .advice(format!("name its columns with {}", KEY.to("A,B"))));
        }
        for name in &key {
            if snapshot.schema().column_with_name(name).is_none() {
                let known = snapshot.schema().fields().iter().map(|field| field.name().as_str());
                return Err(lakerace_format::suggestions::column_not_found(name, known)
                    .at(KEY)
                    .at(self.table.location()));
            }
        }
        Ok(key)
    }

    fn conflict(&self, message: &str) -> Error {
        Error::conflict(message).at(database::shown(self.target)).advice(format!(
            "choose another target, or replace its rows by loading the table again with {}",
            MODE.to("overwrite")
        ))
    }

    /// The state of the job; `None` where a run was killed before it stored one.
    fn parse(&self, text: &str) -> Result<Option<SyncState>> {
        if lease::has_no_job_state(text) {
            return Ok(None);
        }
        serde_json::from_str(text).map(Some).map_err(|error| {
            Error::corrupt("the target's state can't be read")
                .because(error)
                .at(database::shown(self.target))
                .advice(format!("load the table again with {}", MODE.to("overwrite")))
        })
    }
}

/// The task of a run.
enum RunStep {
    /// The target has the version.
    Nothing(SyncState),
    /// The table is loaded whole.
    Load,
    /// The changes since a version are brought.
    Bring(SyncState),
}

/// A value that an iterator over changes leaves for its caller.
type Shared<T> = Arc<Mutex<T>>;

fn shared<T>(value: T) -> Shared<T> {
    Arc::new(Mutex::new(value))
}

#[cfg(test)]
mod tests;
