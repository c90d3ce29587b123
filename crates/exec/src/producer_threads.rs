//! Threads that make values for one consumer, in no order among the threads.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::bounded_queue;
use crate::bounded_queue::{QueueReceiver, QueueSender};
use crate::cancel_token::{CancelToken, Interruption, caught};
use crate::worker_threads::{join, spawn};

/// Values that several threads make. The first error or panic of a thread is returned among the values; they do not
/// just end. On drop, the threads end after their current value.
#[derive(Debug)]
pub struct ProducerThreads<T, E> {
    /// `None` while it is dropped.
    values: Option<QueueReceiver<Result<T, E>>>,
    threads: Vec<JoinHandle<()>>,
    joins: bool,
}

/// The queue of a thread's values, with their weights.
pub type ValueSender<T, E> = QueueSender<Result<T, E>>;

impl<T: Send + 'static, E: From<Interruption> + Send + 'static> ProducerThreads<T, E> {
    /// Starts a thread for each of these, whose values weigh no more than `limit` together while they wait.
    ///
    /// # Errors
    /// That of the system, where it starts no further thread.
    pub fn start<P>(
        thread_name: &str,
        limit: u64,
        cancel: &impl AsRef<CancelToken>,
        producers: impl IntoIterator<Item = P>,
    ) -> std::io::Result<Self>
    where
        P: FnOnce(&ValueSender<T, E>) -> Result<(), E> + Send + 'static,
    {
        let (sender, receiver) = bounded_queue(limit, cancel);
        let mut all = Self { values: Some(receiver), threads: Vec::new(), joins: false };
        let sender = Arc::new(sender);
        for producer in producers {
            let sender = Arc::clone(&sender);
            let run = move || {
                if let Err(error) = caught(|| producer(&sender)) {
                    // Nothing takes it after a cancellation.
                    let _ = sender.send(Err(error), 0);
                }
            };
            all.threads.push(spawn(thread_name, run)?);
        }
        Ok(all)
    }

    /// Makes a drop wait for the threads. Otherwise they end after the call that they are in.
    #[must_use]
    pub fn joined(mut self) -> Self {
        self.joins = true;
        self
    }

    /// Hands several values over together: see [`QueueReceiver::patient`].
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> Self {
        self.values = self.values.take().map(|values| values.patient(patience));
        self
    }

    /// The next value; `None` once all threads have ended.
    ///
    /// # Errors
    /// That of a thread; `Cancelled`.
    pub fn take(&self) -> Result<Option<T>, E> {
        let Some(values) = &self.values else { return Ok(None) };
        values.receive()?.transpose()
    }
}

impl<T, E> ProducerThreads<T, E> {
    /// Waits for so long at most, until [`Self::take`] would not wait. Gives whether it would not.
    pub fn wait_within(&self, time: Duration) -> bool {
        self.values.as_ref().is_none_or(|values| values.wait_within(time))
    }
}

impl<T, E> Drop for ProducerThreads<T, E> {
    fn drop(&mut self) {
        self.values = None;
        if self.joins {
            self.threads.drain(..).for_each(join);
        }
    }
}

#[cfg(test)]
mod tests;
