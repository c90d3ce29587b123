//! The state of a plan's pieces: waiting, under way, arrived or released; and the decision which to fetch next.

use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use lakerace_exec::WatchedValue;
use tokio::task::AbortHandle;

use super::buffers::{BufferFiller, GrowingBuffer, PoolUser, fill_from_body};
use super::local::LocalFiles;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{Request, RequestPlan};
use crate::profile::RequestStopwatch;
use crate::store::error as store_error;
use crate::store::object::Object;

/// Waiting threads are notified of arrived bytes in steps of this size.
const PROGRESS_BYTES: usize = 256 << 10;

/// The shared state of all clones of a [`Fetcher`](super::Fetcher) and its tasks.
#[derive(Debug)]
pub(super) struct Shared {
    extra_bytes_tolerance: f64,
    objects: Vec<Object>,
    requests: Vec<Request>,
    /// Numbers of requests, by file and position.
    by_position: Vec<usize>,
    requests_in_flight: usize,
    prefetch_bytes: u64,
    job: Job,
    local: LocalFiles,
    _pool: PoolUser,
    state: WatchedValue<FetchState>,
}

#[derive(Debug)]
struct FetchState {
    pieces: Vec<FetchPiece>,
    /// Pieces before this one were issued or released.
    next: usize,
    in_flight: usize,
    /// Bytes under way or arrived, not yet released. Local pieces are not counted: they are read when requested.
    held_bytes: u64,
    /// The tag in the first answer for each file, required of all later ones.
    e_tags: Vec<Option<String>>,
    next_ticket: u64,
    stopped: bool,
}

#[derive(Debug)]
struct FetchPiece {
    at: PiecePlace,
    /// Wanted bytes not yet released.
    wanted_left: u64,
}

#[derive(Debug)]
enum PiecePlace {
    /// Not requested.
    Waiting,
    /// Being fetched. The ticket distinguishes an outdated answer from the expected one. Bytes that have arrived can be
    /// read already.
    Loading {
        ticket: u64,
        task: Option<AbortHandle>,
        arrived: Option<Arc<GrowingBuffer>>,
    },
    There(Bytes),
    Failed(Error),
    /// No one wants it any more.
    Released,
}

impl Shared {
    pub(super) fn new(objects: Vec<Object>, plan: &RequestPlan, prefetch_bytes: u64, job: &Job) -> Self {
        let requests = plan.requests.clone();
        let mut by_position: Vec<usize> = (0..requests.len()).collect();
        by_position.sort_unstable_by_key(|i| (requests[*i].file, requests[*i].range.start));
        let piece = |r: &Request| FetchPiece {
            at: PiecePlace::Waiting,
            wanted_left: (r.range.end - r.range.start).saturating_sub(r.read_through_bytes),
        };
        let state = FetchState {
            pieces: requests.iter().map(piece).collect(),
            next: 0,
            in_flight: 0,
            held_bytes: 0,
            e_tags: objects.iter().map(|o| o.e_tag.clone()).collect(),
            next_ticket: 0,
            stopped: false,
        };
        Self {
            extra_bytes_tolerance: job.options().ranges.extra_bytes_tolerance,
            local: LocalFiles::new(objects.len(), &requests),
            _pool: PoolUser::new(),
            objects,
            requests,
            by_position,
            requests_in_flight: plan.requests_in_flight.max(1),
            prefetch_bytes,
            job: job.clone(),
            state: WatchedValue::new(state),
        }
    }

    /// A range of a file whose bytes are known without a request.
    pub(super) fn known(&self, file: u32, range: &Range<u64>) -> Option<Result<Bytes>> {
        self.objects.get(file as usize)?.known(range)
    }

    pub(super) fn request(&self, piece: usize) -> &Request {
        &self.requests[piece]
    }

