//! The files of a version, as its log lists them.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use arrow::datatypes::{Field, Int32Type, Int64Type};
use delta_kernel::actions::deletion_vector::{DeletionVectorDescriptor, DeletionVectorStorageType};
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::scan::{PartitionValuesOptions, ScanMetadata, StatsOptions};
use lakerace_format::Constants;
use lakerace_format::predicate::Value;
use lakerace_io::option::VERIFY_TABLE;
use lakerace_io::{Error, Object, Result};

use crate::kernel::error::from_kernel;
use crate::log::json_object::JsonObject;
use crate::snapshot::Snapshot;
use crate::snapshot::columns::TableColumns;
use crate::snapshot::partitions::Partitions;
use crate::snapshot::statistics::counts;
use crate::snapshot::statistics::misfit::misfit;
use crate::snapshot::statistics::validity;
use crate::table::Table;

/// The files of a version, the oldest first.
#[derive(Debug)]
pub(crate) struct TableFiles {
    pub files: Vec<TableFile>,
}

impl TableFiles {
    /// The same files for another object of their table.
    pub fn in_table(&self, table: &Table) -> Result<Self> {
        let in_table = |file: &TableFile| {
            let object = Object { size_bytes: file.object.size_bytes, ..table.object(&file.path)? };
            Ok(TableFile { object, ..file.clone() })
        };
        Ok(Self { files: self.files.iter().map(in_table).collect::<Result<_>>()? })
    }
}

/// A file of a version.
#[derive(Debug, Clone)]
pub(crate) struct TableFile {
    /// As the log names it: relative to the table or absolute, and encoded as a URI.
    pub path: String,
    /// The location of the file.
    pub object: Object,
    /// Its size, as the log says.
    pub size_bytes: u64,
    /// Milliseconds since 1970 when it was made.
    pub modified: i64,
    /// The rows of it that are deleted.
    pub vector: Option<DeletionVectorDescriptor>,
    /// The values of partition columns.
    pub constants: Option<Arc<Constants>>,
    /// Its statistics: a struct array and the row in it.
    pub statistics: Option<(StructArray, usize)>,
    /// Its rows, deleted ones included, where the log says so.
    pub rows: Option<u64>,
}

impl TableFile {
    /// Rows that are not deleted, where the log says so.
    pub fn visible_rows(&self) -> Option<u64> {
        Some(self.rows?.saturating_sub(hidden_rows(self.vector.as_ref())))
    }
}

/// The rows that a deletion vector hides, as the log says.
fn hidden_rows(vector: Option<&DeletionVectorDescriptor>) -> u64 {
    vector.map_or(0, |vector| vector.cardinality.max(0) as u64)
}

/// The most bytes of a file that are taken for true: an exbibyte. Sums of more could overflow.
const MOST_BYTES: u64 = 1 << 60;
/// The most rows of a file that are taken for true. Where the log states more, or fewer than it hides, the file says how many it has.
const MOST_ROWS: u64 = 1 << 40;

/// Reads the log: one pass over the checkpoint and the entries after it.
pub(crate) fn list(snapshot: &Snapshot) -> Result<TableFiles> {
    list_with(snapshot, |_| {})
}

/// Statistics of a file that are not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatisticsDefect {
    /// The file's path in the log.
    pub path: String,
    /// The reason, after the words "the statistics".
    pub reason: String,
}

/// Reads the log like [`list`]; also returns the statistics that are not valid.
pub(crate) fn list_checked(snapshot: &Snapshot) -> Result<(TableFiles, Vec<StatisticsDefect>)> {
    let mut defects = Vec::new();
    let files = list_with(snapshot, |rows| defects.extend(rows.statistics_defects(snapshot.columns())))?;
    Ok((files, defects))
}

/// Calls `take` with the path of each file and the text of its statistics, for those that have some.
pub(crate) fn each_statistics(snapshot: &Snapshot, mut take: impl FnMut(&str, &str)) -> Result<()> {
    list_with(snapshot, |rows| {
        let columns = (rows.batch.column_by_name("path"), rows.batch.column_by_name("stats"));
        let (Some(paths), Some(texts)) = columns else { return };
        let pairs = (0..rows.batch.num_rows()).filter_map(|row| text(paths, row).zip(text(texts, row)));
        pairs.for_each(|(path, statistics)| take(path, statistics));
    })?;
    Ok(())
}

