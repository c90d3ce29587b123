//! Repeating what failed, and noticing what stands still.

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

use crate::store::error::is_transient;

/// When to repeat a request, and how long to wait.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// How often a request that failed is sent again, and how often a body that broke off without any progress is
    /// asked for again. A body that progresses may break off any number of times.
    pub retries: u32,
    /// Whether requests that fail as a whole are repeated here. Off where the store does that itself.
    pub repeat_requests: bool,
    /// The first wait; each further one is twice as long.
    pub first_backoff: Duration,
    /// The longest wait.
    pub longest_backoff: Duration,
    /// A request that shows no progress for this long is given up and sent again. There is no limit on a request
    /// that goes on, however slowly.
    pub stall: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 5,
            repeat_requests: true,
            first_backoff: Duration::from_millis(100),
            longest_backoff: Duration::from_secs(10),
            stall: Duration::from_secs(20),
        }
    }
}

impl RetryPolicy {
    /// For a store that repeats failed requests itself: bodies and stalls remain.
    pub fn bodies_only() -> Self {
        Self { repeat_requests: false, retries: 3, ..Self::default() }
    }

    /// The wait before attempt `attempt` (from 1), with jitter: between half and all of the exponential wait, so that
    /// requests that failed together do not come back together.
    fn backoff(&self, attempt: u32) -> Duration {
        let full = self.first_backoff.saturating_mul(1 << (attempt - 1).min(20)).min(self.longest_backoff);
        full.mul_f64(rand::rng().random_range(0.5..=1.0))
    }
}

/// Uploads are given this much more time than [`RetryPolicy::stall`]: their progress can't be seen.
const SLOWEST_UPLOAD_BYTES_PER_SECOND: u64 = 50_000;

/// Repeats requests that failed for a passing reason. A body that broke off or stands still is asked for again from
/// where it stopped, demanding the same tag, so its reader notices nothing.
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

    /// Like [`Self::repeat`]; a request that must not be carried out twice is given up when it stalls.
    async fn repeat_if<T, F>(&self, patience: Duration, idempotent: bool, request: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut attempt = 0;
        loop {
            let (outcome, stalled) = match tokio::time::timeout(patience, request()).await {
                Ok(outcome) => (outcome, false),
                Err(_) => (Err(stalled_error(patience)), true),
            };
            let Err(error) = outcome else { return outcome };
            let repeatable = stalled && idempotent || !stalled && self.policy.repeat_requests && is_transient(&error);
            if !repeatable || attempt >= self.policy.retries {
                return Err(error);
            }
            attempt += 1;
            tokio::time::sleep(self.policy.backoff(attempt)).await;
        }
    }

    fn patience(&self, upload_bytes: usize) -> Duration {
        self.policy.stall + Duration::from_secs(upload_bytes as u64 / SLOWEST_UPLOAD_BYTES_PER_SECOND)
    }
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
        Ok(Box::new(PatientUpload { inner, stall: self.policy.stall }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut result = self.repeat(self.policy.stall, || self.inner.get_opts(location, options.clone())).await?;
        if options.head || matches!(result.payload, GetResultPayload::File(..)) {
            return Ok(result);
        }
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let (attributes, extensions) = (result.attributes.clone(), std::mem::take(&mut result.extensions));
        let body = Body {
            store: Arc::clone(&self.inner),
            policy: self.policy.clone(),
            location: location.clone(),
            // The rest must come from the same object, whatever the caller demanded.
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
                    this.repeat(this.policy.stall, one).await
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
        self.repeat(self.policy.stall, || self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        // The store copies by itself and says nothing meanwhile: only failures are seen.
        self.repeat(COPY_PATIENCE, || self.inner.copy_opts(from, to, options.clone())).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.repeat(COPY_PATIENCE, || self.inner.rename_opts(from, to, options.clone())).await
    }
}

const COPY_PATIENCE: Duration = Duration::from_secs(600);

impl Retrying {
    /// A listing that is begun anew where it fails. What was listed before is skipped by number and name, as not every
    /// store lists in order; a listing that changed meanwhile is an error then.
    fn listing(&self, prefix: Option<Path>, offset: Option<Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let begin = {
            let inner = Arc::clone(&self.inner);
            move || match &offset {
                None => inner.list(prefix.as_ref()),
                Some(offset) => inner.list_with_offset(prefix.as_ref(), offset),
            }
        };
        let state = Listing { stream: begin(), begin, policy: self.policy.clone(), seen: 0, last: None, attempt: 0 };
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
    attempt: u32,
}

impl<F: Fn() -> BoxStream<'static, Result<ObjectMeta>>> Listing<F> {
    async fn next(&mut self) -> Result<Option<ObjectMeta>> {
        loop {
            let error = match tokio::time::timeout(self.policy.stall, self.stream.next()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(meta))) => {
                    self.seen += 1;
                    self.last = Some(meta.location.clone());
                    return Ok(Some(meta));
                }
                Ok(Some(Err(e))) if !(self.policy.repeat_requests && is_transient(&e)) => return Err(e),
                Ok(Some(Err(e))) => e,
                Err(_) => stalled_error(self.policy.stall),
            };
            self.begin_anew(error).await?;
        }
    }

    async fn begin_anew(&mut self, mut error: Error) -> Result<()> {
        'attempt: loop {
            if self.attempt >= self.policy.retries {
                return Err(error);
            }
            self.attempt += 1;
            tokio::time::sleep(self.policy.backoff(self.attempt)).await;
            self.stream = (self.begin)();
            let mut last = None;
            for _ in 0..self.seen {
                match tokio::time::timeout(self.policy.stall, self.stream.next()).await {
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

/// A body that is asked for again from where it stopped.
struct Body {
    store: Arc<dyn ObjectStore>,
    policy: RetryPolicy,
    location: Path,
    options: GetOptions,
    missing: Range<u64>,
    stream: Option<BoxStream<'static, Result<Bytes>>>,
    attempt: u32,
}

impl Body {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.missing.is_empty() {
            return Ok(None);
        }
        loop {
            let error = match self.poll_once().await {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(error) => error,
            };
            self.stream = None;
            // Without a tag, a replaced object could not be told from the old one.
            let can_resume = self.options.if_match.is_some() && is_transient(&error);
            if !can_resume || self.attempt >= self.policy.retries {
                return Err(error);
            }
            self.attempt += 1;
            tokio::time::sleep(self.policy.backoff(self.attempt)).await;
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
                let result = tokio::time::timeout(stall, request).await.map_err(stalled)??;
                if result.range != self.missing {
                    return Err(broken("the store answered with another range"));
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

/// Gives up on parts that stand still.
#[derive(Debug)]
struct PatientUpload {
    inner: Box<dyn MultipartUpload>,
    stall: Duration,
}

#[async_trait]
impl MultipartUpload for PatientUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        // The store repeats a part below, so this covers all its attempts.
        let seconds = data.content_length() as u64 / SLOWEST_UPLOAD_BYTES_PER_SECOND;
        let patience = self.stall * 4 + Duration::from_secs(seconds);
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
