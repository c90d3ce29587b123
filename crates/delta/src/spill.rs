//! Sorted runs of rows on the local disk, for what does not fit into memory.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use lakerace_io::{Error, Result};
use tempfile::TempDir;

/// A run that is being read.
pub(crate) type RunReader = StreamReader<BufReader<File>>;

/// A new folder in the system's place for temporary files (`TMPDIR`), which goes when this does.
pub(crate) fn folder(prefix: &str) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix(prefix).tempdir();
    made.map_err(|error| Error::from(error).at(std::env::temp_dir().display()))
}

/// Writes a run.
pub(crate) struct RunWriter<'a> {
    writer: StreamWriter<BufWriter<File>>,
    path: &'a Path,
}

impl<'a> RunWriter<'a> {
    /// To a new file, of batches with this schema.
    pub fn create(path: &'a Path, schema: &Schema) -> Result<Self> {
        let file = File::create(path).map_err(|error| Error::from(error).at(path.display()))?;
        let writer = StreamWriter::try_new(BufWriter::new(file), schema).map_err(|error| broken(error, path))?;
        Ok(Self { writer, path })
    }

    /// Writes the next batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| broken(error, self.path))
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<()> {
        self.writer.finish().map_err(|error| broken(error, self.path))
    }
}

/// Reads the file's batches, or some columns of them. Errors of the reader go through [`broken`].
pub(crate) fn open(path: &Path, projection: Option<Vec<usize>>) -> Result<RunReader> {
    let file = File::open(path).map_err(|error| Error::from(error).at(path.display()))?;
    StreamReader::try_new(BufReader::new(file), projection).map_err(|error| broken(error, path))
}

/// What is wrong with a run.
pub(crate) fn broken(error: ArrowError, path: &Path) -> Error {
    let error = match error {
        ArrowError::IoError(_, error) => Error::from(error),
        error => Error::internal(format!("a sorted run can't be kept: {error}")),
    };
    error.at(path.display())
}
