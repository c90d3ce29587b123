//! What a location holds.

use arrow::datatypes::FieldRef;
use lakerace_format::SourceInfo;
use lakerace_io::{Job, Result};
use serde::Serialize;

use crate::{ReadOptions, dataset};

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
pub fn schema(location: &str, options: &ReadOptions, job: &Job) -> Result<SchemaReport> {
    let source = dataset::open(location, options, None, job)?;
    let column = |field: &FieldRef| ColumnReport {
        name: field.name().clone(),
        r#type: field.data_type().to_string(),
        nullable: field.is_nullable(),
    };
    Ok(SchemaReport { columns: source.schema().fields().iter().map(column).collect(), info: source.info() })
}
