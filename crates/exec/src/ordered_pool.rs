//! Work on a sequence of items on several threads, its outcomes in the order of the items.

use std::sync::{Arc, Mutex};

use crate::cancel_token::{CancelToken, Interruption, caught};
use crate::lock;
use crate::reorder_buffer::ReorderBuffer;
use crate::watched_value::WatchedValue;
use crate::worker_threads::WorkerThreads;

/// The size of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions {
    /// The name of its threads, which have their numbers after it.
    pub thread_name: &'static str,
    /// Threads to start. One thread is the caller's own: nothing is done ahead then.
    pub threads: usize,
    /// Items that may be under way, or done and not taken.
    pub window: usize,
    /// True if a pool that is dropped waits for its threads. One whose threads may wait for the network does not.
    pub joins: bool,
}

/// Outcomes of work on items, in the order of the items. Work starts in order, up to a number of items ahead of the
/// consumer, and none starts after an error. Dropping the pool stops its threads.
///
/// ```
/// use lakerace_exec::{CancelToken, Interruption, OrderedPool, PoolOptions};
/// let options = PoolOptions { thread_name: "square", threads: 4, window: 8, joins: true };
/// let numbers = (1..=3).map(Ok::<u64, Interruption>);
/// let mut squares = OrderedPool::start(options, &CancelToken::default(), numbers, |number| Ok(number * number));
/// assert_eq!([(); 4].map(|()| squares.take().unwrap()), [Some(1), Some(4), Some(9), None]);
/// ```
pub struct OrderedPool<I, T, E> {
    core: Arc<PoolCore<'static, I, T, E>>,
    threads: WorkerThreads,
    joins: bool,
}

/// The shared state of a pool's threads.
pub(crate) struct PoolCore<'env, I, T, E> {
    /// Locked while an item is taken out of it, and while the next one waits for room.
    source: Mutex<ItemSource<'env, I, E>>,
    work: PoolWork<'env, I, T, E>,
    state: WatchedValue<PoolState<Result<T, E>>>,
    window: u64,
    cancel: CancelToken,
}

pub(crate) type ItemSource<'env, I, E> = Box<dyn Iterator<Item = Result<I, E>> + Send + 'env>;
pub(crate) type PoolWork<'env, I, T, E> = Box<dyn Fn(I, ItemTurn<'_>) -> Result<T, E> + Send + Sync + 'env>;

struct PoolState<O> {
    outcomes: ReorderBuffer<O>,
    /// Items whose work has started.
    begun: u64,
    /// The number of the item whose turn it is.
    turn: u64,
    /// The number of outcomes, once known: the first error is the last of them.
    end: Option<u64>,
    is_stopped: bool,
}

/// The place of an item in the order.
pub(crate) struct ItemTurn<'a> {
    gate: &'a dyn TurnGate,
    number: u64,
}

trait TurnGate {
    /// Waits until all items before this one have passed.
    fn wait_for_turn(&self, number: u64) -> Result<(), Interruption>;

    fn pass(&self, number: u64);
}

impl ItemTurn<'_> {
    /// Runs a call after those of all items before this one. Where one of these fails, this one is not made.
    fn run<R, E: From<Interruption>>(&self, call: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        self.gate.wait_for_turn(self.number)?;
        let outcome = call()?;
        self.gate.pass(self.number);
        Ok(outcome)
    }
}

impl<I: Send + 'static, T: Send + 'static, E: From<Interruption> + Send + 'static> OrderedPool<I, T, E> {
    /// Starts the threads, or as many as the system starts. Without any, [`Self::take`] does the work.
    pub fn start(
        options: PoolOptions,
        cancel: &impl AsRef<CancelToken>,
        source: impl Iterator<Item = Result<I, E>> + Send + 'static,
        work: impl Fn(I) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        Self::run(options, cancel.as_ref(), Box::new(source), Box::new(move |item, _| work(item)))
    }

    /// As [`Self::start`], with work of which one step is done for one item at a time, in the order of the items.
    pub fn start_chained<A, B>(
        options: PoolOptions,
        cancel: &impl AsRef<CancelToken>,
        source: impl Iterator<Item = Result<I, E>> + Send + 'static,
        before: impl Fn(I) -> Result<A, E> + Send + Sync + 'static,
        in_order: impl FnMut(A) -> Result<B, E> + Send + 'static,
        after: impl Fn(B) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let in_order = Mutex::new(in_order);
        let work = move |item, turn: ItemTurn<'_>| {
            let prepared = before(item)?;
            let chained = turn.run(|| (*lock(&in_order))(prepared))?;
            after(chained)
        };
        Self::run(options, cancel.as_ref(), Box::new(source), Box::new(work))
    }

    fn run(
        options: PoolOptions,
        cancel: &CancelToken,
        source: ItemSource<'static, I, E>,
        work: PoolWork<'static, I, T, E>,
    ) -> Self {
        let core = Arc::new(PoolCore::new(source, work, options.window, cancel));
        let count = if options.threads > 1 { options.threads } else { 0 };
        let own = Arc::clone(&core);
        let threads = WorkerThreads::start(options.thread_name, count, move || own.work());
        Self { core, threads, joins: options.joins }
    }

    /// Returns true if the caller does the work.
    pub fn is_inline(&self) -> bool {
        self.threads.is_empty()
    }

    /// The outcome of the next item; `None` after the last one, or after an error.
    ///
    /// # Errors
    /// Those of the source and of the work, each in its place; `Cancelled`.
    pub fn take(&mut self) -> Result<Option<T>, E> {
        self.core.take(self.threads.is_empty())
    }
}

