//! A table as a stream of Spark's micro-batches.
//!
//! The option `stream.asks` names the request: `open`, the version of `stream.at` and the table's id; `start`, the
//! first position; `kept`, the position `stream.from` that the file `stream.file` has; `last`, the last version; `batch`,
//! the next position after `stream.from` and the tasks that read up to it; `tasks`, those that read from `stream.from` to
//! `stream.to`. Positions are JSON objects. The schema and the table's id are those of the version that the stream was
//! opened with, by `stream.version` and `stream.table_id`.

use std::sync::Arc;

use lakerace::{
    Error, FieldPaths, Job, NonAppend, ReadOptions, ReadPlan, Result, Scan, ScanFile, ScannedVersion, StreamBatch,
    StreamOptions, StreamPosition, StreamedTable, change_ranges,
};

use crate::arrow_type::arrow_schema;
use crate::call::RECORD;
use crate::feed::FeedTask;
use crate::plan::query;
use crate::plan_parts::{MOST_TASKS, task_bytes};
use crate::settings::{SparkSettings, flag};

/// Answers by records.
pub(crate) fn answer(location: &str, options: &str) -> Result<String> {
    let settings = SparkSettings::parse(options)?;
    let (job, read) = (settings.job_of_driver()?, query(&settings)?);
    let position = |name: &str| serde_json::from_str(required(&settings, name)?).map_err(broken);
    match settings.get("stream.asks") {
        Some("open") => return open(location, &settings, &job),
        Some("kept") => {
            let kept = position("stream.from");
            return text(&kept.map_err(|error| error.at(settings.get("stream.file").unwrap_or_default()))?);
        }
        _ => {}
    }
    let version: ScannedVersion = serde_json::from_str(required(&settings, "stream.version")?).map_err(broken)?;
    let table = (required(&settings, "stream.table_id")?.to_owned(), version);
    let stream = StreamedTable::open(location, table, stream_options(&settings)?, &read, &job)?;
    let batches = BatchTasks { location, stream, settings: &settings, read: &read, job: &job };
    let records = match required(&settings, "stream.asks")? {
        "start" => {
            let (version, timestamp) = (settings.get("startingversion"), settings.get("startingtimestamp"));
            vec![text(&batches.stream.start(version, timestamp)?)?]
        }
        "last" => vec![batches.stream.last_version()?.to_string()],
        "batch" => {
            let from = position("stream.from")?;
            let StreamBatch { end, files } = batches.stream.advance(&from)?;
            [vec![text(&end)?], batches.tasks(&from, &end, files)?].concat()
        }
        _ => {
            let (from, to) = (position("stream.from")?, position("stream.to")?);
            let files = batches.stream.files(&from, &to)?;
            batches.tasks(&from, &to, files)?
        }
    };
    Ok(records.join(&RECORD.to_string()))
}

fn required<'a>(settings: &'a SparkSettings, name: &str) -> Result<&'a str> {
    settings.get(name).ok_or_else(|| Error::internal(format!("a stream without {name}")))
}

/// The records of a version that defines a stream's columns: the version in the form for tasks, and the id of the
/// table.
fn open(location: &str, settings: &SparkSettings, job: &Job) -> Result<String> {
    let at = settings.get("stream.at").map(str::to_owned);
    let read = ReadOptions { at, storage: settings.storage(), ..ReadOptions::default() };
    let version = Scan::describe(location, &read, job)?.open_version().ok_or_else(|| {
        Error::unsupported("streams can only read Delta tables")
            .at(location)
            .advice("read files with spark.read, or with Spark's own sources")
    })?;
    let scanned = version.plan(&ReadOptions::default(), FieldPaths::new(), false)?.version;
    let scanned = serde_json::to_string(&scanned).map_err(Error::unexpected)?;
    Ok(format!("{scanned}{RECORD}{}", version.table_id()))
}

fn broken(error: serde_json::Error) -> Error {
    Error::usage(format!("the checkpoint of the stream has a position that this connector did not write: {error}"))
        .advice("a checkpoint belongs to one query of one source: give this one its own checkpointLocation")
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
        non_append: match (is_set("skipchangecommits")?, is_set("ignorechanges")?, is_set("ignoredeletes")?) {
            (true, true, _) => {
                return Err(Error::usage(
                    "options \"skipChangeCommits\" and \"ignoreChanges\" say two things of versions that change rows",
                )
                .advice("give one of them"));
            }
            (true, false, _) => NonAppend::Skip,
            (false, true, _) => NonAppend::Reread,
            (false, false, true) => NonAppend::IgnoreDeletes,
            (false, false, false) => NonAppend::Refuse,
        },
        reads_changes: reads_changes(settings)?,
        is_first: settings.get("stream.is_first").is_some(),
    })
}

/// Tasks of a stream's batches.
struct BatchTasks<'a> {
    location: &'a str,
    stream: StreamedTable,
    settings: &'a SparkSettings,
    read: &'a ReadOptions,
    job: &'a Job,
}

impl BatchTasks<'_> {
    /// Tasks that read the files between two positions, or the changes of the versions between them, as JSON.
    fn tasks(&self, from: &StreamPosition, to: &StreamPosition, files: Vec<ScanFile>) -> Result<Vec<String>> {
        match reads_changes(self.settings)? {
            true if from.version == to.version => Ok(Vec::new()),
            true => self.of_changes(from.version, to.version - 1),
            false if files.is_empty() => Ok(Vec::new()),
            false => self.of_files(files),
        }
    }

    fn of_files(&self, files: Vec<ScanFile>) -> Result<Vec<String>> {
        let scan = self.stream.scan(files, self.read)?;
        let bytes = scan.bytes();
        let each = task_bytes(bytes, self.settings)?.max(bytes / MOST_TASKS);
        scan.tasks(each).iter().map(|task| serde_json::to_string(task).map_err(Error::unexpected)).collect()
    }

    /// Both versions are included.
    fn of_changes(&self, first: u64, last: u64) -> Result<Vec<String>> {
        let (ranges, _) = change_ranges(self.location, first, Some(last), &self.read.storage, self.job)?;
        let schema = Arc::new(arrow_schema(self.settings.get("stream.schema").unwrap_or_default())?);
        let storage = self.read.storage.clone();
        let read = ReadOptions { at: Some(last.to_string()), limit: Some(0), storage, ..ReadOptions::default() };
        let plan = Scan::open(self.location, &read, self.job)?.plan().clone();
        let plan = ReadPlan { schema, files: Vec::new(), ..plan };
        let task = |(from, to)| serde_json::to_string(&FeedTask { from, to, plan: plan.clone() });
        ranges.into_iter().map(|range| task(range).map_err(Error::unexpected)).collect()
    }
}
