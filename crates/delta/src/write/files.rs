//! The data files of a write.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::row::{OwnedRow, RowConverter, SortField};
use delta_kernel::engine::arrow_conversion::scalar::extract_primitive_scalar;
use delta_kernel::expressions::{ColumnName, Scalar};
use delta_kernel::partition::serialization::serialize_partition_value;
use delta_kernel::transaction::{BoundWriteContext, WriteState};
use delta_kernel_default_engine::stats::FileStatsAccumulator;
use lakerace_format::folder::FileCut;
use lakerace_format::{ParquetSink, Sink, WriteOptions};
use lakerace_io::open_files::FileShares;
use lakerace_io::option::{COLUMNS, EVOLVE, WHERE};
use lakerace_io::{Deferred, Error, ErrorKind, IfExists, InFlight, Object, Output, Result};

use super::file_path::check_path;
use super::file_publisher::{DoneFile, FilePublisher};
use super::fit::{BatchFit, TargetColumn, empty_partition_value};
use super::published::{AddedFile, PublishedFiles};
use super::statistics::StatisticsCollector;
use crate::commit::TargetColumns;
use crate::constraint::RowChecks;
use crate::kernel::error::from_kernel;
use crate::paths::{CHANGE_FILE, CHANGE_FOLDER, DATA_FILE, file_name};
use crate::table::Table;

/// Bytes of a file after which the next one starts, unless options say otherwise.
const FILE_BYTES: u64 = 256 << 20;
/// Encoded bytes of a row group that is sent to a store, unless options say otherwise. One is sent while the next one
/// is encoded: memory holds both.
const SENT_ROW_GROUP_BYTES: u64 = 48 << 20;
/// Bytes of all files together that are on their way to a store at most.
const IN_FLIGHT_BYTES: usize = 32 << 20;
/// Partitions that are written at the same time at most: each has a row group in memory. There are fewer if few files
/// may be open.
const OPEN_AT_MOST: usize = 64;

/// Writes rows into files, one or more for each partition. If it is dropped before [`Self::publish`], all of them are
/// removed.
pub(crate) struct DataFiles {
    table: Table,
    state: Arc<WriteState>,
    stats_columns: Vec<ColumnName>,
    fit: BatchFit,
    /// The partition columns: as batches have them, and as values.
    partitions: Option<BatchPartitions>,
    open: Vec<PartitionFile>,
    /// The partitions that were met.
    known: HashMap<OwnedRow, usize>,
    contexts: Vec<Arc<BoundWriteContext>>,
    finishing: FilePublisher,
    /// The bytes on their way to a store, of all files.
    in_flight: InFlight,
    options: WriteOptions,
    cut: FileCut,
    number: usize,
    random: u128,
    is_of_changes: bool,
    /// The table's constraints, where rows are new.
    checks: Option<RowChecks>,
}

/// The partition columns of batches.
struct BatchPartitions {
    /// The columns by name, and whether they may be null.
    columns: Vec<(String, bool)>,
    fit: BatchFit,
    rows: RowConverter,
}

struct PartitionFile {
    partition: usize,
    /// When it was written to last, counted in batches.
    used: u64,
    rows: u64,
    sink: Box<dyn Sink>,
    deferred: Deferred,
    statistics: StatisticsCollector,
    object: Object,
    /// Its name in the log.
    name: String,
}

impl DataFiles {
    pub fn new(
        table: &Table,
        schema: &SchemaRef,
        targets: &TargetColumns,
        state: Arc<WriteState>,
        options: &WriteOptions,
    ) -> Result<Self> {
        for field in schema.fields() {
            let is_this = |target: &TargetColumn| target.logical.name() == field.name();
            if !targets.data.iter().chain(&targets.partitions).any(is_this) {
                return Err(Error::invalid(format!("the table has no column {:?}", field.name()))
                    .advice(format!("exclude it with {COLUMNS}, or add it to the table with {}", EVOLVE.to("add"))));
            }
        }
        Ok(Self {
            table: table.clone(),
            partitions: BatchPartitions::new(schema, &targets.partitions)?,
            fit: BatchFit::new(schema, &targets.data)?,
            stats_columns: state.stats_columns().iter().chain(&targets.new_statistics).cloned().collect(),
            state,
            open: Vec::new(),
            known: HashMap::new(),
            contexts: Vec::new(),
            finishing: FilePublisher::new(),
            in_flight: InFlight::new(IN_FLIGHT_BYTES),
            cut: FileCut::new(options.file_bytes.unwrap_or(FILE_BYTES)),
            // Readers that know deletion vectors are of 2023 and later.
            options: WriteOptions { differences: options.differences || targets.has_vectors, ..options.of_each_file() },
            number: 0,
            random: rand::random(),
            is_of_changes: false,
            checks: None,
        })
    }

