//! Threads of a scope: they may borrow, and the system may start no further one.

use std::sync::mpsc::{RecvError, sync_channel};
use std::sync::{Mutex, MutexGuard};
use std::thread::{Builder, Result as Joined, Scope, ScopedJoinHandle};

use crate::cancel_token::{CancelToken, Interruption, caught};
use crate::ordered_pool::{PoolCore, PoolOptions};
use crate::reorder_buffer::ReorderBuffer;
use crate::watched_value::WatchedValue;
use crate::worker_threads::spawn_scoped;
use crate::{bounded_queue, lock};

/// Work of a scope that has ended already or continues.
#[derive(Debug)]
pub enum ScopedWork<'scope, T> {
    /// Runs on a separate thread.
    Thread(ScopedJoinHandle<'scope, Result<T, RecvError>>),
    /// Done by the calling thread.
    Done(T),
}

impl<T> ScopedWork<'_, T> {
    /// Waits for the work.
    ///
    /// # Errors
    /// The payload of its panic.
    pub fn join(self) -> Joined<T> {
        match self {
            Self::Thread(thread) => thread.join()?.map_err(|error| Box::new(error) as _),
            Self::Done(value) => Ok(value),
        }
    }
}

/// Starts work on a thread. Where the system starts none, the calling thread does the work before this returns: so it must wait
/// for nothing that its caller does later.
pub fn spawn_or_run<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedWork<'scope, T> {
    spawn_or_run_by(Builder::new(), scope, work)
}

fn spawn_or_run_by<'scope, T: Send + 'scope>(
    builder: Builder,
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedWork<'scope, T> {
    // A thread that does not start drops its closure, and the work would go with it: the thread is sent the work.
    let (sender, receiver) = sync_channel(1);
    let run = move || receiver.recv().map(|work: Box<dyn FnOnce() -> T + Send + 'scope>| work());
    match spawn_scoped(builder, scope, run) {
        Some(thread) => {
            let _ = sender.send(Box::new(work));
            ScopedWork::Thread(thread)
        }
        None => ScopedWork::Done(work()),
    }
}

/// Does both at the same time: `other` on a thread, where the system starts one.
///
/// # Errors
/// That of `own`, or else that of `other`; `Panicked`.
pub fn run_both<A: Send, B, E: From<Interruption> + Send>(
    other: impl FnOnce() -> Result<A, E> + Send,
    own: impl FnOnce() -> Result<B, E>,
) -> Result<(A, B), E> {
    std::thread::scope(|scope| {
        let other = spawn_or_run(scope, || caught(other));
        let own = own();
        let other = other.join().unwrap_or_else(|payload| Err(Interruption::Panicked(payload).into()));
        own.and_then(|own| Ok((other?, own)))
    })
}

/// Calls `work` for each item on up to `threads` threads, including the calling one, and returns the results in the
/// order of the items. After an error, no further item is started.
///
/// # Errors
/// That of the first item that has one; `Panicked`.
pub fn map_slice<T: Sync, R: Send, E: From<Interruption> + Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let mut threads = vec![(); threads.clamp(1, items.len().max(1))];
    map_with_states(&mut threads, items.iter(), |(), item| work(item))
}

