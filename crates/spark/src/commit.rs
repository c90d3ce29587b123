//! The driver's part of a write: the preparation before its tasks run, and the one commit after them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use lakerace::{
    AppTransaction, Batches, CopyOptions, Error, Evolve, FilesCommit, Job, OnDuplicate, OpenVersion, PARQUET, PartKeys,
    PendingFile, ReadOptions, ReplaceCondition, Replaced, Result, RowOptions, RowStatement, RowStatementKind, Scan,
    SharedTable, SourceRows, UpsertOptions, UpsertPart, WriteMode, WriteOptions, Written, check_target, commit_files,
    commit_rows, commit_upsert, discard_files, remove_empty_table, remove_staged, remove_staged_file, staging_folder,
};
use serde_json::Value;

use crate::arrow_type::{arrow_schema, arrow_schema_of_table};
use crate::call::{RECORD, UNIT};
use crate::fit::fitted_schema;
use crate::open_versions;
use crate::planned;
use crate::settings::{SparkSettings, flag};
use crate::spark_type::spark_schema_of_table;

/// Describes the target at a location: the record `table` or `none`, and the distribution of rows over the tasks of a
/// write; for a table then the version, the schema as Spark's JSON, the key, the partition columns, the properties, as
/// names and values, its id, and the columns that the module `planned` plans, which the schema and the partition columns
/// then are.
pub(crate) fn target(location: &str, options: &str) -> Result<String> {
    let settings = SparkSettings::parse(options)?;
    let join = |names: Vec<String>| names.join(&UNIT.to_string());
    let found = open_versions::open_last(location, &settings, &settings.job()?)?;
    let planned = match &found {
        Some(table) => planned::plan(&table.open_version(), &settings)?,
        None => None,
    };
    let table = match (found, &planned) {
        (Some(table), Some(planned)) => Some(SharedTable::at(&table.open_version().planned(planned)?)),
        (found, _) => found,
    };
    let settings = match &table {
        None => settings,
        Some(table) => settings.named_by(&table.schema),
    };
    let distribution = distribution(table.as_ref(), &settings)?.to_owned();
    let records = match table {
        None => vec!["none".to_owned(), distribution],
        Some(table) => vec![
            "table".to_owned(),
            distribution,
            table.version.to_string(),
            spark_schema_of_table(&fitted_schema(&table.schema), table.schema_text())?.to_string(),
            join(table.key.clone()),
            join(table.partition_by.clone()),
            join(table.properties().into_iter().flat_map(<[String; 2]>::from).collect()),
            table.open_version().table_id().to_owned(),
            planned::text(planned.as_ref())?,
        ],
    };
    Ok(records.join(&RECORD.to_string()))
}

/// The distribution of rows over tasks. Those of an upsert are distributed by `ranges` of keys or by their `hash`;
/// `none` leaves all other rows where they are. Ranges cost a second pass over the source, and spare each task most of
/// the table's files.
fn distribution<'a>(table: Option<&SharedTable>, settings: &'a SparkSettings) -> Result<&'a str> {
    match (settings.get("distribution"), table) {
        (Some(known @ ("none" | "hash" | "ranges")), _) => Ok(known),
        (Some(other), _) => {
            Err(Error::usage(format!("{other:?} is neither none, hash nor ranges")).at("option \"distribution\""))
        }
        (None, _) if settings.get("key").is_none() => Ok("none"),
        (None, Some(table)) if table.is_divisible(&table.schema, &row_options(settings)?)? => {
            let has_ranges = table.has_key_ranges(&settings.names("key"))?;
            Ok(if has_ranges { "ranges" } else { "hash" })
        }
        // The driver brings rows of a key together.
        (None, _) => Ok(if settings.get("sequence").is_some() { "hash" } else { "none" }),
    }
}

