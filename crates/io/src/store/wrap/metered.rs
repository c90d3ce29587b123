//! Counting requests and bytes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, Stream, StreamExt};
use futures::{FutureExt, TryFutureExt};
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::path::Path;
use object_store::{
    ClientOptions, CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};

use super::no_redirect::NoRedirectConnector;
use super::request_log::RequestLog;
use crate::meter::{Meter, RequestKind};
use crate::store::kind::StoreKind;

tokio::task_local! {
    /// The meter of the job for which a request is being made. It is set around every poll of a metered store's futures
    /// and streams, and read where the HTTP client sends: so each sent attempt and each page of a listing is counted
    /// for the right job, although jobs share the client.
    static PAYER: Arc<Meter>;
}

/// Counts the requests and bytes of a store.
///
/// Counted by operation: the requested operations of the store. Counted by attempt (stores made with the counting HTTP
/// client): every request that was sent, repeated ones and each page of a listing included; requests for credentials
/// are not counted. Bytes are counted as they stream, in both cases, so bytes of an attempt that broke off count as
/// well. Not counted: headers, name look-ups, connection set-up.
pub struct Metered {
    inner: Arc<dyn ObjectStore>,
    meter: Arc<Meter>,
    by_operation: bool,
}

/// Entries on one page of a listing, as object stores page them.
const LIST_PAGE: u64 = 1000;

/// Uses the inner store's name: a derived implementation would show the credentials of some clients.
impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metered({})", self.inner)
    }
}

impl Metered {
    /// Counts operations. A listing counts one request for each started 1,000 entries.
    pub fn operations(inner: Arc<dyn ObjectStore>, meter: Arc<Meter>) -> Self {
        Self { inner, meter, by_operation: true }
    }

    /// Counts the requests that the store's HTTP client sends; the store must have been made with a
    /// [`CountingConnector`].
    pub(crate) fn attempts(inner: Arc<dyn ObjectStore>, meter: Arc<Meter>) -> Self {
        Self { inner, meter, by_operation: false }
    }

    fn count(&self, kind: RequestKind, path: &Path) {
        if self.by_operation {
            self.meter.count_path(kind, &self.inner, path);
        }
    }

    fn count_listing(&self, prefix: Option<&Path>) {
        self.count(RequestKind::List, prefix.unwrap_or(&Path::ROOT));
    }

    async fn paying<T>(&self, future: impl Future<Output = T>) -> T {
        PAYER.scope(Arc::clone(&self.meter), future).await
    }

    fn paying_stream<T: 'static>(
        &self,
        inner: BoxStream<'static, Result<T>>,
        count: OnItem<T>,
    ) -> BoxStream<'static, Result<T>> {
        MeteredStream { inner, meter: Arc::clone(&self.meter), count, seen: 0 }.boxed()
    }
}

impl fmt::Display for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metered({})", self.inner)
    }
}

/// A stream's item added to the meter, given its number in the stream.
type OnItem<T> = fn(&Meter, &T, u64);

struct MeteredStream<T> {
    inner: BoxStream<'static, Result<T>>,
    meter: Arc<Meter>,
    count: OnItem<T>,
    seen: u64,
}

impl<T> Stream for MeteredStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let polled = PAYER.sync_scope(Arc::clone(&this.meter), || this.inner.poll_next_unpin(cx));
        if let Poll::Ready(Some(Ok(item))) = &polled {
            (this.count)(&this.meter, item, this.seen);
            this.seen += 1;
        }
        polled
    }
}

fn count_bytes(meter: &Meter, chunk: &Bytes, _: u64) {
    meter.read_bytes(chunk.len() as u64);
}

fn count_pages<T>(meter: &Meter, _: &T, number: u64) {
    if number > 0 && number.is_multiple_of(LIST_PAGE) {
        meter.count(RequestKind::List, 1);
    }
}

fn count_deletes<T>(meter: &Meter, _: &T, _: u64) {
    meter.count(RequestKind::Delete, 1);
}

fn count_nothing<T>(_: &Meter, _: &T, _: u64) {}

