//! Planning a read in the driver.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use lakerace::{Error, FieldPaths, FilePlan, ReadPlan, ReadRequest, Result, Scan, row_files, schema_with_ids};
use serde::{Deserialize, Serialize};

use crate::call::{RECORD, STEP, UNIT_OF_NAMES};
use crate::extremes;
use crate::feed::Feed;
use crate::fit::fitted_schema;
use crate::settings::Settings;
use crate::spark_type::{filtering, spark_schema, spark_schema_of_table};

/// Bytes that a task has at least: opening a file costs about as much.
const LEAST_TASK_BYTES: u64 = 4 << 20;
/// Bytes that a task has at most, unless `max_task_bytes` says otherwise: each task opens files anew and waits for their first bytes,
/// so that large reads have larger tasks, as long as there are [`TASKS_PER_CORE`].
const MOST_TASK_BYTES: RangeInclusive<u64> = 128 << 20..=512 << 20;
/// So many tasks of a core make up for some that take longer.
const TASKS_PER_CORE: u64 = 3;
/// The same of a core that is alone: there is no other one to wait for it.
const MOST_TASK_BYTES_ALONE: u64 = 1 << 30;
const MOST_TASKS: u64 = 100_000;

/// Plans a read and parts it into tasks by bytes, about as many as Spark would make of files.
///
/// The records: the schema as Spark's JSON, how each column can be filtered, the version (empty where there is none), bytes and
/// rows (empty where they are not known), the plan in words, and then one for each task, which is its plan, or one for each column of
/// which the extremes are asked for. Options that ask for none of it have the location described, and no data file of a table is opened.
pub(crate) fn plan(location: &str, options: &str) -> Result<String> {
    let settings = Settings::parse(options)?;
    if let Some(feed) = Feed::of(&settings)? {
        return Ok(feed.plan(location, &settings)?.join(&RECORD.to_string()));
    }
    let with_ids = settings.get("query.ids").is_some();
    let mut read = settings.read()?;
    if settings.get("columns").is_some() {
        read.columns = Some(settings.names("columns"));
    }
    let extreme_of = settings.get("query.extremes");
    if let Some(columns) = settings.get("query.columns").or(extreme_of) {
        let is_read = |name: &&str| !(name.is_empty() || with_ids && IDS.contains(name));
        read.columns = Some(columns.split(UNIT_OF_NAMES).filter(is_read).map(str::to_owned).collect());
    }
    if let Some(filter) = settings.get("query.where") {
        read.filter = Some(match read.filter {
            Some(own) => format!("({own}) AND ({filter})"),
            None => filter.to_owned(),
        });
    }
    read.limit = settings.get("query.limit").and_then(|limit| limit.parse().ok());
    // Rows with their ids are read with all fields.
    let fields = settings.get("query.fields").filter(|_| !with_ids).map(field_paths).unwrap_or_default();
    let job = settings.job_of_driver()?;
    if !settings.asks() {
        let scan = Scan::describe(location, &read, &job)?;
        let is_table = scan.plan().request.version.is_some();
        let rows = if is_table { scan.total_rows() } else { scan.plan().rows_at_most() };
        return Ok(described(&scan, rows)?.join(&RECORD.to_string()));
    }
    let scan = Scan::open_for_fields(location, &read, fields, &job)?;
    let mut records = described(&scan, scan.plan().rows_at_most())?;
    if let Some(names) = extreme_of {
        records.extend(extremes::records(&scan, names)?);
    } else if with_ids {
        records.extend(row_tasks(location, scan.plan(), &settings)?);
    } else if settings.get("query.tasks").is_some() {
        records.extend(tasks(scan.plan(), &settings)?);
    }
    Ok(records.join(&RECORD.to_string()))
}

/// The columns that say which row it is.
const IDS: [&str; 2] = ["_file", "_pos"];

/// The fields that a query uses of columns of which it does not use all: a path for each, which begins with the column.
fn field_paths(text: &str) -> FieldPaths {
    let mut fields = FieldPaths::new();
    for path in text.split(UNIT_OF_NAMES) {
        let mut names = path.split(STEP).map(str::to_owned);
        let Some(column) = names.next() else { continue };
        let paths = fields.entry(column).or_default();
        // A column alone: none of its fields is used.
        paths.extend(Some(names.collect::<Vec<_>>()).filter(|path| !path.is_empty()));
    }
    fields
}

