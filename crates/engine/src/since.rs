//! Incremental unloads: a copy that reads from the highest value of a column that the last copy has seen.
//!
//! The value is kept with the target, after the rows: a copy that is stopped is done again from the value before. One
//! run at a time writes to a database ([`crate::lease`]). Rows of a run that was taken over may come late, so that the
//! next run starts from the same value as that run.

mod incoming;
mod kept;
mod mark;
mod table;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use lakerace_database::{BatchRows, DatabaseSystem, TargetState, open_state};
use lakerace_delta::DELTA;
use lakerace_format::Written;
use lakerace_io::option::{
    ALLOW_NARROWING, BATCH_ROWS, COLUMNS, DEAD_LETTER, KEEP_NOT_NULL, KEY, LIMIT, MAX_RATE, MODE, ORDER_BY,
    OUTPUT_FORMAT, OptionDefinition, RESUME, SINCE, VERIFY,
};
use lakerace_io::{Error, Job, Pipe, Result};
use serde_json::json;

use self::incoming::IncomingRows;
use self::kept::EarlierRun;
use self::mark::WatermarkValue;
use crate::WriteMode;
use crate::column_item::ColumnItem;
use crate::column_nesting::ColumnNesting;
use crate::database::{DatabaseTarget, shown};
use crate::dry_run::DryRun;
use crate::lease::{self, EarlierRunDoubt, LeaseClaim, TargetLease};
use crate::load::{self, digest};
use crate::option_scope::{PlaceKind, check_write_scope};
use crate::options::{CopyOptions, ReadOptions, Since};
use crate::resolve::{LocationKind, canonical, without_connection};
use crate::target::{CopyTarget, ExaminedTarget};

/// An incremental unload.
struct IncrementalUnload<'a> {
    source: &'a str,
    target: &'a str,
    since: &'a Since,
    options: &'a CopyOptions,
    job: &'a Job,
    /// Tells it from other unloads into the target.
    name: String,
    /// The name that earlier versions gave it, by the location as it was spelled.
    spelled_name: String,
}

/// The outcome of an attempt to run.
enum UnloadAttempt {
    Done(Written),
    /// Another run has changed the kept value.
    Again,
    /// The types that earlier runs have found do not fit.
    OtherTypes(Error),
}

/// Copies the rows from the highest value on, into an upsert.
pub(crate) fn copy(source: &str, target: &str, since: &Since, options: &CopyOptions, job: &Job) -> Result<Written> {
    check(target, since, options, job)?;
    let unload = IncrementalUnload::new(source, target, since, options, job);
    let patience = lease::patience();
    let mut knows_types = true;
    loop {
        let attempt = match DatabaseSystem::for_location(target) {
            Some(system) => unload.load_database(system, knows_types, patience)?,
            None => table::copy(&unload, knows_types)?,
        };
        match attempt {
            UnloadAttempt::Done(written) => return Ok(written),
            UnloadAttempt::Again if Pipe::is_named(source) => return Err(overtaken(target)),
            UnloadAttempt::Again => {}
            // All rows are examined again.
            UnloadAttempt::OtherTypes(_) if knows_types => knows_types = false,
            UnloadAttempt::OtherTypes(error) => return Err(error),
        }
    }
}

/// Checks an incremental copy, and finds the value that it would start from. Writes nothing.
pub(crate) fn plan(source: &str, target: &str, since: &Since, options: &CopyOptions, job: &Job) -> Result<DryRun> {
    check(target, since, options, job)?;
    let unload = IncrementalUnload::new(source, target, since, options, job);
    match DatabaseSystem::for_location(target) {
        Some(system) => unload.plan_database(system),
        None => table::plan(&unload),
    }
}

/// The error of an unload whose rows are not there for a second attempt.
fn overtaken(target: &str) -> Error {
    Error::conflict("another run of the unload was faster, but a pipe returns its rows only once")
        .at(shown(target))
        .advice("run it again, from the current rows of the source")
}

/// The state that a database keeps of an unload.
struct KeptUnload {
    /// The name of the state, and its text.
    key: String,
    text: Option<String>,
    kept: EarlierRun,
    /// The same, from the value that a run in doubt has started with.
    rewound: EarlierRun,
    exists: bool,
    has_doubts: bool,
}

impl<'a> IncrementalUnload<'a> {
    fn new(source: &'a str, target: &'a str, since: &'a Since, options: &'a CopyOptions, job: &'a Job) -> Self {
        let name_of = |source: &str| {
            let read = json!([source, options.read.columns, options.read.filter, since.column]);
            // Each list of locations is another source.
            let read = if options.read.locations.is_empty() { read } else { json!([read, options.read.locations]) };
            let nesting = &options.read.nesting;
            let read = if *nesting == ColumnNesting::Unchanged { read } else { json!([read, nesting]) };
            digest(&read.to_string())
        };
        let (name, spelled_name) = (name_of(&canonical(source)), name_of(&without_connection(source)));
        Self { source, target, since, options, job, name, spelled_name }
    }
}

