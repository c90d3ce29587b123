//! What a job cost, as `--json` prints it.

use lakerace_io::{Counts, Job, Prices, Requests};
use serde::Serialize;

/// Measures a job from its creation on: wall clock, CPU time of the process, peak memory.
#[derive(Debug)]
pub struct Clock {
    wall: std::time::Instant,
    cpu_seconds: f64,
}

/// What a job cost. Field names are part of the command's contract.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Rows that the job moved or counted.
    pub rows: u64,
    /// Bytes received from stores.
    pub bytes_read: u64,
    /// Bytes sent to stores.
    pub bytes_written: u64,
    /// Requests by kind.
    pub requests: Requests,
    /// From start to end.
    pub wall_seconds: f64,
    /// User and system time of this process.
    pub cpu_seconds: f64,
    /// The most memory that this process had resident.
    pub peak_rss_bytes: u64,
    /// What the requests cost.
    pub cost_usd: f64,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        unimplemented!()
    }

    /// The report of `job` up to now. Requests to local stores cost nothing.
    pub fn report(&self, _rows: u64, _job: &Job, _prices: &Prices) -> Report {
        let _ = (Counts::default(), self.wall, self.cpu_seconds);
        unimplemented!()
    }
}
