//! Faults, by seed or on order.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads an object or a range of one.
    Get,
    /// Asks for size and tag.
    Head,
    /// Writes an object.
    Put,
    /// Starts a multipart upload.
    Begin,
    /// Writes a part.
    Part,
    /// Completes a multipart upload.
    Complete,
    /// Aborts a multipart upload.
    Abort,
    /// Lists a folder.
    List,
    /// Removes an object.
    Delete,
    /// Copies or renames.
    Copy,
}

/// The faults of a [`Failing`] store. Rates are probabilities per request, from 0 to 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FailingOptions {
    /// The seed: the same one and the same order of requests give the same faults.
    pub seed: u64,
    /// The request fails as if by a status 500, before it has done anything.
    pub error_rate: f64,
    /// The body breaks off with an error after some of its bytes.
    pub reset_rate: f64,
    /// The body ends early as if it were complete.
    pub short_rate: f64,
    /// The request, or its body after some bytes, stalls for ever.
    pub stall_rate: f64,
    /// After this many requests the store is gone: all further ones fail.
    pub stop_after: Option<u64>,
    /// The n-th request of this kind (from 1) fails, and all later ones of it.
    pub fail_from: Option<(Operation, u64)>,
}

/// A store that fails.
#[derive(Debug)]
pub struct Failing {
    inner: Arc<dyn ObjectStore>,
    faults: Arc<InjectedFaults>,
}

#[derive(Debug)]
struct InjectedFaults {
    options: FailingOptions,
    requests: AtomicU64,
    of_kind: AtomicU64,
    injected: AtomicU64,
}

/// The fate of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum InjectedFate {
    Fine,
    Error,
    /// These happen after this fraction of the body.
    Reset(f64),
    Short(f64),
    Stall(f64),
}

impl Failing {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>, options: FailingOptions) -> Self {
        let (requests, of_kind, injected) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { inner, faults: Arc::new(InjectedFaults { options, requests, of_kind, injected }) }
    }

    /// The number of faults so far.
    pub fn injected(&self) -> u64 {
        self.faults.injected.load(Ordering::Relaxed)
    }
}

impl InjectedFaults {
    fn fate(&self, operation: Operation) -> InjectedFate {
        let fate = self.decide(operation);
        if fate != InjectedFate::Fine {
            self.injected.fetch_add(1, Ordering::Relaxed);
        }
        fate
    }

    fn decide(&self, operation: Operation) -> InjectedFate {
        let options = &self.options;
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if options.stop_after.is_some_and(|n| number > n) {
            return InjectedFate::Error;
        }
        if let Some((kind, first)) = options.fail_from
            && kind == operation
            && self.of_kind.fetch_add(1, Ordering::Relaxed) + 1 >= first
        {
            return InjectedFate::Error;
        }
        // One generator per request: the faults do not depend on how requests interleave.
        let mut random = StdRng::seed_from_u64(options.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number));
        let (mut dice, part) = (random.random::<f64>(), random.random::<f64>());
        for (rate, fate) in [
            (options.error_rate, InjectedFate::Error),
            (options.reset_rate, InjectedFate::Reset(part)),
            (options.short_rate, InjectedFate::Short(part)),
            (options.stall_rate, InjectedFate::Stall(part)),
        ] {
            if dice < rate {
                return fate;
            }
            dice -= rate;
        }
        InjectedFate::Fine
    }

    /// Lets a request without a body in its answer pass, or not.
    async fn pass(&self, operation: Operation) -> Result<()> {
        match self.fate(operation) {
            InjectedFate::Fine | InjectedFate::Short(_) => Ok(()),
            InjectedFate::Error | InjectedFate::Reset(_) => {
                Err(injected("status code: 500 Internal Server Error: injected"))
            }
            InjectedFate::Stall(_) => std::future::pending().await,
        }
    }
}

fn injected(text: &str) -> Error {
    Error::Generic { store: "Failing", source: text.to_owned().into() }
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failing({})", self.inner)
    }
}

