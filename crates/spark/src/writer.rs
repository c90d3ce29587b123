//! Writing in executors: files for a Delta table, or files that are staged until the driver commits them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace::{Batches, CopyOptions, Error, FileWriter, Format, Job, Result, StorageOptions, panicked, table_writer};
use serde_json::{Value, json};

use crate::arrow_type::arrow_schema;
use crate::commit::write_options;
use crate::counters::{Alive, WRITERS};
use crate::rows;
use crate::settings::Settings;

/// Writes the rows of one task.
pub(crate) struct Writer {
    target: Target,
    schema: SchemaRef,
    rows: u64,
    _alive: Alive,
}

enum Target {
    /// Files of a table.
    Table(Box<FileWriter>),
    /// One file, which is written when all of its rows are here or their memory is full.
    Staged(Box<Staged>),
}

/// Rows for a file that is staged.
struct Staged {
    sender: Option<std::sync::mpsc::SyncSender<Result<RecordBatch>>>,
    thread: Option<std::thread::JoinHandle<Result<()>>>,
    path: String,
}

impl Writer {
    /// Begins to write for what [`crate::commit::prepare`] prepared.
    pub(crate) fn begin(location: &str, options: &str, schema: &str) -> Result<Self> {
        let settings = Settings::parse(options)?;
        let schema: SchemaRef = Arc::new(arrow_schema(schema)?);
        let (job, storage) = (settings.job()?, settings.storage());
        let target = match settings.get("write.file") {
            Some(path) => Target::Staged(Box::new(Staged::begin(path, &schema, &storage, &job)?)),
            None => {
                let version = settings.parsed("write.version", number)?;
                let version = version.ok_or_else(|| Error::internal("a write without a version"))?;
                let write = write_options(&settings)?;
                Target::Table(Box::new(table_writer(location, version, &schema, &write, &storage, &job)?))
            }
        };
        Ok(Self { target, schema, rows: 0, _alive: Alive::new(&WRITERS) })
    }

    /// Hands it to Java.
    pub(crate) fn into_handle(self) -> i64 {
        Box::into_raw(Box::new(self)) as i64
    }

    /// The writer of a handle.
    ///
    /// # Safety
    /// The handle is open, and no other thread uses it.
    pub(crate) unsafe fn of<'a>(handle: i64) -> &'a mut Self {
        // SAFETY: `into_handle` gave the address, and the caller says that it is open.
        unsafe { &mut *(handle as *mut Self) }
    }

    /// Takes the writer back.
    ///
    /// # Safety
    /// The handle is open, and nobody uses it any more.
    pub(crate) unsafe fn take(handle: i64) -> Box<Self> {
        // SAFETY: as above; the box is taken back once.
        unsafe { Box::from_raw(handle as *mut Self) }
    }

    /// Takes rows.
    ///
    /// # Safety
    /// See [`rows::batch`].
    pub(crate) unsafe fn write(&mut self, rows: usize, words: &[i64]) -> Result<()> {
        // SAFETY: the caller's promise.
        let batch = unsafe { rows::batch(&self.schema, rows, words) }?;
        self.rows += rows as u64;
        match &mut self.target {
            Target::Table(files) => files.write(&batch),
            Target::Staged(staged) => staged.write(batch),
        }
    }

    /// Ends it; what it says is for the driver's commit.
    pub(crate) fn finish(self) -> Result<String> {
        let message: Value = match self.target {
            Target::Table(files) => json!({"files": files.finish()?}),
            Target::Staged(staged) => json!({"staged": staged.finish()?, "rows": self.rows}),
        };
        Ok(message.to_string())
    }
}

impl Staged {
    fn begin(path: &str, schema: &SchemaRef, storage: &StorageOptions, job: &Job) -> Result<Self> {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<Result<RecordBatch>>(1);
        let batches = Batches::new(Arc::clone(schema), receiver.into_iter());
        let mut options = CopyOptions { format: Some(Format::Parquet), ..CopyOptions::default() };
        options.read.storage = storage.clone();
        let (target, job) = (path.to_owned(), job.clone());
        let write = move || lakerace::write(batches, &target, &options, &job).map(drop);
        let thread = std::thread::Builder::new().name("lakerace-stage".to_owned()).spawn(write)?;
        Ok(Self { sender: Some(sender), thread: Some(thread), path: path.to_owned() })
    }

    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let is_taken = self.sender.as_ref().is_some_and(|sender| sender.send(Ok(batch)).is_ok());
        if is_taken { Ok(()) } else { self.join() }
    }

    fn finish(mut self) -> Result<String> {
        self.sender = None;
        self.join()?;
        Ok(std::mem::take(&mut self.path))
    }

    fn join(&mut self) -> Result<()> {
        let thread = self.thread.take().ok_or_else(|| Error::internal("the write has ended"))?;
        thread.join().unwrap_or_else(|panic| Err(panicked(&*panic)))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            // The file does not appear.
            let _ = sender.send(Err(Error::cancelled()));
        }
        if self.thread.is_some() {
            let _ = self.join();
        }
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::internal(format!("{text:?} is no number")))
}
