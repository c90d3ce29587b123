//! A table's schema that follows its sources: new columns, and numbers that become wider.
//!
//! The entry that adds the rows changes the schema, too: by an action of ours, for the kernel's transactions change no types.
//! Files that were written before stay as they are: their readers give nulls for new columns and widen what they read.
//! Format: <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#type-widening>.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use delta_kernel::engine::arrow_conversion::TryIntoKernel;
use delta_kernel::expressions::ColumnName;
use delta_kernel::schema::{StructField, StructType};
use delta_kernel::table_features::{ColumnMappingMode, TableFeature};
use lakerace_io::{Error, Result};
use serde_json::{Value, json};

use super::fit::Target;
use super::metadata::{Changes, metadata_action};
use super::types::table_type;
use crate::Snapshot;
use crate::columns::TableColumns;

/// What a write may change of a table's schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evolve {
    /// Columns that the table lacks become its own; rows of before have nulls there.
    pub add: bool,
    /// Numbers that don't fit a column's type make it wider, where the table allows it (`delta.enableTypeWidening`).
    pub widen: bool,
}

/// A schema that has changed.
#[derive(Clone)]
pub(crate) struct Evolved {
    /// The columns that files get.
    pub columns: Arc<TableColumns>,
    /// The action that changes the table.
    pub action: RecordBatch,
    /// The columns that are new, by their stored names, and that have values to compare.
    new_columns: Vec<String>,
}

/// Columns that have statistics, where the table does not say which.
const STATISTICS_AT_MOST: usize = 32;

impl Evolved {
    /// The new columns that get statistics beside so many others.
    pub fn statistics(&self, known: usize) -> Vec<ColumnName> {
        let names = self.new_columns.iter().take(STATISTICS_AT_MOST.saturating_sub(known));
        names.map(|name| ColumnName::new([name.as_str()])).collect()
    }
}

/// The highest id that a column has.
const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";
/// The metadata of a field that has its id, and its name in files.
const COLUMN_ID: &str = "delta.columnMapping.id";
const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";
/// The metadata of a field that has the types it had before.
const TYPE_CHANGES: &str = "delta.typeChanges";

