//! Sends rows: as many requests together as the server answers without making them wait, each again until it is taken.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use lakerace_io::option::RESUME;
use lakerace_io::wait::WatchedValue;
use lakerace_io::{Error, Job, Result, runtime};
use serde_json::json;

use super::chunk::{BulkItem, RequestChunk};
use super::client::{RetryBackoff, SearchClient, SearchRequest, ServerAnswer, blocked, is_busy};
use super::location::escape;
use super::outcome::{RowOutcome, are_there, name, outcomes};
use crate::dead_letter::DeadLetters;

/// Bytes of a request, before the server says that it wants less.
pub(super) const REQUEST_BYTES: usize = 4 << 20;
/// Requests are never cut to less than this because a server is busy.
const LEAST_REQUEST_BYTES: usize = 64 << 10;
/// The concurrent requests at the start.
const FIRST_IN_FLIGHT: f64 = 2.0;
/// The most concurrent requests: their bytes are kept until they are taken.
const MOST_IN_FLIGHT: f64 = 12.0;
/// Requests may wait as if this many were queued in front of them; more than the second number is too many.
const QUEUED: (f64, f64) = (1.5, 3.0);
/// The status of a server that is overloaded and has not processed the request.
const TOO_MANY_REQUESTS: u16 = 429;
/// How long a dropped load waits for requests on their way.
const GRACE: Duration = Duration::from_secs(10);

/// The numbers of rows by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RowCounts {
    pub taken: u64,
    pub rejected: u64,
    pub bytes: u64,
    pub requests: u64,
}

/// Why a row is rejected.
#[derive(Debug, Clone)]
enum DocumentRejection {
    /// Another document has its key.
    Exists,
    /// The server or the encoder says so.
    Unfit(String),
}

impl DocumentRejection {
    fn reason(&self) -> &str {
        match self {
            Self::Exists => "a document with this _id already exists",
            Self::Unfit(reason) => reason,
        }
    }
}

struct SenderState {
    in_flight: usize,
    limit: f64,
    request_bytes: usize,
    /// The quickest answer so far, in nanoseconds a byte.
    quickest: f64,
    counts: RowCounts,
    error: Option<Error>,
    /// The documents on their way, where two rows may be of one.
    names: HashSet<u64>,
    is_dropped: bool,
}

struct SenderCore {
    client: SearchClient,
    path: String,
    index: String,
    /// An earlier run may have sent the same rows.
    is_resumed: bool,
    letters: Option<DeadLetters>,
    advice_on_rejected: String,
    job: Job,
    state: WatchedValue<SenderState>,
}

/// Sends chunks to one index. On drop, it waits a little for requests on their way, and sends nothing more.
pub(super) struct ChunkSender {
    shared: Arc<SenderCore>,
}

impl ChunkSender {
    /// A sender of rows to `index`, which no one creates by sending.
    pub fn new(
        client: &SearchClient,
        index: &str,
        is_resumed: bool,
        (letters, advice_on_rejected): (Option<DeadLetters>, String),
        job: &Job,
    ) -> Self {
        let state = SenderState {
            in_flight: 0,
            limit: FIRST_IN_FLIGHT,
            request_bytes: REQUEST_BYTES,
            quickest: f64::INFINITY,
            counts: RowCounts::default(),
            error: None,
            names: HashSet::new(),
            is_dropped: false,
        };
        let path = format!("/{}/_bulk?filter_path=errors,items.*.status,items.*.error", escape(index));
        Self {
            shared: Arc::new(SenderCore {
                client: client.clone(),
                path,
                index: index.to_owned(),
                is_resumed,
                letters,
                advice_on_rejected,
                job: job.clone(),
                state: WatchedValue::new(state),
            }),
        }
    }

    /// How many bytes the server takes together.
    pub fn request_bytes(&self) -> usize {
        self.shared.lock().request_bytes
    }

    /// Rows so far.
    pub fn counts(&self) -> RowCounts {
        self.shared.lock().counts
    }

