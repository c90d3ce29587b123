//! The parts of an index that an overwrite keeps: its settings, its mapping where columns keep their types, its aliases.

use arrow::datatypes::{DataType, Schema};
use lakerace_io::{Error, Result};
use serde_json::{Map, Value, json};

use super::catalog::{FoundIndices, SearchIndex};
use super::location::LocationParameters;
use super::mapping::{find, holds_exactly, kind_of};
use super::schema::{OURS, add_runtime};
use super::settings::SettingsRestore;

/// Settings that the server gives an index, and takes from no one.
const PRIVATE: [&str; 11] = [
    "index.uuid",
    "index.creation_date",
    "index.provided_name",
    "index.version.",
    "index.history_uuid",
    "index.resize.",
    "index.shrink.",
    "index.routing.allocation.initial_recovery.",
    "index.verified_before_close",
    "index.lifecycle.indexing_complete",
    "index.blocks.",
];
/// The server sets this one where a disk is full. An index with it can be removed.
const FULL_DISK: &str = "index.blocks.read_only_allow_delete";
/// Keys of a mapping that the new one has from its rows.
const OWN_KEYS: [&str; 3] = ["properties", "_meta", "runtime"];

/// The index that a load replaces: the one that the name points to.
pub(super) fn replaced<'a>(found: &'a FoundIndices, name: &str) -> Option<&'a SearchIndex> {
    match found.indices.as_slice() {
        [one] => Some(one),
        several => several.iter().find(|index| index.was_made_for(name)),
    }
    .filter(|index| !index.is_placeholder())
}

/// An index whose owner has blocked it is not replaced.
pub(super) fn check_blocks(index: &SearchIndex) -> Result<()> {
    let is_block = |name: &&String| name.starts_with("index.blocks.") && *name != FULL_DISK;
    match index.settings.keys().filter(is_block).find(|name| index.setting(name) == Some("true")) {
        None => Ok(()),
        Some(name) => Err(Error::conflict(format!("the index {:?} is blocked by its setting {name}", index.name))
            .advice("remove the setting first, or choose another index")),
    }
}

/// Settings and mapping of a new index of these columns, with those that stay of the old one.
pub(super) fn body(
    old: &SearchIndex,
    schema: &Schema,
    mut mapped: Map<String, Value>,
    parameters: &LocationParameters,
) -> Value {
    for field in schema.fields() {
        let named = [&parameters.keyword, &parameters.text, &parameters.date, &parameters.whole_date];
        let is_named = named.into_iter().flatten().any(|name| name.split('.').next() == Some(field.name()));
        if let (false, Some(before)) = (is_named, find(&old.properties, field.name()))
            && let Some(new) = find_mut(&mut mapped, field.name())
        {
            keep_field(new, before, field.data_type());
        }
    }
    let columns = mapped.clone();
    keep_references(&mut mapped, &columns, &old.properties, &old.properties);
    let mut mappings = old.mappings.clone();
    mappings.retain(|key, _| !OWN_KEYS.contains(&key.as_str()));
    let computed = add_runtime(&mut Map::new(), old.mappings.get("runtime"));
    let runtime: Map<String, Value> = computed
        .into_iter()
        .filter(|name| find(&mapped, name).is_none())
        .map(|name| (name.clone(), old.mappings["runtime"][&name].clone()))
        .collect();
    if !runtime.is_empty() {
        mappings.insert("runtime".to_owned(), runtime.into());
    }
    let mut meta = old.meta.clone();
    meta.remove(OURS);
    mappings.insert("_meta".to_owned(), meta.into());
    mappings.insert("properties".to_owned(), mapped.into());
    json!({ "settings": settings(old), "mappings": mappings })
}

fn settings(old: &SearchIndex) -> Map<String, Value> {
    let mut settings = old.settings.clone();
    if let Some(restore) = SettingsRestore::noted(old) {
        restore.apply(&mut settings);
    }
    settings.retain(|name, value| !value.is_null() && !PRIVATE.iter().any(|private| name.starts_with(private)));
    settings
}

/// The field of a name whose dots lead into objects, to be changed.
fn find_mut<'a>(properties: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    if properties.contains_key(name) {
        return properties.get_mut(name);
    }
    let (first, rest) = name.split_once('.')?;
    find_mut(properties.get_mut(first)?.get_mut("properties")?.as_object_mut()?, rest)
}

/// A field stays as it was where it holds the column's values, with its analyzers, its other fields and all else.
fn keep_field(new: &mut Value, old: &Value, data_type: &DataType) {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            keep_field(new, old, item.data_type());
        }
        DataType::Map(entries, _) => keep_field(new, old, entries.data_type()),
        DataType::Dictionary(_, values) => keep_field(new, old, values),
        DataType::Struct(_) if matches!(kind_of(old), "object" | "nested") && old["enabled"] == false => {
            *new = old.clone();
        }
        DataType::Struct(fields) if matches!(kind_of(old), "object" | "nested") => {
            let empty = Map::new();
            let before = old["properties"].as_object().unwrap_or(&empty);
            let mut properties = new["properties"].as_object().cloned().unwrap_or_default();
            for field in fields {
                if let (Some(old), Some(new)) = (find(before, field.name()), find_mut(&mut properties, field.name())) {
                    keep_field(new, old, field.data_type());
                }
            }
            let mut whole = old.clone();
            whole["properties"] = properties.into();
            *new = whole;
        }
        _ if holds_exactly(data_type, old) => *new = old.clone(),
        _ => {}
    }
}

/// Keeps fields that no document has: other names of columns, and those that columns are copied to.
fn keep_references(
    new: &mut Map<String, Value>,
    columns: &Map<String, Value>,
    before: &Map<String, Value>,
    whole: &Map<String, Value>,
) {
    for (name, old) in before {
        let is_alias = kind_of(old) == "alias";
        if is_alias && old["path"].as_str().is_some_and(|path| find(columns, path).is_some()) {
            new.entry(name).or_insert_with(|| old.clone());
        }
        let inner = new.get_mut(name).and_then(|new| new.get_mut("properties")).and_then(Value::as_object_mut);
        if let (Some(inner), Some(before)) = (inner, old["properties"].as_object()) {
            keep_references(inner, columns, before, whole);
        }
    }
    let targets = new.values().map(|field| &field["copy_to"]).flat_map(|to| match to {
        Value::String(one) => vec![one.clone()],
        Value::Array(all) => all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    });
    for target in targets.collect::<Vec<_>>() {
        if let (false, Some(old)) = (target.contains('.'), find(whole, &target)) {
            new.entry(target).or_insert_with(|| old.clone());
        }
    }
}

#[cfg(test)]
mod tests;
