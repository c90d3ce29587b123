//! Fields of the log's schema by their names.

use arrow::datatypes::{DataType, Field};
use lakerace_io::{Error, Result};
use serde_json::{Value, json};

use crate::write::new_table::check_name;

/// The name of a field of the log's schema.
pub(super) fn name_of(field: &Value) -> String {
    field["name"].as_str().unwrap_or_default().to_owned()
}

/// The place of a column in the log's schema.
pub(super) fn position(fields: &[Value], column: &str) -> Result<usize> {
    fields.iter().position(|field| name_of(field) == column).ok_or_else(|| {
        let names: Vec<String> = fields.iter().map(name_of).collect();
        let error = Error::not_found(format!("the table has no column {column:?}"));
        match lakerace_format::suggestions::nearest(column, names.iter().map(String::as_str)) {
            Some(near) => error.advice(format!("did you mean {near}?")),
            None => error.advice(format!("it has {}", names.join(", "))),
        }
    })
}

/// Renames a column of the log's schema.
pub(super) fn set_name(fields: &mut [Value], at: usize, name: &str) -> Result<()> {
    let names = fields.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, field)| name_of(field));
    for other in names {
        if other.eq_ignore_ascii_case(name) {
            return Err(Error::usage(format!("the table already has a column {other:?}"))
                .advice("choose another name; column names of a Delta table are not case-sensitive"));
        }
    }
    check_name(&Field::new(name, DataType::Null, true), true)?;
    let field =
        fields[at].as_object_mut().ok_or_else(|| Error::corrupt("a field of the table's schema is not an object"))?;
    field.insert("name".to_owned(), json!(name));
    Ok(())
}
