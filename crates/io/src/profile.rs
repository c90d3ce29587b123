//! Latencies and bandwidths observed on a store, and the typical values to start from.

use std::sync::Mutex;
use std::time::Instant;

use lakerace_exec::lock;

use crate::plan::PathProfile;

/// Answers up to this size measure the latency: the time for their bytes is negligible.
const SMALL_BODY_BYTES: u64 = 256 << 10;

/// Bodies from this size on measure a connection's bandwidth.
const LARGE_BODY_BYTES: u64 = 1 << 20;

/// The most bytes a second that a thread decodes.
const DECODED_BYTES_PER_SECOND: f64 = 500e6;

/// The minimum weight of a new observation: approximately the last ten count.
const WEIGHT: f64 = 0.1;

/// The price of a core of a rented machine, in US dollars an hour: approximately that of the cheaper general-purpose
/// machines of the large clouds.
const CORE_HOUR_USD: f64 = 0.04;

/// The observations of a store so far. Shared by all jobs of the process that use the store.
///
/// The numbers are means: at first of the typical value and all observations, later of approximately the last ten. They
/// are only used for predictions that choose between plans, so they need not be exact.
#[derive(Debug)]
pub struct Observations {
    current: Mutex<CurrentProfile>,
    /// Seconds by which this machine's clock is ahead of the server's.
    clock_skew_seconds: Mutex<Option<i64>>,
}

#[derive(Debug)]
struct CurrentProfile {
    profile: PathProfile,
    latencies: u32,
    bandwidths: u32,
}

impl Observations {
    /// Starts from typical values.
    pub fn new(start: PathProfile) -> Self {
        let current = Mutex::new(CurrentProfile { profile: start, latencies: 0, bandwidths: 0 });
        Self { current, clock_skew_seconds: Mutex::default() }
    }

    /// A local solid-state disk, mostly read from the page cache. The request size fits into a core's own cache: longer
    /// requests are decoded from memory, where a copy from the page cache takes twice as long as well.
    pub fn local_disk() -> PathProfile {
        PathProfile {
            latency_ms: 0.05,
            connection_bytes_per_second: 3e9,
            total_bytes_per_second: 6e9,
            reader_bytes_per_second: 6e9,
            requests_in_flight: 4,
            request_bytes: 1 << 20,
            get_usd: 0.0,
            second_usd: threads() * CORE_HOUR_USD / 3600.0,
        }
    }

    /// Amazon S3 from a machine in its region: 30 ms to the first byte, 80 MB/s per connection, and in total a network
    /// interface of 10 Gbit/s; the reader has all of this machine's cores.
    pub fn s3() -> PathProfile {
        PathProfile {
            latency_ms: 30.0,
            connection_bytes_per_second: 80e6,
            total_bytes_per_second: 1.2e9,
            reader_bytes_per_second: DECODED_BYTES_PER_SECOND * threads(),
            requests_in_flight: 24,
            request_bytes: 8 << 20,
            get_usd: crate::meter::Prices::default().get_usd_per_1000 / 1000.0,
            second_usd: threads() * CORE_HOUR_USD / 3600.0,
        }
    }

    /// A web server: like [`Self::s3`], but requests cost nothing.
    pub fn web_server() -> PathProfile {
        PathProfile { get_usd: 0.0, ..Self::s3() }
    }

    /// The path as observed so far.
    pub fn profile(&self) -> PathProfile {
        self.lock().profile
    }

    /// Seconds by which this machine's clock is ahead of the server's, to the second; `None` before the first answer.
    pub fn clock_skew_seconds(&self) -> Option<i64> {
        *lock(&self.clock_skew_seconds)
    }

    /// Takes in the time of an answer by the server's clock: seconds since 1970.
    pub(crate) fn observe_clock(&self, server_seconds: i64) {
        *lock(&self.clock_skew_seconds) = Some(chrono::Utc::now().timestamp() - server_seconds);
    }

    /// Takes in one answered request: the time to its first byte and its body's time and size.
    pub fn observe(&self, first_byte_seconds: f64, body_seconds: f64, body_bytes: u64) {
        if !(first_byte_seconds.is_finite() && body_seconds.is_finite()) {
            return;
        }
        let mut current = self.lock();
        let CurrentProfile { profile, latencies, bandwidths } = &mut *current;
        if body_bytes <= SMALL_BODY_BYTES {
            profile.latency_ms =
                mean(profile.latency_ms, first_byte_seconds * 1000.0, latencies).clamp(0.001, 60_000.0);
        }
        if body_bytes >= LARGE_BODY_BYTES && body_seconds > 0.0 {
            let seen = body_bytes as f64 / body_seconds;
            let bandwidth = mean(profile.connection_bytes_per_second, seen, bandwidths).clamp(1e3, 1e11);
            profile.connection_bytes_per_second = bandwidth;
            // One connection can't be faster than all together.
            profile.total_bytes_per_second = profile.total_bytes_per_second.max(bandwidth);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CurrentProfile> {
        lock(&self.current)
    }
}

/// The mean after one more observation. The typical value at the start counts as one observation, so the first one,
/// which may be all that a short job has for planning, already counts for half.
fn mean(old: f64, new: f64, observations: &mut u32) -> f64 {
    *observations = observations.saturating_add(1);
    let weight = (1.0 / (1.0 + f64::from(*observations))).max(WEIGHT);
    old + weight * (new - old)
}

fn threads() -> f64 {
    std::thread::available_parallelism().map_or(1, usize::from) as f64
}

/// Times one request for [`Observations`].
#[derive(Debug)]
pub(crate) struct RequestStopwatch {
    start: Instant,
    first_byte: Option<Instant>,
}

impl RequestStopwatch {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), first_byte: None }
    }

    pub(crate) fn first_byte(&mut self) {
        self.first_byte = Some(Instant::now());
    }

    pub(crate) fn done(self, observations: &Observations, body_bytes: u64) {
        if let Some(first_byte) = self.first_byte {
            let latency = first_byte.duration_since(self.start).as_secs_f64();
            observations.observe(latency, first_byte.elapsed().as_secs_f64(), body_bytes);
        }
    }
}

#[cfg(test)]
mod tests;
