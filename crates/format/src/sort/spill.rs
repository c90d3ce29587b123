//! Sorted runs of rows on the local disk, for rows that do not fit into memory.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use lakerace_io::{Error, Result, private_file, release};

/// Runs in one file that no one else can open: see [`private_file`]. However many they are, they take one descriptor.
#[derive(Debug, Clone)]
pub struct SpillFile {
    file: Arc<File>,
    end: u64,
}

/// The location of a run in its file.
#[derive(Debug, Clone, Copy)]
pub struct RunLocation {
    from: u64,
    to: u64,
}

/// A run that is being read.
pub type RunReader = StreamReader<BufReader<SpillPart>>;

/// A part of a file that is read or written from its start.
#[derive(Debug)]
pub struct SpillPart {
    file: Arc<File>,
    at: u64,
    /// The end of the part to read.
    to: u64,
}

impl RunLocation {
    /// Bytes of the run.
    pub fn bytes(self) -> u64 {
        self.to - self.from
    }
}

impl Read for SpillPart {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.to - self.at).unwrap_or(usize::MAX).min(bytes.len());
        let read = self.file.read_at(&mut bytes[..left], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Write for SpillPart {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write_at(bytes, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes a run.
pub struct RunWriter<'a> {
    writer: StreamWriter<BufWriter<SpillPart>>,
    spill: &'a mut SpillFile,
}

impl SpillFile {
    /// No runs yet, in a new file.
    pub fn create() -> Result<Self> {
        Ok(Self { file: Arc::new(private_file()?), end: 0 })
    }

    /// Starts a run of batches with this schema after the others.
    pub fn begin(&mut self, schema: &Schema) -> Result<RunWriter<'_>> {
        let part = SpillPart { file: Arc::clone(&self.file), at: self.end, to: u64::MAX };
        let writer = StreamWriter::try_new(BufWriter::new(part), schema).map_err(broken)?;
        Ok(RunWriter { writer, spill: self })
    }

    /// Reads the batches of a run, or some columns of them. Errors of the reader go through [`broken`].
    pub fn open(&self, run: RunLocation, projection: Option<Vec<usize>>) -> Result<RunReader> {
        let part = SpillPart { file: Arc::clone(&self.file), at: run.from, to: run.to };
        StreamReader::try_new(BufReader::new(part), projection).map_err(broken)
    }

    /// Frees the disk space of a run that is not read any more.
    pub fn forget(&self, run: RunLocation) {
        release(&self.file, run.from..run.to);
    }

    /// Bytes of all runs.
    pub fn bytes(&self) -> u64 {
        self.end
    }
}

impl RunWriter<'_> {
    /// Writes the next batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(broken)
    }

    /// Ends the run.
    pub fn finish(self) -> Result<RunLocation> {
        let Self { mut writer, spill } = self;
        writer.finish().map_err(broken)?;
        let buffer = writer.into_inner().map_err(broken)?;
        let part = buffer.into_inner().map_err(|error| broken(ArrowError::from(error.into_error())))?;
        let run = RunLocation { from: spill.end, to: part.at };
        spill.end = part.at;
        Ok(run)
    }
}

/// Makes the error of a damaged run.
pub fn broken(error: ArrowError) -> Error {
    let error = match error {
        ArrowError::IoError(_, error) => Error::from(error),
        error => Error::internal("rows can't be stored").because(error),
    };
    error.at(format!("a temporary file in {}", std::env::temp_dir().display()))
}
