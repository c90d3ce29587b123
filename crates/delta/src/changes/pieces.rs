//! A range of versions in pieces of one schema each, and their rows in the schema of the last one.
//!
//! Columns are matched by their stored names, which a renamed column keeps and a column that was dropped and added
//! again does not. A column that a piece lacks is null in its rows.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::schema::{DataType as KernelType, StructField, StructType};
use delta_kernel::{Engine, Snapshot, StorageHandler};
use lakerace_format::FindBy;
use lakerace_format::conform::check;
use lakerace_format::schema_text::print_type;
use lakerace_io::option::{FROM, TO};
use lakerace_io::{Error, ErrorKind, Result};
use serde::Deserialize;
use url::Url;

use super::arrow_schema;
use crate::kernel::error::guarded;
use crate::paths::LOG;
use crate::paths::ROOT;
use crate::snapshot::partitions::stored_name;
use crate::write::wider_type::wider;

/// The part of an entry's line that schemas need.
#[derive(Deserialize)]
struct SchemaLine {
    #[serde(rename = "metaData")]
    metadata: Option<LineMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineMetadata {
    schema_string: String,
    /// The table's properties.
    #[serde(default)]
    pub configuration: HashMap<String, String>,
}

/// The versions of a range that have the same schema, piece by piece.
///
/// A version that makes types narrower is an error of kind `Unsupported`: files that it removes have values of the wider ones.
pub(super) fn pieces(engine: &dyn Engine, range: RangeInclusive<u64>) -> Result<Vec<RangeInclusive<u64>>> {
    let (from, to) = range.into_inner();
    let schema_of = |version: u64| -> Result<StructType> {
        let snapshot = guarded(|| Snapshot::builder_for(ROOT).at_version(version).build(engine))?;
        Ok(snapshot.schema().as_ref().clone())
    };
    let (storage, mut schema) = (engine.storage_handler(), schema_of(from)?);
    // The version before the range need not be there any more.
    let before = from.checked_sub(1).filter(|_| new_schema(storage.as_ref(), from).is_ok_and(|new| new.is_some()));
    if let Some(before) = before.and_then(|version| schema_of(version).ok()) {
        check_not_narrower(&before, &schema, from)?;
    }
    let (mut pieces, mut begin) = (Vec::new(), from);
    for version in from + 1..=to {
        match new_schema(storage.as_ref(), version)? {
            Some(new) if new != schema => {
                check_not_narrower(&schema, &new, version)?;
                pieces.push(begin..=version - 1);
                (begin, schema) = (version, new);
            }
            _ => {}
        }
    }
    pieces.push(begin..=to);
    Ok(pieces)
}

/// Checks that the types of `version` hold all values of the version before it.
fn check_not_narrower(before: &StructType, after: &StructType, version: u64) -> Result<()> {
    let Some((name, from, to)) = narrower_field(before, after) else { return Ok(()) };
    let message = format!(
        "its type changes from {from} to {to}, and files that this version removes have values of the old type"
    );
    let error = Error::unsupported(message).at(format!("version {version}: column {name:?}"));
    let (before, after) = (version.saturating_sub(1), version + 1);
    Err(error.advice(format!(
        "omit version {version}: read the changes up to {before} ({}) and those from {after} on ({})",
        TO.to(before.to_string()),
        FROM.to(after.to_string())
    )))
}

/// A field whose type in `after` does not hold all values of its type in `before`, and both types.
fn narrower_field<'a>(
    before: &'a StructType,
    after: &'a StructType,
) -> Option<(&'a str, &'a KernelType, &'a KernelType)> {
    after.fields().find_map(|field| {
        let old = before.fields().find(|old| stored_name(old) == stored_name(field))?;
        narrower_part(old.data_type(), field.data_type()).map(|(from, to)| (field.name().as_str(), from, to))
    })
}

/// The parts of two types of which the second does not hold all values of the first.
pub(crate) fn narrower_part<'a>(
    before: &'a KernelType,
    after: &'a KernelType,
) -> Option<(&'a KernelType, &'a KernelType)> {
    match (before, after) {
        (KernelType::Struct(old), KernelType::Struct(new)) => narrower_field(old, new).map(|(_, from, to)| (from, to)),
        (KernelType::Array(old), KernelType::Array(new)) => narrower_part(old.element_type(), new.element_type()),
        (KernelType::Map(old), KernelType::Map(new)) => {
            narrower_part(old.key_type(), new.key_type()).or_else(|| narrower_part(old.value_type(), new.value_type()))
        }
        _ if before == after => None,
        _ => {
            let types: Option<(DataType, DataType)> = before.try_into_arrow().ok().zip(after.try_into_arrow().ok());
            let is_wider = types.is_some_and(|types| match types {
                // Widening that other writers do.
                (DataType::Date32, DataType::Timestamp(_, None)) => true,
                (old, new) => wider(&old, &new).is_some_and(|wider| wider == new),
            });
            (!is_wider).then_some((before, after))
        }
    }
}