/// The records that say what is known of a scan with so many rows.
fn described(scan: &Scan, rows: Option<u64>) -> Result<Vec<String>> {
    let plan = scan.plan();
    let fitted = fitted_schema(&plan.schema);
    let schema = match scan.table_schema_text() {
        Some(text) => spark_schema_of_table(&fitted, text)?,
        None => spark_schema(&fitted)?,
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    Ok(vec![
        schema.to_string(),
        filtering(&plan.schema),
        number(plan.request.version),
        kept_bytes(plan).to_string(),
        number(rows),
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

/// A task that reads rows with their ids.
#[derive(Serialize, Deserialize)]
pub(crate) struct RowTask {
    /// The names of its files in the log.
    pub files: Vec<String>,
    /// What is read of them. It has no files of its own.
    pub plan: ReadPlan,
}

/// The tasks of a read with ids, as JSON: some files each, of those that the filter does not exclude.
fn row_tasks(location: &str, plan: &ReadPlan, settings: &Settings) -> Result<Vec<String>> {
    let version = plan
        .request
        .version
        .ok_or_else(|| Error::unsupported("rows of files have no ids: only those of Delta tables have").at(location))?;
    let columns = plan.schema.fields().iter().map(|field| field.name().clone()).collect();
    let request = ReadRequest { columns: Some(columns), ..plan.request.clone() };
    let is_read = |file: &&FilePlan| file.units.iter().any(|unit| unit.pruned.is_none());
    let read: HashSet<&str> = plan.files.iter().filter(is_read).map(|file| file.url.as_str()).collect();
    let mut files = row_files(location, version, &settings.storage(), &settings.job()?)?;
    files.retain(|file| read.contains(file.url.as_str()));
    let plan = ReadPlan { request, schema: schema_with_ids(&plan.schema), files: Vec::new(), ..plan.clone() };
    let each = task_bytes(files.iter().map(|file| file.size_bytes).sum(), settings)?;
    let (mut tasks, mut bytes) = (Vec::<Vec<String>>::new(), u64::MAX);
    for file in files {
        if bytes.saturating_add(file.size_bytes) > each {
            tasks.push(Vec::new());
            bytes = 0;
        }
        bytes += file.size_bytes;
        if let Some(task) = tasks.last_mut() {
            task.push(file.name);
        }
    }
    let text = |files| serde_json::to_string(&RowTask { files, plan: plan.clone() });
    let texts = tasks.into_iter().map(text).collect::<Result<Vec<_>, _>>();
    texts.map_err(Error::unexpected)
}

/// The bytes of a task.
fn task_bytes(bytes: u64, settings: &Settings) -> Result<u64> {
    let cores = settings.positive("query.tasks")?.unwrap_or(1) as u64;
    let most = settings.positive("max_task_bytes")?.map_or_else(|| most_task_bytes(bytes, cores), |most| most as u64);
    Ok(bytes.div_ceil(cores).max(LEAST_TASK_BYTES.min(most)).min(most).max(1))
}

/// The most that a task has of so many bytes.
fn most_task_bytes(bytes: u64, cores: u64) -> u64 {
    let (least, most) = MOST_TASK_BYTES.into_inner();
    if cores == 1 {
        return bytes.clamp(least, MOST_TASK_BYTES_ALONE);
    }
    bytes.div_ceil(cores.saturating_mul(TASKS_PER_CORE)).clamp(least, most)
}

/// The tasks, as JSON.
fn tasks(plan: &ReadPlan, settings: &Settings) -> Result<Vec<String>> {
    let bytes = kept_bytes(plan);
    let each = task_bytes(bytes, settings)?;
    let parts = plan.split(bytes.div_ceil(each).clamp(1, MOST_TASKS) as usize);
    let texts = parts.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    texts.map_err(Error::unexpected)
}

#[cfg(test)]
mod tests;
