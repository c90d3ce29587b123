//! Databases by the names that users write.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_database::{DatabaseSystem, OnRejected, SinkOptions, SourceOptions};
#[cfg(feature = "databases")]
use lakerace_database::{examine_sink, open_sink, open_source, shown as database_shown};
use lakerace_format::schema_text::parse_schema;
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{Sink, Source};
use lakerace_io::option::{INPUT_FORMAT, KEY};
use lakerace_io::{Error, Job, Result};

#[cfg(not(feature = "databases"))]
use self::absent::{examine_sink, open_sink, open_source, shown as database_shown};
use crate::lease::LeaseGuard;
use crate::options::{CopyOptions, ReadOptions};

#[cfg(not(feature = "databases"))]
mod absent;

/// The source that a location of a database names.
pub(crate) fn open(
    system: &'static DatabaseSystem,
    location: &str,
    options: &ReadOptions,
    job: &Job,
) -> Result<Arc<dyn Source>> {
    options.refuse_version(system.name, "a database has none")?;
    if options.format.is_some() {
        return Err(Error::usage("a format is given, but a database has its own")
            .at(system.name)
            .advice(format!("omit {INPUT_FORMAT}")));
    }
    let schema = options.csv.schema.as_deref().map(parse_schema).transpose()?.map(Arc::new);
    open_source(system, location, &SourceOptions { schema, ..SourceOptions::default() }, job)
}

/// Opens like [`open`], with types that are known before.
pub(crate) fn open_known(
    system: &'static DatabaseSystem,
    location: &str,
    known: &KnownTypes,
    job: &Job,
) -> Result<Arc<dyn Source>> {
    let KnownTypes { given, found } = known.clone();
    open_source(system, location, &SourceOptions { schema: given, known: found, ..SourceOptions::default() }, job)
}

/// The types of columns that are known before a read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KnownTypes {
    /// The columns that the user has named.
    pub given: Option<SchemaRef>,
    /// The columns that an earlier read has found.
    pub found: Option<SchemaRef>,
}

/// A location as messages show it: that of a database may have a password.
pub(crate) fn shown(location: &str) -> String {
    DatabaseSystem::for_location(location)
        .map_or_else(|| location.to_owned(), |system| database_shown(system, location))
}

/// Returns true if a location returns the same rows in the same order each time.
pub(crate) fn has_stable_order(location: &str) -> bool {
    DatabaseSystem::for_location(location).is_none_or(|system| system.has_stable_order)
}

/// A database as the target of a copy.
pub(crate) struct DatabaseTarget {
    system: &'static DatabaseSystem,
    location: String,
    load_name: Option<String>,
    on_rejected: OnRejected,
    job_state: Option<String>,
    adds_columns: bool,
    guard: Option<LeaseGuard>,
}

impl DatabaseTarget {
    /// The collection, index or table that a location names.
    pub(crate) fn new(system: &'static DatabaseSystem, location: &str) -> Self {
        Self {
            system,
            location: location.to_owned(),
            load_name: None,
            on_rejected: OnRejected::default(),
            job_state: None,
            adds_columns: false,
            guard: None,
        }
    }

    /// As the user wrote it.
    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// Returns true if a row is visible immediately after it is sent, and not only after the next checkpoint.
    pub(crate) fn shows_rows_at_once(&self) -> bool {
        !self.system.has_transactions
    }

    /// Names the load, and sets the receiver of rejected rows.
    pub(crate) fn name_load(&mut self, load_name: Option<String>, on_rejected: OnRejected) {
        (self.load_name, self.on_rejected) = (load_name, on_rejected);
    }

    /// Names the state of the job that the load is a part of, and the lease of its run.
    pub(crate) fn of_job(self, state: &str, guard: LeaseGuard) -> Self {
        Self { job_state: Some(state.to_owned()), guard: Some(guard), ..self }
    }

    /// Makes the target follow the source's schema: it gets new columns, too.
    pub(crate) fn adding_columns(self) -> Self {
        Self { adds_columns: true, ..self }
    }

    /// Starts to write.
    pub(crate) fn create(self, schema: SchemaRef, options: &CopyOptions, job: &Job) -> Result<Box<dyn Sink>> {
        let sink = self.sink_options(&schema, options)?;
        let open = || open_sink(self.system, &self.location, schema, &sink, job);
        match &self.guard {
            Some(guard) => guard.open(open),
            None => open(),
        }
    }

    /// Fails where [`Self::create`] would fail before it writes. Returns true if the target exists.
    pub(crate) fn examine(self, schema: SchemaRef, options: &CopyOptions, job: &Job) -> Result<bool> {
        let sink = self.sink_options(&schema, options)?;
        examine_sink(self.system, &self.location, schema, &sink, job)
    }

    fn sink_options(&self, schema: &SchemaRef, options: &CopyOptions) -> Result<SinkOptions> {
        let load = &options.load;
        for name in &load.key {
            if schema.column_with_name(name).is_none() {
                let known = schema.fields().iter().map(|field| field.name().as_str());
                return Err(column_not_found(name, known).at(KEY));
            }
        }
        Ok(SinkOptions {
            mode: options.mode,
            key: load.key.clone(),
            batch_rows: load.batch_rows,
            max_rows_per_second: load.max_rows_per_second,
            load_name: self.load_name.clone(),
            resume: load.resume,
            dead_letter: load.dead_letter.clone(),
            allow_narrowing: load.allow_narrowing,
            on_rejected: self.on_rejected.clone(),
            adds_columns: self.adds_columns,
            job_state: self.job_state.clone(),
            fence: self.guard.as_ref().map(LeaseGuard::fence),
        })
    }
}