/// The schema of a table that takes batches of this schema; `None` where it does so as it is, or is not to change. Columns
/// of the key stay as they are.
pub(crate) fn evolve(snapshot: &Snapshot, source: &Schema, allowed: Evolve, key: &[String]) -> Result<Option<Evolved>> {
    if allowed == Evolve::default() {
        return Ok(None);
    }
    let configuration = snapshot.kernel().table_configuration();
    let mut schema: Value = serde_json::from_str(configuration.metadata().schema_string())
        .map_err(|e| Error::corrupt(format!("the table's schema can't be read: {e}")))?;
    let fields = schema.get_mut("fields").and_then(Value::as_array_mut);
    let fields = fields.ok_or_else(|| Error::corrupt("the table's schema has no fields"))?;
    let table = snapshot.columns().logical();
    let (mut has_changed, mut added) = (false, Vec::new());
    for field in source.fields() {
        let named = |error: Error| error.at(format!("column {:?}", field.name()));
        match table.column_with_name(field.name()) {
            Some((at, known)) if allowed.widen => {
                let Some(wider) = wider(known.data_type(), field.data_type()).map_err(named)? else { continue };
                check_widening(snapshot, field.name(), key).map_err(named)?;
                widen(&mut fields[at], known, &wider)?;
                has_changed = true;
            }
            Some(_) => {}
            None if allowed.add => {
                let same = |known: &&Arc<Field>| known.name().eq_ignore_ascii_case(field.name());
                if let Some(known) = table.fields().iter().find(same) {
                    return Err(named(
                        Error::invalid(format!("the table has a column {:?}", known.name()))
                            .advice("names that differ in their case alone are the same to some readers: rename one"),
                    ));
                }
                let data_type = table_type(field.data_type()).map_err(named)?;
                check_added(snapshot, &data_type).map_err(named)?;
                added.push(json_field(field.name(), &data_type)?);
            }
            None => {}
        }
    }
    if !has_changed && added.is_empty() {
        return Ok(None);
    }
    let mut changes = Changes::default();
    if snapshot.kernel().table_configuration().column_mapping_mode() != ColumnMappingMode::None {
        let highest = configuration.metadata().configuration().get(MAX_COLUMN_ID).and_then(|id| id.parse::<i64>().ok());
        let mut highest = highest.ok_or_else(|| Error::corrupt(format!("the table lacks {MAX_COLUMN_ID}")))?;
        added.iter_mut().try_for_each(|field| assign(field, &mut highest))?;
        changes.properties.insert(MAX_COLUMN_ID.to_owned(), highest.to_string());
    }
    let names: Vec<String> = added.iter().filter_map(|field| field["name"].as_str().map(str::to_owned)).collect();
    fields.extend(added);
    let text = schema.to_string();
    let kernel: StructType = serde_json::from_str(&text).map_err(|e| Error::internal(e.to_string()))?;
    let columns = Arc::new(TableColumns::new(&kernel, configuration.column_mapping_mode())?);
    changes.schema = Some(text);
    let action = metadata_action(snapshot.table(), configuration.metadata(), &changes)?;
    let targets = columns.targets();
    let is_new = |target: &&Target| names.contains(target.logical.name()) && !target.logical.data_type().is_nested();
    let new_columns = targets.iter().filter(is_new).map(|target| target.stored.name().clone()).collect();
    // A table that names the columns with statistics means these.
    let chosen = snapshot.kernel().table_properties().data_skipping_stats_columns.is_some();
    Ok(Some(Evolved { columns, action, new_columns: if chosen { Vec::new() } else { new_columns } }))
}

/// The type that holds the values of both, where that is another one than the table's and the table may come to it.
fn wider(table: &DataType, source: &DataType) -> Result<Option<DataType>> {
    use DataType as T;
    let source = table_type(source)?;
    let rank = |data_type: &T| match data_type {
        T::Int8 => Some(3),
        T::Int16 => Some(5),
        T::Int32 => Some(10),
        T::Int64 => Some(20),
        _ => None,
    };
    let decimal = |precision: i16, scale: i16| match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if precision <= 38 => Some(T::Decimal128(precision, scale)),
        _ => None,
    };
    Ok(match (table, &source) {
        (T::Int8 | T::Int16 | T::Int32, T::Int8 | T::Int16 | T::Int32 | T::Int64) => {
            (rank(table) < rank(&source)).then_some(source)
        }
        (T::Float32, T::Float64) => Some(source),
        (T::Int8 | T::Int16 | T::Int32, T::Float32 | T::Float64) => Some(T::Float64),
        (T::Decimal128(p, s), T::Decimal128(other_p, other_s)) => {
            let scale = i16::from(*s).max(i16::from(*other_s));
            let whole = (i16::from(*p) - i16::from(*s)).max(i16::from(*other_p) - i16::from(*other_s));
            decimal(whole + scale, scale).filter(|wider| wider != table)
        }
        // Whole numbers of 32 bits have 10 digits, those of 64 bits 20, by the protocol.
        (T::Int8 | T::Int16 | T::Int32, T::Decimal128(p, s)) => {
            decimal(10.max(i16::from(*p) - i16::from(*s)) + i16::from(*s), i16::from(*s))
        }
        (T::Int64, T::Decimal128(p, s)) => {
            decimal(20.max(i16::from(*p) - i16::from(*s)) + i16::from(*s), i16::from(*s))
        }
        _ => None,
    })
}