fn list_with(snapshot: &Snapshot, mut look: impl FnMut(&FileRows<'_>)) -> Result<TableFiles> {
    let table = snapshot.table();
    let partitions = partition_fields(snapshot)?;
    let mut files = Vec::new();
    if snapshot.schema().fields().is_empty() {
        return Ok(TableFiles { files });
    }
    let batches = table.kernel(|engine| {
        let scan = snapshot
            .kernel()
            .clone()
            .scan_builder()
            .without_row_transforms()
            .with_stats(StatsOptions::all_struct())
            .with_partition_values(PartitionValuesOptions::with_struct())
            .build()?;
        scan.scan_metadata(engine)?.map(|batch| batch.and_then(selected)).collect::<Result<Vec<_>, _>>()
    });
    let batches = batches.map_err(|error| unreadable_value(snapshot).unwrap_or(error))?;
    for batch in batches {
        table.job().check()?;
        let rows = FileRows::from_batch(&batch)?;
        look(&rows);
        rows.append(snapshot, &partitions, &mut files)?;
    }
    // The log returns them in an order that would not survive its next checkpoint.
    files.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
    refuse_twice(&files, table.location()).map_err(|error| error.at(table.location()))?;
    Ok(TableFiles { files })
}

/// Refuses a file that a version has twice, with two deletion vectors: an entry that removes one of them is damaged, and
/// which rows are hidden is not known.
fn refuse_twice(files: &[TableFile], place: &str) -> Result<()> {
    let mut paths = HashSet::with_capacity(files.len());
    match files.iter().find(|file| !paths.insert(file.path.as_str())) {
        None => Ok(()),
        Some(file) => Err(Error::corrupt(format!("the log names the file {:?} twice", file.path))
            .advice(format!("{} shows the entry that is wrong", VERIFY_TABLE.on(place)))),
    }
}

/// The error of the first partition value that can't be read, with its file and column; the kernel's own names neither.
fn unreadable_value(snapshot: &Snapshot) -> Option<Error> {
    if snapshot.partition_columns().is_empty() {
        return None;
    }
    let schema = snapshot.kernel().schema();
    let partitions = Partitions::new(snapshot.kernel(), &schema, snapshot.schema()).ok()?;
    let batches = snapshot.table().kernel(|engine| {
        let scan = snapshot.kernel().clone().scan_builder().without_row_transforms().build()?;
        scan.scan_metadata(engine)?.map(|batch| batch.and_then(selected)).collect::<Result<Vec<_>, _>>()
    });
    batches.ok()?.iter().find_map(|batch| {
        let paths = batch.column_by_name("path")?;
        let constants = batch.column_by_name("fileConstantValues")?.as_struct_opt()?;
        let values = constants.column_by_name("partitionValues")?.as_map_opt()?;
        (0..batch.num_rows()).find_map(|row| {
            let entries = values.is_valid(row).then(|| values.value(row))?;
            let texts = |number: usize, entry| text(entries.column(number), entry).map(str::to_owned);
            let named = (0..entries.len()).filter_map(|entry| Some((texts(0, entry)?, texts(1, entry)))).collect();
            let error = partitions.of_file(&named).err()?;
            Some(error.at(text(paths, row)?.to_owned()))
        })
    })
}

/// The rows of a batch that stand for files of the version.
fn selected(batch: ScanMetadata) -> delta_kernel::KernelResult<RecordBatch> {
    batch.scan_files.apply_selection_vector().try_into_record_batch()
}

/// The partition columns: their fields, and the names that the log has for them.
fn partition_fields(snapshot: &Snapshot) -> Result<Vec<(Field, String)>> {
    let field = |name: String| {
        let field = snapshot.schema().field_with_name(&name);
        let field = field.map_err(|_| Error::corrupt(format!("the partition column {name:?} is not in the schema")))?;
        let stored = snapshot.columns().stored_path(std::slice::from_ref(&name));
        let stored = stored.and_then(|path| path.first().map(|name| (*name).to_owned()));
        Ok((field.clone(), stored.unwrap_or(name)))
    };
    snapshot.partition_columns().into_iter().map(field).collect()
}

/// The columns of a batch of files.
struct FileRows<'a> {
    batch: &'a RecordBatch,
    vectors: Option<&'a StructArray>,
    statistics: Option<&'a StructArray>,
    partitions: Option<&'a StructArray>,
}

impl<'a> FileRows<'a> {
    fn from_batch(batch: &'a RecordBatch) -> Result<Self> {
        let structs = |name: &str| batch.column_by_name(name).and_then(|column| column.as_struct_opt());
        Ok(Self {
            batch,
            vectors: structs("deletionVector"),
            statistics: structs("stats_parsed"),
            partitions: structs("partitionValues_parsed"),
        })
    }

    /// The statistics that are not valid.
    fn statistics_defects(&self, columns: &TableColumns) -> Vec<StatisticsDefect> {
        let (paths, texts) = (self.batch.column_by_name("path"), self.batch.column_by_name("stats"));
        let (Some(paths), Some(texts)) = (paths, texts) else { return Vec::new() };
        let defect = |row| {
            let stated = text(texts, row)?;
            let reason = validity::defect(stated).or_else(|| misfit(stated, columns.logical(), columns.stored()))?;
            Some(StatisticsDefect { path: text(paths, row)?.to_owned(), reason })
        };
        (0..self.batch.num_rows()).filter_map(defect).collect()
    }

