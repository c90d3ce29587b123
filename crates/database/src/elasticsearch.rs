//! Elasticsearch and OpenSearch: one protocol, JSON over HTTP.
//!
//! A load makes an index with strict fields beside what is there and lets an alias stand for it when it is complete; or it
//! adds to an index that exists, whose fields it respects. What was acknowledged is in a journal. A read opens one view and
//! pages through slices of it.

mod aliases;
mod catalog;
mod chunk;
mod client;
mod credentials;
mod date_format;
mod decode;
mod deferred;
mod encode;
mod filter;
mod journal;
mod json_tree;
mod location;
mod mapping;
mod outcome;
mod pit;
mod reader;
mod replaced;
mod schema;
mod sender;
mod settings;
mod sink;
mod source;
mod state;
mod target;
mod time;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Sink, Source};
use lakerace_io::{Job, Result};

use crate::{SinkOptions, SourceOptions, TargetState};

/// Opens the index that `location` names.
pub(crate) fn open_source(location: &str, options: &SourceOptions, job: &Job) -> Result<Arc<dyn Source>> {
    let location = location::Location::parse(location)?;
    Ok(Arc::new(source::ElasticsearchSource::open(location, options, job)?))
}

/// Begins to write to the index that `location` names.
pub(crate) fn open_sink(location: &str, schema: SchemaRef, options: &SinkOptions, job: &Job) -> Result<Box<dyn Sink>> {
    let location = location::Location::parse(location)?;
    deferred::open(location, schema, options, job)
}

/// A location without its password.
pub(crate) fn shown(location: &str) -> Result<String> {
    Ok(location::Location::parse(location)?.shown)
}

/// A location in one spelling, without credentials.
pub(crate) fn canonical(location: &str) -> Result<String> {
    Ok(location::Location::parse(location)?.canonical())
}

/// What the index that `location` names keeps for jobs that follow a source.
pub(crate) fn open_state(location: &str, job: &Job) -> Result<Arc<dyn TargetState>> {
    let location = Arc::new(location::Location::parse(location)?);
    Ok(Arc::new(state::IndexState::new(client::Client::new(&location, job)?, job)))
}
