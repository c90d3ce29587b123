//! An object (or local file) of a metered store, with blocking reads.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::error::{is_not_partial, is_range_after_end, is_range_not_satisfiable, replaced, store_error};
use super::kind::{ConditionalParts, RemoteStore, StoreKind};
use super::local::{open_file, orphaned_files};
use super::object_info::ObjectInfo;
use crate::error::{Error, Result};
use crate::fetch::buffers::{PooledBuffer, collect_body};
use crate::job::{Job, block_with_grace};
use crate::meter::RequestKind;
use crate::open_files::{FileIdentity, OpenedFile};
use crate::path::file_path;
use crate::pipe::Pipe;
use crate::plan::PathProfile;
use crate::profile::RequestStopwatch;
use crate::read_permit::ReadPermit;

/// Characters of a name that a URL has encoded.
const URL_PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`').add(b'{').add(b'}');

/// A store as a job uses it: wrapped by retries and the job's meter.
#[derive(Debug, Clone)]
pub struct JobStore {
    /// The wrapped store. Every request that goes through it is counted.
    pub store: Arc<dyn ObjectStore>,
    /// The text before an object's path in the URL that a user sees: `s3://bucket/` or `/`.
    pub url_prefix: String,
    /// The way to access its objects.
    pub access: StoreAccess,
    /// The remote store that a URL names, if it is one.
    pub remote: Option<Arc<RemoteStore>>,
    /// Latencies and bandwidths seen so far on this store, by every job of the process.
    pub observed: Arc<crate::profile::Observations>,
    /// The pipe whose bytes these are, instead of the store's or spooled to a file of this machine; it has the name for
    /// messages.
    pub pipe: Option<Arc<Pipe>>,
    /// The job that pays.
    pub job: Job,
}

/// The way to access the objects of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreAccess {
    /// `/` and an object's path is a file of this machine, which is opened without the store.
    LocalFiles,
    /// The store answers immediately, on the calling thread.
    Memory,
    /// Requests take time, and run on the I/O runtime.
    Remote,
}

/// An object: its location, and its properties when it was first seen.
#[derive(Debug, Clone)]
pub struct Object {
    /// The store it is in.
    pub store: JobStore,
    /// Its path there.
    pub path: Path,
    /// Its size in bytes, once known.
    pub size_bytes: Option<u64>,
    /// Its tag, once known: every later read demands the same one, so a replaced object is an error.
    pub e_tag: Option<String>,
    /// All of its bytes, if they are known: no request is sent for them.
    pub whole: Option<Bytes>,
}

/// The last bytes of an object, and the store's properties of it.
#[derive(Debug, Clone)]
pub struct ObjectTail {
    /// The bytes, which end where the object ends.
    pub bytes: Bytes,
    /// The object's size.
    pub size_bytes: u64,
    /// The object's tag.
    pub e_tag: Option<String>,
}

impl JobStore {
    /// Returns true if objects are read by blocking calls on the thread that needs them.
    pub const fn is_local(&self) -> bool {
        !matches!(self.access, StoreAccess::Remote)
    }

    /// Returns true if objects are files of this machine.
    pub const fn has_local_files(&self) -> bool {
        matches!(self.access, StoreAccess::LocalFiles)
    }

    /// Wraps a store of the caller: its requests run on the I/O runtime like those of a remote store, and are counted
    /// only if `store` counts them (see [`Metered`](super::wrap::Metered)).
    pub fn wrapping(store: Arc<dyn ObjectStore>, url_prefix: &str, start: PathProfile, job: &Job) -> Self {
        Self {
            store,
            url_prefix: url_prefix.to_owned(),
            access: StoreAccess::Remote,
            remote: None,
            observed: Arc::new(crate::profile::Observations::new(start)),
            pipe: None,
            job: job.clone(),
        }
    }

    /// The cost of the path to this store: observed if there are observations, typical values until then.
    pub fn profile(&self) -> PathProfile {
        self.observed.profile()
    }

    /// The URL of a path in this store.
    pub fn url(&self, path: &Path) -> String {
        match &self.pipe {
            Some(pipe) => pipe.name().to_owned(),
            None if self.kind().is_some_and(|kind| kind.has_encoded_names) => {
                format!("{}{}", self.url_prefix, utf8_percent_encode(path.as_ref(), URL_PATH))
            }
            None => format!("{}{path}", self.url_prefix),
        }
    }