    fn append(self, snapshot: &Snapshot, partitions: &[(Field, String)], files: &mut Vec<TableFile>) -> Result<()> {
        let column = |name: &str| {
            self.batch.column_by_name(name).ok_or_else(|| Error::internal(format!("the kernel returned no {name}")))
        };
        let (paths, sizes, times) = (column("path")?, column("size")?, column("modificationTime")?);
        let rows = self.statistics.and_then(|statistics| statistics.column_by_name("numRecords"));
        let texts = self.batch.column_by_name("stats");
        for row in 0..self.batch.num_rows() {
            let path = text(paths, row).ok_or_else(|| Error::corrupt("the log adds a file without a path"))?;
            let size = long(sizes, row).and_then(|size| u64::try_from(size).ok());
            let size_bytes =
                size.ok_or_else(|| Error::corrupt("the log adds a file without a size").at(path.to_owned()))?;
            if size_bytes > MOST_BYTES {
                return Err(Error::corrupt(format!("the log states {size_bytes} bytes, more than a file can have"))
                    .at(path.to_owned()));
            }
            let written = texts.and_then(|texts| text(texts, row));
            let (rows, statistics) = match written.is_none_or(counts::are_sound) {
                true => (rows, self.statistics),
                false => (None, None),
            };
            let vector = self.vectors.filter(|vectors| vectors.is_valid(row)).map(|vectors| descriptor(vectors, row));
            let vector = vector.transpose().map_err(|error| error.at(path.to_owned()))?.flatten();
            let stated = rows.and_then(|rows| long(rows, row)).and_then(|rows| u64::try_from(rows).ok());
            // The kernel parses no statistics where no column has any, and none of an entry with damaged ones.
            let stated = stated.or_else(|| written.and_then(row_count));
            files.push(TableFile {
                object: Object { size_bytes: Some(size_bytes), ..snapshot.table().object(path)? },
                path: path.to_owned(),
                size_bytes,
                modified: long(times, row).unwrap_or(0),
                rows: stated.filter(|rows| (hidden_rows(vector.as_ref())..=MOST_ROWS).contains(rows)),
                vector,
                constants: self.constants(partitions, row)?,
                statistics: statistics.filter(|s| s.is_valid(row)).map(|s| (s.clone(), row)),
            });
        }
        Ok(())
    }

    fn constants(&self, partitions: &[(Field, String)], row: usize) -> Result<Option<Arc<Constants>>> {
        if partitions.is_empty() {
            return Ok(None);
        }
        let values = self.partitions.ok_or_else(|| Error::internal("the kernel returned no partition values"))?;
        let value = |(field, stored): &(Field, String)| {
            let column = values.column_by_name(stored);
            let column =
                column.ok_or_else(|| Error::internal(format!("the kernel returned no values of {stored:?}")))?;
            Ok((field.clone(), Value::from_array(column, row)))
        };
        Ok(Some(Arc::new(Constants::new(partitions.iter().map(value).collect::<Result<Vec<_>>>()?))))
    }
}

fn descriptor(vectors: &StructArray, row: usize) -> Result<Option<DeletionVectorDescriptor>> {
    let column = |name: &str| vectors.column_by_name(name);
    let Some(kind) = column("storageType").and_then(|column| text(column, row)) else { return Ok(None) };
    let missing = || Error::corrupt("the log has a deletion vector with missing fields");
    let kind: DeletionVectorStorageType =
        kind.parse().map_err(|_| Error::corrupt(format!("a deletion vector with the storage type {kind:?}")))?;
    let target = column("pathOrInlineDv").and_then(|column| text(column, row)).ok_or_else(missing)?;
    let number = |name: &str| {
        let column = column(name).and_then(|column| column.as_primitive_opt::<Int32Type>());
        column.filter(|column| column.is_valid(row)).map(|column| column.value(row))
    };
    let size = number("sizeInBytes").ok_or_else(missing)?;
    let cardinality = column("cardinality").and_then(|column| long(column, row)).ok_or_else(missing)?;
    DeletionVectorDescriptor::try_new(kind, target, number("offset"), size, cardinality).map_err(from_kernel).map(Some)
}

fn text(array: &ArrayRef, row: usize) -> Option<&str> {
    let array = array.as_string_opt::<i32>()?;
    array.is_valid(row).then(|| array.value(row))
}

fn long(array: &ArrayRef, row: usize) -> Option<i64> {
    let array = array.as_primitive_opt::<Int64Type>()?;
    array.is_valid(row).then(|| array.value(row))
}

/// The rows of a file by its statistics, where these say so soundly.
pub(crate) fn row_count(statistics: &str) -> Option<u64> {
    let rows: i64 = JsonObject::parse(statistics)?.get("numRecords")?.parse().ok()?;
    u64::try_from(rows).ok()
}
