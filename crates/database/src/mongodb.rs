//! MongoDB: documents to batches and back, straight from and to the bytes of BSON.

mod columns;
mod connection;
mod count;
mod decimal;
mod decode;
mod elements;
mod failure;
mod filter;
mod infer;
mod journal;
mod json;
mod kept_schema;
mod location;
mod publication;
mod reader;
mod sender;
mod sink;
mod source;
mod state;
mod statement;
mod tag;
mod target;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Sink, Source};
use lakerace_io::{Job, Result};

use crate::{SinkOptions, SourceOptions, TargetState};

/// Opens the collection that `location` names. Without a schema that is given or kept, it reads all documents once.
pub(crate) fn open_source(location: &str, options: &SourceOptions, job: &Job) -> Result<Arc<dyn Source>> {
    source::open(location, options, job)
}

/// Begins to write rows of `schema` to the collection that `location` names.
pub(crate) fn open_sink(location: &str, schema: SchemaRef, options: &SinkOptions, job: &Job) -> Result<Box<dyn Sink>> {
    target::open(location, schema, options, job)
}

/// A location without its password.
pub(crate) fn shown(location: &str) -> Result<String> {
    Ok(location::MongoLocation::parse(location)?.to_string())
}

/// A location in one spelling, without credentials.
pub(crate) fn canonical(location: &str) -> Result<String> {
    Ok(location::MongoLocation::parse(location)?.canonical())
}

/// What the collection that `location` names keeps for jobs that follow a source.
pub(crate) fn open_state(location: &str, job: &Job) -> Result<Arc<dyn TargetState>> {
    let connection = connection::Connection::open(location::MongoLocation::parse(location)?, job)?;
    Ok(Arc::new(state::CollectionState(connection)))
}

#[cfg(test)]
mod tests;
