//! Latencies and bandwidths observed on a store, and the typical values to start from.

use crate::PathProfile;

/// What was observed on one store so far.
#[derive(Debug)]
pub struct Observations {
    start: PathProfile,
}

impl Observations {
    /// Starts from typical values.
    pub fn new(start: PathProfile) -> Self {
        Self { start }
    }

    /// The path as observed so far.
    pub fn profile(&self) -> PathProfile {
        self.start
    }
}