/// Prepares a write of rows of this schema. The records are options for its tasks, as names and values: the version of
/// the table that they write files for, which is created if necessary, or the folder that they stage files in. The
/// version is that of the option `write.at`, by which Spark has checked the rows, or else the last one.
pub(crate) fn prepare(location: &str, options: &str, schema: &str) -> Result<String> {
    let settings = SparkSettings::parse(options)?;
    let described: SchemaRef = Arc::new(arrow_schema_of_table(schema)?);
    let transaction = transaction(&settings)?;
    let (storage, job) = (settings.storage(), settings.job()?);
    let found = match settings.parsed("write.at", number)? {
        Some(version) => Some(SharedTable::at(&open_versions::open_at(location, &settings, version, &job)?)),
        None => open_versions::open_last(location, &settings, &job)?,
    };
    if let Some(table) = found.as_ref().filter(|_| settings.get("key").is_some())
        && table.is_divisible(&Arc::new(arrow_schema(schema)?), &row_options(&settings)?)?
    {
        return Ok(format!("{}{RECORD}write.upsert{UNIT}true", version_options(table)));
    }
    if is_staged(location, &settings, found.is_some()) {
        if settings.get("key").is_none() {
            check_once(location, &settings, transaction.is_some())?;
        }
        if !matches!(replaced(&settings)?, Replaced::Nothing | Replaced::Table) {
            return Err(Error::unsupported("only a Delta table has partitions to overwrite").at(location).advice(
                "set spark.sql.sources.partitionOverwriteMode to static and omit replaceWhere to replace \
                     all files",
            ));
        }
        check_files(location, &settings)?;
        let id = settings.get("write.id").ok_or_else(|| Error::internal("a write without an id"))?;
        let folder = staging_folder(location, id);
        // A stream that starts again has the id of the run that was killed, and meets the files that it has staged.
        remove_staged(&folder, &storage, &job)?;
        return Ok(format!("write.folder{UNIT}{folder}"));
    }
    let new = settings.new_table();
    let table = match found {
        Some(table) => SharedTable::at(&planned::as_planned(table.open_version(), &settings)?),
        None => {
            let made = SharedTable::make(location, &described, &new, &storage, &job)?;
            open_versions::keep(location, &settings, &made.open_version());
            made
        }
    };
    if let Replaced::Where(condition) = replaced(&settings)? {
        table.check_replaced(&condition.filter)?;
    }
    if !new.partition_by.is_empty() && new.partition_by != table.partition_by {
        let known = match table.partition_by.as_slice() {
            [] => "has no partitions".to_owned(),
            known => format!("is partitioned by {}", known.join(", ")),
        };
        return Err(Error::unsupported(format!("the table {known}"))
            .at(location)
            .advice("omit option(\"partition_by\", ...)"));
    }
    Ok(version_options(&table))
}

/// The options by which tasks and the commit find the version that a write is for.
fn version_options(table: &SharedTable) -> String {
    let id = table.open_version().table_id().to_owned();
    format!("write.version{UNIT}{}{RECORD}write.table_id{UNIT}{id}", table.version)
}

/// An error where files can't be written exactly once as requested: only the log of a table records its transactions.
fn check_once(location: &str, settings: &SparkSettings, has_transaction: bool) -> Result<()> {
    if settings.get("write.stream").is_some() {
        return Err(Error::unsupported("a stream can only write to Delta tables, whose logs record its progress")
            .at(location)
            .advice(
                "put delta: in front of the folder to let the stream create the table, or write files with \
                 foreachBatch",
            ));
    }
    if has_transaction {
        return Err(Error::unsupported("a write of files has no transaction")
            .at(location)
            .advice("omit txnAppId and txnVersion, or put delta: in front of the folder"));
    }
    Ok(())
}

/// The options of an upsert.
pub(crate) fn row_options(settings: &SparkSettings) -> Result<RowOptions> {
    let merges = settings.parsed("mergeschema", flag)?.unwrap_or(false);
    Ok(RowOptions {
        key: settings.names("key"),
        on_duplicate: match settings.get("sequence") {
            // Tasks get the rows of a key in its order.
            Some(_) => OnDuplicate::Last,
            None => OnDuplicate::Error,
        },
        write: write_options(settings)?,
        evolve: Evolve { add: merges, widen: merges },
        ..RowOptions::default()
    })
}

