//! Database systems as values: their names and capabilities.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Sink, Source};
use lakerace_io::{Job, Result};

use crate::options::{SinkOptions, SourceOptions};
use crate::state::TargetState;

/// A database system, named by the scheme of a location. Each system's module defines its value.
#[derive(Debug, PartialEq, Eq)]
pub struct DatabaseSystem {
    /// The name that messages and reports give, in small letters.
    pub name: &'static str,
    /// Schemes of its locations, in small letters and without a colon.
    pub schemes: &'static [&'static str],
    /// A target in it with its location, for advice.
    pub example: &'static str,
    /// True if equal reads give the same rows in the same order.
    pub has_stable_order: bool,
    /// True if rows become visible by the transaction of a checkpoint, otherwise immediately after they are sent.
    pub has_transactions: bool,
    /// True if types are found by reading rows, otherwise the system declares them.
    pub infers_types: bool,
    /// True if a table has columns beyond those of a given schema.
    pub has_other_columns: bool,
    /// True if it stores floats that are no numbers.
    pub has_nan: bool,
    /// True if it is a file of this machine.
    pub is_local_file: bool,
}

/// A function that opens a sink for rows of a schema at a location.
pub(crate) type OpenSink = fn(&str, SchemaRef, &SinkOptions, &Job) -> Result<Box<dyn Sink>>;

/// The functions that open the locations of a system.
pub(crate) struct DatabaseClient {
    pub system: &'static DatabaseSystem,
    pub open_source: fn(&str, &SourceOptions, &Job) -> Result<Arc<dyn Source>>,
    pub open_sink: OpenSink,
    /// Checks what a sink would check before it writes. Returns true if the target exists.
    pub examine_sink: fn(&str, SchemaRef, &SinkOptions, &Job) -> Result<bool>,
    /// The location without its password.
    pub shown: fn(&str) -> Result<String>,
    /// The location in one spelling, without credentials.
    pub canonical: fn(&str) -> Result<String>,
    /// The file of this machine that the database is.
    pub local_file: fn(&str) -> Option<PathBuf>,
    pub open_state: fn(&str, &Job) -> Result<Arc<dyn TargetState>>,
}
