//! A bound on bytes per second.

use std::time::Duration;

use tokio::time::Instant;

/// A sleep that took too long is made good up to this much, so that a busy machine does not lower the rate.
const CATCH_UP: Duration = Duration::from_millis(50);

/// Shorter sleeps are accumulated: timers are no finer.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// Lets bytes pass at a rate. Idle time between bodies is not saved up.
#[derive(Debug)]
pub(crate) struct BytePace {
    bytes_per_second: Option<f64>,
    /// The time when all bytes so far should have passed.
    due: Instant,
}

impl BytePace {
    pub(crate) fn new(bytes_per_second: Option<f64>) -> Self {
        Self { bytes_per_second: bytes_per_second.filter(|rate| *rate > 0.0), due: Instant::now() }
    }

    /// Starts a new body.
    pub(crate) fn begin(&mut self) {
        self.due = self.due.max(Instant::now());
    }

    #[cfg(any(feature = "proxy", test))]
    /// The bytes to pass together: 5 ms worth, so that the rate is even.
    pub(crate) fn step(&self, most: usize) -> usize {
        match self.bytes_per_second {
            None => most,
            Some(rate) => ((rate * 0.005) as usize).clamp(4096.min(most), most),
        }
    }

    /// Waits after `n` bytes until they should have passed.
    pub(crate) async fn passed(&mut self, n: usize) {
        if let Some(due) = self.reserve(n) {
            tokio::time::sleep_until(due).await;
        }
    }

    /// The time when `n` more bytes should have passed; `None` if that is now.
    pub(crate) fn reserve(&mut self, n: usize) -> Option<Instant> {
        let rate = self.bytes_per_second?;
        let now = Instant::now();
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        self.due = self.due.max(earliest) + Duration::from_secs_f64(n as f64 / rate);
        (self.due.saturating_duration_since(now) >= SHORTEST_SLEEP).then_some(self.due)
    }
}

#[cfg(test)]
mod tests;
