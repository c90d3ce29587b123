//! The messages of a stream, from its front. A file has such a stream within it, by which it is read from a pipe.

use std::io::Read;
use std::sync::Arc;

use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use lakerace_io::{Error, Job, Object, Result};

use super::FILE_MAGIC;
use super::message::{
    CONTINUATION, IpcMessageDecoder, MAX_METADATA_BYTES, arrow_schema, body_bytes, damaged, parse_message,
};
use crate::text::RangeReader;

/// Bytes of a step through a stream.
const STEP_BYTES: usize = 1 << 20;

/// Bytes of a message that are allocated before any of them has been read.
const FIRST_ALLOCATION_BYTES: usize = 64 << 20;

/// The front of a file that has its magic and all padding after it.
const FILE_FRONT_BYTES: usize = 128;

/// Writers put messages at multiples of this, or of a multiple of it.
const PADDING_BYTES: usize = 8;

/// The least bytes of a message's metadata. polars writes the schema of a file without its length, so that other bytes
/// take the place of it, which make a smaller number.
const LEAST_METADATA_BYTES: u32 = 48;

/// Decodes a stream of messages, or the one inside a file.
pub(super) struct IpcMessageStream {
    url: String,
    bytes: Box<dyn Read + Send>,
    /// Bytes that have been read, but not taken.
    buffer: Buffer,
    is_file: bool,
    is_ended: bool,
    decoder: Option<IpcMessageDecoder>,
}

impl IpcMessageStream {
    /// Starts at the front of an object.
    ///
    /// # Errors
    /// Those of the store or the pipe.
    pub fn start(object: &Object, job: &Job) -> Result<Self> {
        if let Some(pipe) = object.stream() {
            return Self::from_reader(Box::new(pipe.reader(job)?), object.url());
        }
        let (source, size) = (object.clone(), object.size_bytes.unwrap_or(0));
        let bytes = RangeReader::new(move |at| match at < size {
            true => source.read_range(at..size.min(at + STEP_BYTES as u64)),
            false => Ok(Bytes::new()),
        });
        Self::from_reader(Box::new(bytes), object.url())
    }

