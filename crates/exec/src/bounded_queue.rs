//! A queue between two threads, bounded by the weight of its items.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, OnceLock};
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
    /// The receiver's patience: see [`QueueReceiver::patient`].
    patience: OnceLock<Duration>,
}

#[derive(Debug)]
struct BoundedQueueState<T> {
    /// Items and their weights.
    waiting: VecDeque<(T, u64)>,
    weight: u64,
    has_sender: bool,
    has_receiver: bool,
    /// The receiver has taken an item before.
    has_received: bool,
    /// The receiver is asleep, and is not woken for each item.
    is_patient: bool,
}

/// Creates a queue whose waiting items weigh at most `limit` together, in bytes or another unit of the caller. An empty
/// queue accepts an item of any weight.
pub fn bounded_queue<T>(limit: u64, cancel: &impl AsRef<CancelToken>) -> (QueueSender<T>, QueueReceiver<T>) {
    let state = BoundedQueueState {
        waiting: VecDeque::new(),
        weight: 0,
        has_sender: true,
        has_receiver: true,
        has_received: false,
        is_patient: false,
    };
    let (state, cancel) = (WatchedValue::new(state), cancel.as_ref().clone());
    let shared = Arc::new(SharedQueue { state, limit, cancel, patience: OnceLock::new() });
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
            if std::mem::take(&mut state.is_patient) {
                shared.state.notify_all();
            }
            state = shared.state.wait_briefly(state);
        }
        state.weight += weight;
        state.waiting.push_back((item, weight));
        if state.is_patient && !shared.is_half_full(state.weight) {
            return Ok(());
        }
        state.is_patient = false;
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

impl<T> SharedQueue<T> {
    fn is_half_full(&self, weight: u64) -> bool {
        weight.saturating_mul(2) > self.limit
    }

    /// Sleeps while the queue is empty, for as long as the receiver is patient.
    fn wait_patiently<'a>(
        &'a self,
        mut state: MutexGuard<'a, BoundedQueueState<T>>,
    ) -> MutexGuard<'a, BoundedQueueState<T>> {
        let Some(patience) = self.patience.get().filter(|_| state.has_received && state.waiting.is_empty()) else {
            return state;
        };
        let begin = Instant::now();
        state.is_patient = true;
        while state.is_patient && state.has_sender && !self.cancel.is_cancelled() {
            let left = patience.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break;
            }
            state = self.state.wait_within(state, left);
        }
        state.is_patient = false;
        state
    }
}

impl<T> QueueReceiver<T> {
    /// Has the receiver sleep for `patience` where the queue is empty, unless it gets half full: where items cost less
    /// than a switch between threads, several are handed over together. The first item is received immediately. After that
    /// time, the receiver is woken for the next item.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Self {
        // It is set once: the receiver is not patient before.
        let _ = self.0.patience.set(patience);
        self
    }

    /// Waits for the next item; `None` after the last one, once the sender is gone.
    ///
    /// # Errors
    /// `Cancelled`; `Forked`.
    pub fn receive(&self) -> Result<Option<T>, Interruption> {
        let Self(shared) = self;
        shared.state.check_process()?;
        let mut state = shared.wait_patiently(shared.state.lock());
        loop {
            shared.cancel.check()?;
            if let Some((item, weight)) = state.waiting.pop_front() {
                state.weight -= weight;
                state.has_received = true;
                // Where the receiver is patient, so is the sender.
                let tells =
                    shared.patience.get().is_none() || state.waiting.is_empty() || !shared.is_half_full(state.weight);
                drop(state);
                if tells {
                    shared.state.notify_all();
                }
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
        let mut state = shared.wait_patiently(shared.state.lock());
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
