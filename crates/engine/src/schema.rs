//! The content of a location.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use lakerace_format::{SourceInfo, map_inner_fields};
use lakerace_io::{Job, Result};
use serde::Serialize;

use crate::database::shown;
use crate::dataset;
use crate::dataset::OpenedLocation;
use crate::option_scope::{PlaceKind, check_read_scope};
use crate::options::ReadOptions;

/// A source's columns and size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SchemaReport {
    /// Its columns.
    pub columns: Vec<ColumnReport>,
    /// Format, rows, files, bytes.
    #[serde(flatten)]
    pub info: SourceInfo,
    /// The table's own facts beyond its columns.
    #[serde(flatten)]
    pub table: Option<TableReport>,
}

/// A version of a Delta table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableReport {
    /// Its number.
    pub version: u64,
    /// The columns by which upserts find rows, where the table names them.
    pub key: Vec<String>,
    /// The columns by which its files are divided.
    pub partition_columns: Vec<String>,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnReport {
    /// Its name.
    pub name: String,
    /// Its type, as Arrow writes it.
    pub r#type: String,
    /// True if it may hold nulls.
    pub nullable: bool,
}

/// A type without the metadata of the fields in it, which its text would have.
fn without_metadata(data_type: &DataType) -> DataType {
    let plain = |field: &FieldRef| -> FieldRef {
        Arc::new(Field::new(field.name(), without_metadata(field.data_type()), field.is_nullable()))
    };
    map_inner_fields(data_type, plain).unwrap_or_else(|| data_type.clone())
}

/// Reads the metadata of `location` that its schema needs, and reports it.
pub fn schema(location: &str, options: &ReadOptions, job: &Job) -> Result<SchemaReport> {
    let OpenedLocation { source, version } = dataset::open_whole(location, options, job)?;
    check_read_scope(options, PlaceKind::of_source(&source.info().format), None, &shown(location))?;
    let schema = options.nesting.schema(&source.schema()).map_err(|error| error.at(shown(location)))?;
    let column = |field: &FieldRef| ColumnReport {
        name: field.name().clone(),
        r#type: without_metadata(field.data_type()).to_string(),
        nullable: field.is_nullable(),
    };
    let mut info = source.info();
    if let Some(version) = version.as_ref().filter(|_| info.rows.is_none()) {
        info.rows = Some(version.row_count()?);
    }
    let table = version.map(|version| TableReport {
        version: version.version(),
        key: version.key(),
        partition_columns: version.partition_columns(),
        properties: version.properties(),
    });
    Ok(SchemaReport { columns: schema.fields().iter().map(column).collect(), info, table })
}
