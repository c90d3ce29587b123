//! A target in a database that is kept in step with a Delta table.
//!
//! The target's own state names the version that it has. A run brings the rows that have changed since: those that are
//! there now are put there by their key, and those that are gone are removed. Then it notes the new version.
//!
//! Before its first row, a run notes to which version it goes and how it finds changes ([`Begun`]). Where it is stopped, the
//! target has any part of these changes. The feed tells of each of them again, and so does the same comparison of
//! versions. A comparison with a later version does not: a row that came and went between is in neither of its versions.

mod begun;
mod compare;
mod feed;
mod keys;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lakerace_database::{System, TargetState, open_state};
use lakerace_delta::{Snapshot, Table, VersionSpec};
use lakerace_io::{Error, ErrorKind, Job, Result, StorageOptions};
use serde::{Deserialize, Serialize};

use self::begun::{Begun, Run, Way};
use crate::copy::into_target;
use crate::database::{self, DatabaseTarget};
use crate::delta::{named, open_table};
use crate::options::LoadOptions;
use crate::target::Target;
use crate::{CopyMode, CopyOptions, ReadOptions};

/// How a target is kept in step.
#[derive(Debug, Clone, Default)]
pub struct SyncOptions {
    /// The columns of the key, in order; empty: those of the table's property `lakerace.primaryKey`.
    pub key: Vec<String>,
    /// Load the table anew, over a target that exists.
    pub overwrite: bool,
    /// Rows of a checkpoint, rows a second, and whether values may lose what the target can't hold.
    pub load: LoadOptions,
    /// Settings of the table's store.
    pub storage: StorageOptions,
}

/// What a run has done.
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
}

/// The name of the state in the target: one table is followed.
const STATE: &str = "sync";

/// What the target keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// The id that the table's log gives it.
    table_id: String,
    key: Vec<String>,
    version: u64,
    /// The whole table is on its way.
    is_loading: bool,
    /// Changes are on their way: the target may have any part of them.
    #[serde(default)]
    begun: Option<Begun>,
}

/// A table, and a target that follows it.
struct Follower<'a> {
    table: Table,
    target: &'a str,
    system: System,
    state: Box<dyn TargetState>,
    options: &'a SyncOptions,
    job: &'a Job,
}

/// Brings a collection, an index or a table of a database to the last version of a Delta table.
///
/// # Errors
/// `Conflict` for a target that exists and does not follow this table by this key, or that has a version which the table
/// lacks; `Usage` for a target that is no database, or where no key is known.
pub fn sync(table: &str, target: &str, options: &SyncOptions, job: &Job) -> Result<Synced> {
    Follower::new(table, target, options, job)?.run(options.overwrite)
}