    /// Returns true if a document of this hash is on its way: another row of it has to wait, or might be overtaken.
    pub fn is_under_way(&self, name: u64) -> bool {
        self.shared.lock().names.contains(&name)
    }

    /// Sends a chunk, when there is room for it among the requests on their way.
    pub fn send(&self, chunk: RequestChunk) -> Result<()> {
        let mut state = self.shared.wait(|state| (state.in_flight as f64) < state.limit.floor().max(1.0))?;
        state.in_flight += 1;
        state.names.extend(&chunk.names);
        drop(state);
        let shared = Arc::clone(&self.shared);
        runtime()?.spawn(async move {
            let outcome = shared.deliver(&chunk).await;
            let mut state = shared.lock();
            state.in_flight -= 1;
            for name in &chunk.names {
                state.names.remove(name);
            }
            if let Err(error) = outcome {
                state.error.get_or_insert(error);
            }
            drop(state);
            shared.state.notify_all();
        });
        Ok(())
    }

    /// Waits until all requests are answered.
    pub fn settle(&self) -> Result<()> {
        drop(self.shared.wait(|state| state.in_flight == 0)?);
        match &self.shared.letters {
            Some(letters) => letters.flush(),
            None => Ok(()),
        }
    }

    /// Rejects a row that no server would take.
    pub fn reject(
        &self,
        batch: &arrow::record_batch::RecordBatch,
        row: usize,
        number: u64,
        reason: String,
    ) -> Result<()> {
        self.shared.reject(batch, row, number, &DocumentRejection::Unfit(reason))
    }
}

impl Drop for ChunkSender {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_dropped = true;
        let deadline = Instant::now() + GRACE;
        while state.in_flight > 0 {
            if Instant::now() >= deadline {
                return;
            }
            state = self.shared.state.wait_briefly(state);
        }
    }
}

