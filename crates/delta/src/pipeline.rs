//! The same for many things at once.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, MutexGuard};

use lakerace_io::threads::spawn_or_run;
use lakerace_io::wait::{WatchedValue, into_value, lock};
use lakerace_io::{Error, Result};

/// Calls `work` for each item on up to `threads` threads; gives the results in the order of the items. After an error no
/// further item is begun.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<R>)>> = Mutex::default();
    let run = || {
        while let Some((number, item)) = take(&next, items) {
            let result = work(item);
            if result.is_err() {
                next.fetch_max(items.len(), Ordering::Relaxed);
            }
            lock(&done).push((number, result));
        }
    };
    let joined: std::thread::Result<()> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, items.len().max(1))).map(|_| spawn_or_run(scope, run)).collect();
        workers.into_iter().try_for_each(|worker| worker.join())
    });
    joined.map_err(|_| panicked())?;
    let mut done = into_value(done);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` for each of these on `threads` threads, which know their number, and `take` for what comes of it: for one at a
/// time, in the order of the items. The calling thread makes up to `ahead` of the next items meanwhile. After an error nothing
/// more is made; it is that of the first item that has one.
pub(crate) fn ordered_map<T: Send, R: Send>(
    items: impl Iterator<Item = Result<T>>,
    (ahead, threads): (usize, usize),
    work: impl Fn(usize, T) -> Result<R> + Sync,
    take: impl FnMut(R) -> Result<()> + Send,
) -> Result<()> {
    let threads = threads.max(1);
    let queue = Queue { taking: WatchedValue::new(Taking::new(take)), most: threads };
    let (sender, made) = sync_channel(ahead);
    let made = Mutex::new(made);
    std::thread::scope(|scope| {
        let run = |thread| {
            let (queue, made, work) = (&queue, &made, &work);
            move || {
                while let Some((number, item)) = next(made) {
                    queue.push(number, || work(thread, item));
                }
            }
        };
        // Where the system starts no thread, the calling one does the work.
        let start = |thread| std::thread::Builder::new().spawn_scoped(scope, run(thread)).ok();
        let workers: Vec<_> = (0..threads).map_while(start).collect();
        let mut made_all = Ok(());
        for (number, item) in items.enumerate() {
            // Behind an error, what was sent is thrown away.
            let goes_on = item.map(|item| {
                if workers.is_empty() {
                    queue.push(number, || work(0, item));
                    return !queue.has_failed();
                }
                !queue.has_failed() && sender.send((number, item)).is_ok()
            });
            if !matches!(goes_on, Ok(true)) {
                made_all = goes_on.map(|_| ());
                break;
            }
        }
        drop(sender);
        let joined: std::thread::Result<()> = workers.into_iter().try_for_each(|worker| worker.join());
        joined.map_err(|_| panicked())?;
        queue.lock().outcome.clone().and(made_all)
    })
}

/// Others wait for what comes of it, be it a panic.
fn caught<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> Error {
    Error::internal("a worker thread panicked")
}

fn next<T>(made: &Mutex<Receiver<T>>) -> Option<T> {
    lock(made).recv().ok()
}

/// Results on their way to who takes them in order.
struct Queue<R, F> {
    taking: WatchedValue<Taking<R, F>>,
    /// How many results may wait for an earlier one.
    most: usize,
}

struct Taking<R, F> {
    /// By the number of the item.
    waiting: BTreeMap<usize, Result<R>>,
    /// The number of the next one to be taken.
    next: usize,
    take: F,
    outcome: Result<()>,
}

impl<R, F: FnMut(R) -> Result<()>> Taking<R, F> {
    fn new(take: F) -> Self {
        Self { waiting: BTreeMap::new(), next: 0, take, outcome: Ok(()) }
    }
}

impl<R, F: FnMut(R) -> Result<()>> Queue<R, F> {
    fn lock(&self) -> MutexGuard<'_, Taking<R, F>> {
        self.taking.lock()
    }

    fn has_failed(&self) -> bool {
        self.lock().outcome.is_err()
    }

    /// Makes a result, and has all taken whose turn has come. Waits where many others wait for an earlier one.
    fn push(&self, number: usize, make: impl FnOnce() -> Result<R>) {
        if self.has_failed() {
            return;
        }
        let result = caught(make);
        let mut taking = self.lock();
        taking.waiting.insert(number, result);
        loop {
            let Taking { waiting, next, take, outcome } = &mut *taking;
            let before = *next;
            while let Some(result) = waiting.remove(next).filter(|_| outcome.is_ok()) {
                *next += 1;
                *outcome = result.and_then(|result| caught(|| take(result)));
            }
            if *next > before || outcome.is_err() {
                self.taking.notify_all();
            }
            if outcome.is_err() || waiting.len() < self.most {
                return;
            }
            taking = self.taking.wait(taking);
        }
    }
}

fn take<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    items.get(number).map(|item| (number, item))
}

#[cfg(test)]
mod tests;