fn check_widening(snapshot: &Snapshot, name: &String, key: &[String]) -> Result<()> {
    let configuration = snapshot.kernel().table_configuration();
    let features = [TableFeature::TypeWidening, TableFeature::TypeWideningPreview];
    if !features.iter().any(|feature| configuration.is_feature_enabled(feature)) {
        return Err(Error::unsupported("the table does not allow its types to be widened (delta.enableTypeWidening)")
            .advice(
                "enable it: ALTER TABLE … SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true'), or cast the rows",
            ));
    }
    if snapshot.partition_columns().contains(name) {
        return Err(Error::unsupported("widening a column that the table is partitioned by").advice("cast the rows"));
    }
    if key.contains(name) {
        return Err(Error::unsupported("widening a column of the table's key").advice("cast the rows"));
    }
    Ok(())
}

/// An error where a type needs a feature that the table lacks.
fn check_added(snapshot: &Snapshot, data_type: &DataType) -> Result<()> {
    let without_zone = matches!(data_type, DataType::Timestamp(_, None));
    let configuration = snapshot.kernel().table_configuration();
    if without_zone && !configuration.is_feature_supported(&TableFeature::TimestampWithoutTimezone) {
        return Err(Error::unsupported("a time without a zone in a table that lacks the feature timestampNtz")
            .advice("give the times a zone, or enable the feature"));
    }
    match data_type {
        DataType::List(item) => check_added(snapshot, item.data_type()),
        DataType::Map(entries, _) => check_added(snapshot, entries.data_type()),
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_added(snapshot, field.data_type())),
        _ => Ok(()),
    }
}

/// Gives a field of the schema another type, and notes the one that it had.
fn widen(field: &mut Value, known: &Field, wider: &DataType) -> Result<()> {
    let from = field.get("type").cloned().unwrap_or_default();
    let to = json_field(known.name(), wider)?.get("type").cloned().unwrap_or_default();
    let field = field.as_object_mut().ok_or_else(|| Error::corrupt("a field of the table's schema is none"))?;
    field.insert("type".to_owned(), to.clone());
    let metadata = field.entry("metadata").or_insert_with(|| json!({}));
    let metadata = metadata.as_object_mut().ok_or_else(|| Error::corrupt("a field's metadata is none"))?;
    let changes = metadata.entry(TYPE_CHANGES).or_insert_with(|| json!([]));
    let changes = changes.as_array_mut().ok_or_else(|| Error::corrupt("a field's type changes are no list"))?;
    changes.push(json!({ "fromType": from, "toType": to }));
    Ok(())
}

/// A nullable field as schemas in the log have it.
fn json_field(name: &str, data_type: &DataType) -> Result<Value> {
    let field = Field::new(name, data_type.clone(), true);
    let kernel: StructField = (&field).try_into_kernel().map_err(|e| Error::unsupported(e.to_string()))?;
    serde_json::to_value(kernel).map_err(|e| Error::internal(e.to_string()))
}

/// Gives a field, and those below it, ids and names for files.
fn assign(field: &mut Value, highest: &mut i64) -> Result<()> {
    *highest += 1;
    let metadata = json!({ COLUMN_ID: *highest, PHYSICAL_NAME: format!("col-{:032x}", rand::random::<u128>()) });
    let field = field.as_object_mut().ok_or_else(|| Error::internal("a new field is no object"))?;
    field.insert("metadata".to_owned(), metadata);
    field.get_mut("type").map_or(Ok(()), |data_type| assign_below(data_type, highest))
}

fn assign_below(data_type: &mut Value, highest: &mut i64) -> Result<()> {
    let Some(data_type) = data_type.as_object_mut() else { return Ok(()) };
    if let Some(fields) = data_type.get_mut("fields").and_then(Value::as_array_mut) {
        fields.iter_mut().try_for_each(|field| assign(field, highest))?;
    }
    for name in ["elementType", "keyType", "valueType"] {
        data_type.get_mut(name).map_or(Ok(()), |below| assign_below(below, highest))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "evolve_tests.rs"]
mod tests;
