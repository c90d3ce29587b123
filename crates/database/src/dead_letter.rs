//! The file of rows that a target rejected.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema};
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::record_batch::RecordBatch;
use lakerace_io::wait::{lock, value_mut};
use lakerace_io::{Error, Job, Result};
use serde_json::{Map, Value, json};

use crate::SinkOptions;
use crate::options::OnRejected;

/// A file of JSON lines, readable by its owner alone, that gets each rejected row with its key and the reason:
/// `{"key": {"id": 7}, "reason": "…", "row": {"id": 7, "name": "x"}}`. Several threads may add to it at once.
///
/// A load that goes on adds to the file of its first run. A file that has no row in the end is removed.
#[derive(Debug)]
pub struct DeadLetters {
    path: PathBuf,
    key: Vec<String>,
    on_rejected: OnRejected,
    job: Job,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: BufWriter<File>,
    /// Rows of this run.
    rows: u64,
    /// Whether an earlier run has left rows there.
    had_rows: bool,
    /// The file's name is on the disk.
    is_name_synced: bool,
}

impl DeadLetters {
    /// Creates the file that the options name; `None` where they name none.
    ///
    /// # Errors
    /// `Conflict` where it exists and the load does not go on.
    pub fn create(options: &SinkOptions, job: &Job) -> Result<Option<Self>> {
        let Some(path) = &options.dead_letter else { return Ok(None) };
        let mut open = OpenOptions::new();
        open.mode(0o600).append(true);
        if options.resume {
            open.create(true)
        } else {
            open.create_new(true)
        };
        let file = open.open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::conflict("the file of rejected rows exists already")
                .at(path.display())
                .advice("name another --dead-letter (dead_letter), or go on with its load by --resume (resume)"),
            _ => Error::from(error).at(path.display()),
        })?;
        let had_rows = file.metadata().map_err(|error| Error::from(error).at(path.display()))?.len() > 0;
        let state = Mutex::new(State { file: BufWriter::new(file), rows: 0, had_rows, is_name_synced: false });
        let (key, on_rejected) = (options.key.clone(), options.on_rejected.clone());
        Ok(Some(Self { path: path.clone(), key, on_rejected, job: job.clone(), state }))
    }

    /// Adds row number `row` of `batch`. The reason may hold no value of the row: logs show it, too.
    pub fn reject(&self, batch: &RecordBatch, row: usize, reason: &str) -> Result<()> {
        let one = batch.slice(row, 1);
        self.on_rejected.call(&one)?;
        let object = object(&one)?;
        let key: Map<String, Value> =
            self.key.iter().filter_map(|name| object.get(name).map(|value| (name.clone(), value.clone()))).collect();
        let key = if key.is_empty() { Value::Null } else { Value::Object(key) };
        let line = json!({ "key": key, "reason": reason, "row": object });
        let mut state = self.lock();
        state.rows += 1;
        writeln!(state.file, "{line}").map_err(|error| self.failed(error))
    }

    /// Rows that this run has rejected.
    pub fn rows(&self) -> u64 {
        self.lock().rows
    }

    /// Puts all lines on the disk, before a target acknowledges the rows that follow them, where the job is to be durable.
    pub fn flush(&self) -> Result<()> {
        let mut state = self.lock();
        state.file.flush().map_err(|error| self.failed(error))?;
        self.job.sync_file(state.file.get_ref()).map_err(|error| error.at(self.path.display()))?;
        if !state.is_name_synced {
            self.job.note_name(&self.path);
            self.job.sync_folders()?;
            state.is_name_synced = true;
        }
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::from(error).at(self.path.display())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for DeadLetters {
    fn drop(&mut self) {
        let state = value_mut(&mut self.state);
        // Errors show at the flush before a checkpoint; a load that ends in an error has another one to tell.
        let _ = state.file.flush();
        if state.rows == 0 && !state.had_rows {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A batch of one row as an object. Floats that are not finite are the texts `NaN`, `inf` and `-inf`.
fn object(one: &RecordBatch) -> Result<Map<String, Value>> {
    let columns: Vec<(Field, ArrayRef)> = one
        .schema_ref()
        .fields()
        .iter()
        .zip(one.columns())
        .map(|(field, column)| match not_finite(column) {
            None => (field.as_ref().clone(), column.clone()),
            Some(text) => (
                Field::new(field.name(), DataType::Utf8, true),
                std::sync::Arc::new(StringArray::from(vec![text])) as ArrayRef,
            ),
        })
        .collect();
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let failed = |error: arrow::error::ArrowError| {
        Error::unsupported(format!("a rejected row can't be written as JSON: {error}"))
            .advice("leave out the column, or --dead-letter (dead_letter)")
    };
    let one = RecordBatch::try_new(std::sync::Arc::new(Schema::new(fields)), columns).map_err(failed)?;
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
    writer.write(&one).map_err(failed)?;
    writer.finish().map_err(failed)?;
    serde_json::from_slice(&writer.into_inner()).map_err(|error| Error::internal(error.to_string()))
}

fn not_finite(column: &ArrayRef) -> Option<String> {
    let value = match column.data_type() {
        DataType::Float64 if column.is_valid(0) => column.as_primitive::<Float64Type>().value(0),
        DataType::Float32 if column.is_valid(0) => f64::from(column.as_primitive::<Float32Type>().value(0)),
        _ => return None,
    };
    (!value.is_finite()).then(|| value.to_string())
}

#[cfg(test)]
mod tests;