    /// The kind of the store, if it is a remote one that a URL names.
    pub fn kind(&self) -> Option<&'static StoreKind> {
        self.remote.as_ref().map(|remote| remote.kind)
    }

    /// Refuses writes to a store that takes none.
    pub(crate) fn check_writable(&self, path: &Path) -> Result<()> {
        self.kind().map_or(Ok(()), |kind| kind.check_writable(|| self.url(path)))
    }

    /// Returns true if an object of several parts that must not replace one is made under another name, and copied.
    pub(crate) fn copies_conditional_parts(&self) -> bool {
        self.kind().is_some_and(|kind| kind.conditional_parts == ConditionalParts::OnCopy)
    }

    /// The object at `path`, of unknown size. No request is sent.
    pub fn object(&self, path: Path) -> Object {
        Object { store: self.clone(), path, size_bytes: None, e_tag: None, whole: None }
    }

    /// All objects below the folder `prefix`, hidden ones included, in the order of their paths. Blocks. A folder
    /// that does not exist holds nothing.
    pub fn list(&self, prefix: &Path) -> Result<Vec<ObjectInfo>> {
        self.list_unless(prefix, |_| false).map(Option::unwrap_or_default)
    }

    /// Lists like [`Self::list`]; `None` as soon as an object is seen for which `stop` is true.
    pub fn list_unless(
        &self,
        prefix: &Path,
        stop: impl Fn(&Path) -> bool + Send + 'static,
    ) -> Result<Option<Vec<ObjectInfo>>> {
        let store = Arc::clone(&self.store);
        let (folder, url, job) = (prefix.clone(), self.url(prefix), self.job.clone());
        self.wait(async move {
            let mut stream = store.list(Some(&folder));
            let mut found = Vec::new();
            while let Some(meta) = stream.try_next().await.map_err(|e| store_error(e, &url))? {
                if found.len() % 1000 == 0 {
                    job.check()?;
                }
                if stop(&meta.location) {
                    return Ok(None);
                }
                found.push(ObjectInfo::from(meta));
            }
            found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            Ok(Some(found))
        })
    }

    /// The properties of the object at `path`; `None` if there is none. One HEAD request. Blocks.
    pub fn stat(&self, path: &Path) -> Result<Option<ObjectInfo>> {
        let (store, path, url) = (Arc::clone(&self.store), path.clone(), self.url(path));
        self.wait(async move {
            match store.head(&path).await {
                Ok(meta) => Ok(Some(meta.into())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(e) => Err(store_error(e, &url)),
            }
        })
    }

    /// Removes the object at `path`. One that does not exist is an error of kind `NotFound` on a local disk, and
    /// none on S3. Blocks.
    pub fn delete(&self, path: &Path) -> Result<()> {
        self.delete_in_group(path)?;
        self.job.sync_folders()
    }

    /// Deletes like [`Self::delete`], a file of this machine that is one of several: [`Job::sync_folders`] has the disk forget their names.
    pub fn delete_in_group(&self, path: &Path) -> Result<()> {
        self.check_writable(path)?;
        let (store, path, url) = (Arc::clone(&self.store), path.clone(), self.url(path));
        self.wait(async move { store.delete(&path).await.map_err(|e| store_error(e, &url)) })
    }

    /// Removes objects, on S3 a thousand by one request, and returns the number of removed ones. A missing one is
    /// skipped. Blocks.
    pub fn delete_all(&self, paths: Vec<Path>) -> Result<u64> {
        let (store, job) = (Arc::clone(&self.store), self.job.clone());
        let prefix = self.url_prefix.clone();
        let deleted = self.wait(async move {
            let locations = futures::stream::iter(paths.into_iter().map(Ok)).boxed();
            let (mut deleted, mut answers) = (0, store.delete_stream(locations));
            while let Some(answer) = answers.next().await {
                job.check()?;
                match answer {
                    Ok(_) => deleted += 1,
                    Err(object_store::Error::NotFound { .. }) => {}
                    Err(e) => return Err(store_error(e, &prefix)),
                }
            }
            Ok(deleted)
        })?;
        self.job.sync_folders()?;
        Ok(deleted)
    }

    /// Removes objects that are not to be seen, including those of a cancelled job, as far as this is possible in ten
    /// seconds. Errors are ignored, because the caller has another error to report. Blocks.
    pub fn delete_best_effort(&self, paths: Vec<Path>) {
        if paths.is_empty() {
            return;
        }
        let store = Arc::clone(&self.store);
        let given_up = async move {
            let locations = futures::stream::iter(paths.into_iter().map(Ok)).boxed();
            store.delete_stream(locations).for_each(|_| async {}).await;
        };
        if self.is_local() {
            futures::executor::block_on(given_up);
        } else {
            block_with_grace(given_up);
        }
    }

    /// Lists the files that killed writers have left below a folder of this machine, under hidden names that no listing shows; none on
    /// other stores. Blocks.
    pub fn orphaned_files(&self, prefix: &Path) -> Result<Vec<ObjectInfo>> {
        self.job.check()?;
        match self.has_local_files() {
            true => orphaned_files(&file_path(prefix)).map_err(|e| store_error(e, &self.url(prefix))),
            false => Ok(Vec::new()),
        }
    }

    /// Runs a future of this store to its end: on this thread if the store answers immediately, on the I/O runtime
    /// otherwise.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.job.check()?;
        if self.is_local() { futures::executor::block_on(future) } else { self.job.block_on(future) }
    }
}

