//! Builds without databases, whose clients would be much of a library that never calls them.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_database::{SinkOptions, SourceOptions, System};
use lakerace_format::{Sink, Source};
use lakerace_io::{Error, Job, Result};

pub(super) fn open_source(system: System, _: &str, _: &SourceOptions, _: &Job) -> Result<Arc<dyn Source>> {
    Err(absent(system))
}

pub(super) fn open_sink(system: System, _: &str, _: SchemaRef, _: &SinkOptions, _: &Job) -> Result<Box<dyn Sink>> {
    Err(absent(system))
}

pub(super) fn shown(system: System, _: &str) -> String {
    system.name().to_owned()
}

fn absent(system: System) -> Error {
    Error::unsupported("this library has no databases")
        .at(system.name())
        .advice("copy the rows by the command lakerace")
}
