//! A store that repeats failed requests, and detects stalled ones.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use rand::RngExt;
use tokio::time::Instant;

use super::request_log::RETRIES;
use crate::store::error::{has_progressed, is_cut_off_listing, is_transient};

/// The rules for repeating requests, and the waits between attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// The number of times that a failed request is sent again, and that a body that broke off without any progress is
    /// requested again. A body that progresses may break off any number of times.
    pub retries: u32,
    /// True if requests that fail as a whole are repeated here. Off where the store does that itself.
    pub repeat_requests: bool,
    /// The first wait; each further one is twice as long.
    pub first_backoff: Duration,
    /// The longest wait.
    pub longest_backoff: Duration,
    /// The time without progress after which a request is aborted and sent again. There is no limit on a request that
    /// makes progress, even slowly.
    pub stall: Duration,
    /// The time that the store itself takes to repeat a request, on top of `stall`.
    pub repeated_below: Duration,
    /// The time without progress after which nothing is sent again. The last attempt begins within it.
    pub retry_time: Duration,
}

/// The time that the download of a file may take.
const LONGEST_DOWNLOAD: Duration = Duration::from_secs(24 * 60 * 60);

/// The time without progress after which a request is given up.
pub(super) const STALL: Duration = Duration::from_secs(20);

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 5,
            repeat_requests: true,
            first_backoff: Duration::from_millis(100),
            longest_backoff: Duration::from_secs(10),
            stall: STALL,
            repeated_below: Duration::ZERO,
            retry_time: Duration::MAX,
        }
    }
}

impl RetryPolicy {
    /// For a store that repeats failed requests itself, for `retry_time`: bodies and listings that break off remain.
    pub fn bodies_only(retry_time: Duration) -> Self {
        Self { repeat_requests: false, retries: 3, repeated_below: retry_time, retry_time, ..Self::default() }
    }

    /// For a file server whose client repeats nothing, and which may send a whole file instead of the requested range.
    pub(crate) fn downloads(retry_time: Duration) -> Self {
        Self { repeated_below: LONGEST_DOWNLOAD, retry_time, ..Self::default() }
    }

    /// The time that a request may take with all repetitions below.
    fn request_time(&self) -> Duration {
        self.stall + self.repeated_below
    }

    /// The wait before another attempt, which `attempt` counts. `None`: there is no other, after `begun`, when the request
    /// was first sent or last made progress.
    fn next_wait(&self, attempt: &mut u32, begun: Instant) -> Option<Duration> {
        let left = self.retry_time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())?;
        if *attempt >= self.retries {
            return None;
        }
        *attempt += 1;
        Some(self.backoff(*attempt).min(left))
    }

    /// The wait before attempt `attempt` (from 1), with jitter: between half and all of the exponential wait, so that
    /// requests that failed together are not repeated together.
    fn backoff(&self, attempt: u32) -> Duration {
        let full = self.first_backoff.saturating_mul(1 << (attempt - 1).min(20)).min(self.longest_backoff);
        full.mul_f64(rand::rng().random_range(0.5..=1.0))
    }
}

/// Uploads are given this much more time than [`RetryPolicy::stall`]: their progress can't be seen.
const SLOWEST_UPLOAD_BYTES_PER_SECOND: u64 = 50_000;

/// Repeats requests that failed for a transient reason. The rest of a body that broke off or stalls is requested again,
/// under the condition of the same tag, so its reader is not affected.
///
/// Parts of an upload are not repeated here: [`MultipartUpload`] can't send a part again in its place. S3 stores
/// repeat them below.
#[derive(Debug)]
pub struct Retrying {
    inner: Arc<dyn ObjectStore>,
    policy: RetryPolicy,
}

impl Retrying {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>, policy: RetryPolicy) -> Self {
        Self { inner, policy }
    }

    /// Runs `request` until it succeeds, fails for good, or was repeated often enough.
    async fn repeat<T, F>(&self, patience: Duration, request: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        self.repeat_if(patience, true, request).await
    }

    /// Repeats like [`Self::repeat`]; a request that must not be carried out twice is given up when it stalls.
    async fn repeat_if<T, F>(&self, patience: Duration, idempotent: bool, request: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let (mut attempt, mut begun) = (0, Instant::now());
        loop {
            let (outcome, stalled) = match tokio::time::timeout(patience, request()).await {
                Ok(outcome) => (outcome, false),
                Err(_) => (Err(stalled_error(patience)), true),
            };
            let Err(error) = outcome else { return outcome };
            let repeatable = stalled && idempotent || !stalled && self.policy.repeat_requests && is_transient(&error);
            if has_progressed(&error) {
                begun = Instant::now();
            }
            let wait = if repeatable { self.policy.next_wait(&mut attempt, begun) } else { None };
            let Some(wait) = wait else { return Err(error) };
            tracing::info!(target: RETRIES, store = %self.inner, attempt, reason = %error, "request is repeated");
            tokio::time::sleep(wait).await;
        }
    }

    fn patience(&self, upload_bytes: usize) -> Duration {
        self.policy.request_time() + upload_time(upload_bytes)
    }
}

