//! Columns of row groups, encoded by threads: each column takes its arrays in order, columns run side by side.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::ArrayRef;
use crossbeam_channel::{Receiver, Sender, unbounded};
use lakerace_exec::{WatchedValue, WorkerThreads, caught, lock};
use lakerace_io::{Error, Job, Result};

use super::options::CheckedOptions;
use crate::parquet::encode::encoder::{ColumnEncoder, EncoderScratch};
use crate::parquet::encode::page::EncodedChunk;

/// Bytes of arrays that may wait for a thread; where row groups are small, a quarter of one.
const WAITING_BYTES: u64 = 32 << 20;

/// Threads that encode columns.
pub(crate) struct EncodePool {
    shared: Arc<EncoderPoolCore>,
    /// Bytes of arrays that may wait.
    room_bytes: u64,
    /// Dropped to end the threads.
    sender: Option<Sender<PoolTask>>,
    threads: WorkerThreads,
}

/// A row group under way.
#[derive(Clone)]
pub(crate) struct OpenRowGroup(Arc<GroupState>);

struct GroupState {
    columns: Vec<PoolColumn>,
    /// Columns that are not encoded to their end.
    unfinished: AtomicUsize,
    encoded_bytes: AtomicU64,
}

struct EncoderPoolCore {
    state: WatchedValue<EncoderPoolState>,
    stop: AtomicBool,
}

#[derive(Default)]
struct EncoderPoolState {
    waiting_bytes: u64,
    error: Option<Error>,
}

struct PoolColumn {
    name: String,
    state: Mutex<ColumnState>,
}

struct ColumnState {
    waiting: Vec<(ArrayRef, u64)>,
    /// A thread has this column or will take it.
    is_scheduled: bool,
    is_closed: bool,
    encoder: Option<Box<dyn ColumnEncoder>>,
    chunks: Vec<EncodedChunk>,
}

struct PoolTask {
    group: OpenRowGroup,
    column: usize,
}

impl EncodePool {
    /// Starts this many threads, or as many as the system starts; `None` if that is none.
    pub(crate) fn start(threads: usize, settings: &CheckedOptions) -> Option<Self> {
        let shared = Arc::new(EncoderPoolCore { state: WatchedValue::default(), stop: AtomicBool::new(false) });
        let (sender, receiver) = unbounded();
        let room_bytes = WAITING_BYTES.min(settings.row_group_bytes / 4);
        let (own, settings) = (Arc::clone(&shared), settings.clone());
        let threads = WorkerThreads::start("lakerace-encode", threads, move || work(&own, &receiver, &settings));
        (!threads.is_empty()).then_some(Self { shared, room_bytes, sender: Some(sender), threads })
    }

    /// Passes an array of approximately `bytes` bytes to a column of a group.
    pub(crate) fn submit(&self, group: &OpenRowGroup, column: usize, array: ArrayRef, bytes: u64) -> Result<()> {
        self.shared.state.lock().waiting_bytes += bytes;
        self.schedule(group, column, |state| state.waiting.push((array, bytes)))
    }

    /// Marks a group as complete.
    pub(crate) fn close(&self, group: &OpenRowGroup) -> Result<()> {
        (0..group.0.columns.len()).try_for_each(|column| self.schedule(group, column, |state| state.is_closed = true))
    }

    fn schedule(&self, group: &OpenRowGroup, column: usize, change: impl FnOnce(&mut ColumnState)) -> Result<()> {
        let mut state = lock(&group.0.columns[column].state);
        change(&mut state);
        if state.is_scheduled {
            return Ok(());
        }
        state.is_scheduled = true;
        drop(state);
        let sender = self.sender.as_ref().ok_or_else(|| Error::internal("the encoding threads have ended"))?;
        let task = PoolTask { group: group.clone(), column };
        sender.send(task).map_err(|_| Error::internal("the encoding threads have ended"))
    }

    /// Waits until few bytes are waiting. Returns the error of a column.
    pub(crate) fn wait_for_room(&self, job: &Job) -> Result<()> {
        self.wait(job, |state| state.waiting_bytes <= self.room_bytes)
    }

    /// Waits until every submitted array is encoded.
    pub(crate) fn wait_until_idle(&self, job: &Job) -> Result<()> {
        self.wait(job, |state| state.waiting_bytes == 0)
    }