/// The schema that an entry sets; `None` where it sets none. The kernel reads the same entries, and they are fetched
/// once.
fn new_schema(storage: &dyn StorageHandler, version: u64) -> Result<Option<StructType>> {
    let Some(metadata) = new_metadata(storage, version)? else { return Ok(None) };
    serde_json::from_str(&metadata.schema_string).map(Some).map_err(|e| unreadable(&e, version))
}

/// The metadata that an entry sets; `None` where it sets none.
pub(super) fn new_metadata(storage: &dyn StorageHandler, version: u64) -> Result<Option<LineMetadata>> {
    let url = Url::parse(ROOT).and_then(|root| root.join(&entry_name(version))).map_err(Error::unexpected)?;
    let read = guarded(|| storage.read_files(vec![(url, None)])?.collect::<Result<Vec<_>, _>>());
    let entry = match read {
        Ok(entry) => entry.concat(),
        // The kernel reports missing entries itself.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let may_have = |line: &&[u8]| line.windows(KEY.len()).any(|part| part == KEY);
    for line in entry.split(|byte| *byte == b'\n').filter(may_have) {
        if let Some(metadata) =
            serde_json::from_slice::<SchemaLine>(line).map_err(|e| unreadable(&e, version))?.metadata
        {
            return Ok(Some(metadata));
        }
    }
    Ok(None)
}

fn entry_name(version: u64) -> String {
    format!("{LOG}/{version:020}.json")
}

fn unreadable(error: &serde_json::Error, version: u64) -> Error {
    Error::corrupt(format!("its metadata can't be read: {error}")).at(entry_name(version))
}

/// The text that every line with a schema contains.
const KEY: &[u8] = b"\"metaData\"";

/// An error where a column of a piece can't have the type of the last one.
pub(super) fn check_columns(own: &StructType, last: &StructType, schema: &Schema) -> Result<()> {
    let own_types = arrow_schema(own)?;
    for (field, to) in last.fields().zip(schema.fields()) {
        let Some((at, stored)) = own.fields().enumerate().find(|(_, own)| stored_name(own) == stored_name(field))
        else {
            continue;
        };
        let from = own_types.field(at).data_type();
        let stored = named_as(field.data_type(), Some(stored.data_type()), to.data_type());
        check(from, to.data_type(), &stored, FindBy::Name).map_err(|error| {
            let (before, after) = (print_type(from), print_type(to.data_type()));
            let message = format!("its type has changed from {before} to {after}");
            let error = Error::new(ErrorKind::Unsupported, format!("{message}: {}", error.message()));
            error.at(format!("column {:?}", field.name()))
        })?;
    }
    Ok(())
}

/// A schema in which everything may be null: rows of earlier schemas lack columns.
pub(super) fn nullable(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().map(nullable_field).collect::<Vec<_>>())
}

fn nullable_field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(nullable_field).collect()),
        DataType::List(item) => DataType::List(nullable_field(item)),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type).with_nullable(true))
}

/// A type of the last piece whose fields have the names of `own`. Fields that `own` lacks get a name that no field has.
fn named_as(last: &KernelType, own: Option<&KernelType>, data_type: &DataType) -> DataType {
    let renamed =
        |field: &FieldRef, name: &str, data_type: DataType| Arc::new(Field::new(name, data_type, field.is_nullable()));
    match (last, own, data_type) {
        (KernelType::Struct(last), Some(KernelType::Struct(own)), DataType::Struct(fields)) => {
            let field = |(last, field): (&StructField, &FieldRef)| {
                let own = own.fields().find(|own| stored_name(own) == stored_name(last));
                let name = own.map_or("", |own| own.name());
                let data_type = named_as(last.data_type(), own.map(StructField::data_type), field.data_type());
                renamed(field, name, data_type)
            };
            DataType::Struct(last.fields().zip(fields).map(field).collect())
        }
        (KernelType::Array(last), Some(KernelType::Array(own)), DataType::List(item)) => {
            let data_type = named_as(last.element_type(), Some(own.element_type()), item.data_type());
            DataType::List(renamed(item, item.name(), data_type))
        }
        (KernelType::Map(last), Some(KernelType::Map(own)), DataType::Map(entries, sorted)) => {
            let DataType::Struct(parts) = entries.data_type() else { return data_type.clone() };
            let [key, value] = parts.as_ref() else { return data_type.clone() };
            let key_type = named_as(last.key_type(), Some(own.key_type()), key.data_type());
            let value_type = named_as(last.value_type(), Some(own.value_type()), value.data_type());
            let parts = [renamed(key, key.name(), key_type), renamed(value, value.name(), value_type)];
            DataType::Map(renamed(entries, entries.name(), DataType::Struct(parts.into_iter().collect())), *sorted)
        }
        _ => data_type.clone(),
    }
}