#[async_trait]
impl ObjectStore for Metered {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.count(RequestKind::Put, location);
        let bytes = payload.content_length() as u64;
        let done = self.paying(self.inner.put_opts(location, payload, opts)).await?;
        self.meter.wrote_bytes(bytes);
        Ok(done)
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.count(RequestKind::Put, location);
        let inner = self.paying(self.inner.put_multipart_opts(location, opts)).await?;
        let counted = self.by_operation.then(|| (self.inner.to_string(), location.clone()));
        Ok(Box::new(MeteredUpload { inner, meter: Arc::clone(&self.meter), counted }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        self.count(if head { RequestKind::Head } else { RequestKind::Get }, location);
        let mut result = self.paying(self.inner.get_opts(location, options)).await?;
        if !head {
            // A file becomes a stream as well: otherwise its bytes would be read past the meter.
            let (meta, range) = (result.meta.clone(), result.range.clone());
            let (attributes, extensions) = (result.attributes.clone(), std::mem::take(&mut result.extensions));
            let stream = self.paying_stream(result.into_stream(), count_bytes);
            result = GetResult { payload: GetResultPayload::Stream(stream), meta, range, attributes, extensions };
        }
        Ok(result)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[std::ops::Range<u64>]) -> Result<Vec<Bytes>> {
        super::ranges_by_get(self, location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let count = if self.by_operation { count_deletes } else { count_nothing };
        self.paying_stream(self.inner.delete_stream(locations), count)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.count_listing(prefix);
        let count = if self.by_operation { count_pages } else { count_nothing };
        self.paying_stream(self.inner.list(prefix), count)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.count_listing(prefix);
        let count = if self.by_operation { count_pages } else { count_nothing };
        self.paying_stream(self.inner.list_with_offset(prefix, offset), count)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.count_listing(prefix);
        self.paying(self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.count(RequestKind::Put, to);
        self.paying(self.inner.copy_opts(from, to, options)).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        // A copy and a removal, as object stores do it.
        self.count(RequestKind::Put, to);
        self.count(RequestKind::Delete, from);
        self.paying(self.inner.rename_opts(from, to, options)).await
    }
}

#[derive(Debug)]
struct MeteredUpload {
    inner: Box<dyn MultipartUpload>,
    meter: Arc<Meter>,
    /// The store and the path of its requests, where each operation counts as one.
    counted: Option<(String, Path)>,
}

impl MeteredUpload {
    fn count(&self, kind: RequestKind) {
        if let Some((store, path)) = &self.counted {
            self.meter.count_path(kind, store, path);
        }
    }
}

#[async_trait]
impl MultipartUpload for MeteredUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.count(RequestKind::Put);
        let (bytes, meter) = (data.content_length() as u64, Arc::clone(&self.meter));
        let part = PAYER.sync_scope(Arc::clone(&self.meter), || self.inner.put_part(data));
        let part = PAYER.scope(Arc::clone(&self.meter), part);
        part.inspect_ok(move |()| meter.wrote_bytes(bytes)).boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.count(RequestKind::Put);
        PAYER.scope(Arc::clone(&self.meter), self.inner.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.count(RequestKind::Delete);
        PAYER.scope(Arc::clone(&self.meter), self.inner.abort()).await
    }
}

/// Makes HTTP clients that count each sent request for the job that caused it.
#[derive(Debug, Clone)]
pub(crate) struct CountingConnector {
    inner: NoRedirectConnector,
    kind: &'static StoreKind,
}

impl CountingConnector {
    pub(crate) fn new(kind: &'static StoreKind) -> Self {
        Self { inner: NoRedirectConnector::new(!kind.can_write), kind }
    }
}

impl HttpConnector for CountingConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(CountingClient { inner: self.inner.connect(options)?, kind: self.kind }))
    }
}

#[derive(Debug)]
struct CountingClient {
    inner: HttpClient,
    kind: &'static StoreKind,
}

impl CountingClient {
    fn count(&self, meter: &Meter, kind: RequestKind) {
        if self.kind.is_billed { meter.bill(kind, 1) } else { meter.add(kind, 1) }
    }
}

#[async_trait]
impl HttpService for CountingClient {
    async fn call(&self, request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        // Requests without a payer (credentials fetched in the background) are not counted.
        let kind = (self.kind.bill)(&request).filter(|kind| PAYER.try_with(|meter| self.count(meter, *kind)).is_ok());
        let Some(kind) = kind.filter(|_| RequestLog::is_wanted()) else { return self.inner.execute(request).await };
        let mut log = RequestLog::begin(kind, &request);
        let outcome = self.inner.execute(request).await;
        log.end(&outcome);
        outcome
    }
}