    /// The pieces that hold `range`, in order.
    pub(super) fn pieces_of(&self, file: u32, range: &Range<u64>) -> Result<Vec<usize>> {
        let pieces: Vec<usize> = self.overlapping(file, range).collect();
        let mut covered = range.start;
        for piece in &pieces {
            let have = &self.requests[*piece].range;
            if have.start > covered {
                break;
            }
            covered = have.end;
        }
        if covered >= range.end {
            return Ok(pieces);
        }
        let place = self.objects.get(file as usize).map_or_else(|| format!("file {file}"), Object::url);
        Err(Error::internal(format!("bytes {}..{} are not in the plan", range.start, range.end)).at(place))
    }

    fn overlapping(&self, file: u32, range: &Range<u64>) -> impl Iterator<Item = usize> {
        let end = range.end;
        let key = (file, range.start);
        let first = self.by_position.partition_point(|i| (self.requests[*i].file, self.requests[*i].range.end) <= key);
        let rest = self.by_position[first..].iter().copied();
        rest.take_while(move |i| self.requests[*i].file == file && self.requests[*i].range.start < end)
    }

    /// The place of `range` of a file in the kept bytes of a piece.
    pub(super) fn buffer_range(&self, piece: usize, range: &Range<u64>) -> Result<Range<usize>> {
        let request = &self.requests[piece];
        let mut start = range.start - request.range.start;
        for gap in self.dropped(request).iter().take_while(|gap| gap.start < range.end) {
            if gap.end > range.start {
                let place = self.objects[request.file as usize].url();
                let message = format!("bytes {}..{} are in a gap of the plan", range.start, range.end);
                return Err(Error::internal(message).at(place));
            }
            start -= gap.end - gap.start;
        }
        let end = start + (range.end - range.start);
        Ok(start as usize..end as usize)
    }

