//! Text files that are read back after they were written.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use lakerace_io::option::{COLUMNS, VERIFY};
use lakerace_io::{Error, Result};

use crate::extension_types::has_uuid_values;
use crate::file_format::FileFormat;
use crate::nested_types::map_inner_fields;
use crate::options::CsvOptions;
use crate::schema_text::{parse_schema, print_schema};

/// The schema with which a text file is read as rows of `schema`: a dictionary is read as its values, because text
/// contains only these, and a UUID as its text.
pub fn read_back_schema(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().map(plain_field).collect::<Vec<_>>())
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = if has_uuid_values(field) { DataType::Utf8 } else { plain_type(field.data_type()) };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::ListView(item) => DataType::List(plain_field(item)),
        DataType::LargeListView(item) => DataType::LargeList(plain_field(item)),
        other => map_inner_fields(other, plain_field).unwrap_or_else(|| other.clone()),
    }
}

/// Checks that a text file with these columns could be read back, before it is written. Other files contain their
/// schema.
///
/// # Errors
/// `Unsupported`, with the reason.
pub fn check_read_back(format: &FileFormat, schema: &Schema, options: &CsvOptions) -> Result<()> {
    let Some(check_schema) = format.text_check else { return Ok(()) };
    let plain = read_back_schema(schema);
    let checked = parse_schema(&print_schema(&plain)).and_then(|parsed| check_schema(&parsed, options));
    checked.map_err(|error| {
        let place = error.location().map(|place| format!("{place}: ")).unwrap_or_default();
        Error::unsupported(format!("such a file could not be read back: {place}{}", error.message()))
            .advice(format!("omit {VERIFY}, or exclude the column with {COLUMNS}"))
    })
}

#[cfg(test)]
mod tests;
