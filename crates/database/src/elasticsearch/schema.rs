//! The schema of an index: the one that a load kept in the mapping's `_meta`, and the types of the fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use lakerace_format::{schema_from_base64, schema_to_base64};
use lakerace_io::{Error, Result};
use serde_json::{Map, Value, json};

use super::date_format::DateFormats;
use super::location::LocationParameters;
use super::mapping::kind_of;

/// The key of lakerace's object in `_meta`.
pub(super) const OURS: &str = "lakerace";
const SCHEMA: &str = "schema";
/// The columns that `_id`s are made from; none where the server has made some of them.
const KEY: &str = "key";

/// Metadata of a field whose texts are JSON, as in the document.
pub(super) const JSON_TEXT: &str = "lakerace.json";

/// The schema that a load kept in `_meta`, if one did.
pub(super) fn kept(meta: &Map<String, Value>) -> Result<Option<SchemaRef>> {
    let Some(text) = meta.get(OURS).and_then(|ours| ours[SCHEMA].as_str()) else { return Ok(None) };
    let damaged = || {
        Error::corrupt("the schema in _meta.lakerace.schema of the mapping is damaged")
            .advice("remove it from the mapping, or give a schema")
    };
    schema_from_base64(text).map(|schema| Some(Arc::new(schema))).map_err(|_| damaged())
}

/// Puts a schema into `_meta`.
pub(super) fn keep(meta: &mut Map<String, Value>, schema: &Schema) {
    ours(meta)[SCHEMA] = Value::String(schema_to_base64(schema));
}

/// The key that loads kept in `_meta`; `None` for an index of another program.
pub(super) fn kept_key(meta: &Map<String, Value>) -> Option<Vec<&str>> {
    let columns = meta.get(OURS)?.get(KEY)?.as_array()?;
    Some(columns.iter().filter_map(Value::as_str).collect())
}

/// Puts a key into `_meta`.
pub(super) fn keep_key(meta: &mut Map<String, Value>, key: &[&str]) {
    ours(meta)[KEY] = key.into();
}

fn ours(meta: &mut Map<String, Value>) -> &mut Value {
    let ours = meta.entry(OURS).or_insert_with(|| Value::Object(Map::new()));
    if !ours.is_object() {
        *ours = Value::Object(Map::new());
    }
    ours
}

/// The columns of an index: those that a load kept, then the fields that it knows nothing of, by name.
pub(super) fn schema_of(
    properties: &Map<String, Value>,
    kept: Option<&Schema>,
    parameters: &LocationParameters,
) -> Result<SchemaRef> {
    let mut fields: Vec<Arc<Field>> = kept.map(|schema| schema.fields().to_vec()).unwrap_or_default();
    let known: Vec<String> = fields.iter().map(|field| first_part(field.name()).to_owned()).collect();
    fields.extend(
        fields_of(properties, "", parameters).into_iter().filter(|field| !known.contains(field.name())).map(Arc::new),
    );
    for name in &parameters.json {
        let column = Arc::new(json_text(name));
        match fields.iter_mut().find(|field| field.name() == name) {
            Some(field) => *field = column,
            None => fields.push(column),
        }
    }
    for name in parameters.metadata.iter().rev() {
        if !fields.iter().any(|field| field.name() == name) {
            fields.insert(0, Arc::new(Field::new(name, DataType::Utf8, true)));
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Fields of `runtime` that documents have: those without a script. Gives the names of the others, which the server computes.
pub(super) fn add_runtime(properties: &mut Map<String, Value>, runtime: Option<&Value>) -> Vec<String> {
    let mut computed = Vec::new();
    for (name, mapped) in runtime.and_then(Value::as_object).into_iter().flatten() {
        if mapped.get("script").is_some() || matches!(kind_of(mapped), "lookup" | "composite") {
            computed.push(name.clone());
        } else {
            add_field(properties, name, mapped);
        }
    }
    computed
}

/// Puts a field at the path of its dotted name, unless that path is taken.
fn add_field(properties: &mut Map<String, Value>, name: &str, mapped: &Value) {
    let Some((first, rest)) = name.split_once('.') else {
        properties.entry(name).or_insert_with(|| mapped.clone());
        return;
    };
    let object = properties.entry(first).or_insert_with(|| json!({ "properties": {} }));
    if let Some(inner) = object.get_mut("properties").and_then(Value::as_object_mut) {
        add_field(inner, rest, mapped);
    }
}

fn first_part(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn fields_of(properties: &Map<String, Value>, prefix: &str, parameters: &LocationParameters) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for (name, mapped) in properties {
        let path = format!("{prefix}{name}");
        let Some(field) = field_of(name, &path, mapped, parameters) else { continue };
        fields.push(match parameters.lists.contains(&path) {
            true => {
                let item = Field::new("item", field.data_type().clone(), true).with_metadata(field.metadata().clone());
                Field::new(name, DataType::List(Arc::new(item)), true)
            }
            false => field,
        });
    }
    fields
}

/// The column of a field; `None` for one that documents don't have.
fn field_of(name: &str, path: &str, mapped: &Value, parameters: &LocationParameters) -> Option<Field> {
    let utc = || Some("UTC".into());
    let data_type = match kind_of(mapped) {
        "alias" => return None,
        "boolean" => DataType::Boolean,
        "byte" => DataType::Int8,
        "short" => DataType::Int16,
        "integer" => DataType::Int32,
        "long" => DataType::Int64,
        "unsigned_long" => DataType::UInt64,
        // Documents keep the digits that they were sent with, even if the field searches by fewer.
        "half_float" | "float" | "double" | "scaled_float" => DataType::Float64,
        "binary" => DataType::Binary,
        "date" if is_iso(mapped) => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        "date_nanos" if is_iso(mapped) => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        "date" | "date_nanos" | "keyword" | "text" | "wildcard" | "constant_keyword" | "match_only_text" | "ip"
        | "version" | "search_as_you_type" => DataType::Utf8,
        kind @ ("object" | "nested") => return object(name, path, mapped, kind == "nested", parameters),
        _ => return Some(json_text(name)),
    };
    Some(Field::new(name, data_type, true))
}

fn object(name: &str, path: &str, mapped: &Value, is_nested: bool, parameters: &LocationParameters) -> Option<Field> {
    let properties = mapped["properties"].as_object().filter(|properties| !properties.is_empty());
    let Some(properties) = properties.filter(|_| mapped["enabled"] != false) else { return Some(json_text(name)) };
    let fields = fields_of(properties, &format!("{path}."), parameters);
    let data_type = DataType::Struct(fields.into());
    let is_list = is_nested && !parameters.lists.contains(&path.to_owned());
    Some(match is_list {
        true => Field::new(name, DataType::List(Arc::new(Field::new("item", data_type, true))), true),
        false => Field::new(name, data_type, true),
    })
}

fn json_text(name: &str) -> Field {
    let metadata = HashMap::from([(JSON_TEXT.to_owned(), "true".to_owned())]);
    Field::new(name, DataType::Utf8, true).with_metadata(metadata)
}

/// Returns true if all formats of a date are those that we read.
fn is_iso(mapped: &Value) -> bool {
    DateFormats::of_field(mapped["format"].as_str()).is_some()
}

#[cfg(test)]
mod tests;
