//! Reading on a thread of its own, a bounded number of bytes ahead.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, MutexGuard};

use arrow::array::RecordBatch;
use lakerace_format::Batches;
use lakerace_io::wait::WatchedValue;
use lakerace_io::{Error, Job, Result};

/// Starts to read `batches` on a thread, up to `bytes` ahead of who takes them; one batch may wait whatever its size.
/// Ends within a second of the job's cancellation, although the reading thread may be waiting for a store until later.
pub(crate) fn read_ahead(batches: Batches, bytes: u64, job: &Job) -> Batches {
    let schema = Arc::clone(batches.schema());
    let shared = Arc::new(Shared { state: WatchedValue::default(), bytes, job: job.clone() });
    let reader = Arc::clone(&shared);
    // A thread that does not start drops what it was given.
    let (sender, given) = sync_channel(1);
    let fill = move || given.recv().map(|batches| reader.fill(batches));
    // Not joined: a thread that waits for a store ends when its request does.
    if std::thread::Builder::new().name("lakerace-read".to_owned()).spawn(fill).is_err() {
        // Who takes the batches reads them.
        return batches;
    }
    let _ = sender.send(batches);
    Batches::new(schema, Taker { shared })
}

struct Shared {
    state: WatchedValue<State>,
    bytes: u64,
    job: Job,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Result<RecordBatch>, u64)>,
    waiting_bytes: u64,
    /// Nothing more will come.
    ended: bool,
    /// Nobody takes any more.
    dropped: bool,
}

struct Taker {
    shared: Arc<Shared>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The reading thread's life.
    fn fill(&self, batches: Batches) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for batch in batches {
                if !self.give(batch) {
                    return;
                }
            }
        }));
        if outcome.is_err() {
            self.give(Err(Error::internal("reading panicked")));
        }
        self.lock().ended = true;
        self.state.notify_all();
    }

    /// Waits for room; false where nobody wants the batch.
    fn give(&self, batch: Result<RecordBatch>) -> bool {
        let bytes = batch.as_ref().map_or(0, |batch| batch.get_array_memory_size() as u64);
        let mut state = self.lock();
        loop {
            if state.dropped || self.job.is_cancelled() {
                return false;
            }
            if state.waiting.is_empty() || state.waiting_bytes + bytes <= self.bytes {
                break;
            }
            state = self.state.wait_briefly(state);
        }
        state.waiting_bytes += bytes;
        state.waiting.push_back((batch, bytes));
        drop(state);
        self.state.notify_all();
        true
    }
}

impl Iterator for Taker {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut state = self.shared.lock();
        loop {
            if let Err(error) = self.shared.job.check() {
                return Some(Err(error));
            }
            if let Some((batch, bytes)) = state.waiting.pop_front() {
                state.waiting_bytes -= bytes;
                drop(state);
                self.shared.state.notify_all();
                return Some(batch);
            }
            if state.ended {
                return None;
            }
            state = self.shared.state.wait_briefly(state);
        }
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.dropped = true;
        state.waiting.clear();
        drop(state);
        self.shared.state.notify_all();
    }
}

#[cfg(test)]
mod tests;
