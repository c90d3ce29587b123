//! Reading on a separate thread, a bounded number of bytes ahead.

use std::sync::Arc;

use arrow::array::RecordBatch;
use lakerace_exec::{QueueSender, bounded_queue, caught, spawn_with};
use lakerace_format::Batches;
use lakerace_io::{Job, Result};

/// Starts to read `batches` on a thread, up to `bytes` ahead of the consumer; one batch of any size may always wait.
/// Ends within a second of the job's cancellation, although the reading thread may wait for a store longer than that.
pub(crate) fn read_ahead(batches: Batches, bytes: u64, job: &Job) -> Batches {
    let schema = Arc::clone(batches.schema());
    let (waiting, taken) = bounded_queue(bytes, job);
    // Not joined: a thread that waits for a store ends when its request does.
    if let Err(batches) = spawn_with("lakerace-read", batches, move |batches| fill(batches, &waiting)) {
        // The consumer reads the batches itself.
        return batches;
    }
    let next = move || taken.receive().unwrap_or_else(|interruption| Some(Err(interruption.into())));
    Batches::new(schema, std::iter::from_fn(next))
}

/// The reading thread's life: until an error, or until no one takes the batches.
fn fill(mut batches: Batches, waiting: &QueueSender<Result<RecordBatch>>) {
    while let Some(batch) = caught(|| batches.next().transpose()).transpose() {
        let is_last = batch.is_err();
        let bytes = batch.as_ref().map_or(0, |batch| batch.get_array_memory_size() as u64);
        if waiting.send(batch, bytes).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
