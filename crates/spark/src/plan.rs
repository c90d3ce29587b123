//! Planning a read in the driver.

use lakerace::{ReadPlan, Result, Scan};

use crate::call::{RECORD, UNIT};
use crate::fit::fitted_schema;
use crate::settings::Settings;
use crate::spark_type::{Filtering, spark_schema};

/// Bytes that a task has at least: opening a file costs about as much.
const LEAST_TASK_BYTES: u64 = 4 << 20;
/// Bytes that a task has at most, unless `max_task_bytes` says otherwise.
const MOST_TASK_BYTES: u64 = 128 << 20;
const MOST_TASKS: u64 = 100_000;

/// Plans a read and parts it into tasks by bytes, about as many as Spark would make of files.
///
/// The records: the schema as Spark's JSON, how each column can be filtered, the version (empty where there is none), bytes and
/// rows (empty where they are not known), the plan in words, and then one for each task, which is its plan.
pub(crate) fn plan(location: &str, options: &str) -> Result<String> {
    let settings = Settings::parse(options);
    let mut read = settings.read()?;
    if settings.get("columns").is_some() {
        read.columns = Some(settings.names("columns"));
    }
    if let Some(columns) = settings.get("query.columns") {
        read.columns = Some(columns.split(UNIT_OF_NAMES).filter(|name| !name.is_empty()).map(str::to_owned).collect());
    }
    if let Some(filter) = settings.get("query.where") {
        read.filter = Some(match read.filter {
            Some(own) => format!("({own}) AND ({filter})"),
            None => filter.to_owned(),
        });
    }
    read.limit = settings.get("query.limit").and_then(|limit| limit.parse().ok());
    let scan = Scan::open(location, &read, &settings.job()?)?;
    let mut records = described(&scan)?;
    if settings.get("query.tasks").is_some() {
        records.extend(tasks(scan.plan(), &settings)?);
    }
    Ok(records.join(&RECORD.to_string()))
}

/// Between names of columns: they may have commas.
const UNIT_OF_NAMES: char = '\u{1d}';

/// What is known of a scan.
fn described(scan: &Scan) -> Result<Vec<String>> {
    let plan = scan.plan();
    let filtering = plan.schema.fields().iter().map(|field| Filtering::of(field.data_type()).code());
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    Ok(vec![
        spark_schema(&fitted_schema(&plan.schema))?.to_string(),
        filtering.collect::<Vec<_>>().join(&UNIT.to_string()),
        number(plan.request.version),
        kept_bytes(plan).to_string(),
        number(plan.rows_at_most()),
        summary(plan),
    ])
}

/// Bytes of the units that are read.
fn kept_bytes(plan: &ReadPlan) -> u64 {
    let units = plan.files.iter().flat_map(|file| &file.units);
    units.filter(|unit| unit.pruned.is_none()).map(|unit| unit.wanted_bytes).sum()
}

/// A line for `EXPLAIN`.
fn summary(plan: &ReadPlan) -> String {
    let units = plan.files.iter().flat_map(|file| &file.units);
    let (all, kept) = units.fold((0, 0), |(all, kept), unit| (all + 1, kept + usize::from(unit.pruned.is_none())));
    let requests = &plan.requests;
    format!(
        "files {}, units {kept} of {all}, requests {}, bytes {}, bytes read through {}",
        plan.files.len(),
        requests.requests.len(),
        requests.wanted_bytes,
        requests.read_through_bytes
    )
}

/// The tasks, as JSON.
fn tasks(plan: &ReadPlan, settings: &Settings) -> Result<Vec<String>> {
    let bytes = kept_bytes(plan);
    let cores = settings.positive("query.tasks")?.unwrap_or(1) as u64;
    let most = settings.positive("max_task_bytes")?.map_or(MOST_TASK_BYTES, |bytes| bytes as u64);
    let each = bytes.div_ceil(cores).max(LEAST_TASK_BYTES.min(most)).min(most).max(1);
    let parts = plan.split(bytes.div_ceil(each).clamp(1, MOST_TASKS) as usize);
    let texts = parts.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    texts.map_err(|e| lakerace::Error::internal(e.to_string()))
}
