//! How batches are made.

use arrow::datatypes::TimeUnit;

/// How batches are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// The unit of timestamps. In nanoseconds they reach from 1677 to 2262 only.
    pub timestamp_unit: TimeUnit,
    /// True if a timestamp with digits below the unit is an error; else it is rounded down.
    pub exact_timestamps: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { batch_rows: 8192, timestamp_unit: TimeUnit::Nanosecond, exact_timestamps: false }
    }
}