impl Object {
    /// The name that a user knows: a local path or a URL. Without credentials.
    pub fn url(&self) -> String {
        self.store.url(&self.path)
    }

    /// The pipe, if it can only be read from the start.
    pub fn stream(&self) -> Option<&Arc<Pipe>> {
        self.store.pipe.as_ref().filter(|_| !self.store.has_local_files())
    }

    /// Reads the last `n` bytes by one request (all of them where the object is shorter). Blocks.
    pub fn read_tail(&self, n: u64) -> Result<ObjectTail> {
        if self.store.has_local_files() {
            return self.read_local_tail(n);
        }
        // A suffix of zero bytes can't be requested.
        let range = GetRange::Suffix(n.max(1));
        let object = self.clone();
        self.store.wait(async move {
            let mut watch = RequestStopwatch::start();
            let result = match object.get(range).await {
                // S3 has no suffix of an empty object.
                Err(e) if is_range_not_satisfiable(&e) => {
                    return Ok(ObjectTail { bytes: Bytes::new(), size_bytes: 0, e_tag: object.e_tag });
                }
                Err(e) if is_not_partial(&e) => return object.tail_without_ranges().await,
                other => other.map_err(|e| store_error(e, &object.url()))?,
            };
            watch.first_byte();
            let (size_bytes, e_tag) = (result.meta.size, result.meta.e_tag.clone());
            let expected = result.range.clone();
            let mut bytes = collect_body(result, &object.url()).await?;
            if expected.end != size_bytes {
                return Err(Error::corrupt("the store did not return the end of the object").at(object.url()));
            }
            watch.done(&object.store.observed, bytes.len() as u64);
            if n == 0 {
                bytes.clear();
            }
            Ok(ObjectTail { bytes, size_bytes, e_tag })
        })
    }