    /// The gaps of a request whose bytes are not kept. A local piece is read in one go, with all of them.
    fn dropped<'a>(&self, request: &'a Request) -> &'a [Range<u64>] {
        if self.objects[request.file as usize].store.is_local() { &[] } else { &request.gaps }
    }

    /// The bytes of a piece that are kept.
    fn kept_bytes(&self, request: &Request) -> u64 {
        let dropped: u64 = self.dropped(request).iter().map(|gap| gap.end - gap.start).sum();
        request.range.end - request.range.start - dropped
    }

    /// Returns true if a slice of a piece would keep too many unneeded bytes in memory.
    pub(super) fn pins_too_much(&self, piece: usize) -> bool {
        let request = &self.requests[piece];
        let wanted = request.range.end - request.range.start - request.read_through_bytes;
        let unwanted = self.kept_bytes(request).saturating_sub(wanted);
        unwanted as f64 > wanted as f64 * self.extra_bytes_tolerance
    }

    /// Issues as many requests as the bounds allow.
    pub(super) fn run_ahead(self: &Arc<Self>) -> Result<()> {
        self.issue_next(&mut self.lock())
    }

    /// The bytes `range` of the kept part of a piece, or the first `enough` of them. Blocks until they have arrived;
    /// the rest of the piece may still be on its way.
    pub(super) fn slice(self: &Arc<Self>, piece: usize, range: Range<usize>, enough: usize) -> Result<Bytes> {
        let needed = range.start.saturating_add(enough).min(range.end);
        let object = &self.objects[self.requests[piece].file as usize];
        let mut state = self.lock();
        loop {
            match &state.pieces[piece].at {
                PiecePlace::There(bytes) if range.end <= bytes.len() => return Ok(bytes.slice(range)),
                PiecePlace::There(_) => return Err(Error::internal("a piece is shorter than its request")),
                PiecePlace::Loading { arrived: Some(arrived), .. } if arrived.filled() >= needed => {
                    let end = arrived.filled().min(range.end);
                    return arrived.slice(range.start..end).ok_or_else(|| Error::internal("arrived bytes are missing"));
                }
                PiecePlace::Failed(error) => return Err(error.clone()),
                PiecePlace::Loading { .. } => {
                    self.job.check()?;
                    state = self.state.wait_briefly(state);
                }
                PiecePlace::Waiting | PiecePlace::Released if object.store.is_local() => {
                    let ticket = state.begin(piece);
                    drop(state);
                    let outcome = self.load_here(piece, object);
                    self.arrived(piece, ticket, outcome.clone());
                    return outcome.map(|bytes| bytes.slice(range));
                }
                PiecePlace::Waiting | PiecePlace::Released => self.issue(&mut state, piece)?,
            }
        }
    }

    /// Reads `range` of a local file in one call if none of its pieces was started: no pieces are joined by a copy.
    pub(super) fn read_past_pieces(&self, file: u32, pieces: &[usize], range: &Range<u64>) -> Result<Option<Bytes>> {
        let object = &self.objects[file as usize];
        if !object.store.has_local_files() {
            return Ok(None);
        }
        let untouched = {
            let state = self.lock();
            pieces.iter().all(|p| matches!(state.pieces[*p].at, PiecePlace::Waiting | PiecePlace::Released))
        };
        if !untouched {
            return Ok(None);
        }
        self.job.check()?;
        let next = pieces.last().map_or(self.requests.len(), |last| last + 1);
        self.local.read(file, object, range, (&self.requests, next)).map(Some)
    }

    pub(super) fn release(self: &Arc<Self>, file: u32, range: &Range<u64>) {
        let mut state = self.lock();
        let mut freed = false;
        for piece in self.overlapping(file, range) {
            let have = &self.requests[piece].range;
            let overlap = have.end.min(range.end) - have.start.max(range.start);
            let left = &mut state.pieces[piece].wanted_left;
            if *left == 0 {
                continue;
            }
            *left = left.saturating_sub(overlap);
            if *left == 0 {
                self.drop_piece(&mut state, piece);
                freed = true;
            }
        }
        if freed {
            // If the runtime no longer exists, the next caller that waits gets the error.
            let _ = self.issue_next(&mut state);
        }
    }

    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for piece in &mut state.pieces {
            if let PiecePlace::Loading { task: Some(task), .. } = &piece.at {
                task.abort();
            }
            piece.at = PiecePlace::Released;
        }
    }

    fn drop_piece(&self, state: &mut FetchState, piece: usize) {
        let was = std::mem::replace(&mut state.pieces[piece].at, PiecePlace::Released);
        let request = &self.requests[piece];
        let remote = !self.objects[request.file as usize].store.is_local();
        match was {
            PiecePlace::Loading { task, .. } if remote => {
                if let Some(task) = task {
                    task.abort();
                }
                state.in_flight -= 1;
                state.held_bytes -= self.kept_bytes(request);
            }
            PiecePlace::There(_) if remote => state.held_bytes -= self.kept_bytes(request),
            _ => {}
        }
    }

    fn load_here(&self, piece: usize, object: &Object) -> Result<Bytes> {
        self.job.check()?;
        let request = &self.requests[piece];
        if object.store.has_local_files() {
            return self.local.read(request.file, object, &request.range, (&self.requests, piece + 1));
        }
        object.read_range(request.range.clone())
    }

    fn issue_next(self: &Arc<Self>, state: &mut FetchState) -> Result<()> {
        while let Some(piece) = state.pieces.get(state.next) {
            let request = &self.requests[state.next];
            let local = self.objects[request.file as usize].store.is_local();
            if matches!(piece.at, PiecePlace::Waiting) && !local {
                let held = state.held_bytes.saturating_add(self.kept_bytes(request));
                let fits = state.held_bytes == 0 || held <= self.prefetch_bytes;
                if state.in_flight >= self.requests_in_flight || !fits {
                    break;
                }
                self.issue(state, state.next)?;
            }
            state.next += 1;
        }
        Ok(())
    }

    /// Sends the request of a piece.
    fn issue(self: &Arc<Self>, state: &mut FetchState, piece: usize) -> Result<()> {
        if state.stopped {
            return Err(Error::internal("the fetcher was stopped"));
        }
        let request = &self.requests[piece];
        let mut object = self.objects[request.file as usize].clone();
        object.e_tag = state.e_tags[request.file as usize].clone();
        let ticket = state.begin(piece);
        state.in_flight += 1;
        state.held_bytes += self.kept_bytes(request);
        let shared = Arc::clone(self);
        let task = crate::runtime()?.spawn(async move {
            let outcome = shared.fetch(piece, ticket, &object).await;
            shared.answered(piece, ticket, outcome);
        });
        if let PiecePlace::Loading { task: handle, .. } = &mut state.pieces[piece].at {
            *handle = Some(task.abort_handle());
        }
        Ok(())
    }

    /// Fetches a piece, and makes arrived bytes of it readable immediately.
    async fn fetch(&self, piece: usize, ticket: u64, object: &Object) -> Result<Bytes> {
        let request = &self.requests[piece];
        let too_long = |_| Error::internal("the range does not fit into memory");
        let len = usize::try_from(request.range.end - request.range.start).map_err(too_long)?;
        let from_start = |position: u64| (position - request.range.start) as usize;
        let gaps = self.dropped(request).iter().map(|gap| from_start(gap.start)..from_start(gap.end)).collect();
        let mut watch = RequestStopwatch::start();
        let answer = object.answer(&request.range).await?;
        watch.first_byte();
        let mut filler = BufferFiller::with_gaps(len, gaps)?;
        let growing = Arc::clone(filler.growing());
        self.answer_began(piece, ticket, answer.meta.e_tag.clone(), &growing)?;
        let mut told = 0;
        let progress = || {
            if growing.filled() - told >= PROGRESS_BYTES {
                told = growing.filled();
                // Under the lock, so that a thread that has just looked is waiting by now.
                drop(self.lock());
                self.state.notify_all();
            }
        };
        fill_from_body(answer, &mut filler, &object.url(), progress).await?;
        watch.done(&object.store.observed, len as u64);
        growing.slice(0..growing.filled()).ok_or_else(|| Error::internal("a piece is incomplete"))
    }

    /// All bytes of a file come from one version of it: the tag is compared before any of them is readable.
    fn answer_began(
        &self,
        piece: usize,
        ticket: u64,
        told: Option<String>,
        arrived: &Arc<GrowingBuffer>,
    ) -> Result<()> {
        let file = self.requests[piece].file as usize;
        let mut state = self.lock();
        match (&state.e_tags[file], told) {
            (Some(known), Some(told)) if *known != told => {
                return Err(store_error::replaced().at(self.objects[file].url()));
            }
            (None, Some(told)) => state.e_tags[file] = Some(told),
            _ => {}
        }
        if let PiecePlace::Loading { ticket: awaited, arrived: shown, .. } = &mut state.pieces[piece].at
            && *awaited == ticket
        {
            *shown = Some(Arc::clone(arrived));
        }
        Ok(())
    }

    fn answered(self: &Arc<Self>, piece: usize, ticket: u64, outcome: Result<Bytes>) {
        let mut state = self.lock();
        if !state.is_awaited(piece, ticket) {
            return;
        }
        state.in_flight -= 1;
        state.pieces[piece].at = match outcome {
            Ok(bytes) => PiecePlace::There(bytes),
            Err(error) => {
                state.held_bytes -= self.kept_bytes(&self.requests[piece]);
                PiecePlace::Failed(error)
            }
        };
        if let Err(error) = self.issue_next(&mut state) {
            let waiting = state.pieces.iter_mut().filter(|p| matches!(p.at, PiecePlace::Waiting));
            waiting.for_each(|p| p.at = PiecePlace::Failed(error.clone()));
        }
        drop(state);
        self.state.notify_all();
    }

    /// A local piece was read.
    fn arrived(&self, piece: usize, ticket: u64, outcome: Result<Bytes>) {
        let mut state = self.lock();
        if state.is_awaited(piece, ticket) {
            state.pieces[piece].at = match outcome {
                Ok(bytes) => PiecePlace::There(bytes),
                Err(error) => PiecePlace::Failed(error),
            };
        }
        drop(state);
        self.state.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, FetchState> {
        self.state.lock()
    }
}

impl FetchState {
    fn begin(&mut self, piece: usize) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.pieces[piece].at = PiecePlace::Loading { ticket, task: None, arrived: None };
        ticket
    }

    fn is_awaited(&self, piece: usize, ticket: u64) -> bool {
        matches!(self.pieces[piece].at, PiecePlace::Loading { ticket: awaited, .. } if awaited == ticket)
    }
}
