//! Work on items that the caller hands in, on several threads, its outcomes in the order of the items.

use crate::bounded_queue;
use crate::bounded_queue::QueueSender;
use crate::cancel_token::{CancelToken, Interruption};
use crate::ordered_pool::{OrderedPool, PoolOptions};

/// An [`OrderedPool`] whose items are handed in one by one.
pub struct OrderedPipe<I, T, E> {
    items: QueueSender<I>,
    pool: OrderedPool<I, T, E>,
    under_way: usize,
    window: usize,
}

impl<I: Send + 'static, T: Send + 'static, E: From<Interruption> + Send + 'static> OrderedPipe<I, T, E> {
    /// Starts the threads, or as many as the system starts. Without any, [`Self::push`] does the work.
    pub fn start(
        options: PoolOptions,
        cancel: &impl AsRef<CancelToken>,
        work: impl Fn(I) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let (items, receiver) = bounded_queue(options.window as u64, cancel);
        let source = std::iter::from_fn(move || receiver.receive().map_err(E::from).transpose());
        let pool = OrderedPool::start(options, cancel, source, work);
        let window = if pool.is_inline() { 1 } else { options.window };
        Self { items, pool, under_way: 0, window }
    }

    /// Hands in an item. Waits for the outcome of an earlier one where enough are under way, and gives it.
    ///
    /// # Errors
    /// Those of the work on an earlier item; `Cancelled`.
    pub fn push(&mut self, item: I) -> Result<Option<T>, E> {
        self.items.send(item, 1)?;
        self.under_way += 1;
        if self.under_way < self.window { Ok(None) } else { self.take() }
    }

    /// Waits for the outcome of the earliest item that is under way; `None` without one.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn take(&mut self) -> Result<Option<T>, E> {
        if self.under_way == 0 {
            return Ok(None);
        }
        self.under_way -= 1;
        // After an error, nothing more comes.
        self.pool.take()?.ok_or_else(|| Interruption::Ended.into()).map(Some)
    }
}

#[cfg(test)]
mod tests;