    /// Reads a range by one request. Blocks. An object that is shorter, or was replaced since `e_tag` was
    /// learnt, is an error (`Corrupt`, `Conflict`).
    pub fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        if let Some(known) = self.known(&range) {
            return known;
        }
        if self.store.has_local_files() {
            self.store.job.check()?;
            let (OpenedFile { file, version }, _permit) = self.open_local()?;
            return if range.end > version.size_bytes {
                Err(self.too_short(&range, Some(version.size_bytes)))
            } else {
                self.read_local(&file, range)
            };
        }
        let object = self.clone();
        self.store.wait(async move { object.fetch(range).await })
    }

    /// A range of an object whose bytes are known.
    pub(crate) fn known(&self, range: &Range<u64>) -> Option<Result<Bytes>> {
        let whole = self.whole.as_ref()?;
        let size_bytes = whole.len() as u64;
        Some(match range.end <= size_bytes {
            true => Ok(whole.slice(range.start as usize..range.end as usize)),
            false => Err(self.too_short(range, Some(size_bytes))),
        })
    }

    async fn fetch(&self, range: Range<u64>) -> Result<Bytes> {
        let mut watch = RequestStopwatch::start();
        let result = self.answer(&range).await?;
        watch.first_byte();
        let bytes = collect_body(result, &self.url()).await?;
        watch.done(&self.store.observed, bytes.len() as u64);
        Ok(bytes)
    }

    /// The answer to a request for exactly `range`, its body still to be read.
    pub(crate) async fn answer(&self, range: &Range<u64>) -> Result<GetResult> {
        let result = match self.get(GetRange::Bounded(range.clone())).await {
            Err(e) if is_range_not_satisfiable(&e) => return Err(self.too_short(range, None)),
            other => other.map_err(|e| self.range_error(e, range))?,
        };
        if result.range != *range {
            return Err(self.too_short(range, Some(result.meta.size)));
        }
        Ok(result)
    }

    fn read_local_tail(&self, n: u64) -> Result<ObjectTail> {
        self.store.job.check()?;
        let (OpenedFile { file, version }, _permit) = self.open_local()?;
        let size_bytes = version.size_bytes;
        let bytes = self.read_local(&file, size_bytes.saturating_sub(n)..size_bytes)?;
        Ok(ObjectTail { bytes, size_bytes, e_tag: Some(version.e_tag()) })
    }

    /// The file, whose tag must be the known one. It is closed before its permit is released.
    pub(crate) fn open_local(&self) -> Result<(OpenedFile, ReadPermit)> {
        let permit = ReadPermit::take(&self.store.job)?;
        let (file, metadata) = open_file(&file_path(&self.path)).map_err(|e| Error::from(e).at(self.url()))?;
        let opened = OpenedFile { file, version: FileIdentity::from_metadata(&metadata) };
        if self.e_tag.as_ref().is_some_and(|known| *known != opened.version.e_tag()) {
            return Err(replaced().at(self.url()));
        }
        Ok((opened, permit))
    }

    /// Reads `range`, which lies within the file, into a recycled buffer, and counts it.
    pub(crate) fn read_local(&self, file: &std::fs::File, range: Range<u64>) -> Result<Bytes> {
        let len = usize::try_from(range.end - range.start)
            .map_err(|_| Error::internal("the range does not fit into memory"))?;
        let start = std::time::Instant::now();
        let mut buffer = PooledBuffer::with_capacity(len)?;
        buffer.read_at(file, range.start, len).map_err(|e| Error::from(e).at(self.url()))?;
        let seconds = start.elapsed().as_secs_f64();
        self.store.observed.observe(seconds, seconds, buffer.len() as u64);
        self.store.job.meter().count_path(RequestKind::Get, "LocalStore", &self.path);
        self.store.job.meter().read_bytes(buffer.len() as u64);
        if buffer.len() < len {
            return Err(self.too_short(&range, Some(range.start + buffer.len() as u64)));
        }
        Ok(buffer.freeze())
    }

    /// Some servers answer a request for a suffix of an empty object with the whole object. A server that does so for
    /// other objects does not support ranges.
    async fn tail_without_ranges(&self) -> Result<ObjectTail> {
        let meta = self.store.store.head(&self.path).await.map_err(|e| store_error(e, &self.url()))?;
        if meta.size > 0 {
            return Err(Error::unsupported("the server does not support range requests").at(self.url()));
        }
        Ok(ObjectTail { bytes: Bytes::new(), size_bytes: 0, e_tag: meta.e_tag })
    }

    async fn get(&self, range: GetRange) -> object_store::Result<GetResult> {
        let options = GetOptions { range: Some(range), if_match: self.e_tag.clone(), ..GetOptions::default() };
        self.store.store.get_opts(&self.path, options).await
    }

    fn range_error(&self, error: object_store::Error, range: &Range<u64>) -> Error {
        if is_range_after_end(&error) { self.too_short(range, None) } else { store_error(error, &self.url()) }
    }

    pub(crate) fn too_short(&self, range: &Range<u64>, size: Option<u64>) -> Error {
        let size = size.map_or(String::new(), |n| format!(", which has {n} bytes"));
        Error::corrupt(format!("bytes {}..{} are after the end of the object{size}", range.start, range.end))
            .advice("the file is truncated, or its metadata is damaged")
            .at(self.url())
    }
}
