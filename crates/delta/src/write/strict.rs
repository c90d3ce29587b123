//! Checks that the rows of a source fit a table at every level, and that nothing is left out.
//!
//! A reader conforms files to a table leniently: an unknown field is not a field of the table. A writer must not:
//! fields that it leaves out are lost.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field, Fields, Schema};
use lakerace_format::suggestions::column_not_found;
use lakerace_io::option::EVOLVE;
use lakerace_io::{Error, Result};

/// The meaning of a field that the rows lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingFields {
    /// New rows have null there.
    Null,
    /// The rows take the place of others, which may have a value there.
    Refuse,
}

/// Returns an error where rows of the type `source` have a field that the `table` lacks, or count time in another way,
/// in structs, lists and maps alike; both types are Delta's.
pub(crate) fn check_fields(source: &DataType, table: &DataType, missing: MissingFields) -> Result<()> {
    match (source, table) {
        (DataType::Struct(source), DataType::Struct(table)) => check_struct(source, table, missing),
        (DataType::List(source), DataType::List(table)) => {
            check_fields(source.data_type(), table.data_type(), missing).map_err(|error| error.at("element"))
        }
        (DataType::Map(source, _), DataType::Map(table, _)) => {
            let (Some([key, value]), Some([table_key, table_value])) = (pair(source), pair(table)) else {
                return Err(Error::invalid("a map whose entries are not pairs"));
            };
            check_fields(key.data_type(), table_key.data_type(), missing).map_err(|error| error.at("key"))?;
            check_fields(value.data_type(), table_value.data_type(), missing).map_err(|error| error.at("value"))
        }
        (DataType::Timestamp(_, from), DataType::Timestamp(_, to)) if from.is_some() != to.is_some() => {
            let message = "one of the row and the table stores time in UTC, the other local time";
            Err(Error::invalid(message).advice("cast the column"))
        }
        _ => Ok(()),
    }
}

fn check_struct(source: &Fields, table: &Fields, missing: MissingFields) -> Result<()> {
    refuse_duplicates(source)?;
    for field in source {
        let Some((_, known)) = table.find(field.name()) else {
            let error = column_not_found(field.name(), table.iter().map(|known| known.name().as_str()));
            let says = format!("the table has no field {:?} here", field.name());
            let advice = error.advice_text().map(str::to_owned).unwrap_or_default();
            return Err(
                Error::invalid(says).advice(format!("{advice}; {} adds new fields to the table", EVOLVE.to("add")))
            );
        };
        check_fields(field.data_type(), known.data_type(), missing)
            .map_err(|error| error.at(format!("field {:?}", field.name())))?;
    }
    match table.iter().find(|known| source.find(known.name()).is_none()) {
        Some(lacking) if missing == MissingFields::Refuse || !lacking.is_nullable() => {
            let message = format!("the rows have no field {:?}, which the table has", lacking.name());
            Err(Error::invalid(message).advice("give structs all fields of the table, with null for missing values"))
        }
        _ => Ok(()),
    }
}

/// An error where two columns or fields have one name, of which one would be lost.
pub(crate) fn refuse_duplicates(fields: &Fields) -> Result<()> {
    let mut known = HashMap::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        if let Some(first) = known.insert(field.name().as_str(), at) {
            let message = format!("two columns are named {:?}: numbers {} and {}", field.name(), first + 1, at + 1);
            return Err(Error::invalid(message).advice("rename one of them, or omit it"));
        }
    }
    Ok(())
}

/// Returns an error where the columns of a new table would only differ in case, at any level: Delta's names are
/// case-insensitive.
pub(crate) fn refuse_same_names(schema: &Schema) -> Result<()> {
    refuse_same_fields(schema.fields())
}

fn refuse_same_fields(fields: &Fields) -> Result<()> {
    refuse_duplicates(fields)?;
    let mut known: HashMap<String, &str> = HashMap::with_capacity(fields.len());
    for field in fields {
        if let Some(other) = known.insert(field.name().to_lowercase(), field.name()) {
            let message = format!("the names {other:?} and {:?} differ only in case", field.name());
            return Err(Error::invalid(message)
                .advice("rename one of them: column names of a Delta table are not case-sensitive"));
        }
        below(field)?;
    }
    Ok(())
}

fn below(field: &Field) -> Result<()> {
    match field.data_type() {
        DataType::Struct(fields) => refuse_same_fields(fields).map_err(|e| e.at(format!("column {:?}", field.name()))),
        DataType::List(item) => below(item),
        DataType::Map(entries, _) => pair(entries).map_or(Ok(()), |[key, value]| {
            below(key)?;
            below(value)
        }),
        _ => Ok(()),
    }
}

/// Key and value of a map's entries.
pub(crate) fn pair(entries: &Field) -> Option<[&Field; 2]> {
    match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => Some([key, value]),
            _ => None,
        },
        _ => None,
    }
}
