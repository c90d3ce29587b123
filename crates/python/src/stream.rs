//! Batches of ours, by the Arrow C stream interface.

use std::ffi::CStr;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use lakerace::{Batches, Error, ErrorKind, Job, Result};
use lakerace_exec::{OrderedPool, PoolOptions, ProducerThreads, ValueSender};
use lakerace_format::schema_text::print_field_type;
use lakerace_format::{exported_schema, text_dictionary, text_key_type};
use lakerace_io::option::Door;
use lakerace_io::wait::lock;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;
use crate::interrupt::SIGNAL_POLL;
use crate::warnings::{self, CallerLine};

pub(crate) const SCHEMA_CAPSULE: &CStr = c"arrow_schema";
pub(crate) const STREAM_CAPSULE: &CStr = c"arrow_array_stream";

/// A pass over a scan's rows, to be taken once through `__arrow_c_stream__`.
///
/// A C stream can only say a message and an errno. The error itself is kept here, so that the package can raise it
/// in place of the consumer's.
#[pyclass(frozen, module = "lakerace._lakerace")]
pub(crate) struct Stream {
    batches: Mutex<Option<Batches>>,
    job: Job,
    failure: Arc<Mutex<Option<StreamFailure>>>,
}

/// Why a stream ended early.
enum StreamFailure {
    Engine(Error),
    /// An exception of a signal's handler, or a warning that a filter has made an error.
    Python(PyErr),
}

impl Stream {
    pub(crate) fn new(batches: Batches, job: Job) -> Self {
        Self { batches: Mutex::new(Some(batches)), job, failure: Arc::default() }
    }
}

#[pymethods]
impl Stream {
    /// The stream, once. Its first batch is read here, so that most errors are raised as exceptions of their own class.
    ///
    /// `requested_schema`: the types that the consumer wants; columns are cast to them.
    /// `raises_later`: the caller raises [`Self::exception`] itself.
    #[pyo3(signature = (requested_schema=None, raises_later=false))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
        raises_later: bool,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = lock(&self.batches).take();
        let Some(batches) = batches else {
            return Err(errors::raised(py, &Error::usage("this stream was already read").advice("scan again")));
        };
        let raise = |error: &Error| errors::raised(py, error);
        let target = match requested_schema {
            None => Some(exported_schema(batches.schema())).filter(|exported| exported != batches.schema()),
            Some(capsule) => Some(requested(&capsule, batches.schema()).map_err(|e| raise(&e))?),
        };
        let mut reader = ThreadedReader::start(batches, target, self.job.clone(), Arc::clone(&self.failure))
            .map_err(|e| raise(&e))?;
        reader.caller = warnings::caller(py)?;
        py.detach(|| reader.read_ahead());
        if let Some(exception) = self.exception(py) {
            return Err(PyErr::from_value(exception.into_bound(py)));
        }
        reader.is_handed_over = !raises_later;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM_CAPSULE)
    }

    /// The exception that ended the stream, once; `None` if it did not fail.
    fn exception(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let failure = lock(&self.failure).take()?;
        let error = match failure {
            StreamFailure::Engine(error) => errors::raised(py, &error),
            StreamFailure::Python(error) => error,
        };
        Some(error.into_value(py).into_any())
    }
}

/// The columns for Arrow's C interface.
///
/// # Errors
/// `Unsupported` for columns that it can't pass on, such as those with a NUL character in their name.
pub(crate) fn c_schema(schema: &Schema) -> Result<FFI_ArrowSchema> {
    FFI_ArrowSchema::try_from(schema).map_err(|error| {
        Error::unsupported("Arrow's C interface can't pass these columns on")
            .because(error)
            .advice("rename the column in the program that writes it")
    })
}

/// Bytes of batches that wait for the consumer, or one batch.
const WAITING_BYTES: u64 = 8 << 20;
/// Columns of batches whose bytes are not counted: that would take longer than to hand them over.
const COUNTED_COLUMNS: usize = 64;
/// The time that a consumer sleeps before it is woken for a single batch. Two switches between threads for each batch
/// took a quarter of the time of a scan of narrow columns.
const PATIENCE: Duration = Duration::from_micros(250);

