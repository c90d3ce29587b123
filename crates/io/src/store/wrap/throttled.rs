//! A slower path, simulated.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use lakerace_exec::lock;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};

use super::rate_limit::BytePace;

/// Bytes that pass between two checks of the clock.
const STEP_BYTES: usize = 64 << 10;

/// The speed of a [`Throttled`] path.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ThrottleOptions {
    /// The time from each request to its first byte, and from each answer of a listing to the next page.
    pub latency: Duration,
    /// The bandwidth of a request, each way. `None`: no bound.
    pub connection_bytes_per_second: Option<f64>,
    /// All requests' bandwidth together, each way. `None`: no bound.
    pub total_bytes_per_second: Option<f64>,
}

/// A store with additional latency and limited bandwidth. Each request has a separate connection.
///
/// Time is tokio's: on the real clock this makes things slow, and in a test with paused time it costs none and the
/// durations are exact.
#[derive(Debug)]
pub struct Throttled {
    inner: Arc<dyn ObjectStore>,
    options: ThrottleOptions,
    total: Arc<Mutex<BytePace>>,
}

impl Throttled {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>, options: ThrottleOptions) -> Self {
        let total = Arc::new(Mutex::new(BytePace::new(options.total_bytes_per_second)));
        Self { inner, options, total }
    }

    async fn delay(&self) {
        tokio::time::sleep(self.options.latency).await;
    }

    fn line(&self) -> RequestShare {
        RequestShare {
            connection: BytePace::new(self.options.connection_bytes_per_second),
            total: Arc::clone(&self.total),
        }
    }
}

/// The share of a request in the path.
struct RequestShare {
    connection: BytePace,
    total: Arc<Mutex<BytePace>>,
}

impl RequestShare {
    async fn pass(&mut self, mut bytes: usize) {
        self.connection.begin();
        while bytes > 0 {
            let step = bytes.min(STEP_BYTES);
            let due = lock(&self.total).reserve(step);
            self.connection.passed(step).await;
            if let Some(due) = due {
                tokio::time::sleep_until(due).await;
            }
            bytes -= step;
        }
    }
}

fn throttled_body(body: BoxStream<'static, Result<Bytes>>, line: RequestShare) -> BoxStream<'static, Result<Bytes>> {
    let pieces = body.flat_map(|chunk| match chunk {
        Err(e) => stream::iter(vec![Err(e)]),
        Ok(mut chunk) => {
            let mut pieces = Vec::new();
            while !chunk.is_empty() {
                pieces.push(Ok(chunk.split_to(chunk.len().min(STEP_BYTES))));
            }
            stream::iter(pieces)
        }
    });
    let passed = stream::unfold((pieces.boxed(), line), |(mut pieces, mut line)| async move {
        let piece = pieces.next().await?;
        if let Ok(piece) = &piece {
            line.pass(piece.len()).await;
        }
        Some((piece, (pieces, line)))
    });
    // Readers may look again after the end.
    passed.fuse().boxed()
}

impl fmt::Display for Throttled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Throttled({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Throttled {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.line().pass(payload.content_length()).await;
        self.delay().await;
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.delay().await;
        let inner = self.inner.put_multipart_opts(location, opts).await?;
        let (options, total) = (self.options, Arc::clone(&self.total));
        Ok(Box::new(ThrottledUpload { inner, options, total }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.delay().await;
        let head = options.head;
        let mut result = self.inner.get_opts(location, options).await?;
        if head {
            return Ok(result);
        }
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let (attributes, extensions) = (result.attributes.clone(), std::mem::take(&mut result.extensions));
        let payload = GetResultPayload::Stream(throttled_body(result.into_stream(), self.line()));
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        slow_items(self.inner.delete_stream(locations), self.options.latency, 1)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        slow_items(self.inner.list(prefix), self.options.latency, 1000)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        slow_items(self.inner.list_with_offset(prefix, offset), self.options.latency, 1000)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.delay().await;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.delay().await;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.delay().await;
        self.inner.rename_opts(from, to, options).await
    }
}

/// Waits before every `page`-th item, the first included, and before the end of an empty stream.
fn slow_items<T: Send + 'static>(
    items: BoxStream<'static, Result<T>>,
    latency: Duration,
    page: usize,
) -> BoxStream<'static, Result<T>> {
    stream::unfold((items, 0usize), move |(mut items, seen)| async move {
        if seen % page == 0 {
            tokio::time::sleep(latency).await;
        }
        let item = items.next().await?;
        Some((item, (items, seen + 1)))
    })
    .fuse()
    .boxed()
}

#[derive(Debug)]
struct ThrottledUpload {
    inner: Box<dyn MultipartUpload>,
    options: ThrottleOptions,
    total: Arc<Mutex<BytePace>>,
}

#[async_trait]
impl MultipartUpload for ThrottledUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (bytes, latency) = (data.content_length(), self.options.latency);
        let connection = BytePace::new(self.options.connection_bytes_per_second);
        let mut line = RequestShare { connection, total: Arc::clone(&self.total) };
        let part = self.inner.put_part(data);
        Box::pin(async move {
            line.pass(bytes).await;
            tokio::time::sleep(latency).await;
            part.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        tokio::time::sleep(self.options.latency).await;
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        tokio::time::sleep(self.options.latency).await;
        self.inner.abort().await
    }
}
