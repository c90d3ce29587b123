//! Arrow IPC as a source.

use std::io::Read;
use std::sync::Arc;

use arrow::array::RecordBatchOptions;
use arrow::buffer::Buffer;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use lakerace_io::{Error, Job, Object, Result, panics, plan_requests};

use super::FILE_MAGIC;
use super::file_blocks::{IpcBlockReader, IpcFooter};
use crate::file_notes::{common_notes, requested_notes};
use crate::foreign_arrays::has_dictionary;
use crate::sequential_files::{SequentialFile, planned_files, selected_columns, sequential_info, sequential_plan};
use crate::text::RangeReader;
use crate::{
    Batches, InputFile, Predicate, ReadPlan, ReadRequest, Source, SourceInfo, check_nesting, with_plain_nulls,
};

/// Bytes of a step through a file.
const STEP_BYTES: usize = 1 << 20;

/// The least bytes of a schema message.
const LEAST_SCHEMA_BYTES: u32 = 16;

/// Bytes of a schema at most.
const MAX_SCHEMA_BYTES: usize = 64 << 20;

/// A file or stream of Arrow IPC, read from the front.
pub struct ArrowSource {
    object: Object,
    schema: SchemaRef,
    job: Job,
}

impl ArrowSource {
    /// Opens one file: its front is read.
    ///
    /// # Errors
    /// `Unsupported` for several files, and for a schema with a name twice.
    pub fn open_files(files: Vec<InputFile>, job: &Job) -> Result<Self> {
        files.iter().try_for_each(|file| file.refuse_hidden("Arrow IPC"))?;
        let mut files = files.into_iter();
        let Some(InputFile { mut object, constants, .. }) = files.next() else {
            return Err(Error::usage("there is no file to read"));
        };
        if files.next().is_some() || constants.is_some() {
            return Err(Error::unsupported("Arrow IPC is read one file at a time, without partitions")
                .at(object.url())
                .advice("name one file"));
        }
        if object.size_bytes.is_none() {
            let tail = object.read_tail(1)?;
            (object.size_bytes, object.e_tag) = (Some(tail.size_bytes), object.e_tag.or(tail.e_tag));
        }
        let schema = read_schema(&object, job).map_err(|error| error.at(object.url()))?;
        check_nesting(&schema).map_err(|error| error.at(object.url()))?;
        let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::unsupported(format!("two columns are named {:?}", twice[0])).at(object.url()));
        }
        Ok(Self { object, schema, job: job.clone() })
    }

    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        selected_columns(request, &self.schema, &self.object)
    }
}

impl Source for ArrowSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        SourceInfo { units: None, ..sequential_info(super::ARROW_IPC.name, std::iter::once(&self.object)) }
    }

    /// Plans one unit, because the position of a batch is known only from the message before it. Requests are made
    /// while it is read.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema)?;
        }
        request.check_batch_rows()?;
        let projected = self.schema.project(&selected).map_err(Error::unexpected)?;
        let stored = common_notes([self.schema.metadata()].into_iter());
        let notes = requested_notes(&stored, self.schema.fields(), projected.fields(), request);
        let schema = projected.with_metadata(notes);
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(schema),
            files: vec![sequential_plan(&self.object)],
            requests: plan_requests(&[], &self.job.options().ranges, &self.object.store.profile()),
        })
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let planned = planned_files(plan, std::iter::once(&self.object))?;
        let [SequentialFile { object, is_read, .. }] = planned.as_slice() else {
            return Err(Error::usage("the plan does not name the file of this source")
                .at(self.object.url())
                .advice("plan the scan again"));
        };
        let filter = plan.request.filter.as_ref().map(|filter| Predicate::bind(filter, &self.schema)).transpose()?;
        let rows = IpcRows {
            url: object.url(),
            batches: IpcBatches::open(object, &self.schema, &self.job).map_err(|error| error.or_at(object.url()))?,
            filter,
            projection: self.selected(&plan.request)?,
            schema: Arc::clone(&plan.schema),
            left: if *is_read { plan.request.limit.unwrap_or(u64::MAX) } else { 0 },
            batch_rows: plan.request.batch_rows.unwrap_or(usize::MAX),
            batch: None,
            job: self.job.clone(),
        };
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

/// Decodes the messages of a stream, or of the one inside a file.
struct MessageDecoder {
    url: String,
    bytes: Box<dyn Read + Send>,
    decoder: StreamDecoder,
    buffer: Buffer,
    is_file: bool,
}

