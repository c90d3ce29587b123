//! Builds without databases, whose clients would be much of a library that never calls them.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_database::{DatabaseSystem, SinkOptions, SourceOptions};
use lakerace_format::{Sink, Source};
use lakerace_io::{Error, Job, Result};

pub(super) fn open_source(
    system: &'static DatabaseSystem,
    _: &str,
    _: &SourceOptions,
    _: &Job,
) -> Result<Arc<dyn Source>> {
    Err(absent(system))
}

pub(super) fn open_sink(
    system: &'static DatabaseSystem,
    _: &str,
    _: SchemaRef,
    _: &SinkOptions,
    _: &Job,
) -> Result<Box<dyn Sink>> {
    Err(absent(system))
}

pub(super) fn examine_sink(
    system: &'static DatabaseSystem,
    _: &str,
    _: SchemaRef,
    _: &SinkOptions,
    _: &Job,
) -> Result<bool> {
    Err(absent(system))
}

pub(super) fn shown(system: &'static DatabaseSystem, _: &str) -> String {
    system.name.to_owned()
}

fn absent(system: &'static DatabaseSystem) -> Error {
    Error::unsupported("this library does not include databases")
        .at(system.name)
        .advice("copy the rows with the lakerace command")
}