impl IncrementalUnload<'_> {
    /// Checks the load into a database.
    fn plan_database(&self, system: &'static DatabaseSystem) -> Result<DryRun> {
        let state = open_state(system, self.target, self.job)?;
        let KeptUnload { kept, rewound, exists, has_doubts, .. } = self.kept_state(&state)?;
        let target = exists.then_some(CopyTarget::Database(DatabaseTarget::new(system, self.target)));
        let incoming = self.incoming_of_any_types(&rewound, target.as_ref())?;
        if kept.has_ended && incoming.is_empty() && !has_doubts {
            return Ok(DryRun::new(self.nothing_new(), None));
        }
        let schema = Arc::clone(incoming.batches.schema());
        let found = DatabaseTarget::new(system, self.target).examine(schema, self.options, self.job)?;
        let would = ExaminedTarget::new(found).would(WriteMode::Upsert, &shown(self.target));
        Ok(DryRun::new(self.with_filter(would, &rewound)?, None))
    }

    /// The outcome of a run without new rows, in words.
    fn nothing_new(&self) -> String {
        format!("would change nothing: {} has no row that is new for {}", shown(self.source), shown(self.target))
    }

    /// An action in words, with the rows that are read.
    fn with_filter(&self, would: String, kept: &EarlierRun) -> Result<String> {
        Ok(match self.filter(kept.mark.as_ref())? {
            Some(filter) => format!("{would}, reading the rows where {filter}"),
            None => format!("{would}, reading all rows"),
        })
    }

    /// Reads the state that the target keeps.
    fn kept_state(&self, state: &Arc<dyn TargetState>) -> Result<KeptUnload> {
        let key = format!("since/{}", self.name);
        let text = state.read(&key)?;
        let known = match &text {
            Some(text) => Some(text.clone()),
            None => state.read(&format!("since/{}", self.spelled_name))?,
        };
        let mut kept = known.map(|text| self.parse(&text)).transpose()?.unwrap_or_default();
        let exists = state.identity()?.is_some();
        let is_same = exists && kept.target.as_deref().map_or(Ok(true), |target| state.is_same(target))?;
        if !is_same {
            // The stored state belongs to a table that was removed: another one has none of the rows.
            kept = EarlierRun::default();
        }
        let has_doubts = lease::has_doubts(text.as_deref());
        // They belong to runs that another one has taken over before: the lease names the same ones again.
        let rewound = if has_doubts { self.rewound(&kept, &lease::doubts_of(text.as_deref()))? } else { kept.clone() };
        Ok(KeptUnload { key, text, kept, rewound, exists, has_doubts })
    }

    /// Upserts the rows into a database.
    fn load_database(
        &self,
        system: &'static DatabaseSystem,
        knows_types: bool,
        patience: Instant,
    ) -> Result<UnloadAttempt> {
        // The last state of a cancelled run is also written there.
        let state = open_state(system, self.target, &self.job.uncancelled())?;
        let KeptUnload { key, text, kept, rewound, exists, has_doubts } = self.kept_state(&state)?;
        let target = exists.then_some(CopyTarget::Database(DatabaseTarget::new(system, self.target)));
        let incoming = match self.incoming(&rewound, knows_types, target.as_ref()) {
            Ok(incoming) => incoming,
            Err(error) if knows_types && kept.types.found.is_some() => return Ok(UnloadAttempt::OtherTypes(error)),
            Err(error) => return Err(error),
        };
        if kept.has_ended && incoming.is_empty() && !has_doubts {
            return Ok(UnloadAttempt::Done(Written::default()));
        }
        let place = shown(self.target);
        let place = (place.as_str(), system.has_transactions);
        let claim = TargetLease::claim(&state, &key, text.as_deref(), place, patience, self.job)?;
        let LeaseClaim::Held(lease) = claim else { return Ok(UnloadAttempt::Again) };
        self.load(incoming, &rewound, system, &key, &state, lease)
    }

    fn load(
        &self,
        incoming: IncomingRows,
        kept: &EarlierRun,
        system: &'static DatabaseSystem,
        key: &str,
        state: &Arc<dyn TargetState>,
        lease: TargetLease,
    ) -> Result<UnloadAttempt> {
        let target = DatabaseTarget::new(system, self.target).of_job(key, lease.guard());
        let (seen, has_failed, types) = (incoming.seen, incoming.has_failed, incoming.types);
        let written = match load::run(incoming.batches, CopyTarget::Database(target), None, self.options, self.job) {
            Ok(written) => written,
            Err(error) if has_failed.load(Ordering::Acquire) && incoming.knows_types => {
                return Ok(UnloadAttempt::OtherTypes(error));
            }
            Err(error) => return Err(error),
        };
        let mut now = seen.kept(kept, types);
        now.target = state.identity()?;
        // A request of a run that was taken over just now may still be under way.
        lease.end(&now.value()?, |doubt| !doubt.is_new)?;
        Ok(UnloadAttempt::Done(written))
    }

    fn parse(&self, text: &str) -> Result<EarlierRun> {
        EarlierRun::parse(text).map_err(|error| error.at(shown(self.target)))
    }

    /// The stored value, or the lowest one that a run in doubt has started with.
    fn rewound(&self, kept: &EarlierRun, doubts: &[EarlierRunDoubt]) -> Result<EarlierRun> {
        let mut lowest = kept.mark.clone();
        for doubt in doubts {
            let begun = self.parse(&doubt.state.to_string()).map(|kept| kept.mark).unwrap_or_default();
            lowest = match (lowest, begun) {
                (Some(lowest), Some(begun)) => Some(WatermarkValue::lower(lowest, begun)?),
                // It has read all rows.
                _ => None,
            };
        }
        Ok(EarlierRun { mark: lowest, rows: Vec::new(), ..kept.clone() })
    }

    /// The filter of the rows that are read.
    fn filter(&self, mark: Option<&WatermarkValue>) -> Result<Option<String>> {
        let filter = &self.options.read.filter;
        let Some(mark) = mark else { return Ok(filter.clone()) };
        let has_nan = DatabaseSystem::for_location(self.source).is_none_or(|system| system.has_nan);
        let from = mark.condition(&self.since.column, self.since.overlap.as_deref(), has_nan)?;
        Ok(Some(filter.as_ref().map_or_else(|| from.clone(), |filter| format!("({filter}) AND {from}"))))
    }

    /// The options of a read from a value.
    fn read(&self, mark: Option<&WatermarkValue>) -> Result<ReadOptions> {
        Ok(ReadOptions { filter: self.filter(mark)?, batch_rows: None, ..self.options.read.clone() })
    }
}

