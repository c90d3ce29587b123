//! The decision whether large files are written into the page cache or past it, by the cost of both for this job.
//!
//! A byte into the cache costs a copy and its share of a page: a fraction of a nanosecond, and a process that reads the
//! file soon finds it in memory. If a hypervisor has taken idle memory back, though, each new page waits until the host
//! has found one: two nanoseconds and more for each byte, longer than encoding it takes, on a processor that the
//! encoders need. Past the cache a byte costs a copy, and the disk writes while others compute. So large files start in
//! the cache, leave it when that has become expensive, and return when the encoding thread has waited for the disk
//! longer than the cache would have taken. The saved time is paid once at most: by the first process that reads all of
//! the file.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lakerace_exec::lock;

/// Processor time of a byte into the cache from which it is expensive: twice the time when memory is available.
const DEAR_NS_PER_BYTE: f64 = 0.8;

/// Bytes over which a cost is taken: one slow write says nothing.
const WINDOW_BYTES: u64 = 8 << 20;

/// The limit of the time waited for the disk beyond the saved time.
const PATIENCE: Duration = Duration::from_millis(100);

/// The way of the next bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CacheWay {
    #[default]
    Cached,
    Direct,
}

/// A job's observations of both ways.
#[derive(Debug, Default)]
pub(crate) struct PageCache(Mutex<CacheObservations>);

#[derive(Debug, Default)]
struct CacheObservations {
    way: CacheWay,
    /// No file is written past the cache any more.
    is_settled: bool,
    /// The bytes that went into the cache since its cost was last taken.
    window_bytes: u64,
    window_time: Duration,
    cached_ns_per_byte: f64,
    /// The time that the cache would have taken for the bytes past it, and the time waited for these.
    saved: Duration,
    waited: Duration,
    bytes_past: u64,
}

impl PageCache {
    /// The way of the next bytes.
    pub(crate) fn way(&self) -> CacheWay {
        self.lock().way
    }

    /// Bytes that went past the cache so far.
    pub(crate) fn bytes_past(&self) -> u64 {
        self.lock().bytes_past
    }

    /// So many bytes went into the cache in so much time of a processor.
    pub(crate) fn note_cached(&self, bytes: u64, processor: Duration) {
        let mut seen = self.lock();
        if seen.way == CacheWay::Direct || seen.is_settled {
            return;
        }
        seen.window_bytes += bytes;
        seen.window_time += processor;
        if seen.window_bytes < WINDOW_BYTES {
            return;
        }
        seen.cached_ns_per_byte = seen.window_time.as_nanos() as f64 / seen.window_bytes as f64;
        (seen.window_bytes, seen.window_time) = (0, Duration::ZERO);
        if seen.cached_ns_per_byte > DEAR_NS_PER_BYTE {
            seen.way = CacheWay::Direct;
        }
    }

    /// So many bytes went past the cache.
    pub(crate) fn note_direct(&self, bytes: u64) {
        let mut seen = self.lock();
        seen.bytes_past += bytes;
        let saved = bytes as f64 * seen.cached_ns_per_byte;
        seen.saved += Duration::from_nanos(saved as u64);
    }

    /// Notes the time that the encoding thread waited until enough of its bytes were written.
    pub(crate) fn note_waited(&self, time: Duration) {
        let mut seen = self.lock();
        if seen.way == CacheWay::Cached {
            return;
        }
        seen.waited += time;
        if seen.waited > seen.saved + PATIENCE {
            seen.settle();
        }
    }

    /// Notes that the file system does not support writes past the cache.
    pub(crate) fn refuse(&self) {
        self.lock().settle();
    }

    fn lock(&self) -> MutexGuard<'_, CacheObservations> {
        lock(&self.0)
    }
}

impl CacheObservations {
    fn settle(&mut self) {
        (self.way, self.is_settled) = (CacheWay::Cached, true);
    }
}

#[cfg(test)]
mod tests;
