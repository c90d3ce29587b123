//! Rows as they leave the command: to stdout or to a file, as a table, CSV, JSON lines or Arrow IPC.

use std::cell::RefCell;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use lakerace::{CsvOptions, Error, Job, Result, StorageOptions, check_outside_tables};
use lakerace_format::JsonLines;
use lakerace_format::csv::{CsvLines, Dialect};
use lakerace_io::{IfExists, Location, Output};

use crate::args::RowFormat;
use crate::stdout::PipeStdout;
use crate::table::{TablePrinter, terminal_width};
use crate::terminal::{self, EscapedWriter};

/// Bytes gathered before they go to the output: a part of an upload is made of many.
const BUFFER_BYTES: usize = 1 << 20;

/// The target of rows. A file appears when [`Self::finish`] is called; dropped before, it leaves nothing.
pub(crate) struct RowSink {
    encoder: RowEncoder,
    file: Option<SharedOutput>,
    rows: u64,
}

type Bytes = BufWriter<Box<dyn Write>>;

enum RowEncoder {
    Table(TablePrinter),
    Csv(CsvLines, Bytes),
    Json(JsonLines, Bytes),
    Stream(StreamWriter<Bytes>),
    File(FileWriter<Bytes>),
}

impl RowSink {
    /// Rows to stdout.
    pub(crate) fn stdout(format: RowFormat, schema: SchemaRef) -> Result<Self> {
        let out: Box<dyn Write> = match (format, terminal::is_stdout()) {
            (RowFormat::Arrow, true) => {
                return Err(Error::usage("Arrow IPC is binary and can't be written to a terminal")
                    .advice("name a file with -o, or redirect the output to a file or a program"));
            }
            (RowFormat::Csv | RowFormat::Jsonl, true) => Box::new(EscapedWriter::new(PipeStdout::lock())),
            _ => Box::new(PipeStdout::lock()),
        };
        Ok(Self { encoder: RowEncoder::new(format, schema, out, true)?, file: None, rows: 0 })
    }

    /// Rows to a path or URL, which is replaced at the end if it exists.
    pub(crate) fn file(
        format: RowFormat,
        schema: SchemaRef,
        target: &str,
        storage: &StorageOptions,
        job: &Job,
    ) -> Result<Self> {
        let (store, path) = Location::parse(target)?.open(storage, job)?;
        check_outside_tables(&store, &path)?;
        let output = SharedOutput::new(Output::create(&store, &path, IfExists::Replace)?);
        let encoder = RowEncoder::new(format, schema, Box::new(output.clone()), false);
        Ok(Self { encoder: encoder.map_err(|e| output.cause(e))?, file: Some(output), rows: 0 })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let outcome = match &mut self.encoder {
            RowEncoder::Table(table) => table.write(batch),
            RowEncoder::Csv(lines, out) => csv(lines, batch, out),
            RowEncoder::Json(lines, out) => {
                lines.encode(batch, self.rows + 1).and_then(|text| Ok(out.write_all(&text)?))
            }
            RowEncoder::Stream(writer) => writer.write(batch).map_err(encoding),
            RowEncoder::File(writer) => writer.write(batch).map_err(encoding),
        };
        self.rows += batch.num_rows() as u64;
        outcome.map_err(|e| self.cause(e))
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        let finished = match &mut self.encoder {
            RowEncoder::Table(table) => table.finish(),
            RowEncoder::Csv(_, out) | RowEncoder::Json(_, out) => out.flush().map_err(Error::from),
            RowEncoder::Stream(writer) => {
                writer.finish().map_err(encoding).and_then(|()| Ok(writer.get_mut().flush()?))
            }
            RowEncoder::File(writer) => {
                writer.finish().map_err(encoding).and_then(|()| Ok(writer.get_mut().flush()?))
            }
        };
        finished.map_err(|e| self.cause(e))?;
        self.file.map_or(Ok(()), |file| file.finish())
    }

    /// The store's own error where it is after `error`.
    fn cause(&self, error: Error) -> Error {
        match &self.file {
            Some(file) => file.cause(error),
            None => error,
        }
    }
}

impl RowEncoder {
    fn new(format: RowFormat, schema: SchemaRef, out: Box<dyn Write>, is_stdout: bool) -> Result<Self> {
        if format == RowFormat::Table {
            let width = if is_stdout { terminal_width() } else { None };
            return Ok(Self::Table(TablePrinter::new(out, schema, width)));
        }
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        Ok(match format {
            RowFormat::Table | RowFormat::Csv => {
                let lines = CsvLines::new(schema, Dialect::Csv, &CsvOptions::default())?;
                out.write_all(&lines.header()?)?;
                Self::Csv(lines, out)
            }
            RowFormat::Jsonl => Self::Json(JsonLines::new(&schema)?, out),
            RowFormat::Arrow if is_stdout => Self::Stream(StreamWriter::try_new(out, &schema).map_err(encoding)?),
            RowFormat::Arrow => Self::File(FileWriter::try_new(out, &schema).map_err(encoding)?),
        })
    }
}

fn csv(lines: &mut CsvLines, batch: &RecordBatch, out: &mut Bytes) -> Result<()> {
    let mut text = Vec::new();
    lines.append(batch, &mut text)?;
    Ok(out.write_all(&text)?)
}

/// An output that its encoder and its finisher hold, and the error it gave: encoders wrap errors beyond recognition.
#[derive(Clone)]
struct SharedOutput(Rc<RefCell<(Option<Output>, Option<Error>)>>);

impl SharedOutput {
    fn new(output: Output) -> Self {
        Self(Rc::new(RefCell::new((Some(output), None))))
    }

    fn cause(&self, error: Error) -> Error {
        self.0.borrow_mut().1.take().unwrap_or(error)
    }

    fn finish(&self) -> Result<()> {
        let output = self.0.borrow_mut().0.take();
        output.map_or(Ok(()), Output::finish)
    }
}

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (output, error) = &mut *self.0.borrow_mut();
        let Some(output) = output else { return Err(io::Error::other("the output is finished")) };
        match output.write(bytes.to_vec().into()) {
            Ok(()) => Ok(bytes.len()),
            Err(e) => {
                *error = Some(e.clone());
                Err(io::Error::other(e))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An encoder's error as ours.
pub(crate) fn encoding(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, io) => Error::from(io),
        ArrowError::NotYetImplemented(message) => Error::unsupported(message),
        ArrowError::InvalidArgumentError(message) | ArrowError::JsonError(message) => {
            Error::unsupported(format!("these rows can't be written in this format: {message}"))
                .advice("choose --format arrow, or exclude the column by --columns")
        }
        other => Error::unexpected(other),
    }
}
