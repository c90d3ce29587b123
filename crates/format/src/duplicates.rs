//! Names that a file has twice.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Fields, Schema};
use lakerace_io::{Error, Result};

/// An error of kind `Unsupported` where two columns, or two fields of a struct, have one name: columns are found by their
/// names, so the second would read as the first.
pub(crate) fn refuse_duplicates(schema: &Schema) -> Result<()> {
    check(schema.fields(), "column")
}

fn check(fields: &Fields, what: &str) -> Result<()> {
    let mut known = HashMap::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        if let Some(first) = known.insert(field.name().as_str(), at) {
            let message = format!("{what}s {} and {} are both named {:?}", first + 1, at + 1, field.name());
            return Err(Error::unsupported(message).advice("rename one of them where the file is written"));
        }
        below(field.data_type()).map_err(|error| error.at(format!("{what} {:?}", field.name())))?;
    }
    Ok(())
}

fn below(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Struct(fields) => check(fields, "field"),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => below(item.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            // Key and value are told by their places.
            DataType::Struct(fields) => fields.iter().try_for_each(|field| below(field.data_type())),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