/// Fails where an option is given that the unload does not follow, also where nothing turns out to be new.
fn check(target: &str, since: &Since, options: &CopyOptions, job: &Job) -> Result<()> {
    let refuse = |message: &str, advice: String| Err(Error::usage(format!("{SINCE}: {message}")).advice(advice));
    if options.mode != WriteMode::Upsert {
        return refuse(
            "rows that are read twice must replace each other",
            format!("use {} and a {KEY}", MODE.to("upsert")),
        );
    }
    if !matches!(LocationKind::classify(target), LocationKind::Table { .. } | LocationKind::Database(_)) {
        return refuse(
            "files can't be upserted",
            "name a location in a database, or a Delta table with delta: in front of its folder".to_owned(),
        );
    }
    if options.read.limit.is_some() {
        return refuse("with a limit, rows below the highest value may be left out", format!("omit {LIMIT}"));
    }
    if options.read.order_by.is_some() {
        return refuse("rows are replaced by key, in whatever order they come", format!("omit {ORDER_BY}"));
    }
    let is_column = |item: &ColumnItem| item.as_computed().is_some_and(|column| column.name == since.column);
    if let Some(item) = options.read.columns.iter().flatten().find(|item| is_column(item)) {
        return refuse(
            &format!(
                "{:?} is computed, but rows are read from the highest value of a column of the source on",
                item.text()
            ),
            format!("name the column itself in {COLUMNS}"),
        );
    }
    if options.load.resume {
        return refuse("it starts at the value that is stored with the target", format!("omit {RESUME}"));
    }
    if DatabaseSystem::for_location(target).is_none() {
        check_table(options)?;
        return check_write_scope(&options.write, PlaceKind::Table(&DELTA), target);
    }
    // As for any other copy.
    CopyTarget::resolve(target, options, job)?.check_scope(options)
}

/// Fails where an option is given that an upsert into a Delta table does not follow.
fn check_table(options: &CopyOptions) -> Result<()> {
    let load = &options.load;
    let given: [(&OptionDefinition, bool); 7] = [
        (&VERIFY, load.verify),
        (&MAX_RATE, load.max_rows_per_second.is_some()),
        (&BATCH_ROWS, load.batch_rows != BatchRows::All),
        (&DEAD_LETTER, load.dead_letter.is_some()),
        (&ALLOW_NARROWING, load.allow_narrowing),
        (&KEEP_NOT_NULL, options.keep_not_null),
        (&OUTPUT_FORMAT, options.format.is_some_and(|format| format != DELTA.files)),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Error::usage(format!("{option}: an upsert into a Delta table does not support it"))
            .at(SINCE)
            .advice("omit it")),
    }
}