/// The bytes of a batch that waits.
fn waiting_bytes(batch: &RecordBatch) -> u64 {
    if batch.num_columns() > COUNTED_COLUMNS { WAITING_BYTES } else { batch.get_array_memory_size() as u64 }
}

/// Reads batches on a separate thread, ahead of the consumer.
struct ThreadedReader {
    schema: SchemaRef,
    batches: ProducerThreads<RecordBatch, Error>,
    first: Option<Option<Result<RecordBatch>>>,
    job: Job,
    failure: Arc<Mutex<Option<StreamFailure>>>,
    /// The line that asked for the stream.
    caller: Option<CallerLine>,
    /// The thread that asked for the stream: if it is Python's main thread, it hears Ctrl-C.
    owner: ThreadId,
    signals_checked: Instant,
    /// The error with which the stream has ended: a consumer that asks again is not told that the rows are complete.
    ended_by: Option<Error>,
    /// True if a consumer of whom nothing is known pulls, so that a signal's exception can't be raised from here.
    is_handed_over: bool,
}

impl ThreadedReader {
    fn start(
        batches: Batches,
        target: Option<SchemaRef>,
        job: Job,
        failure: Arc<Mutex<Option<StreamFailure>>>,
    ) -> Result<Self> {
        let batches = match target.filter(|target| target != batches.schema()) {
            Some(target) => cast_batches(batches, target, &job),
            None => batches,
        };
        let schema = Arc::clone(batches.schema());
        c_schema(&schema)?;
        let pull = [move |sender: &ValueSender<RecordBatch, Error>| {
            for batch in batches {
                let batch = batch?;
                let bytes = waiting_bytes(&batch);
                sender.send(Ok(batch), bytes)?;
            }
            Ok(())
        }];
        let batches = ProducerThreads::start("lakerace-stream", WAITING_BYTES, &job, pull)
            .map_err(|e| lakerace_io::threads::not_started(&e))?
            .patient(PATIENCE);
        Ok(Self {
            schema,
            batches,
            first: None,
            job,
            failure,
            caller: None,
            owner: std::thread::current().id(),
            signals_checked: Instant::now(),
            ended_by: None,
            is_handed_over: false,
        })
    }

    fn read_ahead(&mut self) {
        self.first = Some(self.wait());
    }

    /// The next batch. On the owner's thread it looks for signals while it waits.
    fn wait(&mut self) -> Option<Result<RecordBatch>> {
        if std::thread::current().id() != self.owner {
            return self.keep(self.batches.take().transpose());
        }
        loop {
            if self.signals_checked.elapsed() < SIGNAL_POLL && self.batches.wait_within(SIGNAL_POLL) {
                return self.keep(self.batches.take().transpose());
            }
            self.signals_checked = Instant::now();
            // Detached immediately: a consumer that calls with the GIL held must not keep other threads from it.
            // None: Python is shutting down, and no one waits for a signal.
            let heard = Python::try_attach(|py| py.check_signals().map(|()| py.detach(std::thread::yield_now)));
            if let Some(Err(raised)) = heard {
                return self.interrupt(raised);
            }
        }
    }

    fn interrupt(&mut self, raised: PyErr) -> Option<Result<RecordBatch>> {
        self.job.cancel();
        if self.is_handed_over {
            // The consumer raises its own error; Python's handler is called again after that.
            // SAFETY: the call only sets a flag.
            unsafe { pyo3::ffi::PyErr_SetInterrupt() };
        }
        *lock(&self.failure) = Some(StreamFailure::Python(raised));
        Some(Err(Error::cancelled()))
    }

    /// Issues the job's warnings.
    ///
    /// # Errors
    /// A warning that a filter has made an error, on the thread that asked for the stream.
    fn report(&self) -> PyResult<()> {
        if std::thread::current().id() == self.owner {
            return warnings::report_at(&self.job, self.caller.as_ref());
        }
        warnings::report_later(&self.job, self.caller.as_ref());
        Ok(())
    }