/// The longest time for sending this many bytes.
pub(super) fn upload_time(bytes: usize) -> Duration {
    Duration::from_secs(bytes as u64 / SLOWEST_UPLOAD_BYTES_PER_SECOND)
}

fn stalled_error(patience: Duration) -> Error {
    let text = format!("HTTP error: no progress for {} seconds", patience.as_secs_f64());
    Error::Generic { store: "Retrying", source: text.into() }
}

impl fmt::Display for Retrying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Retrying({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Retrying {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let patience = self.patience(payload.content_length());
        let idempotent = matches!(opts.mode, PutMode::Overwrite);
        self.repeat_if(patience, idempotent, || self.inner.put_opts(location, payload.clone(), opts.clone())).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let patience = self.patience(0);
        let inner = self.repeat(patience, || self.inner.put_multipart_opts(location, opts.clone())).await?;
        Ok(Box::new(PatientUpload { inner, patience: self.policy.stall * 3 + self.policy.request_time() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut result = self.repeat(self.patience(0), || self.inner.get_opts(location, options.clone())).await?;
        if options.head || matches!(result.payload, GetResultPayload::File(..)) {
            return Ok(result);
        }
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let (attributes, extensions) = (result.attributes.clone(), std::mem::take(&mut result.extensions));
        let body = ResumedBody {
            store: Arc::clone(&self.inner),
            policy: self.policy.clone(),
            location: location.clone(),
            // The rest must come from the same object, for any condition of the caller.
            options: GetOptions { if_match: meta.e_tag.clone().or(options.if_match.clone()), ..options },
            missing: range.clone(),
            stream: Some(result.into_stream()),
            attempt: 0,
        };
        let stream =
            stream::try_unfold(body, |mut body| async move { Ok(body.next().await?.map(|chunk| (chunk, body))) });
        Ok(GetResult { payload: GetResultPayload::Stream(stream.boxed()), meta, range, attributes, extensions })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        super::ranges_by_get(self, location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        if !self.policy.repeat_requests {
            return self.inner.delete_stream(locations);
        }
        let (inner, policy) = (Arc::clone(&self.inner), self.policy.clone());
        locations
            .then(move |location| {
                let this = Self { inner: Arc::clone(&inner), policy: policy.clone() };
                async move {
                    let location = location?;
                    let one = || async {
                        let only = stream::iter([Ok(location.clone())]).boxed();
                        this.inner.delete_stream(only).next().await.unwrap_or(Ok(location.clone()))
                    };
                    this.repeat(this.patience(0), one).await
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listing(prefix.cloned(), None)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listing(prefix.cloned(), Some(offset.clone()))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.repeat(self.patience(0), || self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        // The store copies by itself and says nothing in the meantime: only failures are seen.
        self.repeat(COPY_PATIENCE, || self.inner.copy_opts(from, to, options.clone())).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.repeat(COPY_PATIENCE, || self.inner.rename_opts(from, to, options.clone())).await
    }
}

const COPY_PATIENCE: Duration = Duration::from_secs(600);

impl Retrying {
    /// A listing that is started again if it fails. Entries that were listed before are skipped by number and name, as
    /// not every store lists in order; a listing that changed in the meantime is an error then.
    fn listing(&self, prefix: Option<Path>, offset: Option<Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let begin = {
            let inner = Arc::clone(&self.inner);
            move || match &offset {
                None => inner.list(prefix.as_ref()),
                Some(offset) => inner.list_with_offset(prefix.as_ref(), offset),
            }
        };
        let state = Listing {
            stream: begin(),
            begin,
            policy: self.policy.clone(),
            seen: 0,
            last: None,
            remembered: None,
            attempt: 0,
        };
        stream::try_unfold(state, |mut listing| async move { Ok(listing.next().await?.map(|meta| (meta, listing))) })
            .boxed()
    }
}

struct Listing<F> {
    begin: F,
    stream: BoxStream<'static, Result<ObjectMeta>>,
    policy: RetryPolicy,
    seen: usize,
    last: Option<Path>,
    /// An earlier entry.
    remembered: Option<Path>,
    attempt: u32,
}

impl<F: Fn() -> BoxStream<'static, Result<ObjectMeta>>> Listing<F> {
    /// Counts an entry, and fails if it was listed before: a server that answers with the same pages again would be
    /// listed for ever. Brent's algorithm finds any repetition with one remembered entry: the one at the last power of
    /// two.
    fn refuse_repetition(&mut self, location: &Path) -> Result<()> {
        if self.remembered.as_ref() == Some(location) {
            let text = format!("the listing of {location} does not end: its continuation tokens repeat");
            return Err(Error::Generic { store: "Retrying", source: text.into() });
        }
        self.seen += 1;
        if self.seen.is_power_of_two() {
            self.remembered = Some(location.clone());
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<ObjectMeta>> {
        let begun = Instant::now();
        loop {
            let error = match tokio::time::timeout(self.policy.request_time(), self.stream.next()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(meta))) => {
                    self.refuse_repetition(&meta.location)?;
                    self.last = Some(meta.location.clone());
                    return Ok(Some(meta));
                }
                // The inner store has repeated the request; here the body of an answer broke off.
                Ok(Some(Err(e))) if is_cut_off_listing(&e) || self.policy.repeat_requests && is_transient(&e) => e,
                Ok(Some(Err(e))) => return Err(e),
                Err(_) => stalled_error(self.policy.request_time()),
            };
            self.begin_again(error, begun).await?;
        }
    }

    async fn begin_again(&mut self, mut error: Error, begun: Instant) -> Result<()> {
        'attempt: loop {
            let Some(wait) = self.policy.next_wait(&mut self.attempt, begun) else { return Err(error) };
            tracing::info!(target: RETRIES, attempt = self.attempt, reason = %error, "listing is started again");
            tokio::time::sleep(wait).await;
            self.stream = (self.begin)();
            let mut last = None;
            for _ in 0..self.seen {
                match tokio::time::timeout(self.policy.request_time(), self.stream.next()).await {
                    Ok(Some(Ok(meta))) => last = Some(meta.location),
                    Ok(Some(Err(e))) if is_transient(&e) => {
                        error = e;
                        continue 'attempt;
                    }
                    Ok(Some(Err(e))) => return Err(e),
                    Ok(None) => break,
                    Err(_) => continue 'attempt,
                }
            }
            if last == self.last {
                return Ok(());
            }
            let text = "the folder changed while it was listed".into();
            return Err(Error::Generic { store: "Retrying", source: text });
        }
    }
}

/// A body that is requested again from where it stopped.
struct ResumedBody {
    store: Arc<dyn ObjectStore>,
    policy: RetryPolicy,
    location: Path,
    options: GetOptions,
    missing: Range<u64>,
    stream: Option<BoxStream<'static, Result<Bytes>>>,
    attempt: u32,
}

impl ResumedBody {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.missing.is_empty() {
            return Ok(None);
        }
        let begun = Instant::now();
        loop {
            let error = match self.poll_once().await {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(error) => error,
            };
            self.stream = None;
            // Without a tag, a replaced object could not be distinguished from the old one.
            let can_resume = self.options.if_match.is_some() && is_transient(&error);
            let wait = if can_resume { self.policy.next_wait(&mut self.attempt, begun) } else { None };
            let Some(wait) = wait else { return Err(error) };
            let (path, from, attempt) = (&self.location, self.missing.start, self.attempt);
            tracing::info!(target: RETRIES, %path, from, attempt, reason = %error, "rest of a body is requested again");
            tokio::time::sleep(wait).await;
        }
    }

    /// The next chunk of the running answer, or of a new one.
    async fn poll_once(&mut self) -> Result<Bytes> {
        let stall = self.policy.stall;
        let stalled = |_| stalled_error(stall);
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let options =
                    GetOptions { range: Some(GetRange::Bounded(self.missing.clone())), ..self.options.clone() };
                let request = self.store.get_opts(&self.location, options);
                let result = tokio::time::timeout(self.policy.request_time(), request).await.map_err(stalled)??;
                if result.range != self.missing {
                    return Err(broken("the store returned another range"));
                }
                self.stream.insert(result.into_stream())
            }
        };
        match tokio::time::timeout(stall, stream.next()).await.map_err(stalled)? {
            None => Err(broken("HTTP error: the body ended early")),
            Some(chunk) => {
                let chunk = chunk?;
                if chunk.len() as u64 > self.missing.end - self.missing.start {
                    return Err(broken("the store sent more bytes than it announced"));
                }
                self.missing.start += chunk.len() as u64;
                if !chunk.is_empty() {
                    self.attempt = 0;
                }
                Ok(chunk)
            }
        }
    }
}

fn broken(text: &str) -> Error {
    Error::Generic { store: "Retrying", source: text.to_owned().into() }
}

/// Aborts parts that stall.
#[derive(Debug)]
struct PatientUpload {
    inner: Box<dyn MultipartUpload>,
    /// The time for the attempts of a part, without that for its bytes.
    patience: Duration,
}

#[async_trait]
impl MultipartUpload for PatientUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        // The store repeats a part below, so this covers all its attempts.
        let patience = self.patience + upload_time(data.content_length());
        let part = self.inner.put_part(data);
        Box::pin(async move { tokio::time::timeout(patience, part).await.map_err(|_| stalled_error(patience))? })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

#[cfg(test)]
mod tests;
