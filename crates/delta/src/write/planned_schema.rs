//! Columns of a table that change in the entry that adds rows.
//!
//! A driver plans the change once, because the stored names of new columns are random. Its text goes to the processes
//! that write files: they see the version as if the change were made. The commit adds the change to the entry of the
//! rows. Another writer's change of the columns in the meantime is a conflict.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use delta_kernel::Snapshot as KernelSnapshot;
use delta_kernel::actions::Protocol;
use delta_kernel::engine::arrow_conversion::TryIntoKernel;
use delta_kernel::schema::StructType;
use delta_kernel::table_features::TableFeature;
use lakerace_io::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::evolve::fields::{COLUMN_ID, PHYSICAL_NAME, assign, metadata_of_field};
use super::evolve::{MAX_COLUMN_ID, evolve_with};
use super::new_table::{check_new_table, maps_columns};
use super::types::table_types;
use super::{Evolve, not_null};
use crate::commit::{MetadataChanges, metadata_action};
use crate::constraint::constraints;
use crate::kernel::error::guarded;
use crate::properties::{
    COLUMN_MAPPING, FEATURE, OF_FILES, OF_NEW_TABLES, SINCE, check_columns, check_properties, features_of_properties,
    of_new_tables,
};
use crate::protocol::{
    DELETION_VECTORS, VECTORS_ON_DEMAND, adds, configured, protocol_action, with_features, writable,
};
use crate::snapshot::Snapshot;

/// A change of a table's columns that a write makes together with its rows. Its JSON takes it to other processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSchema {
    /// The schema, as JSON of the log; `None` where it stays.
    schema: Option<String>,
    /// The columns that files are divided by, where they change.
    partition_columns: Option<Vec<String>>,
    /// Properties that are set.
    properties: BTreeMap<String, String>,
    /// Properties that go.
    removed: BTreeSet<String>,
    /// Features that the protocol gets.
    features: Vec<String>,
    /// True if the columns take the place of others, whose rows all go.
    replaces: bool,
}

/// The parts of a table that replace those of an existing one, in addition to its columns.
#[derive(Debug, Clone, Default)]
pub struct SchemaReplacement {
    /// The columns that its files are divided by.
    pub partition_by: Vec<String>,
    /// Its properties; `None`: those of the table.
    pub properties: Option<BTreeMap<String, String>>,
    /// True if columns that are NOT NULL in the schema are so in the table.
    pub keep_not_null: bool,
}

impl PlannedSchema {
    /// The columns of a version and those of rows that it lacks, which are nullable and follow the others. A type of
    /// the rows that is wider than the table's makes it wider where the table allows it, and is an error where not.
    /// `None`: the table has all of them.
    pub fn merged(snapshot: &Snapshot, rows: &Schema) -> Result<Option<Self>> {
        let allowed = Evolve { add: true, widen: true };
        let Some(evolved) = evolve_with(snapshot, rows, allowed, &snapshot.key(), true)? else { return Ok(None) };
        let MetadataChanges { schema, properties, removed, partition_columns } = evolved.changes;
        let needed = features_of_columns(evolved.columns.logical());
        let features = missing_features(snapshot, &needed);
        let planned = Self { schema, partition_columns, properties, removed, features, replaces: false };
        // A table that can't be written to afterwards is an error now.
        constraints(&planned.view(snapshot)?)?;
        Ok(Some(planned))
    }

