//! The columns of a table that exists, as they become others.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use delta_kernel::schema::StructType;
use delta_kernel::table_features::{ColumnMappingMode, TableFeature};
use lakerace_format::schema_text::print_type;
use lakerace_io::option::{ADD_COLUMN, TYPE};
use lakerace_io::{Error, Result};
use serde_json::{Map, Value, json};

use super::AlterOptions;
use super::fields::{name_of, position};
use super::names::ColumnUses;
use crate::commit::MetadataChanges;
use crate::constraint::named_fields;
use crate::log::exact_numbers::ExactNumbers;
use crate::properties::{COLUMN_MAPPING, TYPE_WIDENING};
use crate::snapshot::Snapshot;
use crate::snapshot::columns::{FIELD_ID, TableColumns};
use crate::write::Evolve;
use crate::write::evolve::MAX_COLUMN_ID;
use crate::write::evolve::fields::{COLUMN_ID, EvolvingSchema, PHYSICAL_NAME, json_field, metadata_of_field};
use crate::write::types::table_types;

/// The metadata of a field that is its comment.
const COMMENT: &str = "comment";

/// The metadata of a field that says how files have it, and that which gives rows without it a value.
const MAPPING_METADATA: &str = "delta.columnMapping.";
const DEFAULTS: [&str; 2] = ["CURRENT_DEFAULT", "EXISTS_DEFAULT"];

/// Columns that have changed, with the features and properties that they require.
#[derive(Default)]
pub(super) struct AlteredColumns {
    /// The schema and the properties that go with it; no schema where it is so already.
    pub changes: MetadataChanges,
    /// Features that readers and writers have to know.
    pub features: Vec<TableFeature>,
}

/// The columns of a version with these changes: types, drops, renames, new ones, comments, in this order.
pub(super) fn altered_columns(snapshot: &Snapshot, options: &AlterOptions) -> Result<AlteredColumns> {
    let AlterOptions { add_columns, comments, rename_columns, drop_columns, column_types, .. } = options;
    let renames = !rename_columns.is_empty() || !drop_columns.is_empty();
    if add_columns.is_empty() && comments.is_empty() && column_types.is_empty() && !renames {
        return Ok(AlteredColumns::default());
    }
    let mut schema = ExactNumbers::parse(snapshot.schema_text())
        .map_err(|e| Error::corrupt(format!("the table's schema can't be read: {e}")))?;
    let fields = schema.tree.get_mut("fields").and_then(Value::as_array_mut);
    let fields = fields.ok_or_else(|| Error::corrupt("the table's schema has no fields"))?;
    let mut altered = AlteredColumns::default();
    let allowed = Evolve { add: true, widen: true };
    let mut evolving = EvolvingSchema::new(snapshot, allowed)?;
    let is_mapped = snapshot.kernel().table_configuration().column_mapping_mode() != ColumnMappingMode::None;
    if renames && !is_mapped {
        evolving.highest = Some(map_columns(fields)?);
        altered.changes.properties.insert(COLUMN_MAPPING.to_owned(), "name".to_owned());
        altered.features.push(TableFeature::ColumnMapping);
    }
    let mut names = ColumnUses::new(snapshot, options)?;
    widen(&names, fields, column_types, &mut evolving, &mut altered)?;
    names.drop_columns(fields, drop_columns)?;
    names.rename(fields, rename_columns)?;
    names.finish(&mut altered.changes);
    add(fields, add_columns, &mut evolving)?;
    for (column, comment) in comments {
        let metadata = metadata_of(fields, column)?;
        match comment.is_empty() {
            true => metadata.remove(COMMENT),
            false => metadata.insert(COMMENT.to_owned(), json!(comment)),
        };
    }
    if let Some(highest) = evolving.highest {
        let known = snapshot.properties().get(MAX_COLUMN_ID).cloned();
        if known != Some(highest.to_string()) {
            altered.changes.properties.insert(MAX_COLUMN_ID.to_owned(), highest.to_string());
        }
    }
    let after = schema.text();
    let (before, now): (Value, Value) = (parsed(snapshot.schema_text())?, parsed(&after)?);
    altered.changes.schema = (before != now).then_some(after);
    Ok(altered)
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| Error::corrupt(format!("the table's schema can't be read: {e}")))
}

/// Assigns ids to fields, and their own names as stored names. Returns the highest id.
fn map_columns(fields: &mut [Value]) -> Result<i64> {
    let mut highest = 0;
    for field in fields {
        map_field(field, &mut highest)?;
    }
    Ok(highest)
}

fn map_field(field: &mut Value, highest: &mut i64) -> Result<()> {
    let name = name_of(field);
    *highest += 1;
    let metadata = metadata_of_field(field)?;
    metadata.insert(COLUMN_ID.to_owned(), json!(*highest));
    metadata.insert(PHYSICAL_NAME.to_owned(), json!(name));
    field.get_mut("type").map_or(Ok(()), |data_type| map_below(data_type, highest))
}

