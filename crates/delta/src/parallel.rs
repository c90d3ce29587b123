//! The same for many things at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

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
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    let joined: std::thread::Result<()> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, items.len().max(1))).map(|_| scope.spawn(run)).collect();
        workers.into_iter().try_for_each(|worker| worker.join())
    });
    joined.map_err(|_| Error::internal("a worker thread panicked"))?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` for each of these in their order, on a thread of its own, while the calling one makes up to `ahead` of the next.
/// After an error nothing more is made.
pub(crate) fn behind<T: Send>(
    items: impl Iterator<Item = Result<T>>,
    ahead: usize,
    mut work: impl FnMut(T) -> Result<()> + Send,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (sender, made) = sync_channel(ahead);
        let worker = scope.spawn(move || made.into_iter().try_for_each(&mut work));
        let mut made_all = Ok(());
        for item in items {
            // Nobody takes an item behind an error.
            let goes_on = item.map(|item| sender.send(item).is_ok());
            if !matches!(goes_on, Ok(true)) {
                made_all = goes_on.map(|_| ());
                break;
            }
        }
        drop(sender);
        worker.join().map_err(|_| Error::internal("a worker thread panicked"))?.and(made_all)
    })
}

fn take<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    items.get(number).map(|item| (number, item))
}

#[cfg(test)]
#[path = "parallel_tests.rs"]
mod tests;
