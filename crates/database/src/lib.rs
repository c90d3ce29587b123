//! Databases as sources and sinks: MongoDB, Elasticsearch, OpenSearch and SQLite.
//!
//! A location names a system by its scheme ([`System::of`]). [`open_source`] gives the rows of a collection, an index or a
//! table; [`open_sink`] takes rows for one. Both are the traits of `lakerace-format`, so a copy joins them to any other.

mod dead_letter;
mod elasticsearch;
mod fnv;
mod mongodb;
mod narrowing;
mod options;
mod sqlite;
mod state;
mod system;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Sink, Source};
use lakerace_io::{Job, Result};

pub use dead_letter::DeadLetters;
pub use lakerace_io::WriteMode;
pub use options::{BatchRows, Fence, OnRejected, SinkOptions, SourceOptions};
pub use state::TargetState;
pub use system::System;

/// Opens the collection, index or table that `location` names.
pub fn open_source(system: System, location: &str, options: &SourceOptions, job: &Job) -> Result<Arc<dyn Source>> {
    match system {
        System::MongoDb => mongodb::open_source(location, options, job),
        System::Elasticsearch => elasticsearch::open_source(location, options, job),
        System::Sqlite => sqlite::open_source(location, options, job),
    }
}

/// Begins to write rows of `schema` to the collection, index or table that `location` names.
pub fn open_sink(
    system: System,
    location: &str,
    schema: SchemaRef,
    options: &SinkOptions,
    job: &Job,
) -> Result<Box<dyn Sink>> {
    match system {
        System::MongoDb => mongodb::open_sink(location, schema, options, job),
        System::Elasticsearch => elasticsearch::open_sink(location, schema, options, job),
        System::Sqlite => sqlite::open_sink(location, schema, options, job),
    }
}

/// A location as messages show it, without what may be a password: the system's name where it can't be read.
pub fn shown(system: System, location: &str) -> String {
    let shown = match system {
        System::MongoDb => mongodb::shown(location),
        System::Elasticsearch => elasticsearch::shown(location),
        System::Sqlite => sqlite::shown(location),
    };
    shown.unwrap_or_else(|_| system.name().to_owned())
}

/// A location in one spelling, without credentials: equal for locations that give the same rows.
///
/// # Errors
/// `Usage` for a location that can't be read.
pub fn canonical(system: System, location: &str) -> Result<String> {
    match system {
        System::MongoDb => mongodb::canonical(location),
        System::Elasticsearch => elasticsearch::canonical(location),
        System::Sqlite => sqlite::canonical(location),
    }
}

/// What the collection, index or table that `location` names keeps. It need not exist.
pub fn open_state(system: System, location: &str, job: &Job) -> Result<Arc<dyn TargetState>> {
    match system {
        System::MongoDb => mongodb::open_state(location, job),
        System::Elasticsearch => elasticsearch::open_state(location, job),
        System::Sqlite => sqlite::open_state(location, job),
    }
}
