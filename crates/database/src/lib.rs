//! Databases as sources and sinks: MongoDB, Elasticsearch, OpenSearch and SQLite.
//!
//! A location names a system by its scheme ([`DatabaseSystem::for_location`]). [`open_source`] returns the rows of a collection,
//! an index or a table. [`open_sink`] takes rows for one. Both return traits of `lakerace-format`, so a copy joins them to
//! any other source or sink.

mod dead_letter;
mod elasticsearch;
mod fnv;
mod mongodb;
mod narrowing;
mod options;
mod sqlite;
mod state;
mod system;

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Sink, Source};
use lakerace_io::{Error, Job, Result, config};

pub use dead_letter::DeadLetters;
pub use elasticsearch::ELASTICSEARCH;
pub use lakerace_io::WriteMode;
pub use mongodb::MONGODB;
pub use options::{BatchRows, Fence, OnRejected, SinkOptions, SourceOptions};
pub use sqlite::SQLITE;
pub use state::TargetState;
pub(crate) use system::DatabaseClient;
pub use system::DatabaseSystem;

/// Every system.
const SYSTEMS: [&DatabaseSystem; 3] = [&MONGODB, &ELASTICSEARCH, &SQLITE];

/// The client of each system. They are apart, so that a program that names databases and never opens one is linked without clients.
static CLIENTS: [&DatabaseClient; 3] = [&mongodb::CLIENT, &elasticsearch::CLIENT, &sqlite::CLIENT];

impl DatabaseSystem {
    /// Every system.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        SYSTEMS.into_iter()
    }

    /// The system that a location names, `None` where it names a file, a table or a store.
    ///
    /// ```
    /// use lakerace_database::{DatabaseSystem, SQLITE};
    /// assert_eq!(DatabaseSystem::for_location("sqlite:///a.db#t"), Some(&SQLITE));
    /// assert_eq!(DatabaseSystem::for_location("a.parquet"), None);
    /// ```
    pub fn for_location(location: &str) -> Option<&'static Self> {
        // An unknown connection is an error of whoever opens the location.
        let resolved = config::resolve(location).ok()?;
        let (scheme, _) = resolved.as_ref().map_or(location, |resolved| &resolved.url).split_once(':')?;
        Self::all().find(|system| system.schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
    }
}

fn client_of(system: &DatabaseSystem) -> Result<&'static DatabaseClient> {
    let found = CLIENTS.into_iter().find(|client| client.system == system);
    found.ok_or_else(|| Error::internal(format!("there is no client for {}", system.name)))
}

/// The URL of a location, which may be below a connection. The warning about the file of the connection goes to `job`.
fn url_of<'a>(location: &'a str, job: Option<&Job>) -> Result<Cow<'a, str>> {
    let Some(resolved) = config::resolve(location)? else { return Ok(Cow::Borrowed(location)) };
    if let (Some(job), Some(warning)) = (job, resolved.connection.warning()) {
        job.warn(warning);
    }
    Ok(Cow::Owned(resolved.url))
}

/// Opens the collection, index or table that `location` names.
pub fn open_source(
    system: &DatabaseSystem,
    location: &str,
    options: &SourceOptions,
    job: &Job,
) -> Result<Arc<dyn Source>> {
    (client_of(system)?.open_source)(&url_of(location, Some(job))?, options, job)
}

/// Begins to write rows of `schema` to the collection, index or table that `location` names.
pub fn open_sink(
    system: &DatabaseSystem,
    location: &str,
    schema: SchemaRef,
    options: &SinkOptions,
    job: &Job,
) -> Result<Box<dyn Sink>> {
    (client_of(system)?.open_sink)(&url_of(location, Some(job))?, schema, options, job)
}

/// Fails where [`open_sink`] would fail before it writes, and writes nothing. Returns true if the collection, index or table
/// exists.
pub fn examine_sink(
    system: &DatabaseSystem,
    location: &str,
    schema: SchemaRef,
    options: &SinkOptions,
    job: &Job,
) -> Result<bool> {
    (client_of(system)?.examine_sink)(&url_of(location, Some(job))?, schema, options, job)
}

/// A location for messages, without anything that may be a password: the system's name where it can't be parsed.
pub fn shown(system: &DatabaseSystem, location: &str) -> String {
    client_of(system)
        .and_then(|client| (client.shown)(&url_of(location, None)?))
        .unwrap_or_else(|_| system.name.to_owned())
}

/// A location in one spelling, without credentials: equal for locations that give the same rows.
///
/// # Errors
/// `Usage` for a location that can't be read.
pub fn canonical(system: &DatabaseSystem, location: &str) -> Result<String> {
    (client_of(system)?.canonical)(&url_of(location, None)?)
}

/// The file of a location in a database that is a file of this machine.
pub fn local_file(system: &DatabaseSystem, location: &str) -> Option<std::path::PathBuf> {
    (client_of(system).ok()?.local_file)(&url_of(location, None).ok()?)
}

/// Opens the state that the collection, index or table of `location` keeps. It need not exist.
pub fn open_state(system: &DatabaseSystem, location: &str, job: &Job) -> Result<Arc<dyn TargetState>> {
    (client_of(system)?.open_state)(&url_of(location, Some(job))?, job)
}
