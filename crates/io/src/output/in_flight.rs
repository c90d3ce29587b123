//! Bytes that are on their way to a store.

use std::sync::Arc;

use lakerace_exec::{SemaphorePermit, WeightedSemaphore};

use crate::error::Result;
use crate::job::Job;

/// Bounds the parts that are on their way to a store, of one [`Output`](crate::Output) or of several together: clones count as one.
///
/// ```
/// use lakerace_io::InFlight;
/// let of_all_files = InFlight::new(32 << 20);
/// assert_eq!(of_all_files.bytes(), 0);
/// ```
#[derive(Debug, Clone)]
pub struct InFlight {
    most_bytes: usize,
    bytes: Arc<WeightedSemaphore>,
}

/// Room of one part, until it is dropped.
pub(super) type PartPermit = SemaphorePermit<Arc<WeightedSemaphore>>;

impl InFlight {
    /// So many bytes at most; two parts may always be on their way.
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, bytes: Arc::new(WeightedSemaphore::new(most_bytes as u64)) }
    }

    /// Bytes that are on their way now.
    pub fn bytes(&self) -> usize {
        self.bytes.used() as usize
    }

    /// Waits until there is room for a part of this many bytes.
    ///
    /// # Errors
    /// Those of `check`, which is called in the meantime; `Cancelled`.
    pub(super) fn permit(&self, bytes: usize, job: &Job, check: impl Fn() -> Result<()>) -> Result<PartPermit> {
        let most = (self.most_bytes.max(2 * bytes) - bytes) as u64;
        let has_room = |used| check().map(|()| used <= most);
        SemaphorePermit::acquire_when(Arc::clone(&self.bytes), bytes as u64, job, has_room)
    }
}

#[cfg(test)]
mod tests;