impl SenderCore {
    fn lock(&self) -> MutexGuard<'_, SenderState> {
        self.state.lock()
    }

    fn wait(&self, is_ready: impl Fn(&SenderState) -> bool) -> Result<MutexGuard<'_, SenderState>> {
        self.state.wait_until(&self.job, |state| match &state.error {
            Some(error) => Err(error.clone()),
            None => Ok(is_ready(state)),
        })
    }

    fn shown(&self) -> &str {
        &self.client.location().shown
    }

    async fn deliver(&self, chunk: &RequestChunk) -> Result<()> {
        // The last piece is next: pieces of one chunk go one after the other, in their order.
        let (mut pieces, mut was_lost) = (vec![chunk.items.clone()], self.is_resumed);
        while let Some(items) = pieces.pop() {
            self.deliver_piece(chunk, items, &mut pieces, &mut was_lost).await?;
        }
        Ok(())
    }

    async fn deliver_piece(
        &self,
        chunk: &RequestChunk,
        mut items: Vec<BulkItem>,
        pieces: &mut Vec<Vec<BulkItem>>,
        was_lost: &mut bool,
    ) -> Result<()> {
        let mut backoff = RetryBackoff::new(self.client.row_patience());
        let mut refusals = 0;
        while !items.is_empty() {
            if self.lock().is_dropped {
                return Err(Error::cancelled());
            }
            let request = SearchRequest::lines(self.path.clone(), chunk.body_of(&items));
            let (begun, bytes) = (Instant::now(), request.body.len());
            let failed = match self.client.send(&request).await {
                Ok(answer) if answer.status == 200 => {
                    let before = items.len();
                    items = self.answered(chunk, items, &answer, *was_lost).await?;
                    self.learn(begun.elapsed(), bytes, items.is_empty());
                    if items.is_empty() {
                        return Ok(());
                    }
                    if items.len() < before {
                        backoff = RetryBackoff::new(self.client.row_patience());
                    }
                    self.unavailable("the server is busy and keeps rejecting rows")
                }
                Ok(answer) if answer.status == 413 => {
                    return self.too_large(chunk, items, bytes, pieces);
                }
                Ok(answer) if is_busy(answer.status) => {
                    // A timeout of a proxy leaves open whether the server has processed the request.
                    *was_lost |= answer.status != TOO_MANY_REQUESTS;
                    self.slow_down();
                    refusals += 1;
                    if refusals > 1 && items.len() > 1 && bytes > LEAST_REQUEST_BYTES {
                        self.halve(items, bytes, pieces);
                        backoff.wait().await;
                        return Ok(());
                    }
                    self.client.refusal(&answer)
                }
                Ok(answer) => return Err(self.client.refusal(&answer)),
                Err(lost) if lost.is_transient => {
                    *was_lost = true;
                    lost.error
                }
                Err(lost) => return Err(lost.error),
            };
            if !backoff.wait().await {
                return Err(failed);
            }
        }
        Ok(())
    }

    /// Sorts rows by their outcome, and returns those that are to be sent again.
    async fn answered(
        &self,
        chunk: &RequestChunk,
        items: Vec<BulkItem>,
        answer: &ServerAnswer,
        was_lost: bool,
    ) -> Result<Vec<BulkItem>> {
        let outcomes = outcomes(&answer.body).map_err(|_| self.unavailable("the response is not valid JSON"))?;
        if outcomes.len() != items.len() {
            let message = format!("the server answered for {} of {} rows", outcomes.len(), items.len());
            return Err(self.unavailable(&message));
        }
        let (mut taken, mut again, mut existing) = (Vec::new(), Vec::new(), Vec::new());
        let mut rejected: Vec<(BulkItem, DocumentRejection)> = Vec::new();
        for (item, outcome) in items.into_iter().zip(outcomes) {
            match outcome {
                RowOutcome::Taken => taken.push(item),
                RowOutcome::Busy => again.push(item),
                RowOutcome::Exists => existing.push(item),
                RowOutcome::Blocked => return Err(blocked("cluster_block_exception").at(self.shown())),
                RowOutcome::Rejected(reason) => rejected.push((item, DocumentRejection::Unfit(reason))),
            }
        }
        if !existing.is_empty() {
            // After a lost answer or a stop, the document may be there because this load has put it there.
            let (ours, theirs) =
                if was_lost { self.sent_before(chunk, existing).await? } else { (Vec::new(), existing) };
            taken.extend(ours);
            rejected.extend(theirs.into_iter().map(|item| (item, DocumentRejection::Exists)));
        }
        let (again, overtaken) = chunk.without_overtaken(again, &taken);
        let mut state = self.lock();
        state.counts.taken += taken.len() as u64 + overtaken;
        state.counts.requests += 1;
        state.counts.bytes += taken.iter().map(|item| item.lines.len() as u64).sum::<u64>();
        drop(state);
        self.reject_all(chunk, &rejected)?;
        Ok(again)
    }

    /// Splits the items into those whose stored documents equal the sent ones, and the others.
    async fn sent_before(&self, chunk: &RequestChunk, items: Vec<BulkItem>) -> Result<(Vec<BulkItem>, Vec<BulkItem>)> {
        let mut docs = Vec::with_capacity(items.len());
        for item in &items {
            let (id, routing) = name(chunk.name_of(item))?;
            docs.push(match routing {
                Some(routing) => json!({ "_id": id, "routing": routing }),
                None => json!({ "_id": id }),
            });
        }
        let request = SearchRequest::json("POST", format!("/{}/_mget", escape(&self.index)), &json!({ "docs": docs }));
        let answer = self.client.ask(request, self.client.row_patience()).await?;
        if answer.status != 200 {
            return Err(self.client.refusal(&answer));
        }
        let are_ours = are_there(items.iter().map(|item| chunk.source_of(item)), &answer.body)
            .map_err(|_| self.unavailable("the response is not valid JSON"))?;
        let (ours, theirs): (Vec<_>, Vec<_>) = items.into_iter().zip(are_ours).partition(|(_, is_ours)| *is_ours);
        let items = |pairs: Vec<(BulkItem, bool)>| pairs.into_iter().map(|(item, _)| item).collect();
        Ok((items(ours), items(theirs)))
    }

    fn too_large(
        &self,
        chunk: &RequestChunk,
        items: Vec<BulkItem>,
        bytes: usize,
        pieces: &mut Vec<Vec<BulkItem>>,
    ) -> Result<()> {
        if items.len() > 1 {
            self.halve(items, bytes, pieces);
            return Ok(());
        }
        let reason = DocumentRejection::Unfit(format!(
            "the document has {bytes} bytes, more than the server accepts (http.max_content_length)"
        ));
        self.reject_all(chunk, &items.into_iter().map(|item| (item, reason.clone())).collect::<Vec<_>>())
    }

    /// Cuts a request in two, and those that come to the same size.
    fn halve(&self, mut items: Vec<BulkItem>, bytes: usize, pieces: &mut Vec<Vec<BulkItem>>) {
        let second = items.split_off(items.len() / 2);
        pieces.extend([second, items]);
        let mut state = self.lock();
        state.request_bytes = state.request_bytes.min(bytes / 2).max(LEAST_REQUEST_BYTES);
    }

    fn reject_all(&self, chunk: &RequestChunk, rejected: &[(BulkItem, DocumentRejection)]) -> Result<()> {
        if let (None, Some((item, reason))) = (&self.letters, rejected.first()) {
            let rows = rejected.len();
            return Err(self.rejection(rows, item.number, reason));
        }
        for (item, reason) in rejected {
            self.reject(&chunk.batches[item.batch], item.row, item.number, reason)?;
        }
        Ok(())
    }

    fn reject(
        &self,
        batch: &arrow::record_batch::RecordBatch,
        row: usize,
        number: u64,
        reason: &DocumentRejection,
    ) -> Result<()> {
        let Some(letters) = &self.letters else { return Err(self.rejection(1, number, reason)) };
        letters.reject(batch, row, reason.reason())?;
        self.lock().counts.rejected += 1;
        Ok(())
    }

    fn rejection(&self, rows: usize, number: u64, rejection: &DocumentRejection) -> Error {
        let reason = rejection.reason();
        let message = match rows {
            1 => format!("row {} is rejected: {reason}", number + 1),
            rows => format!("{rows} rows of a request are rejected, the first is row {}: {reason}", number + 1),
        };
        let error = match rejection {
            DocumentRejection::Exists => Error::conflict(message),
            DocumentRejection::Unfit(_) => Error::invalid(message),
        };
        error.at(self.shown()).advice(&self.advice_on_rejected)
    }

    fn unavailable(&self, message: &str) -> Error {
        Error::unavailable(message).at(self.shown()).advice(format!("run it again, with {RESUME} if the load had it"))
    }

    fn slow_down(&self) {
        let mut state = self.lock();
        state.limit = (state.limit / 2.0).max(1.0);
    }

    /// Learns from an answer how many requests the server works on together. If an answer takes longer than the
    /// quickest one, the request has waited in a queue, and a longer queue does not increase the throughput.
    fn learn(&self, time: Duration, bytes: usize, was_all_taken: bool) {
        if !was_all_taken {
            return self.slow_down();
        }
        let mut state = self.lock();
        // Small requests measure the network to the server, not its work.
        if bytes < state.request_bytes / 4 {
            return;
        }
        let taken = time.as_nanos() as f64 / bytes as f64;
        state.quickest = state.quickest.min(taken);
        if (state.in_flight as f64) + 1.0 < state.limit.floor() {
            return;
        }
        let queued = state.limit * (1.0 - state.quickest / taken);
        if queued < QUEUED.0 {
            state.limit = (state.limit + 1.0 / state.limit.max(1.0)).min(MOST_IN_FLIGHT);
        } else if queued > QUEUED.1 {
            state.limit = (state.limit - 1.0 / state.limit.max(1.0)).max(1.0);
        }
    }
}
