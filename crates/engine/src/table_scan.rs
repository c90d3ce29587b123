//! Scans of Delta tables in parts: a driver plans from the log, and its workers read without the log.

use std::collections::BTreeMap;

use arrow::datatypes::SchemaRef;
use lakerace_delta::{DeltaSource, PlannedSchema, ScannedVersion, Snapshot, TableScan, TableTask, VersionSpec};
use lakerace_format::{Batches, Extremes, FieldPaths, ReadRequest, Source};
use lakerace_io::{Job, Result, StorageOptions};

use crate::column_item::plain_names;
use crate::delta::open_table;
use crate::filter::parse_filter;
use crate::options::ReadOptions;
use crate::rebatch::{SOURCE_BATCH_ROWS, rebatch};

/// A version of a Delta table, opened. Cheap to clone: all clones read its log once.
#[derive(Clone)]
pub struct OpenVersion {
    snapshot: Snapshot,
}

impl OpenVersion {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self { snapshot }
    }

    /// Opens a version of a Delta table for a job. Where `known` is a version of it that is open, only the log after
    /// that one is read, and nothing if it is this one.
    ///
    /// # Errors
    /// `NotFound` where there is no table, or no such version any more.
    pub fn open(name: &str, version: u64, known: Option<&Self>, storage: &StorageOptions, job: &Job) -> Result<Self> {
        let table = open_table(name, storage, job)?;
        let opened = match known {
            Some(known) => table.snapshot_after(&known.snapshot, Some(version)),
            None => table.snapshot(Some(VersionSpec::Version(version))),
        };
        opened.map(Self::new)
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The version as if a change of its columns were made in it: for the files that are written for the change.
    ///
    /// # Errors
    /// Those of [`PlannedSchema::view`].
    pub fn planned(&self, planned: &PlannedSchema) -> Result<Self> {
        planned.view(&self.snapshot).map(Self::new)
    }

    /// The number of files, where they have been listed.
    pub fn listed_file_count(&self) -> Option<usize> {
        self.snapshot.listed_file_count()
    }

    /// Its number.
    pub fn version(&self) -> u64 {
        self.snapshot.version()
    }

    /// The id of its table, which another table at the same place does not have.
    pub fn table_id(&self) -> &str {
        self.snapshot.table_id()
    }

    /// Checks that its table is the one of an id.
    ///
    /// # Errors
    /// `Conflict` if it is another one.
    pub fn check_table_id(&self, id: &str) -> Result<()> {
        self.snapshot.check_table_id(id)
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        self.snapshot.schema()
    }

    /// The schema from the log: JSON in which fields have metadata, such as comments.
    pub fn schema_text(&self) -> &str {
        self.snapshot.schema_text()
    }

    /// The columns that its files are divided by.
    pub fn partition_columns(&self) -> Vec<String> {
        self.snapshot.partition_columns()
    }

    /// Its properties.
    pub fn properties(&self) -> BTreeMap<String, String> {
        self.snapshot.properties()
    }

    /// The number of files.
    pub fn file_count(&self) -> Result<usize> {
        self.snapshot.file_count()
    }

    /// Its rows, where the log knows them.
    pub fn known_rows(&self) -> Result<Option<u64>> {
        self.snapshot.known_rows()
    }

    /// Its rows. The footers of files are read where the log does not say how many rows they have.
    pub fn row_count(&self) -> Result<u64> {
        self.snapshot.row_count()
    }

    /// Plans a scan by columns, filter, limit and batch size of the options. No data file is opened. `with_ids` adds
    /// the columns `_file` and `_pos` after the others; for `fields` see [`ReadRequest`].
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist; `Usage` and `Invalid` for a filter that can't be parsed, or does
    /// not fit the columns.
    pub fn plan(&self, options: &ReadOptions, fields: FieldPaths, with_ids: bool) -> Result<TableScan> {
        let request = ReadRequest {
            columns: plain_names(options.columns.as_deref())?,
            fields,
            filter: options.filter.as_deref().map(parse_filter).transpose()?,
            limit: options.limit,
            batch_rows: options.batch_rows,
            version: None,
        };
        TableScan::new(&self.snapshot, &request, with_ids)
    }

    /// The least and the greatest value of a column, if metadata have them exactly. The footers of files are read.
    pub fn extremes(&self, column: &str) -> Result<Option<Extremes>> {
        DeltaSource::open(self.snapshot.clone())?.extremes(column)
    }
}

/// Reads a task of a scan that [`OpenVersion::plan`] has planned, perhaps in another process. No log is read.
pub fn read_table_task(
    name: &str,
    version: &ScannedVersion,
    task: &TableTask,
    options: &ReadOptions,
    job: &Job,
) -> Result<Batches> {
    let table = open_table(name, &options.storage, job)?;
    let Some(rows) = task.request.batch_rows else {
        return lakerace_delta::read_table_task(&table, version, task);
    };
    let mut sliced = task.clone();
    sliced.request.batch_rows = Some(rows.min(SOURCE_BATCH_ROWS));
    Ok(rebatch(lakerace_delta::read_table_task(&table, version, &sliced)?, rows))
}
