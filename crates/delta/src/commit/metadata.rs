//! The action that changes a table's schema or properties.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use delta_kernel::Engine;
use delta_kernel::actions::{LOG_METADATA_SCHEMA, Metadata};
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use lakerace_io::{Error, Result};
use serde_json::json;

use crate::table::Table;

/// Changes to the metadata.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetadataChanges {
    /// The schema, as JSON of the log.
    pub schema: Option<String>,
    /// Properties.
    pub properties: BTreeMap<String, String>,
    /// Properties that go.
    pub removed: BTreeSet<String>,
    /// The columns that files are divided by, where their names change.
    pub partition_columns: Option<Vec<String>>,
}

/// An action that sets the metadata with these changes.
pub(crate) fn metadata_action(table: &Table, metadata: &Metadata, changes: &MetadataChanges) -> Result<RecordBatch> {
    let mut configuration = metadata.configuration().clone();
    configuration.extend(changes.properties.clone());
    configuration.retain(|name, _| !changes.removed.contains(name));
    let line = json!({ "metaData": {
        "id": metadata.id(),
        "name": metadata.name(),
        "description": metadata.description(),
        "format": { "provider": metadata.format_provider(), "options": metadata.format_options() },
        "schemaString": changes.schema.as_ref().unwrap_or(metadata.schema_string()),
        "partitionColumns": changes.partition_columns.as_deref().unwrap_or(metadata.partition_columns()),
        "createdTime": metadata.created_time(),
        "configuration": configuration,
    }});
    let lines: ArrayRef = Arc::new(StringArray::from(vec![line.to_string()]));
    let batch = RecordBatch::try_from_iter([("line", lines)]).map_err(Error::unexpected)?;
    table.kernel(|engine| {
        let data = Box::new(ArrowEngineData::new(batch));
        engine.json_handler().parse_json(data, LOG_METADATA_SCHEMA.clone())?.try_into_record_batch()
    })
}