    /// Checks the rows by constraints. Rows that a table has already are written again without.
    pub fn checked_by(mut self, checks: Option<RowChecks>) -> Self {
        self.checks = checks;
        self
    }

    /// For change files in place of data files: the log knows no statistics of them.
    pub fn of_changes(mut self) -> Self {
        self.is_of_changes = true;
        self.stats_columns.clear();
        self
    }

    /// Writes a batch. Errors of its rows name the table.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.write_rows(batch).map_err(|error| match error.kind() {
            ErrorKind::Invalid | ErrorKind::Unsupported => error.at(self.table.location()),
            _ => error,
        })
    }

    fn write_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if let Some(checks) = &self.checks {
            checks.check(batch)?;
        }
        let rows = self.fit.fit(batch)?;
        let Some(partitions) = &self.partitions else {
            let partition = self.partition(None)?;
            return self.write_to(partition, &rows);
        };
        let values = partitions.fit.fit(batch)?;
        let keys = partitions.rows.convert_columns(values.columns()).map_err(Error::unexpected)?;
        let mut order: Vec<OwnedRow> = Vec::new();
        let mut members: HashMap<OwnedRow, Vec<u32>> = HashMap::new();
        for row in 0..batch.num_rows() {
            let key = keys.row(row).owned();
            let rows = members.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                Vec::new()
            });
            rows.push(row as u32);
        }
        for key in order {
            let numbers = members.remove(&key).unwrap_or_default();
            let first = numbers.first().copied().unwrap_or(0) as usize;
            let partition = self.partition(Some((key, values.columns(), first)))?;
            let part = if numbers.len() == rows.num_rows() {
                rows.clone()
            } else {
                take_record_batch(&rows, &UInt32Array::from(numbers)).map_err(Error::unexpected)?
            };
            self.write_to(partition, &part)?;
        }
        Ok(())
    }

    /// The number of a partition, new or known, by its key, its columns and a row of it.
    fn partition(&mut self, of: Option<(OwnedRow, &[ArrayRef], usize)>) -> Result<usize> {
        let Some((key, columns, row)) = of else {
            if self.contexts.is_empty() {
                let context = self.state.write_context_builder().build().map_err(from_kernel)?;
                self.contexts.push(Arc::new(context));
            }
            return Ok(0);
        };
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let partitions = self.partitions.as_ref().map(|partitions| partitions.columns.as_slice()).unwrap_or_default();
        let value = |((name, is_nullable), column): (&(String, bool), &ArrayRef)| {
            let named = |error: Error| not_a_path(&error).at(format!("partition column {name:?}"));
            let value = extract_primitive_scalar(column.as_ref(), row).map_err(|error| named(from_kernel(error)))?;
            let text = serialize_partition_value(&value).map_err(|error| named(from_kernel(error)))?;
            if let Some(text) = text.as_deref().filter(|text| has_sign_of_year(&value, text)) {
                return Err(Error::invalid(format!("a row has {text}, but partitions hold the years 0 to 9999"))
                    .at(format!("partition column {name:?}"))
                    .advice(format!("exclude such rows with {WHERE}, or choose other partition columns")));
            }
            if text.as_deref().is_some_and(str::is_empty) || is_empty_text(&value) {
                return Err(empty_partition_value(name));
            }
            if !is_nullable && text.is_none() {
                return Err(Error::invalid("it is NOT NULL in the table, but a row has null")
                    .at(format!("partition column {name:?}"))
                    .advice(format!("exclude such rows with {WHERE}")));
            }
            Ok((name.clone(), value))
        };
        let values = partitions.iter().zip(columns).map(value).collect::<Result<HashMap<_, _>>>()?;
        let context = self.state.write_context_builder().with_partition_values(values).build();
        self.contexts.push(Arc::new(context.map_err(|error| not_a_path(&from_kernel(error)))?));
        self.known.insert(key, self.contexts.len() - 1);
        Ok(self.contexts.len() - 1)
    }

    fn write_to(&mut self, partition: usize, rows: &RecordBatch) -> Result<()> {
        let mut from = 0;
        while from < rows.num_rows() {
            let at = match self.open.iter().position(|file| file.partition == partition) {
                Some(at) => at,
                None => self.begin(partition)?,
            };
            let file = &mut self.open[at];
            let room = self.cut.room(file.rows, file.deferred.position());
            let fitting = (rows.num_rows() - from).min(usize::try_from(room).unwrap_or(usize::MAX));
            if fitting == 0 {
                let file = self.open.swap_remove(at);
                self.end(file)?;
                continue;
            }
            self.number += 1;
            file.used = self.number as u64;
            file.rows += fitting as u64;
            let part = rows.slice(from, fitting);
            file.statistics.merge(&part)?;
            file.sink.write(part)?;
            from += fitting;
        }
        Ok(())
    }

    /// Starts a file; if there are too many, the one that has waited longest ends.
    fn begin(&mut self, partition: usize) -> Result<usize> {
        if self.open.len() >= OPEN_AT_MOST.min(FileShares::of_process().written)
            && let Some(oldest) = (0..self.open.len()).min_by_key(|at| self.open[*at].used)
        {
            let file = self.open.swap_remove(oldest);
            self.end(file)?;
        }
        let context = &self.contexts[partition];
        let number = self.finishing.files() + self.open.len();
        let kind = if self.is_of_changes { CHANGE_FILE } else { DATA_FILE };
        let name = file_name(kind, number, self.random.wrapping_add(number as u128));
        let url = context.write_dir().join(&name).map_err(Error::unexpected)?;
        let mut name = context.resolve_file_path(&url).map_err(|error| not_a_path(&from_kernel(error)))?;
        if self.is_of_changes {
            name = format!("{CHANGE_FOLDER}/{name}");
        }
        let object = self.table.object(&name)?;
        check_path(&object)?;
        let mut output = Output::create(&object.store, &object.path, IfExists::ErrorAtEnd)?;
        output.limit_in_flight(&self.in_flight);
        // The next file is encoded in the meantime.
        let deferred = output.defer_unwritten();
        let job = self.table.job();
        let is_sent = !object.store.has_local_files();
        let row_group_bytes = self.options.row_group_bytes.or(is_sent.then_some(SENT_ROW_GROUP_BYTES));
        let options = WriteOptions { row_group_bytes, ..self.options.clone() };
        let sink = ParquetSink::create(output, Arc::clone(self.fit.schema()), &options, job)?;
        let kernel = FileStatsAccumulator::new(&self.stats_columns, context.physical_data_schema());
        let statistics = StatisticsCollector::new(kernel);
        self.open.push(PartitionFile { partition, used: 0, rows: 0, sink, deferred, statistics, object, name });
        Ok(self.open.len() - 1)
    }

    fn end(&mut self, file: PartitionFile) -> Result<()> {
        let PartitionFile { partition, sink, deferred, statistics, object, name, .. } = file;
        let written = sink.finish()?;
        self.cut.learn(&written);
        let output = deferred.take().ok_or_else(|| Error::internal("the sink of a file did not finish its output"))?;
        let statistics = statistics.finish()?;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = AddedFile {
            name,
            rows: written.rows,
            size_bytes: written.bytes,
            modified: i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX),
            partition_values: self.contexts[partition].physical_partition_values().clone(),
            statistics,
        };
        self.finishing.push(DoneFile { file, output, object })
    }

    /// Ends all files: rows that follow go to others.
    pub fn end_all(&mut self) -> Result<()> {
        std::mem::take(&mut self.open).into_iter().try_for_each(|file| self.end(file))
    }

    /// The number of files that have ended, which are the first ones in the result of [`Self::publish`].
    pub fn ended(&self) -> usize {
        self.finishing.files()
    }

    /// Ends all files and makes them visible in the table's folder. They are not the table's yet.
    pub fn publish(mut self) -> Result<PublishedFiles> {
        self.end_all()?;
        self.finishing.finish()
    }
}

