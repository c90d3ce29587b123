//! The time of a run.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time that all `now()` of a run have: those of its filter, its columns and its order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunTime {
    micros: u64,
}

impl RunTime {
    /// The time of this machine.
    pub fn now() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { micros: u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX) }
    }

    /// In nanoseconds since 1970, with the digits of microseconds.
    pub fn nanoseconds(self) -> i128 {
        i128::from(self.micros) * 1000
    }
}
