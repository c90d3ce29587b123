//! SQLite: tables, views and queries as sources, tables as sinks.
//!
//! Tables are STRICT where lakerace makes them. What a type means beyond SQLite's five is kept in a table beside, and stands
//! as a comment in the table's SQL. How many rows of a load are committed is kept by the transaction that commits them.

mod catalog;
mod connect;
mod decode;
mod definition;
mod encode;
mod error;
mod identity;
mod infer;
mod json;
mod kind;
mod location;
mod lower_bound;
mod mark;
mod numbers;
mod pushdown;
mod row_lookup;
mod scan;
mod sink;
mod source;
mod state;
mod target;
mod times;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Sink, Source};
use lakerace_io::{Job, Result};

use crate::{SinkOptions, SourceOptions, TargetState};

/// Opens the table or the query that `location` names.
pub(crate) fn open_source(location: &str, options: &SourceOptions, job: &Job) -> Result<Arc<dyn Source>> {
    Ok(Arc::new(source::SqliteSource::open(location, options, job)?))
}

/// Begins to write to the table that `location` names.
pub(crate) fn open_sink(location: &str, schema: SchemaRef, options: &SinkOptions, job: &Job) -> Result<Box<dyn Sink>> {
    sink::SqliteSink::create(location, &schema, options, job)
}

/// The file and the table that a location names.
pub(crate) fn shown(location: &str) -> Result<String> {
    Ok(location::Place::parse(location)?.shown())
}

/// A location in one spelling.
pub(crate) fn canonical(location: &str) -> Result<String> {
    Ok(location::Place::parse(location)?.canonical())
}

/// What the table that `location` names keeps for jobs that follow a source.
pub(crate) fn open_state(location: &str, job: &Job) -> Result<Arc<dyn TargetState>> {
    Ok(Arc::new(state::TableState::new(location, job)?))
}
