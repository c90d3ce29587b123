//! Bytes that are on their way to a store.

use std::sync::Arc;

use crate::wait::Watched;
use crate::{Job, Result};

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
    bytes: Arc<Watched<usize>>,
}

/// Room of one part, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    in_flight: InFlight,
    bytes: usize,
}

impl InFlight {
    /// So many bytes at most; two parts may always be on their way.
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, bytes: Arc::default() }
    }

    /// Bytes that are on their way now.
    pub fn bytes(&self) -> usize {
        *self.bytes.lock()
    }

    /// Waits until there is room for a part of so many bytes.
    ///
    /// # Errors
    /// Those of `check`, which is asked meanwhile; `Cancelled`.
    pub(super) fn permit(&self, bytes: usize, job: &Job, check: impl Fn() -> Result<()>) -> Result<Permit> {
        let most = self.most_bytes.max(2 * bytes) - bytes;
        let mut all = self.bytes.wait_until(job, |all| check().map(|()| *all <= most))?;
        *all += bytes;
        drop(all);
        Ok(Permit { in_flight: self.clone(), bytes })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.in_flight.bytes.lock() -= self.bytes;
        self.in_flight.bytes.notify_all();
    }
}

#[cfg(test)]
mod tests;
