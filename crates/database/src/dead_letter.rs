//! The file of rows that a target rejected.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema};
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::record_batch::RecordBatch;
use lakerace_format::json::write_text;
use lakerace_format::with_instants_in_utc;
use lakerace_io::option::{DEAD_LETTER, Door, RESUME};
use lakerace_io::wait::{lock, value_mut};
use lakerace_io::{Error, Job, Result};

use crate::options::{OnRejected, SinkOptions};

/// A file of JSON lines, readable by its owner alone, that gets each rejected row with its key and the reason:
/// `{"key": {"id": 7}, "reason": "…", "row": {"id": 7, "name": "x"}}`. Several threads may add to it together.
///
/// A load that continues adds to the file of its first run. A file that has no row in the end is removed.
#[derive(Debug)]
pub struct DeadLetters {
    path: PathBuf,
    key: Vec<String>,
    on_rejected: OnRejected,
    job: Job,
    state: Mutex<LetterState>,
}

#[derive(Debug)]
struct LetterState {
    file: BufWriter<File>,
    /// Rows of this run.
    rows: u64,
    /// True if an earlier run has left rows there.
    had_rows: bool,
    /// The file's name is on the disk.
    is_name_synced: bool,
}

impl DeadLetters {
    /// Creates the file that the options name; `None` where they name none.
    ///
    /// # Errors
    /// `Conflict` where it exists and the load does not continue.
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
            std::io::ErrorKind::AlreadyExists => Error::conflict("the file for rejected rows already exists")
                .at(path.display())
                .advice(format!("choose another {DEAD_LETTER}, or continue its load with {RESUME}")),
            _ => Error::from(error).at(path.display()),
        })?;
        let had_rows = file.metadata().map_err(|error| Error::from(error).at(path.display()))?.len() > 0;
        let state = Mutex::new(LetterState { file: BufWriter::new(file), rows: 0, had_rows, is_name_synced: false });
        let (key, on_rejected) = (options.key.clone(), options.on_rejected.clone());
        Ok(Some(Self { path: path.clone(), key, on_rejected, job: job.clone(), state }))
    }

    /// Adds row number `row` of `batch`. The reason may hold no value of the row: logs show it, too.
    pub fn reject(&self, batch: &RecordBatch, row: usize, reason: &str) -> Result<()> {
        let one = batch.slice(row, 1);
        self.on_rejected.call(&one)?;
        // The file outlives the interface that wrote it.
        let line = line_of(&one, &self.key, &Door::Library.show(reason))?;
        let mut state = self.lock();
        state.rows += 1;
        state.file.write_all(&line).map_err(|error| self.failed(error))
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

    fn lock(&self) -> MutexGuard<'_, LetterState> {
        lock(&self.state)
    }
}

impl Drop for DeadLetters {
    fn drop(&mut self) {
        let state = value_mut(&mut self.state);
        // Errors are returned by the flush before a checkpoint; a load that ends in an error already reports that one.
        let _ = state.file.flush();
        if state.rows == 0 && !state.had_rows {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A line of one row. Numbers have all their digits: none goes through a float.
fn line_of(one: &RecordBatch, key: &[String], reason: &str) -> Result<Vec<u8>> {
    let mut line = b"{\"key\":".to_vec();
    let known: Vec<usize> = key.iter().filter_map(|name| one.schema_ref().index_of(name).ok()).collect();
    if known.is_empty() {
        line.extend_from_slice(b"null");
    } else {
        let failed = |error: arrow::error::ArrowError| Error::unexpected(error);
        write_object(&one.project(&known).map_err(failed)?, &mut line)?;
    }
    line.extend_from_slice(b",\"reason\":");
    write_text(&mut line, reason.as_bytes());
    line.extend_from_slice(b",\"row\":");
    write_object(one, &mut line)?;
    line.extend_from_slice(b"}\n");
    Ok(line)
}

/// Appends a batch of one row as an object. Floats that are not finite are the texts `NaN`, `inf` and `-inf`.
fn write_object(one: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let columns = one.schema_ref().fields().iter().zip(one.columns()).map(|(field, column)| {
        let column = finite(column)?;
        Ok((Field::new(field.name(), column.data_type().clone(), true), column))
    });
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let failed = |error: arrow::error::ArrowError| {
        Error::unsupported("a rejected row can't be written as JSON")
            .because(error)
            .advice(format!("omit the column, or {DEAD_LETTER}"))
    };
    let one = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(failed)?;
    let one = with_instants_in_utc(one)?;
    let start = out.len();
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut *out);
    writer.write(&one).map_err(failed)?;
    writer.finish().map_err(failed)?;
    drop(writer);
    out.truncate(start + out[start..].trim_ascii_end().len());
    Ok(())
}

/// Replaces floats that are not finite by texts, in lists and structs, too.
fn finite(column: &ArrayRef) -> Result<ArrayRef> {
    let failed = |error: arrow::error::ArrowError| Error::unexpected(error);
    let inner = |field: &FieldRef, values: &ArrayRef| -> Result<(FieldRef, ArrayRef)> {
        let values = finite(values)?;
        Ok((Arc::new(field.as_ref().clone().with_data_type(values.data_type().clone())), values))
    };
    Ok(match column.data_type() {
        DataType::Float16 | DataType::Float32 | DataType::Float64 if has_odd_float(column)? => {
            cast(column, &DataType::Utf8).map_err(failed)?
        }
        DataType::Dictionary(_, values) => finite(&cast(column, values).map_err(failed)?)?,
        DataType::Struct(fields) if !fields.is_empty() => {
            let columns = column.as_struct();
            let pairs = fields.iter().zip(columns.columns()).map(|(field, values)| inner(field, values));
            let (fields, values): (Vec<_>, Vec<_>) = pairs.collect::<Result<Vec<_>>>()?.into_iter().unzip();
            Arc::new(StructArray::try_new(fields.into(), values, columns.nulls().cloned()).map_err(failed)?)
        }
        DataType::List(item) => {
            let list = column.as_list::<i32>();
            let (item, values) = inner(item, list.values())?;
            Arc::new(ListArray::try_new(item, list.offsets().clone(), values, list.nulls().cloned()).map_err(failed)?)
        }
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            finite(&cast(column, &DataType::List(Arc::clone(item))).map_err(failed)?)?
        }
        _ => Arc::clone(column),
    })
}

fn has_odd_float(column: &ArrayRef) -> Result<bool> {
    let wide = cast(column, &DataType::Float64).map_err(Error::unexpected)?;
    Ok(wide.as_primitive::<Float64Type>().iter().flatten().any(|float| !float.is_finite()))
}

#[cfg(test)]
mod tests;