    /// Starts at the front of a reader's bytes.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn from_reader(bytes: Box<dyn Read + Send>, url: String) -> Result<Self> {
        let buffer = Buffer::from(Vec::<u8>::new());
        let mut stream = Self { url, bytes, buffer, is_file: false, is_ended: false, decoder: None };
        stream.fill(FILE_FRONT_BYTES)?;
        if stream.buffer.starts_with(FILE_MAGIC) {
            stream.is_file = true;
            // The magic is padded; writers differ in how much.
            let (words, _) = stream.buffer.as_chunks::<PADDING_BYTES>();
            let padding = words.iter().skip(1).take_while(|word| word.iter().all(|byte| *byte == 0)).count();
            let front = stream.buffer.len().min((1 + padding) * PADDING_BYTES);
            stream.buffer.advance(front);
        }
        Ok(stream)
    }

    /// Returns true if the bytes are those of a file.
    pub fn is_file(&self) -> bool {
        self.is_file
    }

    /// The schema, with which the stream starts.
    ///
    /// # Errors
    /// `Corrupt`; `Unsupported` for a schema without a length.
    pub fn read_schema(&mut self) -> Result<SchemaRef> {
        if self.buffer.is_empty() && !self.is_file {
            return Err(Error::invalid("it is empty, but Arrow IPC starts with a schema").at(&self.url));
        }
        let metadata = self.next_metadata()?.ok_or_else(|| self.foreign("it has no schema"))?;
        let message = parse_message(&metadata).map_err(|error| self.foreign(error.message()))?;
        let schema = message.header_as_schema().ok_or_else(|| self.foreign("it does not start with a schema"))?;
        let schema = arrow_schema(schema).map_err(|error| self.in_place(error))?;
        self.take_body(body_bytes(&message)?)?;
        self.decoder = Some(IpcMessageDecoder::new(Arc::clone(&schema)));
        Ok(schema)
    }

    /// The next batch; `None` after the last one.
    ///
    /// # Errors
    /// `Corrupt` for a damaged message.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.decoder.is_none() {
            self.read_schema()?;
        }
        while let Some(metadata) = self.next_metadata()? {
            let batch = self.decode(&metadata).map_err(|error| self.in_place(error))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }

    fn decode(&mut self, metadata: &[u8]) -> Result<Option<RecordBatch>> {
        let message = parse_message(metadata)?;
        let body = self.take_body(body_bytes(&message)?)?;
        let decoder = self.decoder.as_mut().ok_or_else(|| Error::internal("a stream is read before its schema"))?;
        decoder.decode(message, &body)
    }

    /// The metadata of the next message; `None` at the end.
    fn next_metadata(&mut self) -> Result<Option<Buffer>> {
        let mut prefix = if self.is_ended { Buffer::from([]) } else { self.take(4)? };
        if prefix.is_empty() {
            self.is_ended = true;
            return Ok(None);
        }
        if *prefix == CONTINUATION {
            prefix = self.take(4)?;
        }
        let length = prefix.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(|| self.truncated())?;
        match length {
            0 => {
                self.is_ended = true;
                // In a file, the footer follows.
                let is_rest = !self.is_file && !self.take(1)?.is_empty();
                return if is_rest {
                    Err(self.in_place(damaged("bytes follow the end of the stream")))
                } else {
                    Ok(None)
                };
            }
            _ if length < LEAST_METADATA_BYTES && self.is_file && self.decoder.is_none() => {
                return Err(Error::unsupported(
                    "the schema in the Arrow IPC file has no length, so it can't be streamed",
                )
                .at(&self.url)
                .advice("name the file in place of a pipe, or write an Arrow IPC stream"));
            }
            _ if u64::from(length) > MAX_METADATA_BYTES => return Err(self.foreign("a message is too long")),
            _ => {}
        }
        let metadata = self.take(length as usize)?;
        if metadata.len() < length as usize {
            return Err(self.truncated());
        }
        Ok(Some(metadata))
    }

    fn take_body(&mut self, length: u64) -> Result<Buffer> {
        let length = usize::try_from(length).map_err(|_| damaged("a message is too long"))?;
        let body = self.take(length)?;
        if body.len() < length {
            return Err(self.truncated());
        }
        Ok(body)
    }

    /// Takes the next `n` bytes; at the end, as many as there are.
    fn take(&mut self, n: usize) -> Result<Buffer> {
        if self.buffer.is_empty() && n > 0 {
            self.fill(n.min(STEP_BYTES))?;
        }
        if n <= self.buffer.len() {
            let taken = self.buffer.slice_with_length(0, n);
            self.buffer.advance(n);
            return Ok(taken);
        }
        let no_memory = |error: arrow::buffer::MutableBufferError| {
            Error::unavailable(format!("there is not enough memory for a message: {error}"))
        };
        let mut taken = MutableBuffer::new(0);
        taken.try_reserve(n.min(FIRST_ALLOCATION_BYTES)).map_err(no_memory)?;
        while taken.len() < n && (!self.buffer.is_empty() || self.fill((n - taken.len()).min(STEP_BYTES))?) {
            let more = self.buffer.len().min(n - taken.len());
            taken.try_extend_from_slice(&self.buffer[..more]).map_err(no_memory)?;
            self.buffer.advance(more);
        }
        Ok(taken.into())
    }

    /// Reads a step in place of the buffer: at least `least` bytes, or all until the end; `false` at the end.
    fn fill(&mut self, least: usize) -> Result<bool> {
        let mut bytes = vec![0; STEP_BYTES];
        let mut got = 0;
        while got < least {
            match self.bytes.read(&mut bytes[got..])? {
                0 => break,
                more => got += more,
            }
        }
        bytes.truncate(got);
        // Batches keep the buffer that they were read into.
        if got < STEP_BYTES / 2 {
            bytes.shrink_to_fit();
        }
        self.buffer = Buffer::from(bytes);
        Ok(got > 0)
    }

    fn truncated(&self) -> Error {
        self.in_place(damaged("it ends within a message"))
    }

    /// The error for bytes that may be something else than Arrow IPC.
    fn foreign(&self, problem: &str) -> Error {
        match self.decoder {
            None => self.in_place(
                Error::corrupt(format!("it is not Arrow IPC, or it is damaged: {problem}"))
                    .advice("name another format, or download or create the file again"),
            ),
            Some(_) => self.in_place(damaged(problem)),
        }
    }

    /// The error with its place, and with the way that files in pipes have.
    fn in_place(&self, error: Error) -> Error {
        match self.is_file {
            true => error.at(&self.url).advice("name the file in place of a pipe, or download or create it again"),
            false => error.at(&self.url),
        }
    }
}
