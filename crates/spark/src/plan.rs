//! Planning a read in the driver.

use lakerace::{ColumnItem, Error, ErrorKind, Job, ReadOptions, ReadPlan, Result, Scan};

use crate::call::{RECORD, UNIT_OF_NAMES};
use crate::feed::FeedVersions;
use crate::fit::fitted_schema;
use crate::plan_parts::{MOST_TASKS, fields, number, task_bytes};
use crate::settings::SparkSettings;
use crate::spark_type::{filtering, spark_schema};
use crate::{commit, extremes, open_versions, planned, table_plan};

/// Plans a read and divides it into tasks by bytes, approximately as many as Spark would make for files.
///
/// The records: the schema as Spark's JSON, how each column can be filtered, the version (empty where there is none),
/// bytes and rows (empty where they are unknown), the plan in words, the columns that a table is partitioned by, its
/// properties, its id, the part that the tasks of a table share (all four are empty for files), and then one for each
/// task, which is its plan, or one for each column whose extremes are requested. A table is planned from its log: no
/// data file is opened.
pub(crate) fn plan(location: &str, options: &str) -> Result<String> {
    let settings = SparkSettings::parse(options)?;
    if let Some(feed) = FeedVersions::from_settings(&settings)? {
        return Ok(feed.plan(location, &settings)?.join(&RECORD.to_string()));
    }
    let read = query(&settings)?;
    let records = match (planned::planned(&settings)?, open_versions::known(location, &settings)) {
        (Some(planned), _) => {
            // The target of a statement that also adds columns to it.
            let at = settings.parsed("at", commit::number)?;
            let at = at.ok_or_else(|| Error::internal("planned columns of no version"))?;
            let version = open_versions::open_at(location, &settings, at, &settings.job_of_driver()?)?;
            table_plan::records(&version.planned(&planned)?, &settings, &read)?
        }
        (None, Some(version)) => table_plan::records(&version, &settings, &read)?,
        (None, None) => opened(location, &settings, &read)?,
    };
    Ok(records.join(&RECORD.to_string()))
}

/// The records of a location that this call opens.
fn opened(location: &str, settings: &SparkSettings, read: &ReadOptions) -> Result<Vec<String>> {
    let job = settings.job_of_driver()?;
    let scan = match settings.asks() && settings.get("at").is_none() {
        // Files have no versions.
        true => Scan::open_for_fields(location, read, fields(settings), &job)?,
        false => describe(location, settings, read, &job)?,
    };
    if let Some(version) = scan.open_version() {
        open_versions::keep(location, settings, &version);
        return table_plan::records(&version, settings, read);
    }
    let mut records = described(&scan)?;
    if settings.get("query.ids").is_some() {
        return Err(Error::unsupported("rows of files have no ids: only those of Delta tables have").at(location));
    }
    if let Some(names) = settings.get("query.extremes") {
        let is_whole = scan.plan().request.filter.is_none() && scan.plan().request.limit.is_none();
        let extremes = |column: &str| if is_whole { scan.extremes(column) } else { Ok(None) };
        records.extend(extremes::records(&scan.schema(), names, extremes)?);
    } else if settings.get("query.tasks").is_some() {
        records.extend(tasks(scan.plan(), settings)?);
    }
    Ok(records)
}

/// Describes a location. The log of a table is read from a version on that is open.
fn describe(location: &str, settings: &SparkSettings, read: &ReadOptions, job: &Job) -> Result<Scan> {
    let until = read.at.as_deref().map(str::parse::<u64>).transpose();
    let known = until.ok().and_then(|until| open_versions::find_before(location, settings, until));
    match known.map(|known| Scan::describe_after(location, read, &known, job)) {
        // The table may have been replaced by files.
        None => Scan::describe(location, read, job),
        Some(Err(error)) if error.kind() == ErrorKind::NotFound => Scan::describe(location, read, job),
        Some(described) => described,
    }
}

/// Makes the engine's options of a query.
pub(crate) fn query(settings: &SparkSettings) -> Result<ReadOptions> {
    let with_ids = settings.get("query.ids").is_some();
    let mut read = settings.read()?;
    if settings.get("columns").is_some() {
        read.columns = Some(ColumnItem::named(settings.names("columns")));
    }
    if let Some(columns) = settings.get("query.columns").or(settings.get("query.extremes")) {
        let is_read = |name: &&str| !(name.is_empty() || with_ids && IDS.contains(name));
        read.columns = Some(ColumnItem::named(columns.split(UNIT_OF_NAMES).filter(is_read)));
    }
    if let Some(filter) = settings.get("query.where") {
        read.filter = Some(match read.filter {
            Some(own) => format!("({own}) AND ({filter})"),
            None => filter.to_owned(),
        });
    }
    read.limit = settings.get("query.limit").and_then(|limit| limit.parse().ok());
    Ok(read)
}

/// The columns that say which row it is.
const IDS: [&str; 2] = ["_file", "_pos"];

/// The records that describe a scan of files.
fn described(scan: &Scan) -> Result<Vec<String>> {
    let plan = scan.plan();
    Ok(vec![
        spark_schema(&fitted_schema(&plan.schema))?.to_string(),
        filtering(&plan.schema),
        number(plan.request.version),
        kept_bytes(plan).to_string(),
        number(plan.rows_at_most()),
        summary(plan),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
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
fn tasks(plan: &ReadPlan, settings: &SparkSettings) -> Result<Vec<String>> {
    let bytes = kept_bytes(plan);
    let each = task_bytes(bytes, settings)?;
    let parts = plan.split(bytes.div_ceil(each).clamp(1, MOST_TASKS) as usize);
    let texts = parts.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    texts.map_err(Error::unexpected)
}
