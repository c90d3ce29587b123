//! Running a [`RequestPlan`]: requests ahead of need, bounded in number and bytes.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use self::buffers::PooledBuffer;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::RequestPlan;
use crate::store::object::Object;

pub(crate) mod buffers;
pub(crate) mod local;
mod state;

use state::Shared;

/// The least bytes that [`Fetcher::bytes_some`] waits for.
const ENOUGH_BYTES: usize = 1 << 20;

/// The bytes of a plan's requests, requested when they are needed.
///
/// On a remote store the requests run ahead on the I/O runtime, in the plan's order: at most `requests_in_flight`
/// concurrently, and at most `prefetch_bytes` not yet released. A request that a caller waits for is issued even beyond
/// the bound, so the bound can't block the job. Bytes are available as soon as they arrive, before their request is
/// complete: requests may be large and few. On a local disk a piece is read by the thread that asks for it, into a
/// recycled buffer, and the kernel is advised to read ahead.
///
/// All bytes of a file come from the same version of it: one that is replaced in the meantime is an error of kind
/// `Conflict`. Dropping the last clone stops all requests under way.
#[derive(Debug, Clone)]
pub struct Fetcher {
    running: Arc<RunningRequests>,
}

/// Stops the requests when the last [`Fetcher`] is dropped; the tasks of the requests hold only the [`Shared`] state.
#[derive(Debug)]
struct RunningRequests {
    shared: Arc<Shared>,
}

impl Drop for RunningRequests {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Fetcher {
    /// Starts fetching. `objects` are the plan's files.
    pub fn start(objects: Vec<Object>, plan: &RequestPlan, job: &Job) -> Result<Self> {
        Self::start_within(objects, plan, job.options().ranges.prefetch_bytes, job)
    }

    /// Starts with a separate bound for the bytes that are not yet released.
    pub fn start_within(objects: Vec<Object>, plan: &RequestPlan, prefetch_bytes: u64, job: &Job) -> Result<Self> {
        if let Some(request) = plan.requests.iter().find(|r| r.file as usize >= objects.len()) {
            return Err(Error::internal(format!("the plan refers to file {} of {}", request.file, objects.len())));
        }
        let shared = Arc::new(Shared::new(objects, plan, prefetch_bytes, job));
        shared.run_ahead()?;
        Ok(Self { running: Arc::new(RunningRequests { shared }) })
    }

    /// The bytes `range` of file `file`, which must lie within ranges that the plan covers, or be known already. Blocks
    /// until they have arrived. A range within one request is a slice of it (or a copy, see `extra_bytes_tolerance`); a
    /// range over several is copied together.
    pub fn bytes(&self, file: u32, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let shared = &self.running.shared;
        if let Some(known) = shared.known(file, &range) {
            return known;
        }
        let pieces = shared.pieces_of(file, &range)?;
        if pieces.len() == 1 {
            return self.slice(pieces[0], &range, usize::MAX);
        }
        if let Some(whole) = shared.read_past_pieces(file, &pieces, &range)? {
            return Ok(whole);
        }
        let len = usize::try_from(range.end - range.start)
            .map_err(|_| Error::internal("the range does not fit into memory"))?;
        let mut joined = PooledBuffer::with_capacity(len)?;
        for piece in pieces {
            let have = shared.request(piece).range.clone();
            let part = have.start.max(range.start)..have.end.min(range.end);
            joined.append(&self.slice(piece, &part, usize::MAX)?);
        }
        Ok(joined.freeze())
    }

    /// Reads like [`Self::bytes`], but gives a prefix of `range` that is one piece without a copy; never empty for a range
    /// that is not empty. It may end where the bytes have not arrived yet, but not before the first megabyte.
    pub fn bytes_some(&self, file: u32, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let shared = &self.running.shared;
        if let Some(known) = shared.known(file, &range) {
            return known;
        }
        let first = shared.pieces_of(file, &(range.start..range.start + 1))?[0];
        let end = shared.request(first).range.end.min(range.end);
        self.slice(first, &(range.start..end), ENOUGH_BYTES)
    }

    /// Announces that `range` will not be requested again: its pieces are dropped once no slice of them exists, and are
    /// not fetched at all if they were not yet. A piece is dropped when all of its wanted bytes were released, so each
    /// wanted range must be released once; bytes that are requested nevertheless are fetched again.
    pub fn release(&self, file: u32, range: Range<u64>) {
        self.running.shared.release(file, &range);
    }

    /// Bytes of one piece: all of `range`, or at least the first `enough` of them.
    fn slice(&self, piece: usize, range: &Range<u64>, enough: usize) -> Result<Bytes> {
        let shared = &self.running.shared;
        let bytes = shared.slice(piece, shared.buffer_range(piece, range)?, enough)?;
        Ok(if shared.pins_too_much(piece) { Bytes::copy_from_slice(&bytes) } else { bytes })
    }
}

#[cfg(test)]
mod tests;
