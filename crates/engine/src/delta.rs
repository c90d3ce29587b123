//! Delta tables by the names that users write.

use arrow::datatypes::SchemaRef;
use lakerace_delta::{
    DELTA, DeltaSink, DeltaSource, LOG, ReplaceCondition, Snapshot, Table, TableWrite, VersionSpec, check_replaced,
};
use lakerace_format::Sink;
use lakerace_io::object_store::path::Path;
use lakerace_io::option::{INPUT_FORMAT, REPLACE_WHERE, WHERE};
use lakerace_io::{Error, Job, Location, Result, StorageOptions, WriteMode};

use crate::filter::{parse_constraint, parse_filter};
use crate::options::{CopyOptions, ReadOptions};
use crate::resolve::{LocationKind, parse_path};

/// The folder in `delta:FOLDER`; `None` where the name does not say that it is a Delta table.
pub(crate) fn named(location: &str) -> Option<&str> {
    match LocationKind::classify(location) {
        LocationKind::Table { folder } => Some(folder),
        _ => None,
    }
}

/// Returns true if an object, or a path of a file, is a part of the log of the table in `folder`.
pub(crate) fn is_log_of(folder: &Path, path: &Path) -> bool {
    let below = path.as_ref().strip_prefix(folder.as_ref()).unwrap_or_default();
    below.trim_start_matches('/').strip_prefix(LOG).is_some_and(|rest| rest.starts_with('/'))
}

/// The table of a name, with or without `delta:` in front. Sends no request.
pub(crate) fn open_table(name: &str, storage: &StorageOptions, job: &Job) -> Result<Table> {
    table_at(&parse_path(named(name).unwrap_or(name))?, storage, job)
}

/// The table in a folder, whose constraints are filters. Sends no request.
pub(crate) fn table_at(location: &Location, storage: &StorageOptions, job: &Job) -> Result<Table> {
    Table::at(location, storage, job)?.with_condition_parser(parse_constraint)
}

/// The version that a read is for, opened where another one of the table is open.
pub(crate) fn open_after(name: &str, options: &ReadOptions, known: &Snapshot, job: &Job) -> Result<DeltaSource> {
    check_format(name, options)?;
    let at = options.at.as_deref().map(str::parse::<VersionSpec>).transpose()?;
    let table = open_table(name, &options.storage, job)?;
    let snapshot = match at {
        None => table.snapshot_after(known, None)?,
        Some(VersionSpec::Version(version)) => table.snapshot_after(known, Some(version))?,
        Some(VersionSpec::Timestamp(_)) => table.snapshot(at)?,
    };
    DeltaSource::open(snapshot)
}

/// The version that a read is for, opened.
pub(crate) fn open(location: &Location, options: &ReadOptions, job: &Job) -> Result<DeltaSource> {
    check_format(location.as_str(), options)?;
    DeltaSource::open(snapshot(location, options, job)?)
}

fn check_format(location: &str, options: &ReadOptions) -> Result<()> {
    match options.format {
        None => Ok(()),
        Some(_) => Err(Error::usage("it is a Delta table, which has its own format")
            .at(location)
            .advice(format!("omit {INPUT_FORMAT}: its files alone do not make up its rows"))),
    }
}

fn snapshot(location: &Location, options: &ReadOptions, job: &Job) -> Result<Snapshot> {
    let at = options.at.as_deref().map(str::parse::<VersionSpec>).transpose()?;
    table_at(location, &options.storage, job)?.snapshot(at)
}

/// A Delta table as the target of a copy.
pub(crate) struct TableTarget {
    table: Table,
    load_name: Option<String>,
}

impl TableTarget {
    /// The table in a folder.
    pub(crate) fn new(location: &Location, options: &CopyOptions, job: &Job) -> Result<Self> {
        if options.format.is_some_and(|format| format != DELTA.files) {
            return Err(Error::usage("the files of a Delta table are Parquet files").at(location.as_str()));
        }
        Ok(Self { table: table_at(location, &options.read.storage, job)?, load_name: None })
    }

    /// Names the load, where its rows are counted.
    pub(crate) fn name_load(&mut self, load_name: Option<String>) {
        self.load_name = load_name;
    }

    /// As the user wrote it, with `delta:` in front.
    pub(crate) fn location(&self) -> String {
        format!("{}{}", DELTA.scheme, self.table.location())
    }

    /// The table, which may be there or not.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Starts to write.
    pub(crate) fn create(&self, schema: &SchemaRef, options: &CopyOptions) -> Result<Box<dyn Sink>> {
        let write = TableWrite {
            mode: options.mode,
            partition_by: options.partition_by.clone(),
            properties: options.table_properties.clone(),
            evolve: options.evolve,
            keep_not_null: options.keep_not_null,
            options: options.write.clone(),
            load_name: self.load_name.clone(),
            resumes: options.load.resume,
            replace_where: options.replace_where.as_deref().map(replace_condition).transpose()?,
        };
        DeltaSink::create_looking(&self.table, schema, &write, |snapshot| warn_of_whole_overwrite(snapshot, options))
    }
}

/// Warns where the filter of the source names partitions of the table: an overwrite replaces the others, too.
fn warn_of_whole_overwrite(snapshot: &Snapshot, options: &CopyOptions) {
    let (WriteMode::Overwrite, None, Some(text)) = (options.mode, &options.replace_where, &options.read.filter) else {
        return;
    };
    // The reader of the source reports errors.
    let Ok(filter) = parse_filter(text) else { return };
    if !snapshot.partition_columns().is_empty() && check_replaced(snapshot, &filter).is_ok() {
        let place = snapshot.table().location();
        snapshot.table().job().warn(&format!(
            "{place}: the overwrite replaces the whole table: {WHERE} only filters the source; add {} to keep other rows of \
             the table",
            REPLACE_WHERE.to(text.clone())
        ));
    }
}

/// The condition by which an overwrite selects the rows to replace.
fn replace_condition(text: &str) -> Result<ReplaceCondition> {
    let filter = parse_filter(text).map_err(|error| error.at(REPLACE_WHERE.to_string()))?;
    Ok(ReplaceCondition { filter, text: text.to_owned() })
}
