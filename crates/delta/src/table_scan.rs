//! Scans in parts: one process chooses a version's files by the log, and others read them without it.

mod scan_file;
mod width;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use delta_kernel::schema::StructType;
use delta_kernel::table_features::ColumnMappingMode;
use lakerace_format::{Batches, Predicate, ReadRequest, Source};
use lakerace_io::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

pub use self::scan_file::ScanFile;
use self::width::width;
use crate::row_ids::read::{read_files, schema_with_ids};
use crate::snapshot::Snapshot;
use crate::snapshot::columns::TableColumns;
use crate::snapshot::files::TableFile;
use crate::source::{open_parquet, prune};
use crate::table::Table;

/// A scan of a version: its files, from the log alone. No data file is opened for it.
#[derive(Debug, Clone)]
pub struct TableScan {
    /// The version, as its tasks need it.
    pub version: ScannedVersion,
    /// The schema of the batches.
    pub schema: SchemaRef,
    /// The number of the version's files.
    pub all_files: usize,
    /// The files of which rows may be read, the oldest first.
    pub files: Vec<ScanFile>,
    /// The part of a file's bytes that its columns take, by the widths of their types.
    share: f64,
    task: TableTask,
}

/// The parts of a version that the tasks of a scan need, so that they read no log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedVersion {
    /// Its number.
    pub version: u64,
    /// The schema from the log.
    schema_text: String,
    mapping: ColumnMappingMode,
    partition_columns: Vec<String>,
}

/// A part of a scan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableTask {
    /// The columns, the filter and the limit.
    pub request: ReadRequest,
    /// True if the columns `_file` and `_pos` follow the others.
    pub with_ids: bool,
    slices: Vec<FileSlice>,
}

/// The row groups of a file whose midpoint is in a range of its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FileSlice {
    file: ScanFile,
    bytes: Range<u64>,
}

impl TableScan {
    /// Chooses the files of a version that a request needs.
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist; `Invalid` for a filter that does not fit the columns.
    pub fn new(snapshot: &Snapshot, request: &ReadRequest, with_ids: bool) -> Result<Self> {
        let mut request = ReadRequest { version: Some(snapshot.version()), ..request.clone() };
        let all = || snapshot.schema().fields().iter().map(|field| field.name().clone()).collect();
        request.columns.get_or_insert_with(all);
        let (kept, _) = prune(snapshot, None, &request)?;
        let version = ScannedVersion::from_snapshot(snapshot);
        let read = lakerace_format::requested_schema(snapshot.schema(), &request)?;
        Ok(Self {
            schema: if with_ids { schema_with_ids(&read) } else { Arc::clone(&read) },
            all_files: snapshot.files()?.files.len(),
            files: kept.into_iter().map(ScanFile::from_file).collect(),
            share: share(snapshot.schema(), &read, &request, &version.partition_columns)?,
            version,
            task: TableTask { request, with_ids, slices: Vec::new() },
        })
    }

    /// A scan of files that a caller has chosen, with the columns of a version.
    ///
    /// # Errors
    /// As those of [`Self::new`].
    pub fn of_files(version: &ScannedVersion, files: Vec<ScanFile>, request: &ReadRequest) -> Result<Self> {
        let mut request = ReadRequest { version: Some(version.version), ..request.clone() };
        let columns = version.columns()?;
        let table = columns.schema.schema();
        request.columns.get_or_insert_with(|| table.fields().iter().map(|field| field.name().clone()).collect());
        let read = lakerace_format::requested_schema(table, &request)?;
        Ok(Self {
            all_files: files.len(),
            files,
            share: share(table, &read, &request, &version.partition_columns)?,
            schema: read,
            version: version.clone(),
            task: TableTask { request, with_ids: false, slices: Vec::new() },
        })
    }

    /// The approximate bytes that are read: the log does not state the length of each column.
    pub fn bytes(&self) -> u64 {
        (self.file_bytes() as f64 * self.share).ceil() as u64
    }

    fn file_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum()
    }

    /// The rows of its files that no deletion vector hides, where the log knows them.
    pub fn rows_at_most(&self) -> Option<u64> {
        self.files.iter().map(ScanFile::visible_rows).sum()
    }

    /// Divides the scan into tasks of approximately so many [bytes that are read](Self::bytes): some files each, or a
    /// range of the bytes of a larger one.
    pub fn tasks(&self, bytes: u64) -> Vec<TableTask> {
        // With a limit and no filter, hardly more files than necessary are left.
        let is_one = self.task.request.limit.is_some() && self.task.request.filter.is_none();
        let most = if is_one { u64::MAX } else { ((bytes as f64 / self.share) as u64).max(1) };
        let (mut tasks, mut filled) = (Vec::<TableTask>::new(), u64::MAX);
        // A file may occur twice, with other deleted rows the second time. A task reads a file with one deletion
        // vector.
        let mut begun = HashSet::new();
        for slice in self.files.iter().flat_map(|file| slices(file, most)) {
            let length = slice.bytes.end.min(slice.file.size_bytes).saturating_sub(slice.bytes.start);
            let is_twice = slice.bytes.start == 0 && begun.contains(&slice.file.path);
            if filled.saturating_add(length) > most || tasks.is_empty() || is_twice {
                tasks.push(self.task.clone());
                filled = 0;
                begun.clear();
            }
            begun.insert(slice.file.path.clone());
            filled += length;
            if let Some(task) = tasks.last_mut() {
                task.slices.push(slice);
            }
        }
        tasks
    }
}

