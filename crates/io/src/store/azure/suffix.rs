//! The end of an object on a store that can't be asked for it: its size first, then a range.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

/// Wraps a store that takes no ranges from the end of an object, as Azure does not.
#[derive(Debug)]
pub(super) struct SuffixByHead {
    inner: Arc<dyn ObjectStore>,
}

impl SuffixByHead {
    pub(super) fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner }
    }
}

impl fmt::Display for SuffixByHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SuffixByHead({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for SuffixByHead {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(GetRange::Suffix(n)) = options.range else { return self.inner.get_opts(location, options).await };
        let head = GetOptions { range: None, head: true, ..options.clone() };
        let found = self.inner.get_opts(location, head).await?;
        let size_bytes = found.meta.size;
        if size_bytes == 0 {
            return Ok(GetResult { payload: GetResultPayload::Stream(stream::empty().boxed()), range: 0..0, ..found });
        }
        let range = GetRange::Bounded(size_bytes.saturating_sub(n)..size_bytes);
        // One that is replaced meanwhile has another end.
        let if_match = options.if_match.clone().or(found.meta.e_tag);
        self.inner.get_opts(location, GetOptions { range: Some(range), if_match, ..options }).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
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
