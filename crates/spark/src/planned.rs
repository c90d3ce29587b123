//! The columns that a write changes together with its rows: planned by the driver, and known to its tasks by an option.

use lakerace::{
    Error, NewTable, OpenVersion, PlannedSchema, Result, SchemaReplacement, merged_schema, replaced_schema,
};

use crate::arrow_type::arrow_schema_of_table;
use crate::settings::SparkSettings;

/// The option with the planned columns, as JSON.
const PLANNED: &str = "write.planned";
/// The option with the schema of rows whose columns the table gets.
const MERGES: &str = "write.merges";
/// The option with the schema that takes the place of the table's.
const REPLACES: &str = "write.replaces_schema";

/// The columns that a write brings to a version, by the options `write.merges` or `write.replaces_schema`; `None` where
/// it keeps the table's. The latter goes with `partition_by`, `write.keeps_properties` and the properties of a new table.
pub(crate) fn plan(version: &OpenVersion, settings: &SparkSettings) -> Result<Option<PlannedSchema>> {
    if let Some(rows) = settings.get(MERGES) {
        return merged_schema(version, &arrow_schema_of_table(rows)?);
    }
    let Some(columns) = settings.get(REPLACES) else { return Ok(None) };
    let NewTable { partition_by, properties, keep_not_null } = settings.new_table();
    let new = SchemaReplacement {
        partition_by,
        properties: settings.get("write.keeps_properties").is_none().then_some(properties),
        keep_not_null,
    };
    replaced_schema(version, &arrow_schema_of_table(columns)?, &new)
}

/// The planned columns as the text of an option; empty where there are none.
pub(crate) fn text(planned: Option<&PlannedSchema>) -> Result<String> {
    planned.map_or(Ok(String::new()), |planned| serde_json::to_string(planned).map_err(Error::unexpected))
}

/// The columns that the driver has planned for a write.
pub(crate) fn planned(settings: &SparkSettings) -> Result<Option<PlannedSchema>> {
    let broken = |e: serde_json::Error| Error::internal("not planned columns").because(e);
    settings.parsed(PLANNED, |text| serde_json::from_str(text).map_err(broken))
}

/// A version as the files of a write know it: with the planned columns.
pub(crate) fn as_planned(version: OpenVersion, settings: &SparkSettings) -> Result<OpenVersion> {
    match planned(settings)? {
        Some(planned) => version.planned(&planned),
        None => Ok(version),
    }
}