/// Ranges of a file of nearly equal length, none longer than `most`.
fn slices(file: &ScanFile, most: u64) -> impl Iterator<Item = FileSlice> + use<> {
    let parts = file.size_bytes.div_ceil(most).max(1);
    let (file, size) = (file.clone(), u128::from(file.size_bytes));
    let at = move |part: u64| (size * u128::from(part) / u128::from(parts)) as u64;
    (0..parts).map(move |part| {
        // The last range extends to the end of the file, even if the file is longer than the log states.
        let end = if part + 1 == parts { u64::MAX } else { at(part + 1) };
        FileSlice { file: file.clone(), bytes: at(part)..end }
    })
}

/// The part of the bytes of a table's columns that a request reads, above 0.
fn share(table: &Schema, read: &Schema, request: &ReadRequest, constant: &[String]) -> Result<f64> {
    let stored = |name: &String| !constant.contains(name);
    let sum = |schema: &Schema| -> u64 {
        let fields = schema.fields().iter().filter(|field| stored(field.name()));
        fields.map(|field| width(field.data_type())).sum()
    };
    let mut bytes = sum(read);
    if let Some(filter) = &request.filter {
        let predicate = Predicate::bind(filter, table)?;
        let fields = predicate.columns().iter().map(|at| table.field(*at));
        let added = fields.filter(|field| stored(field.name()) && read.index_of(field.name()).is_err());
        bytes += added.map(|field| width(field.data_type())).sum::<u64>();
    }
    Ok((bytes.max(1) as f64 / sum(table).max(1) as f64).min(1.0))
}

impl ScannedVersion {
    fn from_snapshot(snapshot: &Snapshot) -> Self {
        Self {
            version: snapshot.version(),
            schema_text: snapshot.schema_text().to_owned(),
            mapping: snapshot.kernel().table_configuration().column_mapping_mode(),
            partition_columns: snapshot.partition_columns(),
        }
    }

    /// The schema in the kernel's form.
    pub(crate) fn kernel_schema(&self) -> Result<StructType> {
        serde_json::from_str(&self.schema_text).map_err(|e| Error::corrupt("the table's schema").because(e))
    }

    /// The columns that its files are divided by.
    pub(crate) fn partition_columns(&self) -> &[String] {
        &self.partition_columns
    }

    pub(crate) fn columns(&self) -> Result<TableColumns> {
        TableColumns::new(&self.kernel_schema()?, self.mapping)
    }

    /// The schema of the batches of a task.
    pub fn schema_of(&self, task: &TableTask) -> Result<SchemaRef> {
        let columns = self.columns()?;
        let read = lakerace_format::requested_schema(columns.schema.schema(), &task.request)?;
        Ok(if task.with_ids { schema_with_ids(&read) } else { read })
    }
}

/// Reads a task of a scan of a version of this table. Footers and deletion vectors of its files are read, and no log.
///
/// # Errors
/// `NotFound` for a file that is gone; others as those of a read.
pub fn read_table_task(table: &Table, version: &ScannedVersion, task: &TableTask) -> Result<Batches> {
    let number = version.version;
    let missing = |error: Error| match error.kind() {
        ErrorKind::NotFound => {
            error.advice(format!("version {number} needs it, but it was vacuumed or removed in another way"))
        }
        _ => error,
    };
    let columns = version.columns().map_err(|error| error.at(table.location()))?;
    let files = task.slices.iter().map(|slice| slice.file.open(table, &columns, &version.partition_columns));
    let files = files.collect::<Result<Vec<TableFile>>>()?;
    let files: Vec<&TableFile> = files.iter().collect();
    let ranges: Vec<Range<u64>> = task.slices.iter().map(|slice| slice.bytes.clone()).collect();
    if task.with_ids {
        return read_files(table, &columns.schema, (&files, &ranges), &task.request).map_err(missing);
    }
    let source = open_parquet(table, &columns.schema, &files).map_err(missing)?;
    source.read(&source.plan_ranges(&task.request, &ranges)?)
}

#[cfg(test)]
mod tests;