fn failing_body(
    body: BoxStream<'static, Result<Bytes>>,
    len: u64,
    fate: InjectedFate,
) -> BoxStream<'static, Result<Bytes>> {
    let (part, end): (f64, BoxStream<'static, Result<Bytes>>) = match fate {
        InjectedFate::Fine | InjectedFate::Error => return body,
        InjectedFate::Reset(part) => (part, stream::iter([Err(injected("HTTP error: connection reset"))]).boxed()),
        InjectedFate::Short(part) => (part, stream::empty().boxed()),
        InjectedFate::Stall(part) => (part, stream::pending().boxed()),
    };
    let allowed = (len as f64 * part) as u64;
    let cut = stream::unfold((body, allowed), |(mut body, left)| async move {
        if left == 0 {
            return None;
        }
        match body.next().await? {
            Err(e) => Some((Err(e), (body, 0))),
            Ok(mut chunk) => {
                chunk.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                let left = left - chunk.len() as u64;
                Some((Ok(chunk), (body, left)))
            }
        }
    });
    cut.chain(end).boxed()
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.faults.pass(Operation::Put).await?;
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.faults.pass(Operation::Begin).await?;
        let inner = self.inner.put_multipart_opts(location, opts).await?;
        Ok(Box::new(FailingUpload { inner, faults: Arc::clone(&self.faults) }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if options.head {
            self.faults.pass(Operation::Head).await?;
            return self.inner.get_opts(location, options).await;
        }
        let fate = self.faults.fate(Operation::Get);
        match fate {
            InjectedFate::Error => return Err(injected("status code: 500 Internal Server Error: injected")),
            // Some stand still before the first byte.
            InjectedFate::Stall(part) if part < 0.3 => std::future::pending().await,
            _ => {}
        }
        let mut result = self.inner.get_opts(location, options).await?;
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let (attributes, extensions) = (result.attributes.clone(), std::mem::take(&mut result.extensions));
        let body = failing_body(result.into_stream(), range.end - range.start, fate);
        Ok(GetResult { payload: GetResultPayload::Stream(body), meta, range, attributes, extensions })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (inner, faults) = (Arc::clone(&self.inner), Arc::clone(&self.faults));
        locations
            .then(move |location| {
                let (inner, faults) = (Arc::clone(&inner), Arc::clone(&faults));
                async move {
                    let location = location?;
                    faults.pass(Operation::Delete).await?;
                    let only = stream::iter([Ok(location.clone())]).boxed();
                    inner.delete_stream(only).next().await.unwrap_or(Ok(location))
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.failing_list(self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.failing_list(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.faults.pass(Operation::List).await?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.faults.pass(Operation::Copy).await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.faults.pass(Operation::Copy).await?;
        self.inner.rename_opts(from, to, options).await
    }
}

impl Failing {
    /// A listing fails before its first entry, or after some.
    fn failing_list(&self, list: BoxStream<'static, Result<ObjectMeta>>) -> BoxStream<'static, Result<ObjectMeta>> {
        let error = || stream::iter([Err(injected("HTTP error: connection reset"))]);
        match self.faults.fate(Operation::List) {
            InjectedFate::Fine | InjectedFate::Short(_) => list,
            InjectedFate::Error => error().boxed(),
            InjectedFate::Reset(part) => list.take((part * 10.0) as usize).chain(error()).boxed(),
            InjectedFate::Stall(part) => list.take((part * 10.0) as usize).chain(stream::pending()).boxed(),
        }
    }
}

#[derive(Debug)]
struct FailingUpload {
    inner: Box<dyn MultipartUpload>,
    faults: Arc<InjectedFaults>,
}

#[async_trait]
impl MultipartUpload for FailingUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let faults = Arc::clone(&self.faults);
        let part = self.inner.put_part(data);
        Box::pin(async move {
            faults.pass(Operation::Part).await?;
            part.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.faults.pass(Operation::Complete).await?;
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.faults.pass(Operation::Abort).await?;
        self.inner.abort().await
    }
}
