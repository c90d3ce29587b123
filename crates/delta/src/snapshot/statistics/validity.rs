//! The validity of the statistics of a file, which the log has as a JSON text.

use serde_json::Value;

use crate::log::json_object::JsonObject;

/// The members of statistics that are objects with a member for each column.
const BY_COLUMN: [&str; 3] = ["minValues", "maxValues", "nullCount"];

/// The reason why a text is no statistics of the protocol, after the words "the statistics"; `None`: it is.
///
/// An empty text is none: readers ignore it, but delta-rs can't merge into such a table, nor compact it. `misfit` looks at
/// the types of bounds.
pub(crate) fn defect(text: &str) -> Option<String> {
    let Some(members) = JsonObject::parse(text) else { return Some("are no JSON object".to_owned()) };
    let statistics: Value = match serde_json::from_str(text) {
        Ok(statistics) => statistics,
        Err(error) => return Some(format!("can't be parsed: {error}")),
    };
    let stated = |name: &str| members.get(name).unwrap_or_default();
    if !is_absent_or(&statistics["numRecords"], is_count) {
        return Some(format!("have {} as numRecords, which must be a count", stated("numRecords")));
    }
    if !is_absent_or(&statistics["tightBounds"], Value::is_boolean) {
        return Some(format!("have {} as tightBounds, which must be true or false", stated("tightBounds")));
    }
    if let Some(name) = BY_COLUMN.into_iter().find(|name| !is_absent_or(&statistics[*name], Value::is_object)) {
        return Some(format!("have no object as {name}"));
    }
    let column = column_without_count(&statistics["nullCount"])?;
    Some(format!("have no count as nullCount of {column}"))
}

/// Returns true for a count, nothing, or an object of such.
pub(super) fn has_counts(value: &Value) -> bool {
    match value {
        Value::Object(_) => column_without_count(value).is_none(),
        value => is_absent_or(value, is_count),
    }
}

fn is_absent_or(value: &Value, is_valid: impl Fn(&Value) -> bool) -> bool {
    value.is_null() || is_valid(value)
}

/// Returns true for a whole number from 0 to 2^63 - 1, the largest that readers have a type for.
fn is_count(value: &Value) -> bool {
    value.as_i64().is_some_and(|count| count >= 0)
}

/// The column, or the field of a struct column, whose null count is none.
fn column_without_count(counts: &Value) -> Option<String> {
    counts.as_object()?.iter().find_map(|(name, count)| match count {
        Value::Null => None,
        Value::Object(_) => column_without_count(count).map(|field| format!("{name}.{field}")),
        count => (!is_count(count)).then(|| name.clone()),
    })
}

#[cfg(test)]
mod tests;
