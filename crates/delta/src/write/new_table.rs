//! Rules for a new table: the names of its columns, and those that divide its files.

use std::collections::BTreeMap;

use arrow::datatypes::{DataType, Field, Fields, Schema};
use lakerace_format::schema_text::print_field_type;
use lakerace_format::suggestions::column_not_found;
use lakerace_io::option::{PARTITION_BY, TABLE_PROPERTY};
use lakerace_io::{Error, Result};

use super::strict::pair;
use crate::changes::is_feed_column;
use crate::properties::COLUMN_MAPPING;

/// Characters that no column has in a table whose files have the same names. Source: Delta's Parquet files.
const FORBIDDEN: [char; 10] = [' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '='];

/// Returns true if columns have other names in files, so that their own may have any characters.
pub(crate) fn maps_columns(properties: &BTreeMap<String, String>) -> bool {
    properties.get(COLUMN_MAPPING).is_some_and(|mode| mode != "none")
}

/// An error where a new table with these columns and properties can't be divided so.
pub(super) fn check_new_table(
    schema: &Schema,
    partition_by: &[String],
    properties: &BTreeMap<String, String>,
) -> Result<()> {
    check_names(schema.fields(), maps_columns(properties))?;
    if properties.get("delta.enableChangeDataFeed").is_some_and(|value| value == "true")
        && let Some(name) = schema.fields().iter().map(|field| field.name()).find(|name| is_feed_column(name))
    {
        return Err(Error::invalid(format!("the column {name:?} has the name of a column of the change data feed"))
            .advice(format!("rename it, or omit {}", TABLE_PROPERTY.to("delta.enableChangeDataFeed=true"))));
    }
    let outside = |name: &&String| !maps_columns(properties) && name.starts_with("..");
    if let Some(name) = partition_by.iter().find(outside) {
        return Err(Error::invalid(format!(
            "the column {name:?} can't be a partition column: its folders would appear to lead out of the table"
        ))
        .at(PARTITION_BY.to(partition_by.join(",")))
        .advice(format!(
            "rename it, or use other names for folders: {}",
            TABLE_PROPERTY.to("delta.columnMapping.mode=name")
        )));
    }
    check_partitions(schema, partition_by).map_err(|error| error.at(PARTITION_BY.to(partition_by.join(","))))
}

/// An error where a name of a column or field can't be stored.
pub(crate) fn check_names(fields: &Fields, maps_columns: bool) -> Result<()> {
    fields.iter().try_for_each(|field| check_name(field, maps_columns))
}

/// See [`check_names`].
pub(crate) fn check_name(field: &Field, maps_columns: bool) -> Result<()> {
    let name = field.name();
    let advice = format!(
        "rename it, or use other column names in the files: {}",
        TABLE_PROPERTY.to("delta.columnMapping.mode=name")
    );
    let wrong = |what: String, advice: &str| Err(Error::invalid(what).advice(advice));
    if name.is_empty() {
        return wrong("a column has no name".to_owned(), "give it one");
    }
    if maps_columns && name.contains('\n') {
        return wrong(format!("the name of the column {name:?} has a line break"), "rename it");
    }
    if let Some(found) = name.chars().find(|c| FORBIDDEN.contains(c)).filter(|_| !maps_columns) {
        return wrong(
            format!("the name of the column {name:?} has {found:?}, which column names of a Delta table can't contain"),
            &advice,
        );
    }
    below(field.data_type(), maps_columns).map_err(|error| error.at(format!("column {name:?}")))
}

fn below(data_type: &DataType, maps_columns: bool) -> Result<()> {
    match data_type {
        DataType::Struct(fields) => check_names(fields, maps_columns),
        DataType::List(item) => below(item.data_type(), maps_columns),
        DataType::Map(entries, _) => pair(entries).map_or(Ok(()), |[key, value]| {
            below(key.data_type(), maps_columns)?;
            below(value.data_type(), maps_columns)
        }),
        _ => Ok(()),
    }
}

fn check_partitions(schema: &Schema, partition_by: &[String]) -> Result<()> {
    for (at, name) in partition_by.iter().enumerate() {
        let field = schema
            .field_with_name(name)
            .map_err(|_| column_not_found(name, schema.fields().iter().map(|field| field.name().as_str())))?;
        if partition_by[..at].contains(name) {
            return Err(Error::usage(format!("the column {name:?} is given twice")));
        }
        let refused = |why: &str| {
            let message =
                format!("the column {name:?} of type {} can't be a partition column: {why}", print_field_type(field));
            Err(Error::unsupported(message)
                .advice(format!("name another column, or a string column made from it, with {PARTITION_BY}")))
        };
        match field.data_type() {
            data_type if data_type.is_nested() => refused("Delta can't represent nested values as text")?,
            DataType::Binary => refused("not all binary values have a text that all readers read alike")?,
            _ => {}
        }
    }
    if !partition_by.is_empty() && partition_by.len() == schema.fields().len() {
        return Err(Error::usage("a table needs at least one column that is not a partition column")
            .advice(format!("name fewer columns with {PARTITION_BY}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