    /// Keeps the error of `next`, if it is one. At the end of the rows, the job's warnings are issued.
    fn keep(&self, next: Option<Result<RecordBatch>>) -> Option<Result<RecordBatch>> {
        match &next {
            Some(Ok(_)) => next,
            Some(Err(error)) => {
                // The error takes precedence over a warning that a filter has made one of.
                let _ = self.report();
                *lock(&self.failure) = Some(StreamFailure::Engine(error.clone()));
                next
            }
            None => {
                let raised = self.report().err()?;
                let error = Error::invalid(raised.to_string());
                *lock(&self.failure) = Some(StreamFailure::Python(raised));
                Some(Err(error))
            }
        }
    }
}

/// The batches in other types, on the job's threads.
fn cast_batches(batches: Batches, target: SchemaRef, job: &Job) -> Batches {
    let threads = job.options().threads.max(1);
    let options = PoolOptions { thread_name: "lakerace-cast", threads, window: threads + 1, joins: false };
    let schema = Arc::clone(&target);
    let mut pool = OrderedPool::start(options, job, batches, move |batch| cast(&batch, &target));
    Batches::new(schema, std::iter::from_fn(move || pool.take().transpose()))
}

impl Drop for ThreadedReader {
    fn drop(&mut self) {
        // A consumer may leave the rest of the rows.
        if let Err(raised) = self.report() {
            Python::try_attach(|py| raised.write_unraisable(py, None));
        }
    }
}

impl Iterator for ThreadedReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = &self.ended_by {
            return Some(Err(foreign(error.clone())));
        }
        let next = match self.first.take() {
            Some(first) => first,
            None => self.wait(),
        };
        Some(next?.map_err(|error| foreign(self.ended_by.insert(error).clone())))
    }
}

impl RecordBatchReader for ThreadedReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Converts an error to one for which the C stream returns the right errno.
fn foreign(error: Error) -> ArrowError {
    let text = format!("{}: {}", error.kind().name(), error.text(Door::Python));
    match error.kind() {
        ErrorKind::Unsupported => ArrowError::NotYetImplemented(text),
        ErrorKind::Unavailable | ErrorKind::Conflict | ErrorKind::NotFound => {
            ArrowError::IoError(text.clone(), std::io::Error::other(text))
        }
        _ => ArrowError::InvalidArgumentError(text),
    }
}

/// The schema that a consumer asks for, if `own` can be cast to it.
fn requested(capsule: &Bound<'_, PyCapsule>, own: &SchemaRef) -> Result<SchemaRef> {
    let pointer = capsule
        .pointer_checked(Some(SCHEMA_CAPSULE))
        .map_err(|_| Error::usage("the requested schema is not an `arrow_schema` capsule"))?;
    // SAFETY: by the PyCapsule interface, a capsule of this name holds a valid ArrowSchema, which it keeps.
    let schema = unsafe { &*pointer.as_ptr().cast::<FFI_ArrowSchema>() };
    let schema = Schema::try_from(schema).map_err(|e| Error::usage("the requested schema").because(e))?;
    let names_agree = schema.fields().len() == own.fields().len()
        && schema.fields().iter().zip(own.fields()).all(|(theirs, ours)| theirs.name() == ours.name());
    if !names_agree {
        return Err(Error::usage("the requested schema has other columns than the scan").advice("choose columns="));
    }
    for (theirs, ours) in schema.fields().iter().zip(own.fields()) {
        if !can_cast_types(ours.data_type(), theirs.data_type()) {
            let (from, to) = (print_field_type(ours), print_field_type(theirs));
            return Err(Error::unsupported(format!("no cast from {from} to {to}")).at(ours.name()));
        }
    }
    Ok(Arc::new(schema))
}

/// `batch` with the types of `target`. A value that does not fit is an error.
fn cast(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(target.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        if let Some(texts) = column.as_string_view_opt()
            && *field.data_type() == text_key_type()
        {
            return Ok(Arc::new(text_dictionary(texts)?));
        }
        cast_with_options(column, field.data_type(), &options)
            .map_err(|e| Error::from_source(ErrorKind::Invalid, e).at(field.name()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(target), columns, &rows)
        .map_err(|e| Error::invalid("the requested schema").because(e))
}