/// As [`map_slice`], with a thread for each of these states, which it has for itself, and items that come one by one.
///
/// ```
/// use lakerace_exec::{Interruption, map_with_states};
/// let mut buffers = [Vec::new(), Vec::new()];
/// let lengths = map_with_states(&mut buffers, 1..4, |buffer: &mut Vec<u8>, length| {
///     buffer.resize(length, 0);
///     Ok::<_, Interruption>(buffer.len())
/// });
/// assert_eq!(lengths.unwrap(), [1, 2, 3]);
/// ```
///
/// # Errors
/// Those of [`map_slice`]; `Ended` without a state.
pub fn map_with_states<S: Send, I, R: Send, E: From<Interruption> + Send>(
    states: &mut [S],
    items: impl Iterator<Item = I> + Send,
    work: impl Fn(&mut S, I) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let (own, others) = states.split_first_mut().ok_or(Interruption::Ended)?;
    // Nothing is left after an error, nor after a panic of the items.
    let left = Mutex::new(Some((0..).zip(items)));
    let take = || {
        let mut left = lock(&left);
        let mut items = left.take()?;
        let next = items.next();
        *left = Some(items);
        next
    };
    let run = |state: &mut S| {
        let mut done: Vec<(usize, Result<R, E>)> = Vec::new();
        loop {
            let next = caught(|| Ok(take()));
            let (number, result) = match next {
                Ok(None) => return done,
                Ok(Some((number, item))) => (number, caught(|| work(state, item))),
                Err(error) => (usize::MAX, Err(error)),
            };
            if result.is_err() {
                *lock(&left) = None;
            }
            done.push((number, result));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let start = |state| spawn_scoped(Builder::new(), scope, || run(state));
        let threads: Vec<_> = others.iter_mut().map_while(start).collect();
        let mut done = run(own);
        threads.into_iter().try_for_each(|thread| thread.join().map(|others| done.extend(others)))?;
        Ok(done)
    })
    .map_err(Interruption::Panicked)?;
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` for each item on the threads of a pool, and `consume` with its outcome on the calling thread, in the
/// order of the items.
///
/// # Errors
/// The first of the source, the work and `consume`; `Cancelled`.
pub fn consume_ordered<I: Send, T: Send, E: From<Interruption> + Send>(
    options: PoolOptions,
    cancel: &impl AsRef<CancelToken>,
    source: impl Iterator<Item = Result<I, E>> + Send,
    work: impl Fn(I) -> Result<T, E> + Send + Sync,
    mut consume: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let core = PoolCore::new(Box::new(source), Box::new(move |item, _| work(item)), options.window, cancel.as_ref());
    std::thread::scope(|scope| {
        let count = if options.threads > 1 { options.threads } else { 0 };
        let name = |number| Builder::new().name(format!("{}-{number}", options.thread_name));
        let core = &core;
        let start = |number| spawn_scoped(name(number), scope, || core.work());
        let threads = (0..count).map_while(start).count();
        // The scope waits for the threads, so they must end after a panic of the consumer, too.
        let _stop = StopGuard(core);
        while let Some(outcome) = core.take(threads == 0)? {
            consume(outcome)?;
        }
        Ok(())
    })
}

struct StopGuard<'a, 'env, I, T, E>(&'a PoolCore<'env, I, T, E>);

impl<I, T, E> Drop for StopGuard<'_, '_, I, T, E> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Calls `work` for each item on `threads` threads, which get their number, and `take` with each outcome: one at a
/// time, in the order of the items, on one of the threads. The calling thread makes up to `ahead` of the next items in
/// the meantime. After an error, no more items are made.
///
/// # Errors
/// That of the first item that has one; `Panicked`.
pub fn map_ordered<I: Send, T: Send, E: From<Interruption> + Clone + Send>(
    items: impl Iterator<Item = Result<I, E>>,
    (ahead, threads): (usize, usize),
    work: impl Fn(usize, I) -> Result<T, E> + Sync,
    take: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let threads = threads.max(1);
    let taking = TakenWork { results: ReorderBuffer::new(), take, outcome: Ok(()) };
    let taker = OrderedTaker { taking: WatchedValue::new(taking), most: threads };
    // Whoever waits for an item hears of an error by the end of the queue.
    let (sender, receiver) = bounded_queue(ahead as u64, &CancelToken::default());
    std::thread::scope(|scope| {
        let run = |thread| {
            let (taker, receiver, work) = (&taker, &receiver, &work);
            move || {
                while let Ok(Some((number, item))) = receiver.receive() {
                    taker.push(number, || work(thread, item));
                }
            }
        };
        // If the system can't start a thread, the calling one does the work.
        let start = |thread| spawn_scoped(Builder::new(), scope, run(thread));
        let workers: Vec<_> = (0..threads).map_while(start).collect();
        let mut made_all = Ok(());
        for (number, item) in (0..).zip(items) {
            // After an error, the sent items are dropped.
            let goes_on = item.map(|item| {
                if workers.is_empty() {
                    taker.push(number, || work(0, item));
                    return !taker.has_failed();
                }
                !taker.has_failed() && sender.send((number, item), 1).is_ok()
            });
            if !matches!(goes_on, Ok(true)) {
                made_all = goes_on.map(|_| ());
                break;
            }
        }
        drop(sender);
        workers.into_iter().try_for_each(ScopedJoinHandle::join).map_err(Interruption::Panicked)?;
        taker.lock().outcome.clone().and(made_all)
    })
}

/// Results on their way to a call that takes them in order.
struct OrderedTaker<T, E, F> {
    taking: WatchedValue<TakenWork<T, E, F>>,
    /// Results that may wait for an earlier one.
    most: usize,
}

struct TakenWork<T, E, F> {
    results: ReorderBuffer<Result<T, E>>,
    take: F,
    outcome: Result<(), E>,
}

impl<T, E: From<Interruption>, F: FnMut(T) -> Result<(), E>> OrderedTaker<T, E, F> {
    fn lock(&self) -> MutexGuard<'_, TakenWork<T, E, F>> {
        self.taking.lock()
    }

    fn has_failed(&self) -> bool {
        self.lock().outcome.is_err()
    }

    /// Makes a result, and has all taken whose turn has come. Waits where many others wait for an earlier one.
    fn push(&self, number: u64, make: impl FnOnce() -> Result<T, E>) {
        if self.has_failed() {
            return;
        }
        let result = caught(make);
        let mut taking = self.lock();
        taking.results.insert(number, result);
        loop {
            let TakenWork { results, take, outcome } = &mut *taking;
            let before = results.next();
            while outcome.is_ok()
                && let Some(result) = results.pop()
            {
                *outcome = result.and_then(|result| caught(|| take(result)));
            }
            if results.next() > before || outcome.is_err() {
                self.taking.notify_all();
            }
            if outcome.is_err() || results.len() < self.most {
                return;
            }
            taking = self.taking.wait(taking);
        }
    }
}

#[cfg(test)]
mod tests;
