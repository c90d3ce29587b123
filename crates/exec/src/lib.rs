//! Primitives by which threads pass work on: ordered pools, bounded queues, semaphores, watched values, cancellation.
//!
//! The primitives define no error type. They return the caller's error, which is made from an [`Interruption`]. They give
//! up after a cancellation, after a panic of a thread, or if the other side is gone. If the system can't start another
//! thread, the calling thread does the work.

mod bounded_queue;
mod cancel_token;
mod consumer_thread;
mod lock;
mod ordered_pipe;
mod ordered_pool;
mod owning_process;
mod process_local;
mod producer_threads;
mod reorder_buffer;
mod scoped_work;
mod watched_value;
mod weighted_semaphore;
mod worker_threads;

#[cfg(test)]
#[path = "tests/schedule.rs"]
mod schedule;

pub use bounded_queue::{QueueReceiver, QueueSender, bounded_queue};
pub use cancel_token::{CancelToken, Interruption, caught};
pub use consumer_thread::{ConsumerItems, ConsumerThread};
pub use lock::{CANCEL_POLL, into_value, lock, read_lock, value_mut, wait_briefly, write_lock};
pub use ordered_pipe::OrderedPipe;
pub use ordered_pool::{OrderedPool, PoolOptions};
pub use owning_process::OwningProcess;
pub use process_local::ProcessLocal;
pub use producer_threads::{ProducerThreads, ValueSender};
pub use scoped_work::{ScopedWork, consume_ordered, map_ordered, map_slice, map_with_states, run_both, spawn_or_run};
pub use watched_value::WatchedValue;
pub use weighted_semaphore::{SemaphorePermit, WeightedSemaphore};
pub use worker_threads::{WorkerThreads, spawn_with};
