//! A thread that consumes the items of another one, and returns an outcome at the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::cancel_token::{CancelToken, Interruption, caught};
use crate::watched_value::WatchedValue;
use crate::worker_threads::{join, spawn};

/// A thread that consumes items in their order. Dropped before [`Self::finish`], it has the thread give up, and waits for it.
#[derive(Debug)]
pub struct ConsumerThread<I, T, E> {
    shared: Arc<WatchedValue<ConsumerState<I, T, E>>>,
    limit: u64,
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

/// The items of a [`ConsumerThread`], as its thread receives them. Dropping this value drops the waiting items and all
/// later ones.
#[derive(Debug)]
pub struct ConsumerItems<I, T, E> {
    shared: Arc<WatchedValue<ConsumerState<I, T, E>>>,
    /// The weight of the items that were taken last.
    taken: u64,
    /// True if the iterator has given an error.
    has_failed: bool,
}

#[derive(Debug)]
struct ConsumerState<I, T, E> {
    /// Items and their weights.
    waiting: VecDeque<(I, u64)>,
    /// The total weight of the items that wait and of those that are being consumed.
    weight: u64,
    /// The outcome of the thread once it has ended; the value is `None` after it has been taken.
    outcome: Option<Result<Option<T>, E>>,
    has_consumer: bool,
    is_closed: bool,
    is_given_up: bool,
}

impl<I, T, E> ConsumerThread<I, T, E>
where
    I: Send + 'static,
    T: Send + 'static,
    E: From<Interruption> + Clone + Send + 'static,
{
    /// Starts the thread. Waiting items and those being consumed weigh at most `limit` together, unless there is only
    /// one.
    ///
    /// # Errors
    /// That of the system, where it starts no further thread.
    pub fn start(
        name: &str,
        limit: u64,
        cancel: &impl AsRef<CancelToken>,
        consume: impl FnOnce(ConsumerItems<I, T, E>) -> Result<T, E> + Send + 'static,
    ) -> std::io::Result<Self> {
        let state = ConsumerState {
            waiting: VecDeque::new(),
            weight: 0,
            outcome: None,
            has_consumer: true,
            is_closed: false,
            is_given_up: false,
        };
        let shared = Arc::new(WatchedValue::new(state));
        let (own, items) =
            (Arc::clone(&shared), ConsumerItems { shared: Arc::clone(&shared), taken: 0, has_failed: false });
        let thread = spawn(name, move || {
            let outcome = caught(|| consume(items));
            own.lock().outcome = Some(outcome.map(Some));
            own.notify_all();
        })?;
        Ok(Self { shared, limit, cancel: cancel.as_ref().clone(), thread: Some(thread) })
    }

    /// Hands over an item. Waits while the others weigh too much. A thread that has ended well takes nothing more.
    ///
    /// # Errors
    /// That of the thread; `Cancelled`.
    pub fn send(&self, item: I, weight: u64) -> Result<(), E> {
        let mut state = self.shared.wait_until(&self.cancel, |state| match &state.outcome {
            Some(Err(error)) => Err(error.clone()),
            _ if !state.has_consumer || state.weight == 0 => Ok(true),
            _ => self.cancel.check().map(|()| state.weight.saturating_add(weight) <= self.limit).map_err(E::from),
        })?;
        if state.has_consumer {
            state.weight += weight;
            state.waiting.push_back((item, weight));
            drop(state);
            self.shared.notify_all();
        }
        Ok(())
    }

    /// The weight of the items that wait for the thread, and of those that it consumes.
    pub fn waiting_weight(&self) -> u64 {
        self.shared.lock().weight
    }

    /// Says that nothing more comes. The thread ends when it has consumed everything.
    pub fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.notify_all();
    }

    /// Waits until everything is consumed.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn finish(self) -> Result<T, E> {
        self.close();
        let mut state = self.shared.wait_until(&self.cancel, |state| Ok::<_, E>(state.outcome.is_some()))?;
        match &mut state.outcome {
            Some(Ok(value)) => value.take().ok_or_else(|| Interruption::Ended.into()),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Interruption::Ended.into()),
        }
    }
}

impl<I, T, E> Drop for ConsumerThread<I, T, E> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        (state.is_closed, state.is_given_up) = (true, true);
        drop(state);
        self.shared.notify_all();
        if let Some(thread) = self.thread.take() {
            join(thread);
        }
    }
}

impl<I, T, E> ConsumerItems<I, T, E> {
    /// Releases the items that were taken before, and takes the next item and those after it, up to this count and
    /// weight. Returns `false` after the last one.
    ///
    /// # Errors
    /// `Cancelled` where the thread is to give up.
    pub fn take_some(&mut self, items: &mut Vec<I>, count: usize, weight: u64) -> Result<bool, Interruption> {
        items.clear();
        let mut state = self.shared.lock();
        if self.taken > 0 {
            state.weight -= std::mem::take(&mut self.taken);
            self.shared.notify_all();
        }
        loop {
            if state.is_given_up {
                return Err(Interruption::Cancelled);
            }
            while let Some((_, more)) = state.waiting.front()
                && items.len() < count
                && (items.is_empty() || self.taken + more <= weight)
            {
                self.taken += more;
                items.extend(state.waiting.pop_front().map(|(item, _)| item));
            }
            if !items.is_empty() || state.is_closed {
                return Ok(!items.is_empty());
            }
            state = self.shared.wait(state);
        }
    }
}

impl<I, T, E: From<Interruption>> Iterator for ConsumerItems<I, T, E> {
    type Item = Result<I, E>;

    /// As [`Self::take_some`], of one item.
    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let mut one = Vec::with_capacity(1);
        match self.take_some(&mut one, 1, 0) {
            Ok(_) => one.pop().map(Ok),
            Err(interruption) => {
                self.has_failed = true;
                Some(Err(interruption.into()))
            }
        }
    }
}

impl<I, T, E> Drop for ConsumerItems<I, T, E> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.has_consumer = false;
        // Dropping an item may take long, or lock: nothing is dropped under the lock.
        let waiting = std::mem::take(&mut state.waiting);
        state.weight = 0;
        drop(state);
        self.shared.notify_all();
        drop(waiting);
    }
}

#[cfg(test)]
mod tests;