    /// Waits until a closed group is encoded.
    pub(crate) fn wait_for(&self, group: &OpenRowGroup, job: &Job) -> Result<()> {
        self.wait(job, |_| group.is_done())
    }

    /// Bytes of arrays that wait.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.shared.state.lock().waiting_bytes
    }

    fn wait(&self, job: &Job, is_over: impl Fn(&EncoderPoolState) -> bool) -> Result<()> {
        let is_over = |state: &EncoderPoolState| match &state.error {
            Some(error) => Err(error.clone()),
            None => Ok(is_over(state)),
        };
        self.shared.state.wait_until(job, is_over).map(drop)
    }
}

impl Drop for EncodePool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.sender = None;
        self.threads.join();
    }
}

impl OpenRowGroup {
    /// A group with one encoder for each column.
    pub(crate) fn new(encoders: impl Iterator<Item = (String, Box<dyn ColumnEncoder>)>) -> Self {
        let column = |(name, encoder)| PoolColumn {
            name,
            state: Mutex::new(ColumnState {
                waiting: Vec::new(),
                is_scheduled: false,
                is_closed: false,
                encoder: Some(encoder),
                chunks: Vec::new(),
            }),
        };
        let columns: Vec<PoolColumn> = encoders.map(column).collect();
        let unfinished = AtomicUsize::new(columns.len());
        Self(Arc::new(GroupState { columns, unfinished, encoded_bytes: AtomicU64::new(0) }))
    }

    /// Bytes encoded so far.
    pub(crate) fn encoded_bytes(&self) -> u64 {
        self.0.encoded_bytes.load(Ordering::Acquire)
    }

    /// Returns true if every column is encoded to its end.
    pub(crate) fn is_done(&self) -> bool {
        self.0.unfinished.load(Ordering::Acquire) == 0
    }

    /// The chunks of all columns, once done.
    pub(crate) fn take_chunks(&self) -> Vec<EncodedChunk> {
        self.0.columns.iter().flat_map(|column| std::mem::take(&mut lock(&column.state).chunks)).collect()
    }
}

fn work(shared: &EncoderPoolCore, tasks: &Receiver<PoolTask>, settings: &CheckedOptions) {
    let mut scratch = EncoderScratch::new(settings);
    for task in tasks {
        if shared.stop.load(Ordering::Acquire) {
            return;
        }
        let column = &task.group.0.columns[task.column];
        let Err(error) = caught(|| run(shared, &task.group.0, column, &mut scratch)) else { continue };
        shared.state.lock().error.get_or_insert(error.at(format!("column {:?}", column.name)));
        shared.state.notify_all();
    }
}

/// Encodes the arrays that wait for a column, until there are none.
fn run(shared: &EncoderPoolCore, group: &GroupState, column: &PoolColumn, scratch: &mut EncoderScratch) -> Result<()> {
    let mut encoder = lock(&column.state).encoder.take();
    loop {
        let mut state = lock(&column.state);
        let waiting = std::mem::take(&mut state.waiting);
        if waiting.is_empty() {
            if state.is_closed
                && let Some(encoder) = encoder.take()
            {
                drop(state);
                let chunks = encoder.finish(scratch)?;
                lock(&column.state).chunks = chunks;
                group.unfinished.fetch_sub(1, Ordering::AcqRel);
                // Whoever waits checks under this lock: taking it keeps the news from being missed.
                drop(shared.state.lock());
                shared.state.notify_all();
                return Ok(());
            }
            state.encoder = encoder;
            state.is_scheduled = false;
            return Ok(());
        }
        drop(state);
        for (array, bytes) in waiting {
            if shared.stop.load(Ordering::Acquire) {
                return Ok(());
            }
            if let Some(encoder) = &mut encoder {
                let before = encoder.bytes();
                encoder.write(&array, scratch)?;
                // Wraps where a decision made the estimate smaller, and adds up all the same.
                group.encoded_bytes.fetch_add(encoder.bytes().wrapping_sub(before), Ordering::AcqRel);
            }
            drop(array);
            shared.state.lock().waiting_bytes -= bytes;
            shared.state.notify_all();
        }
    }
}
