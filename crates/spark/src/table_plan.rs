//! Planning a read of a Delta table in the driver, by its log.

use arrow::datatypes::Schema;
use lakerace::{Error, OpenVersion, ReadOptions, Result, TableScan};

use crate::call::UNIT;
use crate::extremes;
use crate::fit::fitted_schema;
use crate::plan_parts::{MOST_TASKS, fields, number, task_bytes};
use crate::settings::SparkSettings;
use crate::spark_type::{filtering, spark_schema_of_table};

/// The records of the module `plan`, of a version of a table.
pub(crate) fn records(version: &OpenVersion, settings: &SparkSettings, read: &ReadOptions) -> Result<Vec<String>> {
    let scan = version.plan(read, fields(settings), settings.get("query.ids").is_some())?;
    let is_planned = settings.get("query.tasks").is_some();
    let rows = match (is_planned, settings.get("query.rows")) {
        (true, _) => scan.rows_at_most(),
        (false, Some(_)) if read.filter.is_none() => Some(version.row_count()?),
        (false, _) => version.known_rows()?,
    };
    let mut records = described(version, &scan, rows)?;
    if let Some(names) = settings.get("query.extremes") {
        let is_whole = read.filter.is_none() && read.limit.is_none();
        let extremes = |column: &str| if is_whole { version.extremes(column) } else { Ok(None) };
        records.extend(extremes::records(&scan.schema, names, extremes)?);
    } else if is_planned {
        let bytes = scan.bytes();
        let each = task_bytes(bytes, settings)?.max(bytes / MOST_TASKS);
        for task in scan.tasks(each) {
            records.push(serde_json::to_string(&task).map_err(Error::unexpected)?);
        }
    }
    Ok(records)
}

fn described(version: &OpenVersion, scan: &TableScan, rows: Option<u64>) -> Result<Vec<String>> {
    let columns = scan.schema.fields().iter().filter(|field| version.schema().index_of(field.name()).is_ok());
    let schema = Schema::new(columns.cloned().collect::<Vec<_>>());
    let properties: Vec<String> = version.properties().into_iter().flat_map(<[String; 2]>::from).collect();
    Ok(vec![
        spark_schema_of_table(&fitted_schema(&schema), version.schema_text())?.to_string(),
        filtering(&schema),
        version.version().to_string(),
        scan.bytes().to_string(),
        number(rows),
        format!("files {} of {}, bytes {}", scan.files.len(), scan.all_files, scan.bytes()),
        version.partition_columns().join(&UNIT.to_string()),
        properties.join(&UNIT.to_string()),
        version.table_id().to_owned(),
        serde_json::to_string(&scan.version).map_err(Error::unexpected)?,
    ])
}
