//! Reading a task: batches that cross the Arrow C data interface, one ahead of Spark.

use std::time::Duration;

use arrow::array::{Array, RecordBatch, StructArray};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use lakerace::{
    Error, ErrorKind, Job, ReadOptions, ReadPlan, Result, Scan, ScannedVersion, TableTask, read_table_task,
};
use lakerace_exec::{ProducerThreads, ValueSender};

use crate::counters::{BATCHES, LiveCount, READERS, THREADS};
use crate::feed::{self, FeedTask, FeedVersions};
use crate::fit::{fit, fitted_schema};
use crate::settings::SparkSettings;

/// The result of `next` where no batch has come yet, and after the last one.
const NOT_YET: i64 = 0;
const NO_MORE: i64 = -1;

/// A pass over the rows of a task.
pub(crate) struct TaskReader {
    batches: ProducerThreads<RecordBatch, Error>,
    schema: Box<FFI_ArrowSchema>,
    job: Job,
    _alive: LiveCount,
}

impl TaskReader {
    /// Starts to read a part of a plan on a separate thread.
    pub(crate) fn open(location: String, options: &str, part: &str) -> Result<Self> {
        let settings = SparkSettings::parse(options)?;
        let (read, job) = (settings.read()?, settings.job()?);
        let broken = |e: serde_json::Error| Error::internal("not a plan of this version").because(e);
        let (schema, rows) = match settings.get("task.version") {
            _ if FeedVersions::from_settings(&settings)?.is_some() => {
                let FeedTask { from, to, plan } = serde_json::from_str(part).map_err(broken)?;
                (SchemaRef::clone(&plan.schema), TaskRows::Changes(from, to, plan.schema))
            }
            None => {
                let plan = serde_json::from_str::<ReadPlan>(part).map_err(broken)?;
                (SchemaRef::clone(&plan.schema), TaskRows::Files(Box::new(plan)))
            }
            Some(version) => {
                let version: ScannedVersion = serde_json::from_str(version).map_err(broken)?;
                let task: TableTask = serde_json::from_str(part).map_err(broken)?;
                (version.schema_of(&task)?, TaskRows::Table(version, Box::new(task)))
            }
        };
        let fitted = fitted_schema(&schema);
        let schema = Box::new(foreign_schema(&fitted)?);
        let work = ReaderWork { location, read, rows, fitted, job: job.clone(), _alive: LiveCount::new(&THREADS) };
        // One batch waits for Spark.
        let work = [move |sender: &ValueSender<_, _>| work.run(sender)];
        let batches = ProducerThreads::start("lakerace-spark", 1, &job, work)?;
        Ok(Self { batches, schema, job, _alive: LiveCount::new(&READERS) })
    }

    /// Hands it to Java.
    pub(crate) fn into_handle(self) -> i64 {
        Box::into_raw(Box::new(self)) as i64
    }

    /// The reader of a handle.
    ///
    /// # Safety
    /// The handle is open, and no other thread uses it.
    pub(crate) unsafe fn from_handle<'a>(handle: i64) -> &'a Self {
        // SAFETY: `into_handle` gave the address, and the caller says that it was not closed.
        unsafe { &*(handle as *const Self) }
    }

    /// Ends the read: pending work stops within the engine's poll of its cancel flag.
    ///
    /// # Safety
    /// The handle is open, and no one uses it any more.
    pub(crate) unsafe fn close(handle: i64) {
        // SAFETY: as above; the box is taken back once.
        let reader = unsafe { Box::from_raw(handle as *mut Self) };
        reader.job.cancel();
    }

    /// The address of its schema.
    pub(crate) fn schema(&self) -> i64 {
        std::ptr::from_ref::<FFI_ArrowSchema>(&self.schema) as i64
    }

    /// The next batch's address.
    pub(crate) fn next(&self, millis: i64) -> Result<i64> {
        let wait = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        if !self.batches.wait_within(wait) {
            return Ok(NOT_YET);
        }
        Ok(self.batches.take()?.map_or(NO_MORE, hand_over))
    }

    /// A number of its job.
    pub(crate) fn count(&self, what: i32) -> i64 {
        let counts = self.job.meter().counts();
        let requests = &counts.requests;
        let number = match what {
            0 => requests.get + requests.head + requests.list,
            1 => counts.bytes_read,
            _ => counts.rows_read,
        };
        i64::try_from(number).unwrap_or(i64::MAX)
    }
}

/// Which rows are read.
enum TaskRows {
    /// The rows of a plan of files.
    Files(Box<ReadPlan>),
    /// The rows of a part of a table's scan.
    Table(ScannedVersion, Box<TableTask>),
    /// The changes from one version to another, with these columns.
    Changes(u64, u64, SchemaRef),
}

/// The work of the reader's thread.
struct ReaderWork {
    location: String,
    read: ReadOptions,
    rows: TaskRows,
    fitted: SchemaRef,
    job: Job,
    _alive: LiveCount,
}

impl ReaderWork {
    fn run(self, sender: &ValueSender<RecordBatch, Error>) -> Result<()> {
        let Self { location, read, rows, fitted, job, _alive } = self;
        let batches: Box<dyn Iterator<Item = Result<RecordBatch>>> = match rows {
            TaskRows::Files(plan) => Box::new(Scan::with_plan(&location, &read, *plan, &job)?.batches()?),
            TaskRows::Table(version, task) => Box::new(read_table_task(&location, &version, &task, &read, &job)?),
            TaskRows::Changes(from, to, schema) => {
                Box::new(feed::read(&location, (from, to), &schema, &read.storage, &job)?)
            }
        };
        for batch in batches {
            sender.send(Ok(fit(&batch?, &fitted)?), 1)?;
        }
        Ok(())
    }
}

/// A schema for Java, without the promise that columns have no nulls.
fn foreign_schema(schema: &Schema) -> Result<FFI_ArrowSchema> {
    FFI_ArrowSchema::try_from(schema).map_err(|e| Error::from_source(ErrorKind::Unsupported, e))
}

/// A batch that Java holds, and reads the fields of.
#[repr(C)]
struct HeldBatch {
    array: FFI_ArrowArray,
    bytes: i64,
    _alive: LiveCount,
}

/// Passes a batch to Java. The array is the first field, so its address is the batch's.
fn hand_over(batch: RecordBatch) -> i64 {
    let rows = batch.num_rows();
    let bytes = i64::try_from(batch.get_array_memory_size()).unwrap_or(i64::MAX);
    let array = match batch.num_columns() {
        0 => StructArray::new_empty_fields(rows, None),
        _ => StructArray::from(batch),
    };
    let held = HeldBatch { array: FFI_ArrowArray::new(&array.to_data()), bytes, _alive: LiveCount::new(&BATCHES) };
    Box::into_raw(Box::new(held)) as i64
}

/// Frees a batch.
///
/// # Safety
/// `hand_over` gave the address, and no one uses it any more.
pub(crate) unsafe fn release(address: i64) {
    // SAFETY: the caller's promise; the box is taken back once.
    drop(unsafe { Box::from_raw(address as *mut HeldBatch) });
}

#[cfg(test)]
mod tests;