/// Like [`sync`], again and again, until the job is cancelled: that is no error between two runs. Between looks at the table
/// it waits for `interval`. `each` is told of each run that has brought a version.
pub fn follow(
    table: &str,
    target: &str,
    options: &SyncOptions,
    interval: Duration,
    job: &Job,
    mut each: impl FnMut(&Synced),
) -> Result<Synced> {
    let follower = Follower::new(table, target, options, job)?;
    let mut all: Option<Synced> = None;
    let mut overwrite = options.overwrite;
    loop {
        let run = match follower.run(std::mem::take(&mut overwrite)) {
            Ok(run) => run,
            // The next run does again what this one has begun.
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

/// How often a follower that waits looks whether it is to end.
const POLL: Duration = Duration::from_millis(50);

impl<'a> Follower<'a> {
    fn new(table: &str, target: &'a str, options: &'a SyncOptions, job: &'a Job) -> Result<Self> {
        let system = System::of(target).ok_or_else(|| {
            Error::usage("it names no database").at(target).advice(
                "name a collection (mongodb://…), an index (elasticsearch://…) or a table of SQLite (sqlite:…#table); \
                 upsert keeps Delta tables",
            )
        })?;
        let table = open_table(table, &options.storage, job)?;
        Ok(Self { table, target, system, state: open_state(system, target, job)?, options, job })
    }

    fn run(&self, overwrite: bool) -> Result<Synced> {
        let snapshot = self.table.snapshot(None)?;
        let key = self.key(&snapshot)?;
        // A load anew needs no state: one that is damaged does not stop it.
        let state = if overwrite { None } else { self.known_state()? };
        let exists = database::exists(self.system, self.target, self.job)?;
        let Some(state) = state else {
            if exists && !overwrite {
                return Err(self.conflict("it exists, and follows no table"));
            }
            return self.load(&snapshot, key);
        };
        if state.table_id != snapshot.table_id() {
            return Err(self.conflict("it follows another table"));
        }
        if state.key != key {
            let message = format!("it follows the table by the key {}, not {}", state.key.join(","), key.join(","));
            return Err(self.conflict(&message));
        }
        if state.is_loading || !exists {
            return self.load(&snapshot, key);
        }
        let (from, to) = (state.version, snapshot.version());
        let highest = state.begun.map_or(from, |begun| begun.version.max(from));
        if highest > to {
            return Err(self.conflict(&format!("it has version {highest} of the table, whose last one is {to}")));
        }
        let mut done = Synced { from_version: Some(from), version: to, ..Synced::default() };
        if from < to && self.bring(state, &snapshot, &mut done)? == Outcome::Lost {
            return self.load(&snapshot, key);
        }
        Ok(done)
    }

    fn key(&self, snapshot: &Snapshot) -> Result<Vec<String>> {
        let key = if self.options.key.is_empty() { snapshot.key() } else { self.options.key.clone() };
        if key.is_empty() {
            return Err(Error::usage("rows are found by a key, and the table has none")
                .at(self.table.place())
                .advice("name its columns by --key A,B (key)"));
        }
        for name in &key {
            if snapshot.schema().column_with_name(name).is_none() {
                let known = snapshot.schema().fields().iter().map(|field| field.name().as_str());
                return Err(lakerace_format::suggestions::column_not_found(name, known).at("--key (key)"));
            }
        }
        Ok(key)
    }

    fn conflict(&self, message: &str) -> Error {
        Error::conflict(message)
            .at(database::shown(self.target))
            .advice("choose another target, or load the table anew over it by --mode overwrite (mode)")
    }

    fn known_state(&self) -> Result<Option<State>> {
        let text = self.state.read(STATE)?;
        let damaged = |error: serde_json::Error| {
            Error::corrupt(format!("the target's state can't be read: {error}"))
                .at(database::shown(self.target))
                .advice("load the table anew by --mode overwrite (mode)")
        };
        text.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
    }

    fn note(&self, state: &State) -> Result<()> {
        let text = serde_json::to_string(state).map_err(|error| Error::internal(error.to_string()))?;
        self.state.write(STATE, &text)
    }

    /// Loads a version whole. It appears at once, and what was there before goes.
    fn load(&self, snapshot: &Snapshot, key: Vec<String>) -> Result<Synced> {
        let version = snapshot.version();
        let table_id = snapshot.table_id().to_owned();
        let state = State { table_id, key: key.clone(), version, is_loading: true, begun: None };
        self.note(&state)?;
        let mut options = self.copy_options(CopyMode::Overwrite, &key);
        options.read = ReadOptions {
            at: Some(version.to_string()),
            storage: self.options.storage.clone(),
            ..ReadOptions::default()
        };
        let place = self.table.place();
        let source = format!("delta:{}", named(place).unwrap_or(place));
        let how = format!("see which by: SELECT {0} … GROUP BY {0} HAVING count(*) > 1", key.join(", "));
        let written = into_target(&source, self.target(), &options, self.job).map_err(|error| match error.kind() {
            // Some systems tell of the second row of a key themselves.
            ErrorKind::Conflict => error.advice(format!("where rows of the table share a key, {how}")),
            _ => error,
        })?;
        let there = crate::Scan::open(self.target, &ReadOptions::default(), self.job)?.count()?;
        if there != written.rows {
            return Err(Error::invalid(format!(
                "{} rows were sent, and the target has {there}: rows of the table share a key",
                written.rows
            ))
            .at(place)
            .advice(how));
        }
        self.note(&State { is_loading: false, ..state })?;
        Ok(Synced { from_version: None, version, upserted: written.rows, deleted: 0 })
    }

    /// Brings the changes since the version that the target has: by the table's change feed, or by comparing versions.
    fn bring(&self, state: State, to: &Snapshot, done: &mut Synced) -> Result<Outcome> {
        let mut state = state;
        if let Some(Begun { version, way: Way::Comparison }) = state.begun {
            // What was sent is right in that version, and no other comparison finds all of it.
            let between = self.table.snapshot(Some(VersionSpec::Version(version))).map_err(compare::lost)?;
            state = self.compare(state, &between, done)?;
        }
        if state.version == to.version() {
            return Ok(Outcome::Brought);
        }
        let run = Run::new(self, &state, to, Way::Feed);
        if feed::bring(&run, done)? == feed::Outcome::Brought {
            self.note(&State { version: to.version(), begun: None, ..state })?;
            return Ok(Outcome::Brought);
        }
        if run.is_dirty() {
            return Ok(Outcome::Lost);
        }
        self.compare(state, to, done)?;
        Ok(Outcome::Brought)
    }

    /// Brings what differs between the version that the target has and a later one, and notes that.
    fn compare(&self, state: State, to: &Snapshot, done: &mut Synced) -> Result<State> {
        compare::bring(&Run::new(self, &state, to, Way::Comparison), done)?;
        let state = State { version: to.version(), begun: None, ..state };
        self.note(&state)?;
        Ok(state)
    }

    /// The target of a load that is a part of this job.
    fn target(&self) -> Target {
        Target::Database(DatabaseTarget::new(self.system, self.target).of_job(STATE))
    }

    fn copy_options(&self, mode: CopyMode, key: &[String]) -> CopyOptions {
        let load = LoadOptions {
            key: key.to_vec(),
            batch_rows: self.options.load.batch_rows,
            max_rows_per_second: self.options.load.max_rows_per_second,
            allow_narrowing: self.options.load.allow_narrowing,
            ..LoadOptions::default()
        };
        CopyOptions { mode, load, ..CopyOptions::default() }
    }
}

/// What came of bringing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The target has the version.
    Brought,
    /// The target has a part of the feed, which does not tell of the rest: only a load makes it right.
    Lost,
}

/// What an iterator over changes leaves behind for its caller.
type Shared<T> = Arc<Mutex<T>>;

fn shared<T>(value: T) -> Shared<T> {
    Arc::new(Mutex::new(value))
}

#[cfg(test)]
mod tests;
