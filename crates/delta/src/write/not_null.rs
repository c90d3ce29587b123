//! Columns that are NOT NULL in a source, and in a new table.
//!
//! Delta supports NOT NULL for columns, and for fields of structs whose parents are NOT NULL, too. Within lists and
//! maps, and within structs that may be null, Spark refuses it. A table with such a column has the writer feature
//! `invariants`.

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use lakerace_io::option::KEEP_NOT_NULL;
use lakerace_io::{Error, Result};

/// The schema of a new table, NOT NULL where the source is and where Delta can say it.
pub(super) fn kept(source: &Schema, table: &Schema) -> Schema {
    Schema::new(kept_fields(source.fields(), table.fields()))
}

fn kept_fields(source: &Fields, table: &Fields) -> Fields {
    source.iter().zip(table).map(|(source, table)| kept_field(source, table)).collect()
}

fn kept_field(source: &Field, table: &FieldRef) -> FieldRef {
    if source.is_nullable() {
        return FieldRef::clone(table);
    }
    let data_type = match (source.data_type(), table.data_type()) {
        (DataType::Struct(source), DataType::Struct(table)) => DataType::Struct(kept_fields(source, table)),
        (_, other) => other.clone(),
    };
    FieldRef::new(table.as_ref().clone().with_data_type(data_type).with_nullable(false))
}

/// The columns and fields that are NOT NULL in a source and nullable in the table made for it, as `column.field`.
pub(super) fn made_nullable(source: &Schema, table: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    collect_all("", source.fields(), table.fields(), &mut found);
    found
}

fn collect_all(parent: &str, source: &Fields, table: &Fields, found: &mut Vec<String>) {
    for (source, table) in source.iter().zip(table) {
        let path = if parent.is_empty() { table.name().clone() } else { format!("{parent}.{}", table.name()) };
        collect(&path, source, table, found);
    }
}

fn collect(path: &str, source: &Field, table: &Field, found: &mut Vec<String>) {
    use DataType as T;
    if !source.is_nullable() && table.is_nullable() {
        found.push(path.to_owned());
    }
    match (source.data_type(), table.data_type()) {
        (T::Struct(source), T::Struct(table)) => collect_all(path, source, table, found),
        (
            T::List(source)
            | T::LargeList(source)
            | T::FixedSizeList(source, _)
            | T::ListView(source)
            | T::LargeListView(source),
            T::List(table),
        ) => collect(&format!("{path}.element"), source, table, found),
        (T::Map(source, _), T::Map(table, _)) => {
            if let (T::Struct(source), T::Struct(table)) = (source.data_type(), table.data_type()) {
                collect_all(path, source, table, found);
            }
        }
        _ => {}
    }
}

/// Returns an error where a column that should be NOT NULL is nullable in a table that exists. `adds`: columns that the
/// table lacks are added, which are nullable.
pub(super) fn check_existing(wanted: &Schema, table: &Schema, adds: bool) -> Result<()> {
    match first_nullable("", wanted.fields(), table.fields(), adds) {
        None => Ok(()),
        Some(path) => Err(Error::unsupported(format!("NOT NULL of {path:?}, which is nullable in an existing table"))
            .advice(format!("omit {KEEP_NOT_NULL}, or write to a new table"))),
    }
}

fn first_nullable(parent: &str, wanted: &Fields, table: &Fields, adds: bool) -> Option<String> {
    wanted.iter().filter(|field| !field.is_nullable()).find_map(|field| {
        let path = if parent.is_empty() { field.name().clone() } else { format!("{parent}.{}", field.name()) };
        match table.find(field.name()) {
            None => adds.then_some(path),
            Some((_, known)) if known.is_nullable() => Some(path),
            Some((_, known)) => match (field.data_type(), known.data_type()) {
                (DataType::Struct(wanted), DataType::Struct(table)) => first_nullable(&path, wanted, table, adds),
                _ => None,
            },
        }
    })
}
