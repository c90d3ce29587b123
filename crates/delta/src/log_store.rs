//! The folder of a table as the kernel's store.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lakerace_io::JobStore;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::prefix::PrefixStore;
use lakerace_io::object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

/// The store that the kernel sees: paths begin at the table's folder, so that no character of the folder's own name needs
/// an escape on the way; listings are sorted; and entries of the log, which never change, are fetched once.
#[derive(Debug)]
pub(crate) struct LogStore {
    inner: PrefixStore<Arc<dyn ObjectStore>>,
    known: Mutex<Known>,
}

/// Entries that were fetched.
#[derive(Debug, Default)]
struct Known {
    entries: HashMap<Path, (ObjectMeta, Bytes)>,
    bytes: usize,
}

/// Entries of the log that are kept at most: the kernel reads those behind the last checkpoint twice, once for the schema
/// and once for the files.
const KNOWN_BYTES: usize = 32 << 20;

impl LogStore {
    pub fn new(store: &JobStore, root: &Path) -> Self {
        let inner = PrefixStore::new(Arc::clone(&store.store), root.clone());
        Self { inner, known: Mutex::default() }
    }

    fn known(&self, location: &Path) -> Option<GetResult> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (meta, bytes) = known.entries.get(location)?;
        Some(answer(meta.clone(), bytes.clone()))
    }

    async fn fetch(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let result = self.inner.get_opts(location, options).await?;
        let meta = result.meta.clone();
        let bytes = result.bytes().await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.bytes + bytes.len() <= KNOWN_BYTES {
            known.bytes += bytes.len();
            known.entries.insert(location.clone(), (meta.clone(), bytes.clone()));
        }
        Ok(answer(meta, bytes))
    }
}

fn answer(meta: ObjectMeta, bytes: Bytes) -> GetResult {
    let range = 0..bytes.len() as u64;
    let payload = GetResultPayload::Stream(stream::once(async move { Ok(bytes) }).boxed());
    GetResult { payload, meta, range, attributes: Default::default(), extensions: Default::default() }
}

/// Whether an object never changes once it exists: `_delta_log/00000000000000000012.json`.
fn is_entry(location: &Path) -> bool {
    let name = location.as_ref().strip_prefix("_delta_log/").and_then(|name| name.strip_suffix(".json"));
    name.is_some_and(|name| name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit()))
}

impl fmt::Display for LogStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogStore({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for LogStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if !is_entry(location) || options.head || options.range.is_some() {
            return self.inner.get_opts(location, options).await;
        }
        match self.known(location) {
            Some(known) => Ok(known),
            None => self.fetch(location, options).await,
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        sorted(self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        sorted(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

/// The kernel relies on the order; a disk gives its files in any.
fn sorted(listing: BoxStream<'static, Result<ObjectMeta>>) -> BoxStream<'static, Result<ObjectMeta>> {
    let all = async move {
        let mut found: Vec<ObjectMeta> = listing.try_collect().await?;
        found.sort_unstable_by(|a, b| a.location.cmp(&b.location));
        Ok::<_, Error>(stream::iter(found.into_iter().map(Ok)))
    };
    stream::once(all).try_flatten().boxed()
}