impl MessageDecoder {
    fn start(object: &Object, job: &Job) -> Result<Self> {
        if let Some(pipe) = object.stream() {
            return Self::from_reader(Box::new(pipe.reader(job)?), object.url())?.of_pipe();
        }
        let (source, size) = (object.clone(), object.size_bytes.unwrap_or(0));
        let bytes = RangeReader::new(move |at| match at < size {
            true => source.read_range(at..size.min(at + STEP_BYTES as u64)),
            false => Ok(Bytes::new()),
        });
        Self::from_reader(Box::new(bytes), object.url())
    }

    /// Returns true if a file starts with a schema message that has no length. No message has as few bytes as such a one
    /// seems to have.
    fn has_bare_schema(&self) -> bool {
        let stated = self.buffer.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        self.is_file && stated.is_some_and(|stated| stated <= LEAST_SCHEMA_BYTES)
    }

    /// The same from a pipe, which has no footer to turn to.
    fn of_pipe(self) -> Result<Self> {
        if self.has_bare_schema() {
            return Err(Error::unsupported("the schema in the Arrow IPC file has no length, so it can't be streamed")
                .at(&self.url)
                .advice("name the file in place of a pipe, or write an Arrow IPC stream"));
        }
        Ok(self)
    }

    fn from_reader(bytes: Box<dyn Read + Send>, url: String) -> Result<Self> {
        let (decoder, buffer) = (StreamDecoder::new(), Buffer::from(Vec::<u8>::new()));
        let mut messages = Self { url, bytes, decoder, buffer, is_file: false };
        messages.fill(STEP_BYTES)?;
        if messages.buffer.starts_with(FILE_MAGIC) {
            messages.is_file = true;
            // Padding follows; writers differ in how much.
            let padding = messages.buffer[FILE_MAGIC.len()..].iter().take_while(|byte| **byte == 0).count();
            messages.buffer.advance(FILE_MAGIC.len() + padding);
        }
        Ok(messages)
    }

    /// Reads up to `n` bytes, as many as there are just now; `false` at the end.
    fn fill(&mut self, n: usize) -> Result<bool> {
        let mut bytes = vec![0; n];
        let mut got = self.bytes.read(&mut bytes)?;
        // A read may return fewer bytes than the magic of a file has, which is checked as a whole.
        while got > 0 && got < FILE_MAGIC.len() {
            match self.bytes.read(&mut bytes[got..])? {
                0 => break,
                more => got += more,
            }
        }
        bytes.truncate(got);
        // Batches keep the buffer that they were read into.
        if got < n / 2 {
            bytes.shrink_to_fit();
        }
        self.buffer = Buffer::from(bytes);
        Ok(got > 0)
    }

    /// The next batch, or none once `until` is true of the decoder or all is read.
    fn next(&mut self, until: impl Fn(&StreamDecoder) -> bool) -> Result<Option<RecordBatch>> {
        loop {
            let decoded = panics::caught(|| self.decoder.decode(&mut self.buffer));
            match decoded {
                Ok(Ok(Some(batch))) => return Ok(Some(batch)),
                Ok(Ok(None)) => {}
                // In a file, the stream is followed by its index.
                Ok(Err(ArrowError::IpcError(message))) if self.is_file && message == "Unexpected EOS" => {
                    return Ok(None);
                }
                Ok(Err(error)) => return Err(damaged(&error, &self.url)),
                Err(_) => return Err(Error::corrupt("a message of Arrow IPC can't be decoded").at(&self.url)),
            }
            if until(&self.decoder) {
                return Ok(None);
            }
            if !self.fill(STEP_BYTES)? {
                return match self.decoder.finish() {
                    Ok(()) => Ok(None),
                    Err(_) => Err(Error::corrupt("the Arrow IPC stream is truncated").at(&self.url)),
                };
            }
        }
    }
}

/// The error for a message that can't be decoded.
fn damaged(error: &ArrowError, url: &str) -> Error {
    let text = error.to_string();
    let kind = match error {
        ArrowError::IpcError(message) if message == "Unexpected EOS" => {
            Error::corrupt("bytes follow the end of the Arrow IPC stream")
        }
        ArrowError::MemoryError(_) => Error::unavailable(format!("not enough memory for a message: {text}")),
        _ => Error::corrupt(format!("not an Arrow IPC stream, or damaged: {text}")),
    };
    kind.at(url)
}

