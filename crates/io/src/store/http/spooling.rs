//! Files of servers without ranges: read once into a file of this machine, and served from there.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use lakerace_exec::lock;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

use super::files::{WholeFile, expected, ours};
use crate::error::Error;
use crate::store::error::InterruptedDownload;

/// Time without a byte after which a download has broken off.
const STALL: Duration = Duration::from_secs(20);

/// Bytes that are read from the file together.
const CHUNK_BYTES: u64 = 1 << 20;

/// Wraps a store that sends some files whole for any requested range. Such a file is downloaded once per opened store.
/// A download that breaks off fails the request, and a repeated request downloads it again.
#[derive(Debug)]
pub(crate) struct SpoolingStore {
    inner: Arc<dyn ObjectStore>,
    files: Mutex<HashMap<Path, Arc<tokio::sync::Mutex<SpooledState>>>>,
}

/// The properties of a file that follow from the first answer.
#[derive(Debug, Default)]
enum SpooledState {
    #[default]
    Unknown,
    Ranges,
    Spooled(Arc<SpooledFile>),
}

/// A file that was downloaded. It has no name: it is deleted with the job.
#[derive(Debug)]
struct SpooledFile {
    file: File,
    meta: ObjectMeta,
}

impl SpoolingStore {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner, files: Mutex::default() }
    }

    /// The state of a file. Readers wait while the first answer is on its way.
    fn state(&self, location: &Path) -> Arc<tokio::sync::Mutex<SpooledState>> {
        Arc::clone(lock(&self.files).entry(location.clone()).or_default())
    }
}

impl SpooledFile {
    /// Writes a body down.
    async fn write_down(answer: GetResult) -> Result<Self> {
        let stated = answer.extensions.get::<WholeFile>().and_then(|whole| whole.size_bytes);
        let mut meta = answer.meta.clone();
        let mut body = answer.into_stream();
        let mut file = tokio::task::spawn_blocking(crate::private_file).await?.map_err(ours)?;
        let mut size_bytes = 0;
        while let Some(chunk) = tokio::time::timeout(STALL, body.next()).await.unwrap_or_else(|_| Some(Err(stalled())))
        {
            let chunk = chunk.map_err(|error| interrupted(error, size_bytes))?;
            size_bytes += chunk.len() as u64;
            let written =
                tokio::task::spawn_blocking(move || std::io::Write::write_all(&mut file, &chunk).map(|()| file));
            file = written.await?.map_err(io)?;
        }
        if let Some(stated) = stated.filter(|stated| *stated != size_bytes) {
            let text = format!("the server announced {stated} bytes and sent {size_bytes}");
            return Err(interrupted(ours(Error::unavailable(text).advice("run it again")), size_bytes));
        }
        meta.size = size_bytes;
        Ok(Self { file, meta })
    }

    fn answer(self: &Arc<Self>, options: &GetOptions) -> Result<GetResult> {
        if options.if_match.is_some() && options.if_match != self.meta.e_tag {
            let path = self.meta.location.to_string();
            return Err(StoreError::Precondition { path, source: "the file has another tag".into() });
        }
        let range = options.range.as_ref().map_or(0..self.meta.size, |range| expected(range, self.meta.size));
        if range.start >= range.end && self.meta.size > 0 {
            let text = "the range is after the end, status code: 416";
            return Err(StoreError::Generic { store: "HTTP", source: text.into() });
        }
        Ok(GetResult {
            payload: GetResultPayload::Stream(self.read(range.clone())),
            meta: self.meta.clone(),
            range,
            attributes: object_store::Attributes::default(),
            extensions: http::Extensions::default(),
        })
    }

    fn read(self: &Arc<Self>, range: Range<u64>) -> BoxStream<'static, Result<Bytes>> {
        let spooled = Arc::clone(self);
        stream::unfold(range.start, move |at| {
            let (spooled, end) = (Arc::clone(&spooled), range.end);
            async move {
                if at >= end {
                    return None;
                }
                let len = CHUNK_BYTES.min(end - at);
                let read = tokio::task::spawn_blocking(move || {
                    let mut bytes = vec![0; len as usize];
                    spooled.file.read_exact_at(&mut bytes, at).map(|()| Bytes::from(bytes))
                });
                let bytes = match read.await {
                    Ok(read) => read.map_err(io),
                    Err(error) => Err(StoreError::from(error)),
                };
                Some((bytes, at + len))
            }
        })
        .boxed()
    }
}

fn io(error: std::io::Error) -> StoreError {
    let place = format!("the temporary file of a download in {}", std::env::temp_dir().display());
    ours(Error::from(error).at(place).advice("set TMPDIR to a folder on a larger disk, or download the file first"))
}

fn stalled() -> StoreError {
    ours(Error::unavailable(format!("no data arrived for {} s", STALL.as_secs())))
}

/// The error of a download after so many bytes.
fn interrupted(error: StoreError, received_bytes: u64) -> StoreError {
    match error {
        StoreError::Generic { store, source } if received_bytes > 0 => {
            StoreError::Generic { store, source: Box::new(InterruptedDownload(source)) }
        }
        other => other,
    }
}

impl fmt::Display for SpoolingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spooling({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for SpoolingStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let state = self.state(location);
        let mut state = state.lock().await;
        match &*state {
            SpooledState::Spooled(spooled) => return spooled.answer(&options),
            SpooledState::Ranges => {
                drop(state);
                return self.inner.get_opts(location, options).await;
            }
            SpooledState::Unknown => {}
        }
        if options.head || options.range.is_none() {
            drop(state);
            let mut found = self.inner.get_opts(location, options).await?;
            // A size that was found by a range has a body.
            found.extensions.remove::<WholeFile>();
            return Ok(found);
        }
        let answer = self.inner.get_opts(location, options.clone()).await?;
        if answer.extensions.get::<WholeFile>().is_none() {
            *state = SpooledState::Ranges;
            return Ok(answer);
        }
        let spooled = Arc::new(SpooledFile::write_down(answer).await?);
        let found = spooled.answer(&options);
        *state = SpooledState::Spooled(spooled);
        found
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        crate::store::wrap::ranges_by_get(self, location, ranges).await
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
