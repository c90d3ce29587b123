//! New columns of a table that exists, and comments of its columns.

use std::collections::BTreeMap;

use arrow::datatypes::{Field, Schema};
use lakerace_format::suggestions::nearest;
use lakerace_io::{Error, Result};
use serde_json::{Value, json};

use crate::Snapshot;
use crate::commit::Changes;
use crate::log::exact_numbers::ExactNumbers;
use crate::write::Evolve;
use crate::write::evolve::evolve;
use crate::write::evolve::fields::metadata_of_field;

/// The metadata of a field that is its comment.
const COMMENT: &str = "comment";

/// The schema of a version with more columns and other comments, and the properties that go with it; no schema where it is so already.
pub(super) fn altered_columns(
    snapshot: &Snapshot,
    added: &[Field],
    comments: &BTreeMap<String, String>,
) -> Result<Changes> {
    if added.is_empty() && comments.is_empty() {
        return Ok(Changes::default());
    }
    let known = snapshot.schema();
    for field in added {
        let named = |error: Error| error.at(format!("column {:?}", field.name()));
        if known.field_with_name(field.name()).is_ok() {
            return Err(
                named(Error::usage("the table has this column already")).advice("leave it out, or choose another name")
            );
        }
        if !field.is_nullable() {
            let advice = "leave NOT NULL out: the rows of the table have no value of it";
            return Err(named(Error::unsupported("a new column that is never null").advice(advice)));
        }
    }
    let allowed = Evolve { add: true, widen: false };
    let mut changes = match evolve(snapshot, &Schema::new(added.to_vec()), allowed, &[])? {
        Some(evolved) => evolved.changes,
        None => Changes::default(),
    };
    let before = changes.schema.as_deref().unwrap_or(snapshot.schema_text());
    let after = with_metadata(before, added, comments)?;
    let is_other = after != snapshot.schema_text();
    changes.schema = is_other.then_some(after);
    Ok(changes)
}

/// A schema of the log with the metadata of new columns, and with comments.
fn with_metadata(text: &str, added: &[Field], comments: &BTreeMap<String, String>) -> Result<String> {
    let mut schema =
        ExactNumbers::parse(text).map_err(|e| Error::corrupt(format!("the table's schema can't be read: {e}")))?;
    for field in added {
        let metadata = metadata_of(&mut schema.tree, field.name())?;
        for (name, value) in field.metadata() {
            metadata.insert(name.clone(), json!(value));
        }
    }
    for (column, comment) in comments {
        let metadata = metadata_of(&mut schema.tree, column)?;
        match comment.is_empty() {
            true => metadata.remove(COMMENT),
            false => metadata.insert(COMMENT.to_owned(), json!(comment)),
        };
    }
    Ok(schema.text())
}

/// The metadata of a column in a schema of the log.
fn metadata_of<'a>(schema: &'a mut Value, column: &str) -> Result<&'a mut serde_json::Map<String, Value>> {
    let fields = schema.get_mut("fields").and_then(Value::as_array_mut);
    let fields = fields.ok_or_else(|| Error::corrupt("the table's schema has no fields"))?;
    let name = |field: &Value| field["name"].as_str().unwrap_or_default().to_owned();
    let Some(at) = fields.iter().position(|field| name(field) == column) else {
        let names: Vec<String> = fields.iter().map(name).collect();
        let error = Error::not_found(format!("the table has no column {column:?}"));
        return Err(match nearest(column, names.iter().map(String::as_str)) {
            Some(near) => error.advice(format!("did you mean {near}?")),
            None => error.advice(format!("it has {}", names.join(", "))),
        });
    };
    metadata_of_field(&mut fields[at])
}
