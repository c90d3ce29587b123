//! A sink of a run that has a lease.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::record_batch::RecordBatch;
use lakerace_database::Fence;
use lakerace_format::{Narrowing, Sink, Written};
use lakerace_io::Result;

use super::LeaseCore;

/// Prevents a run that another one has taken over from sending rows.
#[derive(Clone)]
pub(crate) struct LeaseGuard {
    shared: Arc<LeaseCore>,
}

impl fmt::Debug for LeaseGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

impl LeaseGuard {
    pub(super) fn new(shared: &Arc<LeaseCore>) -> Self {
        Self { shared: Arc::clone(shared) }
    }

    /// The owner that a target with transactions checks by itself.
    pub fn fence(&self) -> Fence {
        Fence { state: self.shared.name.clone(), token: self.shared.token.clone() }
    }

    /// Opens a sink that no row reaches after the lease is lost.
    pub fn open(&self, open: impl FnOnce() -> Result<Box<dyn Sink>>) -> Result<Box<dyn Sink>> {
        self.shared.check()?;
        let writing = WritingTime::begin(&self.shared);
        let inner = open()?;
        Ok(Box::new(FencedSink { inner, writing }))
    }
}

/// The time in which a sink is open.
struct WritingTime {
    shared: Arc<LeaseCore>,
}

impl WritingTime {
    fn begin(shared: &Arc<LeaseCore>) -> Self {
        shared.is_writing.store(true, Ordering::Release);
        // Heartbeats in flight arrive before the transaction starts.
        drop(shared.held());
        Self { shared: Arc::clone(shared) }
    }

    fn check(&self) -> Result<()> {
        self.shared.check()?;
        self.shared.has_sent.fetch_or(!self.shared.has_transactions, Ordering::Release);
        Ok(())
    }
}

impl Drop for WritingTime {
    fn drop(&mut self) {
        self.shared.is_writing.store(false, Ordering::Release);
    }
}

struct FencedSink {
    /// Dropped first: it waits for requests on their way.
    inner: Box<dyn Sink>,
    writing: WritingTime,
}

impl Sink for FencedSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.writing.check()?;
        self.inner.write(batch)
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.writing.check()?;
        self.inner.checkpoint()
    }

    fn acknowledged_rows(&self) -> u64 {
        self.inner.acknowledged_rows()
    }

    fn narrowing(&self) -> Option<Narrowing> {
        self.inner.narrowing()
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        self.writing.check()?;
        let Self { inner, writing } = *self;
        let written = inner.finish();
        drop(writing);
        written
    }
}