/// Returns true if the driver writes the rows that tasks have staged: it upserts, or the target is files.
fn is_staged(location: &str, settings: &SparkSettings, is_table: bool) -> bool {
    let names_table = location.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("delta:"));
    settings.get("key").is_some() || !(names_table || is_table)
}

/// An error where no option names a format of files, or where the format does not support the options.
fn check_files(location: &str, settings: &SparkSettings) -> Result<()> {
    if settings.get("key").is_some() {
        return Ok(());
    }
    if !settings.names("partition_by").is_empty() || !settings.properties().is_empty() {
        return Err(Error::unsupported("only a Delta table has partitions and properties").at(location).advice(
            "put delta: in front of the folder to create a Delta table, or omit partitionBy(...) and the options \
             partition_by and table.NAME",
        ));
    }
    let options = copy_options(settings)?;
    let name = location.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if options.format.is_none() && !name.contains('.') {
        return Err(Error::usage("no Delta table exists here, and the name does not give a file format")
            .at(location)
            .advice(
                "put delta: in front of the folder to create a Delta table, or set the file format with \
             option(\"format\", \"parquet\")",
            ));
    }
    check_target(location, &options, &settings.job_of_driver()?)
}

/// The options of files that belong to no table.
fn copy_options(settings: &SparkSettings) -> Result<CopyOptions> {
    Ok(CopyOptions {
        read: ReadOptions { storage: settings.storage(), ..ReadOptions::default() },
        write: WriteOptions { spark_timestamps: true, ..write_options(settings)? },
        format: settings.parsed("format", str::parse)?,
        mode: if replaced(settings)? == Replaced::Nothing { WriteMode::Append } else { WriteMode::Overwrite },
        ..CopyOptions::default()
    })
}

/// The reports of tasks.
#[derive(Default)]
struct TaskReports {
    files: Vec<PendingFile>,
    staged: Vec<String>,
    hidden: HashMap<String, Vec<u64>>,
    /// Hidden rows that a new row replaces each.
    updated_rows: u64,
    upserted: Vec<UpsertPart>,
}

impl TaskReports {
    fn parse(messages: &str) -> Result<Self> {
        let broken = |e: serde_json::Error| Error::internal("not a message of a task").because(e);
        let mut told = Self::default();
        for message in messages.split(RECORD).filter(|message| !message.is_empty()) {
            if let Some((file, rows)) = message.split_once(UNIT) {
                let rows = rows.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>();
                let rows = rows.map_err(|_| Error::internal(format!("not numbers of rows of {file}")))?;
                told.hidden.entry(file.to_owned()).or_default().extend(rows);
                continue;
            }
            let mut message: Value = serde_json::from_str(message).map_err(broken)?;
            if let Some(file) = message["staged"].as_str() {
                if message["rows"].as_u64() != Some(0) {
                    told.staged.push(file.to_owned());
                }
                continue;
            }
            if let Some(rows) = message["updated_rows"].as_u64() {
                told.updated_rows += rows;
                continue;
            }
            if message["upserted"].is_object() {
                told.upserted.push(serde_json::from_value(message["upserted"].take()).map_err(broken)?);
                continue;
            }
            told.files.extend(serde_json::from_value::<Vec<PendingFile>>(message["files"].take()).map_err(broken)?);
        }
        Ok(told)
    }
}