/// Returns true if a value is an empty text, whose text in the log is that of null.
fn is_empty_text(value: &Scalar) -> bool {
    matches!(value, Scalar::String(text) if text.is_empty())
        || matches!(value, Scalar::Binary(bytes) if bytes.is_empty())
}

/// Returns true if a date or time is of a year beyond four digits, whose text has a sign: readers of the log know none.
fn has_sign_of_year(value: &Scalar, text: &str) -> bool {
    matches!(value, Scalar::Date(_) | Scalar::Timestamp(_) | Scalar::TimestampNtz(_)) && text.starts_with(['-', '+'])
}

impl BatchPartitions {
    fn new(schema: &Schema, targets: &[TargetColumn]) -> Result<Option<Self>> {
        if targets.is_empty() {
            return Ok(None);
        }
        let name = |target: &TargetColumn| (target.logical.name().clone(), target.logical.is_nullable());
        let columns = targets.iter().map(name).collect();
        let fit = BatchFit::exact(schema, targets)?;
        let fields = fit.schema().fields().iter().map(|field| SortField::new(field.data_type().clone()));
        Ok(Some(Self { columns, rows: RowConverter::new(fields.collect()).map_err(Error::unexpected)?, fit }))
    }
}

/// The kernel's error for a value that can't be a partition value: the rows are at fault, and not the log.
fn not_a_path(error: &Error) -> Error {
    Error::unsupported(format!("a partition value that Delta can't represent as text: {}", error.message()))
        .advice("exclude the row, or write to a table that is partitioned by another column")
}
