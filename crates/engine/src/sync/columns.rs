//! The columns of a followed table, which the target has by name.
//!
//! Rows that have not changed are not sent again, so that a column that gets another name, or comes back, has values in
//! the table that the target lacks.

use std::collections::{BTreeMap, BTreeSet};

use lakerace_delta::{Snapshot, VersionSpec, history};
use lakerace_io::{Error, ErrorKind, Result};
use serde_json::Value;

use super::{SyncState, TableFollower};

/// Between the names of a path. No column name contains it.
const SEPARATOR: char = '\u{1f}';

impl TableFollower<'_> {
    /// Fails where rows that have not changed have other values for the target's columns than before.
    pub(super) fn check_columns(&self, state: &SyncState, snapshot: &Snapshot) -> Result<()> {
        let known = match &state.columns {
            // States without the entry lack fields.
            Some(columns) if state.entry.is_some() => columns.clone(),
            _ => self.columns_at(state.version)?,
        };
        let now = columns_by_stored_name(snapshot)?;
        if let Some((stored, before, after)) = changed_type(&state.types, &types_by_stored_name(snapshot)?) {
            let column = now.get(stored).map_or_else(String::new, |name| shown(name));
            let message = format!(
                "the type of column {column:?} of the table has changed from {before} to {after} after the last run"
            );
            return Err(self.conflict(&message));
        }
        if let Some(column) = moved_column(&known, &now) {
            let message =
                format!("column {column:?} of the table was renamed, or dropped and added again, after the last run");
            return Err(self.conflict(&message));
        }
        let mut new = now.iter().filter(|(stored, _)| !known.contains_key(*stored)).map(|(_, name)| name).peekable();
        if let Some(column) = new.peek()
            && self.is_restored(state.version, snapshot.version())?
        {
            let column = shown(column);
            return Err(
                self.conflict(&format!("column {column:?} of the table came back by a restore after the last run"))
            );
        }
        match new.find(|name| state.lost_columns.iter().any(|lost| lost.eq_ignore_ascii_case(name))) {
            Some(column) => Err(self.conflict(&format!(
                "column {:?} of the table was dropped and added again, and the target has the values of the dropped one",
                shown(column)
            ))),
            None => Ok(()),
        }
    }

    /// The columns of the version that the target has.
    fn columns_at(&self, version: u64) -> Result<BTreeMap<String, String>> {
        match self.table.snapshot(Some(VersionSpec::Version(version))) {
            Ok(snapshot) => columns_by_stored_name(&snapshot),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let message = format!("it has version {version} of the table, whose columns are not known any more");
                Err(self.conflict(&message))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if a version after the first of these was made by a restore, or may have been: its entry is gone.
    fn is_restored(&self, from: u64, to: u64) -> Result<bool> {
        let count = usize::try_from(to - from).map_err(Error::unexpected)?;
        let entries = history(&self.table, Some(count))?;
        let later = entries.iter().filter(|entry| entry.version > from && entry.version <= to);
        let is_restore = |operation: &Option<String>| operation.as_deref().is_some_and(|name| name == "RESTORE");
        let kinds: Vec<bool> = later.map(|entry| is_restore(&entry.operation)).collect();
        Ok(kinds.len() < count || kinds.contains(&true))
    }
}

/// The columns and fields that a target keeps after it has got these columns, though the table lacks them.
pub(super) fn lost_columns(state: &SyncState, now: &BTreeMap<String, String>) -> BTreeSet<String> {
    let before = state.columns.iter().flat_map(BTreeMap::values);
    let lost = before.filter(|name| !now.values().any(|other| other == *name));
    state.lost_columns.iter().chain(lost).cloned().collect()
}

/// The names of a version's columns, and of the fields below them, by those that files have for them.
pub(super) fn columns_by_stored_name(snapshot: &Snapshot) -> Result<BTreeMap<String, String>> {
    let mut columns = BTreeMap::new();
    visit_fields(&schema_of(snapshot)?, "", "", &mut |stored, name, _| {
        columns.insert(stored, name);
    });
    Ok(columns)
}

/// The types of a version's columns, and of the fields below them, by the names that files have for them.
pub(super) fn types_by_stored_name(snapshot: &Snapshot) -> Result<BTreeMap<String, String>> {
    let mut types = BTreeMap::new();
    visit_fields(&schema_of(snapshot)?, "", "", &mut |stored, _, data_type| {
        types.insert(stored, type_name(data_type));
    });
    Ok(types)
}

/// A type of Delta's schema in words: `long`, `array<long>`, `map<string,double>`. A struct has none of its fields, which are
/// columns of their own.
fn type_name(data_type: &Value) -> String {
    let part = |name: &str| data_type.get(name).map_or_else(String::new, type_name);
    match data_type["type"].as_str() {
        None => data_type.as_str().unwrap_or_default().to_owned(),
        Some("array") => format!("array<{}>", part("elementType")),
        Some("map") => format!("map<{},{}>", part("keyType"), part("valueType")),
        Some(other) => other.to_owned(),
    }
}

/// A column that both have, with another type in each: its stored name and the types.
fn changed_type<'a>(
    before: &'a BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> Option<(&'a String, &'a String, &'a String)> {
    let mut both = before.iter().filter_map(|(stored, before)| Some((stored, before, now.get(stored)?)));
    both.find(|(_, before, now)| before != now)
}

fn schema_of(snapshot: &Snapshot) -> Result<Value> {
    let corrupt = |error| Error::corrupt("the table's schema can't be read").because(error);
    serde_json::from_str(snapshot.schema_text()).map_err(corrupt)
}

/// Visits the fields of a type, at every level, below these paths: the stored path, the path of names, and the type.
fn visit_fields(data_type: &Value, stored: &str, name: &str, visit: &mut impl FnMut(String, String, &Value)) {
    let join = |path: &str, name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}{SEPARATOR}{name}"),
    };
    for field in data_type["fields"].as_array().into_iter().flatten() {
        let Some(own) = field["name"].as_str() else { continue };
        let own_stored = field["metadata"]["delta.columnMapping.physicalName"].as_str().unwrap_or(own);
        let (stored, name) = (join(stored, own_stored), join(name, own));
        visit_fields(&field["type"], &stored, &name, visit);
        visit(stored, name, &field["type"]);
    }
    for part in ["elementType", "keyType", "valueType"] {
        if let Some(below) = data_type.get(part) {
            visit_fields(below, &join(stored, part), &join(name, part), visit);
        }
    }
}

/// A column that has another name than before, or whose name has become that of another column.
fn moved_column(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Option<String> {
    let is_moved = |(stored, name): &(&String, &String)| match now.get(*stored) {
        Some(renamed) => renamed != *name,
        None => now.values().any(|other| other == *name),
    };
    before.iter().find(is_moved).map(|(_, name)| shown(name))
}

fn shown(path: &str) -> String {
    path.replace(SEPARATOR, ".")
}
