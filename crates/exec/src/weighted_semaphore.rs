//! A semaphore whose holders weigh different amounts: bytes, files, threads.

use std::ops::Deref;

use crate::cancel_token::{CancelToken, Interruption};
use crate::watched_value::WatchedValue;

/// A counting semaphore whose holders weigh at most a limit together, in bytes or another unit of the caller.
#[derive(Debug)]
pub struct WeightedSemaphore {
    limit: u64,
    used: WatchedValue<u64>,
}

/// A permit for some weight of a [`WeightedSemaphore`], released on drop.
#[derive(Debug)]
pub struct SemaphorePermit<S: Deref<Target = WeightedSemaphore> = &'static WeightedSemaphore> {
    semaphore: S,
    weight: u64,
}

impl WeightedSemaphore {
    /// A semaphore that nothing is taken of yet.
    pub fn new(limit: u64) -> Self {
        Self { limit, used: WatchedValue::new(0) }
    }

    /// The weight of all holders.
    pub fn used(&self) -> u64 {
        *self.used.lock()
    }
}

impl<S: Deref<Target = WeightedSemaphore>> SemaphorePermit<S> {
    /// Takes a permit for `weight`; `None` if the holders would weigh more than the limit together.
    pub fn try_acquire(semaphore: S, weight: u64) -> Option<Self> {
        let limit = semaphore.limit;
        Self::try_acquire_within(semaphore, weight, limit)
    }

    /// As [`Self::try_acquire`], where this call has another limit.
    pub fn try_acquire_within(semaphore: S, weight: u64, limit: u64) -> Option<Self> {
        let mut used = semaphore.used.lock();
        let total = used.checked_add(weight).filter(|total| *total <= limit)?;
        *used = total;
        drop(used);
        Some(Self { semaphore, weight })
    }

    /// Waits until there is room for `weight`. A single holder may weigh more than the limit.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn acquire<E: From<Interruption>>(
        semaphore: S,
        weight: u64,
        cancel: &impl AsRef<CancelToken>,
    ) -> Result<Self, E> {
        let limit = semaphore.limit;
        let has_room = |used: u64| used == 0 || used.saturating_add(weight) <= limit;
        Self::acquire_when(semaphore, weight, cancel, |used| Ok(has_room(used)))
    }

    /// Waits until `has_room` returns true for the weight that is taken.
    ///
    /// # Errors
    /// Those of `has_room`; `Cancelled`.
    pub fn acquire_when<E: From<Interruption>>(
        semaphore: S,
        weight: u64,
        cancel: &impl AsRef<CancelToken>,
        has_room: impl Fn(u64) -> Result<bool, E>,
    ) -> Result<Self, E> {
        *semaphore.used.wait_until(cancel, |used| has_room(*used))? += weight;
        Ok(Self { semaphore, weight })
    }

    /// Releases the weight above `weight`.
    pub fn shrink_to(&mut self, weight: u64) {
        let kept = weight.min(self.weight);
        *self.semaphore.used.lock() -= std::mem::replace(&mut self.weight, kept) - kept;
        self.semaphore.used.notify_all();
    }
}

impl<S: Deref<Target = WeightedSemaphore>> Drop for SemaphorePermit<S> {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests;