impl<I, T, E> Drop for OrderedPool<I, T, E> {
    fn drop(&mut self) {
        self.core.stop();
        if self.joins {
            self.threads.join();
        }
    }
}

impl<I, T, E> PoolCore<'_, I, T, E> {
    /// Has the threads end. What is under way is thrown away.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.is_stopped = true;
        let outcomes = state.outcomes.clear();
        drop(state);
        self.state.notify_all();
        drop(outcomes);
    }
}

impl<'env, I, T, E: From<Interruption>> PoolCore<'env, I, T, E> {
    pub(crate) fn new(
        source: ItemSource<'env, I, E>,
        work: PoolWork<'env, I, T, E>,
        window: usize,
        cancel: &CancelToken,
    ) -> Self {
        let state = PoolState { outcomes: ReorderBuffer::new(), begun: 0, turn: 0, end: None, is_stopped: false };
        let (source, state) = (Mutex::new(source), WatchedValue::new(state));
        Self { source, work, state, window: window.max(1) as u64, cancel: cancel.clone() }
    }

    /// A thread's life.
    pub(crate) fn work(&self) {
        while let Some((number, item)) = self.begin() {
            let outcome = caught(|| (self.work)(item, ItemTurn { gate: self, number }));
            self.finish(number, outcome);
        }
    }

    /// The next item, once there is room for its outcome. `None`: there is nothing more to do.
    fn begin(&self) -> Option<(u64, I)> {
        let mut source = lock(&self.source);
        let mut state = self.state.lock();
        loop {
            if state.is_stopped || state.end.is_some() || self.cancel.is_cancelled() {
                return None;
            }
            if state.begun < state.outcomes.next() + self.window {
                break;
            }
            state = self.state.wait_briefly(state);
        }
        let number = state.begun;
        state.begun += 1;
        drop(state);
        match caught(|| source.next().transpose()) {
            Ok(Some(item)) => Some((number, item)),
            Ok(None) => {
                self.state.lock().end_at(number);
                self.state.notify_all();
                None
            }
            Err(error) => {
                self.finish(number, Err(error));
                None
            }
        }
    }

    fn finish(&self, number: u64, outcome: Result<T, E>) {
        let mut state = self.state.lock();
        if state.is_stopped || state.end.is_some_and(|end| end <= number) {
            // Dropping an outcome may take long: it is dropped after the lock.
            drop(state);
            return;
        }
        if outcome.is_err() {
            state.end_at(number + 1);
        }
        state.outcomes.insert(number, outcome);
        drop(state);
        self.state.notify_all();
    }

    /// Waits for the next outcome, or makes it.
    pub(crate) fn take(&self, is_inline: bool) -> Result<Option<T>, E> {
        self.cancel.check()?;
        if is_inline {
            return self.make();
        }
        let mut state = self.state.lock();
        loop {
            // Outcomes after an error are not taken, although they may have come before it.
            if state.end.is_some_and(|end| end <= state.outcomes.next()) {
                return Ok(None);
            }
            if let Some(outcome) = state.outcomes.pop() {
                drop(state);
                self.state.notify_all();
                return outcome.map(Some);
            }
            self.cancel.check()?;
            state = self.state.wait_briefly(state);
        }
    }

    fn make(&self) -> Result<Option<T>, E> {
        let mut state = self.state.lock();
        if state.end.is_some() {
            return Ok(None);
        }
        let number = state.begun;
        state.begun += 1;
        drop(state);
        let item = lock(&self.source).next().transpose();
        let outcome =
            item.and_then(|item| item.map(|item| (self.work)(item, ItemTurn { gate: self, number })).transpose());
        if !matches!(outcome, Ok(Some(_))) {
            self.state.lock().end_at(number);
        }
        outcome
    }
}

impl<I, T, E> TurnGate for PoolCore<'_, I, T, E> {
    fn wait_for_turn(&self, number: u64) -> Result<(), Interruption> {
        let mut state = self.state.lock();
        while state.turn != number {
            let is_unwanted = state.is_stopped || state.end.is_some_and(|end| end <= number);
            if is_unwanted || self.cancel.is_cancelled() {
                return Err(Interruption::Cancelled);
            }
            state = self.state.wait_briefly(state);
        }
        Ok(())
    }

    fn pass(&self, number: u64) {
        self.state.lock().turn = number + 1;
        self.state.notify_all();
    }
}

impl<O> PoolState<O> {
    /// Limits the number of outcomes to `count`.
    fn end_at(&mut self, count: u64) {
        self.end = Some(self.end.map_or(count, |end| end.min(count)));
    }
}

#[cfg(test)]
mod tests;
