//! A queue between two threads, bounded by the weight of its items.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cancel_token::{CancelToken, Interruption};
use crate::watched_value::WatchedValue;

/// The sending end of a queue. Dropping it ends the queue; waiting items are still received.
#[derive(Debug)]
pub struct QueueSender<T>(Arc<SharedQueue<T>>);

/// The receiving end of a queue. Dropping it drops the waiting items, and no more can be sent.
#[derive(Debug)]
pub struct QueueReceiver<T>(Arc<SharedQueue<T>>);

#[derive(Debug)]
struct SharedQueue<T> {
    state: WatchedValue<BoundedQueueState<T>>,
    limit: u64,
    cancel: CancelToken,
}

#[derive(Debug)]
struct BoundedQueueState<T> {
    /// Items and their weights.
    waiting: VecDeque<(T, u64)>,
    weight: u64,
    has_sender: bool,
    has_receiver: bool,
}

/// Creates a queue whose waiting items weigh at most `limit` together, in bytes or another unit of the caller. An empty
/// queue accepts an item of any weight.
pub fn bounded_queue<T>(limit: u64, cancel: &impl AsRef<CancelToken>) -> (QueueSender<T>, QueueReceiver<T>) {
    let state = BoundedQueueState { waiting: VecDeque::new(), weight: 0, has_sender: true, has_receiver: true };
    let shared = Arc::new(SharedQueue { state: WatchedValue::new(state), limit, cancel: cancel.as_ref().clone() });
    (QueueSender(Arc::clone(&shared)), QueueReceiver(shared))
}

impl<T> QueueSender<T> {
    /// Returns true while the receiver exists, so that a thread that rarely sends can stop early.
    pub fn has_receiver(&self) -> bool {
        self.0.state.lock().has_receiver
    }

    /// Waits for room, and puts an item in.
    ///
    /// # Errors
    /// `Cancelled`; `Ended` where the receiver is gone.
    pub fn send(&self, item: T, weight: u64) -> Result<(), Interruption> {
        let Self(shared) = self;
        let mut state = shared.state.lock();
        loop {
            if !state.has_receiver {
                return Err(Interruption::Ended);
            }
            shared.cancel.check()?;
            if state.waiting.is_empty() || state.weight.saturating_add(weight) <= shared.limit {
                break;
            }
            state = shared.state.wait_briefly(state);
        }
        state.weight += weight;
        state.waiting.push_back((item, weight));
        drop(state);
        shared.state.notify_all();
        Ok(())
    }
}

impl<T> Drop for QueueSender<T> {
    fn drop(&mut self) {
        self.0.state.lock().has_sender = false;
        self.0.state.notify_all();
    }
}

impl<T> QueueReceiver<T> {
    /// Waits for the next item; `None` after the last one, once the sender is gone.
    ///
    /// # Errors
    /// `Cancelled`; `Forked`.
    pub fn receive(&self) -> Result<Option<T>, Interruption> {
        let Self(shared) = self;
        shared.state.check_process()?;
        let mut state = shared.state.lock();
        loop {
            shared.cancel.check()?;
            if let Some((item, weight)) = state.waiting.pop_front() {
                state.weight -= weight;
                drop(state);
                shared.state.notify_all();
                return Ok(Some(item));
            }
            if !state.has_sender {
                return Ok(None);
            }
            state = shared.state.wait_briefly(state);
        }
    }

    /// Waits for so long at most, until [`Self::receive`] would not wait. Gives whether it would not.
    pub fn wait_within(&self, time: Duration) -> bool {
        let Self(shared) = self;
        let begin = Instant::now();
        if shared.state.check_process().is_err() {
            return true;
        }
        let mut state = shared.state.lock();
        loop {
            if !state.waiting.is_empty() || !state.has_sender || shared.cancel.is_cancelled() {
                return true;
            }
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return false;
            }
            state = shared.state.wait_within(state, left);
        }
    }
}

impl<T> Drop for QueueReceiver<T> {
    fn drop(&mut self) {
        if self.0.state.check_process().is_err() {
            return;
        }
        let mut state = self.0.state.lock();
        state.has_receiver = false;
        // Dropping an item may take long, or lock: nothing is dropped under the lock.
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.0.state.notify_all();
        drop(waiting);
    }
}

#[cfg(test)]
mod tests;
