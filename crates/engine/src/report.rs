//! The cost of a job, as `--json` prints it.

use lakerace_io::{Job, Prices, Requests};
use serde::Serialize;

/// Measures a job from its creation on: wall clock, CPU time of the process, peak memory.
#[derive(Debug)]
pub struct Clock {
    wall: std::time::Instant,
    cpu_seconds: f64,
}

/// The cost of a job. Field names are part of the command's contract.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Rows that the job moved or counted.
    pub rows: u64,
    /// Rows that did not fit their columns, and were left out or given nulls as `on_bad_row` says.
    pub bad_rows: u64,
    /// Bytes received from stores.
    pub bytes_read: u64,
    /// Bytes sent to stores.
    pub bytes_written: u64,
    /// The bytes among them that went past the kernel's page cache.
    pub bytes_past_cache: u64,
    /// Requests by kind.
    pub requests: Requests,
    /// From start to end.
    pub wall_seconds: f64,
    /// User and system time of this process.
    pub cpu_seconds: f64,
    /// The most memory that this process had resident.
    pub peak_rss_bytes: u64,
    /// The cost of the requests.
    pub cost_usd: f64,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Self { wall: std::time::Instant::now(), cpu_seconds: cpu_seconds() }
    }

    /// The report of `job` up to now. Requests to local stores cost nothing.
    pub fn report(&self, rows: u64, job: &Job, prices: &Prices) -> Report {
        let counts = job.meter().counts();
        Report {
            rows,
            bad_rows: counts.bad_rows,
            bytes_read: counts.bytes_read,
            bytes_written: counts.bytes_written,
            bytes_past_cache: job.bytes_past_cache(),
            requests: counts.requests,
            wall_seconds: self.wall.elapsed().as_secs_f64(),
            cpu_seconds: (cpu_seconds() - self.cpu_seconds).max(0.0),
            peak_rss_bytes: peak_rss_bytes(),
            cost_usd: counts.cost_usd(prices),
        }
    }
}

/// User and system time of this process so far.
fn cpu_seconds() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the struct that it is given, and zeroes are valid for it in any case.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The most memory that this process had resident. The kernel's high-water mark of this very program: `ru_maxrss`
/// would be inherited from the program that started it.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|text| text.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests;
