//! Names that a file has twice.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Fields, Schema};
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Result};

use crate::nested_types::inner_fields;
use crate::nesting::check_nesting;

/// An error of kind `Unsupported` where two columns, or two fields of a struct, have one name: columns are found by their
/// names, so the second would read as the first. So are types that are nested too deep.
pub(crate) fn refuse_duplicates(schema: &Schema) -> Result<()> {
    check_nesting(schema)?;
    let refused =
        |message| Error::unsupported(message).advice("rename one of them in the program that writes the file");
    check(schema.fields(), "column", &refused)
}

/// Fails with `Invalid`, before rows are written that could not be read.
///
/// # Errors
/// `Invalid`, naming the place and both fields; `Unsupported` where types are nested too deep, which checks of names and writers alike
/// would follow.
pub fn refuse_to_write_duplicates(schema: &Schema) -> Result<()> {
    check_nesting(schema)?;
    let advice = format!("rename one of them, or exclude the column with {COLUMNS}");
    check(schema.fields(), "column", &|message| Error::invalid(message).advice(&advice))
}

fn check(fields: &Fields, what: &str, refused: &dyn Fn(String) -> Error) -> Result<()> {
    let mut known = HashMap::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        if let Some(first) = known.insert(field.name().as_str(), at) {
            let message = format!("{what}s {} and {} are both named {:?}", first + 1, at + 1, field.name());
            return Err(refused(message));
        }
        below(field.data_type(), refused).map_err(|error| error.at(format!("{what} {:?}", field.name())))?;
    }
    Ok(())
}

fn below(data_type: &DataType, refused: &dyn Fn(String) -> Error) -> Result<()> {
    match data_type {
        DataType::Struct(fields) => check(fields, "field", refused),
        DataType::Dictionary(_, values) => below(values, refused),
        DataType::Map(entries, _) => match entries.data_type() {
            // Keys and values are identified by position, so their names may be equal.
            DataType::Struct(fields) => fields.iter().try_for_each(|field| below(field.data_type(), refused)),
            _ => Ok(()),
        },
        other => inner_fields(other).into_iter().flatten().try_for_each(|item| below(item.data_type(), refused)),
    }
}

#[cfg(test)]
mod tests;