/// Commits the files of tasks. Returns the version that it made, in words for the log.
pub(crate) fn commit(location: &str, options: &str, schema: &str, messages: &str) -> Result<String> {
    let settings = SparkSettings::parse(options)?;
    let told = TaskReports::parse(messages)?;
    if let Some(folder) = settings.get("write.folder") {
        let done = commit_staged(location, &settings, Arc::new(arrow_schema(schema)?), told.staged);
        let cleaned = settings.job().and_then(|job| remove_staged(folder, &settings.storage(), &job));
        // The rows are committed: leftovers of the staging folder are no part of them, and a second run would add the
        // rows again.
        return done.map(|done| match cleaned {
            Ok(()) => done,
            Err(error) => format!("{done}, but {folder} could not be removed: {error}"),
        });
    }
    let base = written_version(location, &settings, &settings.job_of_driver()?)?;
    if settings.get("write.truncates").is_some() {
        return Ok(version_text(lakerace::truncate(&base)?));
    }
    if settings.get("write.rows").is_some() {
        let statement = RowStatement { updated_rows: Some(told.updated_rows), ..row_statement(&settings)? };
        let planned = planned::planned(&settings)?;
        let changed = commit_rows(&base, told.files, told.hidden, &statement, planned.as_ref())?;
        return Ok(version_text(changed.and_then(|changed| changed.written.version)));
    }
    if settings.get("write.upsert").is_some() {
        let (keys, options) = (part_keys(&settings), row_options(&settings)?);
        let transaction = transaction(&settings)?;
        let changed = commit_upsert(&base, told.upserted, keys, &options, transaction.as_ref())?;
        return Ok(version_text(changed.written.version));
    }
    let (files, replaced) = (told.files, replaced(&settings)?);
    // A micro-batch without rows is empty each time it is repeated.
    let is_empty = settings.get("write.stream").is_some() && files.iter().all(|file| file.rows() == 0);
    let transaction = transaction(&settings)?.filter(|_| !is_empty || replaced != Replaced::Nothing);
    let planned = planned::planned(&settings)?;
    let options = FilesCommit {
        transaction: transaction.as_ref(),
        planned: planned.as_ref(),
        operation: settings.get("write.operation"),
    };
    let written = commit_files(&base, files, replaced, &options)?;
    Ok(version_text(written.and_then(|written| written.version)))
}

/// The version of the table that the files of a write are for.
pub(crate) fn written_version(location: &str, settings: &SparkSettings, job: &Job) -> Result<OpenVersion> {
    let version = settings.parsed("write.version", number)?;
    let version = version.ok_or_else(|| Error::internal("a write without a version"))?;
    open_versions::open_at(location, settings, version, job)
}

pub(crate) fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::internal(format!("{text:?} is not a number")))
}

/// The statement that changes rows, from the options `write.rows`, its kind, and `write.conditions`, a JSON list.
fn row_statement(settings: &SparkSettings) -> Result<RowStatement> {
    let kind = match settings.get("write.rows") {
        Some("DELETE") => RowStatementKind::Delete,
        Some("UPDATE") => RowStatementKind::Update,
        _ => RowStatementKind::Merge,
    };
    let broken = |e: serde_json::Error| Error::internal("not a list of conditions").because(e);
    let conditions = settings.parsed("write.conditions", |text| serde_json::from_str(text).map_err(broken))?;
    Ok(RowStatement { kind, conditions, updated_rows: None })
}

/// Says whether Spark has brought the rows of a key to one task. The table at the time of the commit does not determine
/// it: Spark planned earlier.
fn part_keys(settings: &SparkSettings) -> PartKeys {
    match settings.get("write.distribution") {
        Some("hash" | "ranges") => PartKeys::Own,
        _ => PartKeys::Unknown,
    }
}

/// The rows that a write replaces.
fn replaced(settings: &SparkSettings) -> Result<Replaced> {
    Ok(match settings.get("write.replaces") {
        None => Replaced::Nothing,
        Some("partitions") => Replaced::Partitions,
        Some("where") => {
            let text = settings.get("write.where").unwrap_or_default();
            Replaced::Where(ReplaceCondition { filter: lakerace::parse_filter(text)?, text: text.to_owned() })
        }
        Some(_) => Replaced::Table,
    })
}

fn version_text(version: Option<u64>) -> String {
    version.map_or_else(|| "nothing to commit".to_owned(), |version| format!("version {version}"))
}

