//! Arrow IPC as a source.

use std::sync::Arc;

use arrow::array::RecordBatchOptions;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, ErrorKind, Job, Object, Result, plan_requests};

use super::FILE_MAGIC;
use super::file_footer::{IpcBatchReader, IpcFooter, no_footer};
use super::message::damaged;
use super::message_stream::IpcMessageStream;
use crate::file_notes::{common_notes, requested_notes};
use crate::foreign_arrays::with_plain_nulls;
use crate::input::InputFile;
use crate::nesting::check_nesting;
use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::Predicate;
use crate::sequential_files::{SequentialFile, planned_files, selected_columns, sequential_info, sequential_plan};
use crate::source::{Batches, Source, SourceInfo};

/// Bytes at the end of a file that are read at first, for its footer.
const TAIL_BYTES: u64 = 64 << 10;

/// Bytes of a schema at most.
const MAX_SCHEMA_BYTES: usize = 64 << 20;

/// A file of Arrow IPC, which is read by its footer, or a stream or pipe, which is read from the front.
pub struct ArrowSource {
    object: Object,
    schema: SchemaRef,
    footer: Option<IpcFooter>,
    job: Job,
}

impl ArrowSource {
    /// Opens one file: its footer is read, or the front of a stream.
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
        let footer = read_footer(&mut object).map_err(|error| error.or_at(object.url()))?;
        let schema = match &footer {
            Some(footer) => Arc::clone(&footer.schema),
            None => read_schema(&object, job).map_err(|error| error.or_at(object.url()))?,
        };
        check_nesting(&schema).map_err(|error| error.at(object.url()))?;
        let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::unsupported(format!("two columns are named {:?}", twice[0])).at(object.url()));
        }
        Ok(Self { object, schema, footer, job: job.clone() })
    }

    /// Starts to read all batches of an object, which is that of this source, taken from a plan.
    fn batches(&self, object: &Object) -> Result<IpcBatches> {
        match &self.footer {
            Some(footer) => footer.read_batches(object).map(|batches| IpcBatches::File(Box::new(batches))),
            None => IpcMessageStream::start(object, &self.job).map(IpcBatches::Stream),
        }
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

    /// Plans one unit, because the position of a batch of a stream is known only from the message before it. Requests are
    /// made while it is read.
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
            batches: self.batches(object).map_err(|error| error.or_at(object.url()))?,
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

/// The batches of a stream, or of a file by its footer.
enum IpcBatches {
    Stream(IpcMessageStream),
    File(Box<IpcBatchReader>),
}

impl IpcBatches {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            Self::Stream(messages) => messages.next(),
            Self::File(batches) => batches.next(),
        }
    }
}

/// The footer of a file; `None` for a stream, for a pipe, and without an end that may be a footer's. Learns the size and
/// the entity tag of the object.
fn read_footer(object: &mut Object) -> Result<Option<IpcFooter>> {
    if object.stream().is_some() {
        return Ok(None);
    }
    let tail = object.read_tail(TAIL_BYTES)?;
    object.size_bytes = Some(tail.size_bytes);
    object.e_tag = object.e_tag.take().or_else(|| tail.e_tag.clone());
    let is_whole = tail.bytes.len() as u64 == tail.size_bytes;
    let is_file = tail.bytes.ends_with(FILE_MAGIC)
        && match is_whole {
            true => tail.bytes.starts_with(FILE_MAGIC),
            false => object.read_range(0..FILE_MAGIC.len() as u64)? == FILE_MAGIC,
        };
    is_file.then(|| IpcFooter::read(object, &tail)).transpose()
}

/// Learns the schema from the front.
fn read_schema(object: &Object, job: &Job) -> Result<SchemaRef> {
    let Some(pipe) = object.stream() else {
        let mut stream = IpcMessageStream::start(object, job)?;
        return if stream.is_file() { Err(no_footer()) } else { stream.read_schema() };
    };
    // A pipe waits for no more than the schema takes, as the rest may be long in coming.
    let mut looked_at = 8;
    loop {
        let (front, is_whole) = pipe.peek(looked_at, job)?;
        let mut stream = IpcMessageStream::from_reader(Box::new(std::io::Cursor::new(front)), object.url())?;
        match stream.read_schema() {
            Err(error) if error.kind() == ErrorKind::Corrupt && !is_whole && looked_at < MAX_SCHEMA_BYTES => {
                looked_at = (looked_at * 2).max(64);
            }
            other => return other,
        }
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
            .map_err(|error| damaged(&error).at(&self.url))?;
        keep.map_or(Ok(wanted.clone()), |keep| filter_record_batch(&wanted, &keep).map_err(Error::unexpected))
    }
}

impl Iterator for IpcRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