    /// These columns in place of those of a version. `None`: nothing changes.
    pub fn replaced(snapshot: &Snapshot, columns: &Schema, new: &SchemaReplacement) -> Result<Option<Self>> {
        let nullable = table_types(columns, None)?;
        let columns = if new.keep_not_null { not_null::kept(columns, &nullable) } else { nullable };
        check_unclustered(snapshot)?;
        let known = snapshot.properties();
        let mut properties = replaced_properties(&known, &columns, new)?;
        let schema = replaced_schema(snapshot, &columns, &mut properties)?;
        let is_same = parsed(&schema)? == parsed(snapshot.schema_text())?;
        check_new_table(&columns, &new.partition_by, &properties)?;
        for (name, value) in &properties {
            check_columns(name, value, &columns).map_err(|error| {
                let advice = "keep the column, or change the property first";
                error.at(format!("property {name}={value}")).advice(advice)
            })?;
        }
        let mut needed = features_of_properties(new.properties.as_ref().unwrap_or(&BTreeMap::new()))?;
        needed.extend(features_of_columns(&columns));
        if maps_columns(&properties) {
            needed.push(TableFeature::ColumnMapping);
        }
        let planned = Self {
            schema: (!is_same).then_some(schema),
            partition_columns: (new.partition_by != snapshot.partition_columns()).then(|| new.partition_by.clone()),
            removed: known.keys().filter(|name| !properties.contains_key(*name)).cloned().collect(),
            properties: properties.into_iter().filter(|(name, value)| known.get(name) != Some(value)).collect(),
            features: missing_features(snapshot, &needed),
            replaces: true,
        };
        if planned.is_empty() {
            return Ok(None);
        }
        let view = planned.view(snapshot)?;
        constraints(&view)?;
        writable(&view, false)?;
        Ok(Some(planned))
    }

    fn is_empty(&self) -> bool {
        self.schema.is_none()
            && self.partition_columns.is_none()
            && self.properties.is_empty()
            && self.removed.is_empty()
            && self.features.is_empty()
    }

    /// True if all rows of the table have to go.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// A version as if the change were made in it. Its files stay those of the version.
    pub fn view(&self, snapshot: &Snapshot) -> Result<Snapshot> {
        let configuration = snapshot.kernel().table_configuration();
        let viewed = configured(configuration, &self.protocol(snapshot)?, &self.changes())?;
        let kernel = guarded(|| KernelSnapshot::new(snapshot.kernel().log_segment().clone(), viewed))?;
        Snapshot::new(snapshot.table().clone(), Arc::new(kernel))
    }

    /// The changes of the metadata.
    pub(crate) fn changes(&self) -> MetadataChanges {
        MetadataChanges {
            schema: self.schema.clone(),
            properties: self.properties.clone(),
            removed: self.removed.clone(),
            partition_columns: self.partition_columns.clone(),
        }
    }

    fn protocol(&self, snapshot: &Snapshot) -> Result<Protocol> {
        let features = self.features.iter().map(|name| {
            name.parse::<TableFeature>().map_err(|_| Error::internal(format!("Delta has no feature {name:?}")))
        });
        let features = features.collect::<Result<Vec<_>>>()?;
        let protocol = snapshot.kernel().table_configuration().protocol();
        if features.is_empty() { Ok(protocol.clone()) } else { with_features(protocol, &features) }
    }

    /// The action that gives the table the features; `None` where it has all of them.
    pub(crate) fn protocol_action(&self, snapshot: &Snapshot) -> Result<Option<RecordBatch>> {
        if self.features.is_empty() {
            return Ok(None);
        }
        protocol_action(snapshot.table(), &self.protocol(snapshot)?).map(Some)
    }

    /// The action that sets the metadata, with further changes.
    pub(crate) fn metadata_action(&self, snapshot: &Snapshot, more: MetadataChanges) -> Result<RecordBatch> {
        let mut changes = self.changes();
        changes.properties.extend(more.properties);
        changes.removed.extend(more.removed);
        metadata_action(snapshot.table(), snapshot.kernel().table_configuration().metadata(), &changes)
    }
}

/// The properties of a table after its replacement: those of its files stay.
fn replaced_properties(
    known: &BTreeMap<String, String>,
    columns: &Schema,
    new: &SchemaReplacement,
) -> Result<BTreeMap<String, String>> {
    let Some(given) = &new.properties else {
        let known = known.iter().filter(|(name, _)| !name.starts_with(SINCE));
        return Ok(known.map(|(name, value)| (name.clone(), value.clone())).collect());
    };
    check_properties(given, columns)?;
    let is_of_files =
        |name: &str| OF_NEW_TABLES.contains(&name) || OF_FILES.iter().any(|start| name.starts_with(start));
    let kept = known.iter().filter(|(name, _)| is_of_files(name));
    let mut properties: BTreeMap<_, _> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, value) in given.iter().filter(|(name, _)| !name.starts_with(FEATURE)) {
        let is_default = matches!(value.as_str(), "false" | "none");
        let is_kept = known.get(name) == Some(value) || is_default && !known.contains_key(name);
        // All files are new, so that their columns may have other names.
        let maps = name == COLUMN_MAPPING && !maps_columns(known);
        if is_of_files(name) && !is_kept && !maps {
            return Err(of_new_tables(name).at(format!("property {name}={value}")));
        }
        properties.insert(name.clone(), value.clone());
    }
    if !properties.contains_key(DELETION_VECTORS) {
        let (mark, on_demand) = VECTORS_ON_DEMAND;
        properties.entry(mark.to_owned()).or_insert_with(|| on_demand.to_owned());
    }
    Ok(properties)
}

