//! Notes that files carry by key: information from the producer of the rows, such as `geo` of GeoParquet and `pandas`.
//!
//! They travel as the metadata of Arrow's schema, so that a copy keeps them. No note is kept that may no longer be
//! true: the notes by which a writer describes its own file are left out, as are notes on which several files differ,
//! and the entries of `geo` and `pandas` for columns and rows that are not read.

use std::collections::HashSet;

use arrow::datatypes::{Fields, Metadata};
use serde_json::Value;

use crate::plan::ReadRequest;

const GEO: &str = "geo";
const PANDAS: &str = "pandas";

/// The prefixes of the keys by which writers describe the file that they write: its schema in another model, its
/// calendar, its indexes.
const OF_WRITERS: [&str; 8] = ["ARROW:", "org.apache.", "parquet.", "avro.", "writer.", "iceberg.", "thrift.", "hive."];

/// Finds the notes of the files' schemas that all of them agree on.
pub(crate) fn common_notes<'a>(mut files: impl Iterator<Item = &'a Metadata>) -> Metadata {
    let Some(first) = files.next() else { return Metadata::default() };
    let mut notes = first.clone();
    notes.retain(|key, _| !OF_WRITERS.iter().any(|writer| key.starts_with(writer)));
    let mut has_several = false;
    for file in files {
        has_several = true;
        notes.retain(|key, note| match file.get(key) {
            Some(other) if other == note => true,
            // The bounds differ from file to file.
            Some(other) if key == GEO => match (unbounded_geo(note), unbounded_geo(other)) {
                (Some(ours), Some(theirs)) if ours == theirs => {
                    *note = ours;
                    true
                }
                _ => false,
            },
            _ => false,
        });
    }
    if has_several {
        change(&mut notes, PANDAS, without_range);
    }
    notes
}

/// The notes for a request that reads the columns `read` out of `all`, and perhaps not all rows.
pub(crate) fn requested_notes(notes: &Metadata, all: &Fields, read: &Fields, request: &ReadRequest) -> Metadata {
    let mut notes = notes.clone();
    if request.filter.is_some() || request.limit.is_some() {
        change(&mut notes, PANDAS, without_range);
        change(&mut notes, GEO, without_bounds);
    }
    if !has_columns(&notes) {
        return notes;
    }
    let is_all = {
        let read: HashSet<&str> = read.iter().map(|field| field.name().as_str()).collect();
        all.iter().all(|field| read.contains(field.name().as_str()))
    };
    if is_all { notes } else { notes_of_columns(&notes, read) }
}

/// The notes for these columns of a file that has others as well.
pub(crate) fn notes_of_columns(notes: &Metadata, read: &Fields) -> Metadata {
    let mut notes = notes.clone();
    if has_columns(&notes) {
        let read: HashSet<&str> = read.iter().map(|field| field.name().as_str()).collect();
        let is_read = |name: &str| read.contains(name);
        change(&mut notes, PANDAS, |note| pandas_of(note, &is_read));
        change(&mut notes, GEO, |note| geo_of(note, &is_read));
    }
    notes
}

/// Returns true if some notes describe columns.
fn has_columns(notes: &Metadata) -> bool {
    notes.contains_key(PANDAS) || notes.contains_key(GEO)
}

/// Changes a note that is JSON. One that is not, or that `to` gives up, is removed.
fn change(notes: &mut Metadata, key: &str, to: impl Fn(&mut Value) -> Option<()>) {
    let Some(note) = notes.remove(key) else { return };
    let changed = serde_json::from_str::<Value>(&note).ok().and_then(|mut value| {
        to(&mut value)?;
        serde_json::to_string(&value).ok()
    });
    notes.extend(changed.map(|changed| (key, changed)));
}

/// The note of pandas without an index that is a range: it has the numbers of all rows of one file.
fn without_range(pandas: &mut Value) -> Option<()> {
    pandas.get_mut("index_columns")?.as_array_mut()?.retain(Value::is_string);
    Some(())
}

/// The note of pandas on the columns that are read.
fn pandas_of(pandas: &mut Value, is_read: &dyn Fn(&str) -> bool) -> Option<()> {
    pandas.get_mut("index_columns")?.as_array_mut()?.retain(|column| column.as_str().is_none_or(is_read));
    pandas.get_mut("columns")?.as_array_mut()?.retain(|column| match column["field_name"].as_str() {
        Some(name) => is_read(name),
        None => column["name"].as_str().is_none_or(is_read),
    });
    Some(())
}

/// Removes from the note of GeoParquet the entries that describe all rows.
fn without_bounds(geo: &mut Value) -> Option<()> {
    for column in geo.get_mut("columns")?.as_object_mut()?.values_mut() {
        let column = column.as_object_mut()?;
        column.remove("bbox");
        // An empty list means that the types are not known.
        column.insert("geometry_types".to_owned(), Value::Array(Vec::new()));
    }
    Some(())
}

fn unbounded_geo(note: &str) -> Option<String> {
    let mut geo = serde_json::from_str(note).ok()?;
    without_bounds(&mut geo)?;
    serde_json::to_string(&geo).ok()
}

/// The note of GeoParquet on the columns that are read; none without the column that it calls the primary one.
fn geo_of(geo: &mut Value, is_read: &dyn Fn(&str) -> bool) -> Option<()> {
    if !is_read(geo.get("primary_column")?.as_str()?) {
        return None;
    }
    let columns = geo.get_mut("columns")?.as_object_mut()?;
    columns.retain(|name, _| is_read(name));
    for column in columns.values_mut() {
        if column.get("covering").is_some_and(|covering| !roots_are_read(covering, is_read)) {
            column.as_object_mut()?.remove("covering");
        }
    }
    Some(())
}

/// Returns true if the columns that a covering names by paths are read.
fn roots_are_read(covering: &Value, is_read: &dyn Fn(&str) -> bool) -> bool {
    match covering {
        Value::Object(parts) => parts.values().all(|part| roots_are_read(part, is_read)),
        Value::Array(path) => path.first().and_then(Value::as_str).is_none_or(is_read),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