fn map_below(data_type: &mut Value, highest: &mut i64) -> Result<()> {
    let Some(data_type) = data_type.as_object_mut() else { return Ok(()) };
    if let Some(fields) = data_type.get_mut("fields").and_then(Value::as_array_mut) {
        fields.iter_mut().try_for_each(|field| map_field(field, highest))?;
    }
    for name in ["elementType", "keyType", "valueType"] {
        data_type.get_mut(name).map_or(Ok(()), |below| map_below(below, highest))?;
    }
    Ok(())
}

/// The columns of a version after these changes, as batches have them.
pub(super) fn altered_schema(snapshot: &Snapshot, changes: &MetadataChanges) -> Result<SchemaRef> {
    let Some(text) = &changes.schema else { return Ok(Arc::clone(snapshot.schema())) };
    let kernel: StructType = serde_json::from_str(text).map_err(Error::unexpected)?;
    let mode = match changes.properties.contains_key(COLUMN_MAPPING) {
        true => ColumnMappingMode::Name,
        false => snapshot.kernel().table_configuration().column_mapping_mode(),
    };
    Ok(Arc::clone(TableColumns::new(&kernel, mode)?.schema.schema()))
}

/// Widens the types of columns.
fn widen(
    names: &ColumnUses<'_>,
    fields: &mut [Value],
    types: &BTreeMap<String, DataType>,
    evolving: &mut EvolvingSchema<'_>,
    altered: &mut AlteredColumns,
) -> Result<()> {
    let snapshot = names.snapshot();
    let mut widens = false;
    for (name, wanted) in types {
        let named = |error: Error| error.at(TYPE.to(format!("{name}={}", print_type(wanted))));
        let at = position(fields, name).map_err(named)?;
        let known = snapshot.columns().logical().field(at);
        let before = fields[at].get("type").cloned().unwrap_or_default();
        let wanted_json = json_field("x", &table_types(&one_column(wanted), None)?.field(0).data_type().clone())?;
        if before == wanted_json["type"] {
            continue;
        }
        names.check_constraints(name).map_err(named)?;
        let is_fixed = snapshot.partition_columns().contains(name) || snapshot.key().contains(name);
        let was_allowed = std::mem::replace(&mut evolving.allows_widening, true);
        evolving.field(&mut fields[at], known, wanted, is_fixed).map_err(named)?;
        evolving.allows_widening = was_allowed;
        if fields[at].get("type") != Some(&wanted_json["type"]) {
            let advice = "a type can be widened to one that holds all of its values: int to bigint, float to double, \
                          a decimal to one with more digits before and after the point; for other changes, \
                          copy the table to a new one";
            let message = format!("a column of type {} can't be changed to this type", print_type(known.data_type()));
            return Err(named(Error::unsupported(message).advice(advice)));
        }
        widens = true;
    }
    if widens && !evolving.allows_widening {
        altered.changes.properties.insert(TYPE_WIDENING.to_owned(), "true".to_owned());
        altered.features.push(TableFeature::TypeWidening);
    }
    Ok(())
}

fn one_column(data_type: &DataType) -> Schema {
    Schema::new(vec![Field::new("x", data_type.clone(), true)])
}

/// Adds columns after the others, with their metadata.
fn add(fields: &mut Vec<Value>, added: &[Field], evolving: &mut EvolvingSchema<'_>) -> Result<()> {
    table_types(&Schema::new(added.to_vec()), None)?;
    for field in added {
        let named = |error: Error| error.at(ADD_COLUMN.to(field.name().clone()));
        if position(fields, field.name()).is_ok() {
            return Err(named(Error::usage(format!("the table already has a column {:?}", field.name())))
                .advice("omit it, or choose another name"));
        }
        if !field.is_nullable() {
            let advice = "omit NOT NULL: the existing rows have no value for it";
            return Err(named(Error::unsupported("a new column that is never null").advice(advice)));
        }
        let beside = named_fields(fields.iter().map(name_of));
        let mut json = evolving.added(field, &beside).map_err(named)?;
        let metadata = metadata_of_field(&mut json)?;
        for (name, value) in field.metadata() {
            // The column gets its own id and stored name, where the table has such.
            if name.starts_with(MAPPING_METADATA) || name == FIELD_ID {
                continue;
            }
            if name.starts_with("delta.") || DEFAULTS.contains(&name.as_str()) {
                let message = format!("a new column with the metadata {name:?}, which has a meaning in Delta");
                return Err(named(Error::unsupported(message).advice("omit this metadata")));
            }
            metadata.insert(name.clone(), json!(value));
        }
        fields.push(json);
    }
    Ok(())
}

/// The metadata of a column in a schema of the log.
fn metadata_of<'a>(fields: &'a mut [Value], column: &str) -> Result<&'a mut Map<String, Value>> {
    let at = position(fields, column)?;
    metadata_of_field(&mut fields[at])
}
