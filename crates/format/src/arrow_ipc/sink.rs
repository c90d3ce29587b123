//! Arrow IPC as a sink.

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, Output, Result};

use crate::{Codec, Sink, WriteOptions, Written, refuse_to_write_duplicates};

/// Writes Arrow IPC: a file where the name ends in `.arrow`, else a stream.
pub struct ArrowSink {
    output: Output,
    writer: Writer,
    rows: u64,
}

/// Each holds the bytes that the output does not have yet.
enum Writer {
    File(Box<FileWriter<Vec<u8>>>),
    Stream(Box<StreamWriter<Vec<u8>>>),
}

impl ArrowSink {
    /// Begins a file or stream.
    ///
    /// # Errors
    /// `Unsupported` for a codec.
    pub fn create(output: Output, schema: &SchemaRef, options: &WriteOptions) -> Result<Box<dyn Sink>> {
        if options.compression.is_some_and(|compression| compression.codec != Codec::None) {
            return Err(Error::unsupported("Arrow IPC is written without a codec")
                .at(output.url())
                .advice("leave --compression (compression) out"));
        }
        refuse_to_write_duplicates(schema).map_err(|error| error.at(output.url()))?;
        let writer = match output.url().to_ascii_lowercase().ends_with(".arrow") {
            true => FileWriter::try_new(Vec::new(), schema).map(|writer| Writer::File(Box::new(writer))),
            false => StreamWriter::try_new(Vec::new(), schema).map(|writer| Writer::Stream(Box::new(writer))),
        };
        let writer = writer.map_err(|error| encoding(&error).at(output.url()))?;
        Ok(Box::new(Self { output, writer, rows: 0 }))
    }

    fn send(&mut self) -> Result<()> {
        let bytes = match &mut self.writer {
            Writer::File(writer) => std::mem::take(writer.get_mut()),
            Writer::Stream(writer) => std::mem::take(writer.get_mut()),
        };
        self.output.write(bytes.into())
    }
}

impl Sink for ArrowSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let written = match &mut self.writer {
            Writer::File(writer) => writer.write(&batch),
            Writer::Stream(writer) => writer.write(&batch),
        };
        written.map_err(|error| encoding(&error).at(self.output.url()))?;
        self.rows += batch.num_rows() as u64;
        self.send()
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        let finished = match &mut self.writer {
            Writer::File(writer) => writer.finish(),
            Writer::Stream(writer) => writer.finish(),
        };
        finished.map_err(|error| encoding(&error).at(self.output.url()))?;
        self.send()?;
        let (bytes, files) = (self.output.position(), vec![self.output.url().to_owned()]);
        self.output.finish()?;
        Ok(Written { rows: self.rows, bytes, files, ..Written::default() })
    }
}

fn encoding(error: &ArrowError) -> Error {
    Error::unsupported(format!("these rows can't be written as Arrow IPC: {error}"))
}