/// Removes the files of tasks when there is no commit: given the options of a task, those that it has staged; given the
/// driver's, those of all tasks. With the option `write.made`, the table itself is removed, provided that it is still
/// empty.
pub(crate) fn discard(location: &str, options: &str, messages: &str) -> Result<()> {
    let settings = SparkSettings::parse(options)?;
    let (storage, job) = (settings.storage(), settings.job()?);
    if settings.get("write.made").is_some() {
        return remove_empty_table(location, &storage, &job).map(drop);
    }
    match (settings.get("write.file"), settings.get("write.folder")) {
        (Some(file), _) => remove_staged_file(file, &storage, &job),
        (None, Some(folder)) => remove_staged(folder, &storage, &job),
        (None, None) => {
            let TaskReports { mut files, upserted, .. } = TaskReports::parse(messages)?;
            files.extend(upserted.into_iter().flat_map(|part| part.files));
            discard_files(location, files, &storage, &job)
        }
    }
}

/// Upserts staged files, or copies them to files, in one commit.
fn commit_staged(location: &str, settings: &SparkSettings, schema: SchemaRef, staged: Vec<String>) -> Result<String> {
    let job = settings.job_of_driver()?;
    let batches = staged_rows(settings, &schema, staged, &job)?;
    let written: Written = if settings.get("key").is_some() {
        let options = UpsertOptions {
            read: ReadOptions { storage: settings.storage(), ..ReadOptions::default() },
            rows: row_options(settings)?,
            partition_by: settings.names("partition_by"),
            table_properties: settings.properties(),
            transaction: transaction(settings)?,
        };
        lakerace::upsert_rows(location, SourceRows::from(batches), &options, &job)?.written
    } else {
        lakerace::write(batches, location, &copy_options(settings)?, &job)?
    };
    Ok(version_text(written.version))
}

/// The rows of staged files, one after the other.
fn staged_rows(settings: &SparkSettings, schema: &Schema, staged: Vec<String>, job: &Job) -> Result<Batches> {
    let read = ReadOptions { storage: settings.storage(), format: Some(&PARQUET), ..ReadOptions::default() };
    // Files have their columns as views and the like: those of the first are the rows'.
    let schema = match staged.first() {
        None => Arc::new(schema.clone()),
        Some(first) => Scan::open(first, &read, job)?.schema(),
    };
    let job = job.clone();
    let rows = staged.into_iter().flat_map(move |file| -> Box<dyn Iterator<Item = Result<RecordBatch>> + Send> {
        match Scan::open(&file, &read, &job).and_then(|scan| scan.batches()) {
            Ok(batches) => Box::new(batches),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    });
    Ok(Batches::new(schema, rows))
}

/// The transaction of the options `txnAppId` and `txnVersion`.
fn transaction(settings: &SparkSettings) -> Result<Option<AppTransaction>> {
    match (settings.get("txnappid"), settings.get("txnversion")) {
        (None, None) => Ok(None),
        (Some(name), Some(number)) => {
            let number = number.parse().map_err(|_| {
                Error::usage(format!("{number:?} is not a non-negative integer")).at("option \"txnVersion\"")
            })?;
            Ok(Some(AppTransaction { name: name.to_owned(), number }))
        }
        _ => Err(Error::usage("a transaction has a name and a number").advice("give both txnAppId and txnVersion")),
    }
}

/// The options of written files.
pub(crate) fn write_options(settings: &SparkSettings) -> Result<WriteOptions> {
    Ok(WriteOptions {
        compression: settings.parsed("compression", str::parse)?,
        row_group_rows: settings.positive("row_group_rows")?,
        file_bytes: settings.positive("file_bytes")?.map(|bytes| bytes as u64),
        bloom_filter_columns: settings.names("bloom_filter"),
        csv: settings.csv()?,
        ..WriteOptions::default()
    })
}

#[cfg(test)]
mod tests;
