//! Arrow IPC as a sink.

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow::record_batch::RecordBatch;
use lakerace_io::option::COMPRESSION;
use lakerace_io::{Error, Output, Result};

use crate::duplicates::refuse_to_write_duplicates;
use crate::options::{Codec, WriteOptions};
use crate::sink::{Sink, Written};

/// Writes Arrow IPC: a file if the name ends in `.arrow` or `.feather`, otherwise a stream.
pub struct ArrowSink {
    output: Output,
    writer: IpcWriter,
    rows: u64,
}

/// Each holds the bytes that the output does not have yet.
enum IpcWriter {
    File(Box<FileWriter<Vec<u8>>>),
    Stream(Box<StreamWriter<Vec<u8>>>),
}

impl ArrowSink {
    /// Starts a file or stream.
    ///
    /// # Errors
    /// `Usage` for codecs other than lz4 and zstd, and for a level.
    pub fn create(output: Output, schema: &SchemaRef, options: &WriteOptions) -> Result<Box<dyn Sink>> {
        let codec = codec(options).map_err(|error| error.at(output.url()))?;
        let options = IpcWriteOptions::default().try_with_compression(codec).map_err(|error| encoding(&error))?;
        refuse_to_write_duplicates(schema).map_err(|error| error.at(output.url()))?;
        let name = output.url().to_ascii_lowercase();
        let writer = match name.ends_with(".arrow") || name.ends_with(".feather") {
            true => FileWriter::try_new_with_options(Vec::new(), schema, options).map(|w| IpcWriter::File(Box::new(w))),
            false => {
                StreamWriter::try_new_with_options(Vec::new(), schema, options).map(|w| IpcWriter::Stream(Box::new(w)))
            }
        };
        let writer = writer.map_err(|error| encoding(&error).at(output.url()))?;
        Ok(Box::new(Self { output, writer, rows: 0 }))
    }

    fn send(&mut self) -> Result<()> {
        let bytes = match &mut self.writer {
            IpcWriter::File(writer) => std::mem::take(writer.get_mut()),
            IpcWriter::Stream(writer) => std::mem::take(writer.get_mut()),
        };
        self.output.write(bytes.into())
    }
}

impl Sink for ArrowSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let written = match &mut self.writer {
            IpcWriter::File(writer) => writer.write(&batch),
            IpcWriter::Stream(writer) => writer.write(&batch),
        };
        written.map_err(|error| encoding(&error).at(self.output.url()))?;
        self.rows += batch.num_rows() as u64;
        self.send()
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        let finished = match &mut self.writer {
            IpcWriter::File(writer) => writer.finish(),
            IpcWriter::Stream(writer) => writer.finish(),
        };
        finished.map_err(|error| encoding(&error).at(self.output.url()))?;
        self.send()?;
        let (bytes, files) = (self.output.position(), vec![self.output.url().to_owned()]);
        self.output.finish()?;
        Ok(Written { rows: self.rows, bytes, files, ..Written::default() })
    }
}

/// The codec that the buffers of batches are packed with.
fn codec(options: &WriteOptions) -> Result<Option<CompressionType>> {
    let advice = || format!("choose {COMPRESSION} lz4, zstd or none, without a level");
    let Some(compression) = options.compression else { return Ok(None) };
    if compression.level.is_some() {
        return Err(Error::usage("Arrow IPC is compressed at a single level").advice(advice()));
    }
    match compression.codec {
        Codec::None => Ok(None),
        Codec::Lz4 => Ok(Some(CompressionType::LZ4_FRAME)),
        Codec::Zstd => Ok(Some(CompressionType::ZSTD)),
        Codec::Snappy | Codec::Gzip | Codec::Brotli => {
            Err(Error::usage("Arrow IPC can only be compressed with lz4 or zstd").advice(advice()))
        }
    }
}

fn encoding(error: &ArrowError) -> Error {
    Error::unsupported(format!("these rows can't be written as Arrow IPC: {error}"))
}
