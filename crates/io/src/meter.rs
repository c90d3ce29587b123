//! The cost of a job: requests by kind, bytes and dollars.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The target of the events of requests: each request that is counted is one.
pub(crate) const REQUESTS: &str = "lakerace_io::requests";

/// Counters of one job, added to by the metered stores it uses.
///
/// Counted: every request to a store, and every attempt of a retried one. Not counted: requests of other processes,
/// name look-ups, connection set-up.
#[derive(Debug, Default)]
pub struct Meter {
    get: AtomicU64,
    put: AtomicU64,
    list: AtomicU64,
    head: AtomicU64,
    delete: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    rows_read: AtomicU64,
    rows_written: AtomicU64,
    bad_rows: AtomicU64,
    billed_reads: AtomicU64,
    billed_writes: AtomicU64,
    /// The counts when all of the plan is done; 0 if unknown.
    planned_bytes: AtomicU64,
    planned_rows_read: AtomicU64,
    planned_rows_written: AtomicU64,
    /// True if the job writes the rows that it reads.
    is_copy: AtomicBool,
}

/// The kind of a request, as object stores bill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Reads an object or a range of one. A local `pread` counts as one as well.
    Get,
    /// Writes an object or a part of one, or starts or completes a multipart upload. A copy counts here.
    Put,
    /// Lists a folder: one per page of answers.
    List,
    /// Asks for an object's size and tag.
    Head,
    /// Removes an object or aborts an upload.
    Delete,
}

impl RequestKind {
    /// Its name: the usual method of HTTP, and `LIST`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::List => "LIST",
            Self::Head => "HEAD",
            Self::Delete => "DELETE",
        }
    }
}

impl Meter {
    /// Counts `n` requests, and logs them.
    pub fn count(&self, kind: RequestKind, n: u64) {
        self.add(kind, n);
        tracing::debug!(target: REQUESTS, kind = kind.name(), requests = n, "request");
    }

    /// Counts a request for this path of a store, and logs it.
    pub fn count_path(&self, kind: RequestKind, store: impl Display, path: impl Display) {
        self.add(kind, 1);
        tracing::debug!(target: REQUESTS, kind = kind.name(), %store, %path, "request");
    }

    /// Counts a request for a file of this machine, and logs it with the path that objects of the local store have.
    pub fn count_file(&self, kind: RequestKind, file: &std::path::Path) {
        let path = file.strip_prefix("/").unwrap_or(file);
        self.count_path(kind, "LocalStore", path.display());
    }

