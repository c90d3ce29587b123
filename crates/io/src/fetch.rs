//! Running a [`RequestPlan`]: requests ahead of need, bounded in number and bytes.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Job, Object, RequestPlan, Result};

/// The bytes of a plan's requests, asked for as they are needed.
///
/// On a remote store the requests run ahead on the I/O runtime, in the plan's order, at most
/// `requests_in_flight` at once and at most `prefetch_bytes` not yet released; a request that a
/// caller waits for is issued whatever the bound, so the bound can't block the job. On a local
/// disk a piece is read by the thread that asks for it, into a recycled buffer, and the kernel is
/// told to read ahead.
#[derive(Debug, Clone)]
pub struct Fetcher {
    _inner: Arc<()>,
}

impl Fetcher {
    /// Starts fetching. `objects` are the plan's files.
    pub fn start(_objects: Vec<Object>, _plan: &RequestPlan, _job: &Job) -> Result<Self> {
        unimplemented!()
    }

    /// The bytes `range` of file `file`, which must lie within ranges that the plan covers. Blocks until they are
    /// there. A range within one request is a slice of it (or a copy, see `extra_bytes_tolerance`); a range
    /// over several is put together by a copy.
    pub fn bytes(&self, _file: u32, _range: Range<u64>) -> Result<Bytes> {
        unimplemented!()
    }

    /// Like [`Self::bytes`], but gives the longest prefix of `range` that is one piece without a copy; never empty
    /// for a range that is not empty.
    pub fn bytes_some(&self, _file: u32, _range: Range<u64>) -> Result<Bytes> {
        unimplemented!()
    }

    /// Says that nobody will ask for `range` (again): its pieces are dropped once nobody holds a slice, and are
    /// not fetched at all if they were not yet. A piece goes when all of its wanted bytes were released.
    pub fn release(&self, _file: u32, _range: Range<u64>) {
        unimplemented!()
    }
}