/// The schema of a replaced table, as JSON of the log. Where columns have stored names, a column of the same name and type keeps
/// its own.
fn replaced_schema(snapshot: &Snapshot, columns: &Schema, properties: &mut BTreeMap<String, String>) -> Result<String> {
    let kernel: StructType = columns.try_into_kernel().map_err(|e| Error::from_source(ErrorKind::Unsupported, e))?;
    let mut schema = serde_json::to_value(kernel).map_err(Error::unexpected)?;
    if maps_columns(properties) {
        let known = parsed(snapshot.schema_text())?;
        let was_mapped = maps_columns(&snapshot.properties());
        let mut highest = properties.get(MAX_COLUMN_ID).and_then(|id| id.parse::<i64>().ok()).unwrap_or(0);
        for field in schema["fields"].as_array_mut().into_iter().flatten() {
            let same = known["fields"].as_array().into_iter().flatten().find(|known| {
                was_mapped
                    && known["name"] == field["name"]
                    && field["type"].is_string()
                    && known["type"] == field["type"]
            });
            let Some(same) = same else {
                assign(field, &mut highest)?;
                continue;
            };
            let metadata = metadata_of_field(field)?;
            for name in [COLUMN_ID, PHYSICAL_NAME] {
                metadata.insert(name.to_owned(), same["metadata"][name].clone());
            }
        }
        properties.insert(MAX_COLUMN_ID.to_owned(), highest.to_string());
    }
    Ok(schema.to_string())
}

fn parsed(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| Error::corrupt(format!("the table's schema can't be read: {e}")))
}

/// The features that columns need.
fn features_of_columns(columns: &Schema) -> Vec<TableFeature> {
    fn has_time_without_zone(data_type: &DataType) -> bool {
        match data_type {
            DataType::Timestamp(_, None) => true,
            DataType::List(item) => has_time_without_zone(item.data_type()),
            DataType::Map(entries, _) => has_time_without_zone(entries.data_type()),
            DataType::Struct(fields) => fields.iter().any(|field| has_time_without_zone(field.data_type())),
            _ => false,
        }
    }
    fn has_not_null(data_type: &DataType) -> bool {
        match data_type {
            DataType::Struct(fields) => {
                fields.iter().any(|field| !field.is_nullable() || has_not_null(field.data_type()))
            }
            _ => false,
        }
    }
    let mut features = Vec::new();
    if columns.fields().iter().any(|field| has_time_without_zone(field.data_type())) {
        features.push(TableFeature::TimestampWithoutTimezone);
    }
    if has_not_null(&DataType::Struct(columns.fields().clone())) {
        features.push(TableFeature::Invariants);
    }
    features
}

/// The names of the features that a version lacks.
fn missing_features(snapshot: &Snapshot, needed: &[TableFeature]) -> Vec<String> {
    let missing = adds(snapshot.kernel().table_configuration().protocol(), needed);
    let names: BTreeSet<String> = missing.iter().map(ToString::to_string).collect();
    names.into_iter().collect()
}

/// An error for a table whose files are clustered by columns, which only the engine that clusters them can replace.
fn check_unclustered(snapshot: &Snapshot) -> Result<()> {
    let kernel = snapshot.kernel();
    let clustered = snapshot.table().kernel(|engine| kernel.get_physical_clustering_columns(engine))?;
    if clustered.is_some_and(|columns| !columns.is_empty()) {
        return Err(Error::unsupported("replacing the columns of a table that is clustered by columns")
            .advice("overwrite its rows without other columns, or replace it with the engine that clusters it"));
    }
    Ok(())
}