/// The batches of a stream, or of a file.
enum IpcBatches {
    Stream(MessageDecoder),
    Blocks(IpcBlockReader),
}

impl IpcBatches {
    /// Starts to read. A file is read by its footer if it can't be read from the front.
    fn open(object: &Object, schema: &Schema, job: &Job) -> Result<Self> {
        let messages = MessageDecoder::start(object, job)?;
        if object.stream().is_some() || !messages.is_file {
            return Ok(Self::Stream(messages));
        }
        if messages.has_bare_schema() {
            return IpcFooter::read(object)?.into_blocks(object).map(Self::Blocks);
        }
        let has_dictionaries = schema.fields().iter().any(|field| has_dictionary(field.data_type()));
        // Without a footer, a file is truncated, as its end will show.
        match has_dictionaries.then(|| IpcFooter::read(object)) {
            Some(Ok(footer)) if !footer.is_in_order() => footer.into_blocks(object).map(Self::Blocks),
            _ => Ok(Self::Stream(messages)),
        }
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            Self::Stream(messages) => messages.next(|_| false),
            Self::Blocks(blocks) => blocks.next(),
        }
    }
}

/// Learns the schema from the front, or from the footer of a file that has it there alone.
fn read_schema(object: &Object, job: &Job) -> Result<SchemaRef> {
    let Some(pipe) = object.stream() else {
        let messages = MessageDecoder::start(object, job)?;
        return match messages.has_bare_schema() {
            true => Ok(IpcFooter::read(object)?.schema),
            false => schema_of(messages),
        };
    };
    // A pipe waits for no more than the schema takes, as the rest may be long in coming.
    let mut looked_at = 8;
    loop {
        let (front, is_whole) = pipe.peek(looked_at, job)?;
        if front.is_empty() {
            return Err(Error::invalid("it is empty, but Arrow IPC starts with a schema"));
        }
        match schema_of(MessageDecoder::from_reader(Box::new(std::io::Cursor::new(front)), object.url())?.of_pipe()?) {
            Err(_) if !is_whole && looked_at < MAX_SCHEMA_BYTES => looked_at = (looked_at * 2).max(64),
            other => return other,
        }
    }
}

fn schema_of(mut messages: MessageDecoder) -> Result<SchemaRef> {
    // A batch after the schema may be cut short here.
    let outcome = messages.next(|decoder| decoder.schema().is_some());
    match (messages.decoder.schema(), outcome) {
        (Some(schema), _) => Ok(schema),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(Error::corrupt("the Arrow IPC stream does not start with a schema").at(&messages.url)),
    }
}

/// Filtered and projected batches.
struct IpcRows {
    url: String,
    batches: IpcBatches,
    filter: Option<Predicate>,
    projection: Vec<usize>,
    schema: SchemaRef,
    left: u64,
    batch_rows: usize,
    /// The rest of the batch that is cut into smaller ones.
    batch: Option<RecordBatch>,
    job: Job,
}

impl IpcRows {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            self.job.check()?;
            let batch = match self.batch.take() {
                Some(batch) => batch,
                None => match self.batches.next().map_err(|error| error.or_at(&self.url))? {
                    Some(batch) => self.wanted(batch)?,
                    None => return Ok(None),
                },
            };
            let rows = batch.num_rows().min(self.batch_rows).min(usize::try_from(self.left).unwrap_or(usize::MAX));
            if rows == 0 {
                continue;
            }
            if rows < batch.num_rows() {
                self.batch = Some(batch.slice(rows, batch.num_rows() - rows));
            }
            self.left -= rows as u64;
            self.job.meter().read_rows(rows as u64);
            return Ok(Some(batch.slice(0, rows)));
        }
        Ok(None)
    }

    fn wanted(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let batch = &with_plain_nulls(batch).map_err(|error| error.at(&self.url))?;
        let keep = self.filter.as_ref().map(|filter| filter.evaluate(batch)).transpose();
        let keep = keep.map_err(|error| error.at(&self.url))?;
        let columns = self.projection.iter().map(|column| Arc::clone(batch.column(*column))).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let wanted = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| damaged(&error, &self.url))?;
        keep.map_or(Ok(wanted.clone()), |keep| filter_record_batch(&wanted, &keep).map_err(Error::unexpected))
    }
}

impl Iterator for IpcRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
