//! Writing in executors: files for a Delta table, or files that are staged until the driver commits them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace::{
    Batches, CopyOptions, Error, Job, OpenVersion, PARQUET, Result, RowOptions, StorageOptions, TableFileWriter,
    UpsertPart, table_writer, upsert_part,
};
use lakerace_exec::ConsumerThread;
use serde_json::{Value, json};

use crate::arrow_type::arrow_schema;
use crate::commit::{number, row_options, write_options, written_version};
use crate::counters::{LiveCount, WRITERS};
use crate::planned;
use crate::rows;
use crate::settings::SparkSettings;

/// Memory of a task's part of an upsert, unless Spark says how much it has.
const UPSERT_MEMORY_BYTES: u64 = 256 << 20;

/// Writes the rows of one task.
pub(crate) struct TaskWriter {
    target: WriterTarget,
    schema: SchemaRef,
    rows: u64,
    _alive: LiveCount,
}

enum WriterTarget {
    /// Files of a table.
    Table(Box<TableFileWriter>),
    /// A file that is written when all of its rows are here or their memory is full.
    Staged(Box<StagedOutput>),
    /// A part of an upsert: files, and the rows of the table that have its keys.
    Upsert(Box<Piped<UpsertPart>>),
}

/// A file that is staged.
struct StagedOutput {
    rows: Piped<()>,
    path: String,
}

/// Work on a separate thread that takes rows as they come.
type Piped<T> = ConsumerThread<RecordBatch, T, Error>;

impl TaskWriter {
    /// Starts a write that [`crate::commit::prepare`] has prepared.
    pub(crate) fn begin(location: &str, options: &str, schema: &str) -> Result<Self> {
        let settings = SparkSettings::parse(options)?;
        let schema: SchemaRef = Arc::new(arrow_schema(schema)?);
        let (job, storage) = (settings.job()?, settings.storage());
        let target = match settings.get("write.file") {
            Some(path) => WriterTarget::Staged(Box::new(StagedOutput::begin(path, &schema, &storage, &job)?)),
            None => {
                let base = written_version(location, &settings, &job)?;
                if settings.get("write.upsert").is_some() {
                    WriterTarget::Upsert(Box::new(upsert(base, &settings, &schema, &job)?))
                } else {
                    let base = planned::as_planned(base, &settings)?;
                    WriterTarget::Table(Box::new(table_writer(&base, &schema, &write_options(&settings)?)?))
                }
            }
        };
        Ok(Self { target, schema, rows: 0, _alive: LiveCount::new(&WRITERS) })
    }

    /// Hands it to Java.
    pub(crate) fn into_handle(self) -> i64 {
        Box::into_raw(Box::new(self)) as i64
    }

    /// The writer of a handle.
    ///
    /// # Safety
    /// The handle is open, and no other thread uses it.
    pub(crate) unsafe fn from_handle<'a>(handle: i64) -> &'a mut Self {
        // SAFETY: `into_handle` gave the address, and the caller says that it is open.
        unsafe { &mut *(handle as *mut Self) }
    }

    /// Takes the writer back from its handle.
    ///
    /// # Safety
    /// The handle is open, and no one uses it any more.
    pub(crate) unsafe fn take(handle: i64) -> Box<Self> {
        // SAFETY: as above; the box is taken back once.
        unsafe { Box::from_raw(handle as *mut Self) }
    }

    /// Writes rows.
    ///
    /// # Safety
    /// See [`rows::batch`].
    pub(crate) unsafe fn write(&mut self, rows: usize, words: &[i64]) -> Result<()> {
        // SAFETY: the caller's promise.
        let batch = unsafe { rows::batch(&self.schema, rows, words) }?;
        self.rows += rows as u64;
        match &mut self.target {
            WriterTarget::Table(files) => files.write(&batch),
            WriterTarget::Staged(staged) => staged.rows.send(batch, 1),
            WriterTarget::Upsert(rows) => rows.send(batch, 1),
        }
    }

    /// Ends the write; returns the message for the driver's commit.
    pub(crate) fn finish(self) -> Result<String> {
        let message: Value = match self.target {
            WriterTarget::Table(files) => json!({"files": files.finish()?}),
            WriterTarget::Staged(staged) => {
                let StagedOutput { rows, path } = *staged;
                rows.finish()?;
                json!({"staged": path, "rows": self.rows})
            }
            WriterTarget::Upsert(rows) => json!({"upserted": rows.finish()?}),
        };
        Ok(message.to_string())
    }
}

impl StagedOutput {
    fn begin(path: &str, schema: &SchemaRef, storage: &StorageOptions, job: &Job) -> Result<Self> {
        let mut options = CopyOptions { format: Some(&PARQUET), ..CopyOptions::default() };
        options.read.storage = storage.clone();
        let (target, job) = (path.to_owned(), job.clone());
        let rows = begin(schema, &job.clone(), move |rows| lakerace::write(rows, &target, &options, &job).map(drop))?;
        Ok(Self { rows, path: path.to_owned() })
    }
}

/// Starts a task's part of an upsert.
fn upsert(base: OpenVersion, settings: &SparkSettings, schema: &SchemaRef, job: &Job) -> Result<Piped<UpsertPart>> {
    let memory_bytes = settings.parsed("write.memory_bytes", number)?.unwrap_or(UPSERT_MEMORY_BYTES);
    let options = RowOptions { memory_bytes, ..row_options(settings)? };
    begin(schema, job, move |rows| upsert_part(&base, rows.into(), &options))
}

/// Starts work on the rows that Spark gives, one batch ahead of it.
fn begin<T: Send + 'static>(
    schema: &SchemaRef,
    job: &Job,
    work: impl FnOnce(Batches) -> Result<T> + Send + 'static,
) -> Result<Piped<T>> {
    let own = Arc::clone(schema);
    // If the write is abandoned, the work fails and removes its output.
    let thread = ConsumerThread::start("lakerace-write", 1, job, move |rows| work(Batches::new(own, rows)));
    Ok(thread?)
}