    /// Counts `n` requests. The client that sends them logs them, with their answers.
    pub(crate) fn add(&self, kind: RequestKind, n: u64) {
        let counter = match kind {
            RequestKind::Get => &self.get,
            RequestKind::Put => &self.put,
            RequestKind::List => &self.list,
            RequestKind::Head => &self.head,
            RequestKind::Delete => &self.delete,
        };
        counter.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts `n` requests like [`Self::add`], to a store that bills them.
    pub fn bill(&self, kind: RequestKind, n: u64) {
        self.add(kind, n);
        match kind {
            RequestKind::Get | RequestKind::Head => self.billed_reads.fetch_add(n, Ordering::Relaxed),
            RequestKind::Put | RequestKind::List => self.billed_writes.fetch_add(n, Ordering::Relaxed),
            RequestKind::Delete => 0,
        };
    }

    /// Counts bytes that arrived from a store.
    pub fn read_bytes(&self, n: u64) {
        self.bytes_read.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts bytes that were sent to a store.
    pub fn wrote_bytes(&self, n: u64) {
        self.bytes_written.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts rows that left a source.
    pub fn read_rows(&self, n: u64) {
        self.rows_read.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts rows that a sink took.
    pub fn wrote_rows(&self, n: u64) {
        self.rows_written.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts rows of a source that did not fit their schema and were left out or mended.
    pub fn bad_rows(&self, n: u64) {
        if self.bad_rows.fetch_add(n, Ordering::Relaxed) == 0 && n > 0 {
            tracing::warn!(target: "lakerace_io::warnings", "rows do not fit their columns");
        }
    }

    /// Notes that the job is going to read this many bytes from here on, and this many rows, if known.
    pub fn plan_read(&self, bytes: u64, rows: Option<u64>) {
        self.planned_bytes.store(self.counts().bytes_read + bytes, Ordering::Relaxed);
        self.planned_rows_read.store(rows.map_or(0, |rows| self.counts().rows_read + rows), Ordering::Relaxed);
    }

    /// Notes that the job writes the rows that it reads, and their number, if known.
    pub fn plan_write(&self, rows: Option<u64>) {
        self.planned_rows_written.store(rows.map_or(0, |rows| self.counts().rows_written + rows), Ordering::Relaxed);
        self.is_copy.store(true, Ordering::Relaxed);
    }

    /// Rows that are done: the written ones if the job writes what it reads.
    pub fn rows_done(&self) -> u64 {
        let counts = self.counts();
        if self.is_copy.load(Ordering::Relaxed) {
            counts.rows_written
        } else {
            counts.rows_read.max(counts.rows_written)
        }
    }

    /// The share of the plan that is done, from 0 to 1; `None` without a plan.
    ///
    /// The end of the work counts: rows written before rows read, and these before bytes, which are read ahead. A copy of an unknown
    /// number of rows has done the share of its input that it has read, times the share of these rows that it has written.
    pub fn progress(&self) -> Option<f64> {
        let counts = self.counts();
        let share = |done: u64, planned: &AtomicU64| {
            let planned = planned.load(Ordering::Relaxed);
            (planned > 0).then(|| (done as f64 / planned as f64).min(1.0))
        };
        let written = share(counts.rows_written, &self.planned_rows_written);
        if written.is_some() {
            return written;
        }
        let read = share(counts.rows_read, &self.planned_rows_read)
            .or_else(|| share(counts.bytes_read, &self.planned_bytes))?;
        if !self.is_copy.load(Ordering::Relaxed) {
            return Some(read);
        }
        Some(read * (counts.rows_written as f64 / counts.rows_read.max(1) as f64).min(1.0))
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let load = |c: &AtomicU64| c.load(Ordering::Relaxed);
        Counts {
            requests: Requests {
                get: load(&self.get),
                put: load(&self.put),
                list: load(&self.list),
                head: load(&self.head),
                delete: load(&self.delete),
            },
            bytes_read: load(&self.bytes_read),
            bytes_written: load(&self.bytes_written),
            rows_read: load(&self.rows_read),
            rows_written: load(&self.rows_written),
            bad_rows: load(&self.bad_rows),
            billed_reads: load(&self.billed_reads),
            billed_writes: load(&self.billed_writes),
        }
    }
}

/// A reading of a [`Meter`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests by kind.
    pub requests: Requests,
    /// Bytes received from stores.
    pub bytes_read: u64,
    /// Bytes sent to stores.
    pub bytes_written: u64,
    /// Rows that left sources.
    pub rows_read: u64,
    /// Rows that sinks took.
    pub rows_written: u64,
    /// Rows of a source that did not fit their schema and were left out, or mended with nulls.
    pub bad_rows: u64,
    /// GET and HEAD requests to stores that bill them: not to local disks, memory and web servers.
    pub billed_reads: u64,
    /// PUT and LIST requests to stores that bill them.
    pub billed_writes: u64,
}

/// Requests by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// See [`RequestKind::Get`].
    pub get: u64,
    /// See [`RequestKind::Put`].
    pub put: u64,
    /// See [`RequestKind::List`].
    pub list: u64,
    /// See [`RequestKind::Head`].
    pub head: u64,
    /// See [`RequestKind::Delete`].
    pub delete: u64,
}

/// The price of requests, in US dollars per 1,000. The defaults are Amazon S3 Standard's list prices
/// in us-east-1; a DELETE is free there. Requests to local disks, memory and web servers cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// Per 1,000 GET and HEAD requests.
    pub get_usd_per_1000: f64,
    /// Per 1,000 PUT and LIST requests.
    pub put_usd_per_1000: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self { get_usd_per_1000: 0.0004, put_usd_per_1000: 0.005 }
    }
}

impl Counts {
    /// The cost of the billed requests in US dollars.
    pub fn cost_usd(&self, prices: &Prices) -> f64 {
        let (reads, writes) = (self.billed_reads as f64, self.billed_writes as f64);
        (reads * prices.get_usd_per_1000 + writes * prices.put_usd_per_1000) / 1000.0
    }
}

impl Requests {
    /// The price of these requests in US dollars, if all of them are billed.
    pub fn cost_usd(&self, prices: &Prices) -> f64 {
        let reads = (self.get + self.head) as f64;
        let writes = (self.put + self.list) as f64;
        (reads * prices.get_usd_per_1000 + writes * prices.put_usd_per_1000) / 1000.0
    }
}

#[cfg(test)]
mod tests;
