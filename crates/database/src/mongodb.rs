//! MongoDB.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Sink, Source};
use lakerace_io::{Error, Job, Result};

use crate::{SinkOptions, SourceOptions};

/// Opens what `location` names.
pub(crate) fn open_source(location: &str, _options: &SourceOptions, _job: &Job) -> Result<Arc<dyn Source>> {
    Err(Error::unsupported("this version can't read MongoDB").at(shown(location)))
}

/// Begins to write to what `location` names.
pub(crate) fn open_sink(
    location: &str,
    _schema: SchemaRef,
    _options: &SinkOptions,
    _job: &Job,
) -> Result<Box<dyn Sink>> {
    Err(Error::unsupported("this version can't write MongoDB").at(shown(location)))
}

fn shown(location: &str) -> &str {
    location.split_once(':').map_or("", |(scheme, _)| scheme)
}
