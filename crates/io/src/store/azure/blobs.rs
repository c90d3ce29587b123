//! Azure as other stores are: the end of an object by its size and a range, and tags of listings as answers have them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

/// Wraps a client of Azure, which does not support ranges from the end of an object, and lists tags without their
/// quotes.
pub(super) struct AzureBlobs {
    inner: Arc<dyn ObjectStore>,
}

impl AzureBlobs {
    pub(super) fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner }
    }
}

/// A listed object with its tag in the form that a read of it returns.
fn with_quoted_tag(meta: ObjectMeta) -> ObjectMeta {
    let quoted = |tag: String| if tag.ends_with('"') { tag } else { format!("\"{tag}\"") };
    ObjectMeta { e_tag: meta.e_tag.map(quoted), ..meta }
}

/// Shows no credentials, which a client's own debug text contains.
impl fmt::Debug for AzureBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AzureBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AzureBlobs({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for AzureBlobs {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some(GetRange::Suffix(n)) = options.range else { return self.inner.get_opts(location, options).await };
        let head = GetOptions { range: None, head: true, ..options.clone() };
        let found = self.inner.get_opts(location, head).await?;
        let size_bytes = found.meta.size;
        if size_bytes == 0 {
            return Ok(GetResult { payload: GetResultPayload::Stream(stream::empty().boxed()), range: 0..0, ..found });
        }
        let range = GetRange::Bounded(size_bytes.saturating_sub(n)..size_bytes);
        // An object that is replaced in the meantime has another end.
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
        self.inner.list(prefix).map_ok(with_quoted_tag).boxed()
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset).map_ok(with_quoted_tag).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut found = self.inner.list_with_delimiter(prefix).await?;
        found.objects = found.objects.into_iter().map(with_quoted_tag).collect();
        Ok(found)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}
