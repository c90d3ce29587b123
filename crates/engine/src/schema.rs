//! What a location holds.

use lakerace_format::SourceInfo;
use lakerace_io::{Job, Result};
use serde::Serialize;

use crate::ReadOptions;

/// A source's columns and size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SchemaReport {
    /// Its columns.
    pub columns: Vec<ColumnReport>,
    /// Format, rows, files, bytes.
    #[serde(flatten)]
    pub info: SourceInfo,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnReport {
    /// Its name.
    pub name: String,
    /// Its type, as Arrow writes it.
    pub r#type: String,
    /// Whether it may hold nulls.
    pub nullable: bool,
}

/// Reads what the schema of `location` needs and reports it.
pub fn schema(_location: &str, _options: &ReadOptions, _job: &Job) -> Result<SchemaReport> {
    unimplemented!()
}
