//! A table as a stream of Spark's micro-batches.
//!
//! The option `stream.asks` names the request: `open`, the version of `stream.at` and the table's id; `start`, the
//! first position; `last`, the last version; `end`, the next position after `stream.from`; `tasks`, those that read
//! from `stream.from` to `stream.to`. Positions are JSON objects. The schema and the table's id are those of the
//! version that the stream was opened with, by `stream.version` and `stream.table_id`.

use std::sync::Arc;

use lakerace::{
    Error, FieldPaths, Job, NonAppend, ReadOptions, ReadPlan, Result, Scan, ScannedVersion, StreamOptions,
    StreamPosition, StreamedTable, change_ranges,
};

use crate::arrow_type::arrow_schema;
use crate::call::RECORD;
use crate::feed::FeedTask;
use crate::plan::query;
use crate::plan_parts::{MOST_TASKS, task_bytes};
use crate::settings::{SparkSettings, flag};

/// Answers; the records of `tasks` are one for each task, and others are one text.
pub(crate) fn answer(location: &str, options: &str) -> Result<String> {
    let settings = SparkSettings::parse(options)?;
    let (job, read) = (settings.job_of_driver()?, query(&settings)?);
    if settings.get("stream.asks") == Some("open") {
        return open(location, &settings, &job);
    }
    let required = |name: &str| settings.get(name).ok_or_else(|| Error::internal(format!("a stream without {name}")));
    let version: ScannedVersion = serde_json::from_str(required("stream.version")?).map_err(broken)?;
    let table = (required("stream.table_id")?.to_owned(), version);
    let stream = StreamedTable::open(location, table, stream_options(&settings)?, &read, &job)?;
    let position = |name: &str| required(name).and_then(|text| serde_json::from_str(text).map_err(broken));
    match required("stream.asks")? {
        "start" => text(&stream.start(settings.get("startingversion"), settings.get("startingtimestamp"))?),
        "last" => Ok(stream.last_version()?.to_string()),
        "end" => text(&stream.advance(&position("stream.from")?)?),
        _ => {
            let (from, to) = (position("stream.from")?, position("stream.to")?);
            let tasks = match reads_changes(&settings)? {
                true => changes(location, &settings, (&from, &to), &read, &job)?,
                false => files(&stream, &settings, (&from, &to), &read)?,
            };
            Ok(tasks.join(&RECORD.to_string()))
        }
    }
}

/// The records of a version that defines a stream's columns: the version in the form for tasks, and the id of the
/// table.
fn open(location: &str, settings: &SparkSettings, job: &Job) -> Result<String> {
    let at = settings.get("stream.at").map(str::to_owned);
    let read = ReadOptions { at, storage: settings.storage(), ..ReadOptions::default() };
    let version = Scan::describe(location, &read, job)?.open_version().ok_or_else(|| {
        Error::unsupported("streams read Delta tables")
            .at(location)
            .advice("read files by spark.read, or by Spark's own sources")
    })?;
    let scanned = version.plan(&ReadOptions::default(), FieldPaths::new(), false)?.version;
    let scanned = serde_json::to_string(&scanned).map_err(Error::unexpected)?;
    Ok(format!("{scanned}{RECORD}{}", version.table_id()))
}

fn broken(error: serde_json::Error) -> Error {
    Error::usage(format!("the checkpoint of the stream has a position that is none of this connector's: {error}"))
        .advice("a checkpoint belongs to one query of one source: give this one a checkpointLocation of its own")
}

fn text(position: &StreamPosition) -> Result<String> {
    serde_json::to_string(position).map_err(Error::unexpected)
}

fn reads_changes(settings: &SparkSettings) -> Result<bool> {
    Ok(settings.parsed("readchangefeed", flag)?.unwrap_or(false))
}

fn stream_options(settings: &SparkSettings) -> Result<StreamOptions> {
    let is_set = |name: &str| Ok::<bool, Error>(settings.parsed(name, flag)?.unwrap_or(false));
    let number = |name: &str| settings.get(name).map(str::parse).transpose().map_err(Error::unexpected);
    Ok(StreamOptions {
        max_files: number("stream.max_files")?,
        max_bytes: number("stream.max_bytes")?,
        until: number("stream.until")?,
        non_append: match (is_set("skipchangecommits")?, is_set("ignorechanges")?) {
            (true, true) => {
                return Err(Error::usage(
                    "options \"skipChangeCommits\" and \"ignoreChanges\" say two things of versions that change rows",
                )
                .advice("give one of them"));
            }
            (true, false) => NonAppend::Skip,
            (false, true) => NonAppend::Reread,
            (false, false) => NonAppend::Refuse,
        },
        ignores_deletes: is_set("ignoredeletes")?,
        reads_changes: reads_changes(settings)?,
    })
}

/// Tasks that read files, as JSON.
fn files(
    stream: &StreamedTable,
    settings: &SparkSettings,
    (from, to): (&StreamPosition, &StreamPosition),
    read: &ReadOptions,
) -> Result<Vec<String>> {
    let scan = stream.scan(from, to, read)?;
    let bytes = scan.bytes();
    let each = task_bytes(bytes, settings)?.max(bytes / MOST_TASKS);
    scan.tasks(each).iter().map(|task| serde_json::to_string(task).map_err(Error::unexpected)).collect()
}

/// Tasks that read changes, as JSON.
fn changes(
    location: &str,
    settings: &SparkSettings,
    (from, to): (&StreamPosition, &StreamPosition),
    read: &ReadOptions,
    job: &Job,
) -> Result<Vec<String>> {
    if from.version >= to.version {
        return Ok(Vec::new());
    }
    let (ranges, _) = change_ranges(location, from.version, Some(to.version - 1), &read.storage, job)?;
    let schema = Arc::new(arrow_schema(settings.get("stream.schema").unwrap_or_default())?);
    let last = (to.version - 1).to_string();
    let read = ReadOptions { at: Some(last), limit: Some(0), storage: read.storage.clone(), ..ReadOptions::default() };
    let plan = ReadPlan { schema, files: Vec::new(), ..Scan::open(location, &read, job)?.plan().clone() };
    let task = |(from, to)| serde_json::to_string(&FeedTask { from, to, plan: plan.clone() });
    ranges.into_iter().map(|range| task(range).map_err(Error::unexpected)).collect()
}
