//! The folder of a table as the kernel's store.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lakerace_io::JobStore;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::prefix::PrefixStore;
use lakerace_io::object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, RenameOptions, Result, coalesce_ranges,
};
use lakerace_io::wait::lock;
use xxhash_rust::xxh3::xxh3_64;

use super::completeness::{check_entry, check_json_checkpoint};
use super::distrust::{DamagedLogFiles, is_hint};
use super::files::is_hidden;
use crate::kernel::surrogates::entry_with_whole_characters;

/// The store that the kernel sees: paths start at the table's folder, so that no character of the folder's own name
/// needs an escape on the way; listings are sorted; and files of the log, which never change, are fetched once and
/// whole.
///
/// The kernel opens a version in two passes, for the schema and for the files, and reads a Parquet checkpoint by its
/// footer and by column chunks: for a small one, that would be ten requests or more in place of one.
#[derive(Debug)]
pub(crate) struct LogStore {
    inner: PrefixStore<Arc<dyn ObjectStore>>,
    known: Arc<Mutex<KnownLog>>,
    distrust: Arc<DamagedLogFiles>,
}

/// The known part of the log.
#[derive(Debug, Default)]
struct KnownLog {
    files: HashMap<Path, (ObjectMeta, Bytes)>,
    /// The bytes of all `files`.
    bytes: usize,
    /// Tags that distinguish an entry from another one of the same name, as a restored log may have.
    tags: HashMap<Path, u64>,
    /// Checkpoints that were listed and are fetched whole: small ones, and those of JSON, which are checked and mended as a whole.
    fetched_whole: HashSet<Path>,
    /// Bytes of entries and checkpoints, as they were listed or put.
    sizes: HashMap<Path, u64>,
}

/// Bytes of the log that are kept at most.
const KNOWN_BYTES: usize = 32 << 20;

/// A checkpoint of up to so many bytes is fetched whole. In a larger one, the columns that are not needed (such as
/// statistics of other columns) cost more than requests do.
const WHOLE_BYTES: u64 = 4 << 20;

/// Pauses before a request is sent again whose answer had another length than the store listed.
const PAUSES: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(250), Duration::from_secs(1)];

impl LogStore {
    pub fn new(store: &JobStore, root: &Path, distrust: &Arc<DamagedLogFiles>) -> Self {
        let inner = PrefixStore::new(Arc::clone(&store.store), root.clone());
        Self { inner, known: Arc::default(), distrust: Arc::clone(distrust) }
    }

    /// The same folder with the files that another store of it has fetched and will fetch.
    pub fn sharing(self, other: &Self) -> Self {
        Self { known: Arc::clone(&other.known), ..self }
    }

    fn known(&self) -> MutexGuard<'_, KnownLog> {
        lock(&self.known)
    }

    /// The tag of a version's entry, if it was listed or put.
    pub(crate) fn entry_tag(&self, version: u64) -> Option<u64> {
        self.known().tags.get(&Path::from(format!("_delta_log/{version:020}.json"))).copied()
    }

    /// A file of the log, whole and checked, where that is how it is fetched.
    async fn whole(&self, location: &Path) -> Result<Option<(ObjectMeta, Bytes)>> {
        let listed = {
            let known = self.known();
            if let Some(file) = known.files.get(location) {
                return Ok(Some(file.clone()));
            }
            if !is_entry(location) && !known.fetched_whole.contains(location) {
                return Ok(None);
            }
            known.sizes.get(location).copied()
        };
        let (mut meta, mut bytes) = self.fetch(location, listed).await?;
        let checked = match location.as_ref() {
            _ if is_entry(location) => check_entry(&bytes),
            path if path.ends_with(".json") => check_json_checkpoint(&bytes),
            _ => Ok(()),
        };
        checked.map_err(|text| failed(std::io::ErrorKind::InvalidData, text))?;
        if location.as_ref().ends_with(".json")
            && let Cow::Owned(whole) = entry_with_whole_characters(&bytes)
        {
            meta.size = whole.len() as u64;
            bytes = whole.into();
        }
        self.known().keep(location, &meta, &bytes);
        Ok(Some((meta, bytes)))
    }

    /// The bytes of a file. A store may answer with fewer than it has, or with none: the listed size is the right one.
    async fn fetch(&self, location: &Path, listed: Option<u64>) -> Result<(ObjectMeta, Bytes)> {
        let mut pauses = PAUSES.iter();
        loop {
            let result = self.inner.get_opts(location, GetOptions::default()).await?;
            let meta = result.meta.clone();
            let bytes = result.bytes().await?;
            let (found, stated) = (bytes.len() as u64, listed.unwrap_or(meta.size));
            if found == stated {
                return Ok((meta, bytes));
            }
            if let Some(pause) = pauses.next() {
                tokio::time::sleep(*pause).await;
                continue;
            }
            // It may have been replaced since it was listed.
            let head = self.inner.get_opts(location, GetOptions::new().with_head(true)).await?;
            return if head.meta.size == found { Ok((head.meta, bytes)) } else { Err(short(location, found, stated)) };
        }
    }

    /// A part of a file that is not fetched whole, with as many bytes as its answer says that it has.
    async fn fetch_part(&self, location: &Path, options: GetOptions) -> Result<(GetResult, Bytes)> {
        let mut pauses = PAUSES.iter();
        loop {
            let result = self.inner.get_opts(location, options.clone()).await?;
            let (meta, range) = (result.meta.clone(), result.range.clone());
            let (attributes, extensions) = (result.attributes.clone(), result.extensions.clone());
            let bytes = result.bytes().await?;
            let (found, stated) = (bytes.len() as u64, range.end.saturating_sub(range.start));
            if found == stated {
                let payload = GetResultPayload::Stream(stream::iter([Ok(bytes.clone())]).boxed());
                return Ok((GetResult { payload, meta, range, attributes, extensions }, bytes));
            }
            match pauses.next() {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => return Err(short(location, found, stated)),
            }
        }
    }

    /// `_last_checkpoint`, or that there is none. On a local disk it may be a folder, or a file that can't be opened.
    async fn hint(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let missing = || Error::NotFound { path: location.to_string(), source: "it is left out".into() };
        if self.distrust.hides(location) {
            return Err(missing());
        }
        match self.inner.get_opts(location, options).await {
            Err(Error::Generic { store: "Local", .. }) => Err(missing()),
            answer => answer,
        }
    }

    /// Lists files in order, and remembers the tags and sizes of entries and checkpoints.
    fn listed(&self, listing: BoxStream<'static, Result<ObjectMeta>>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (known, distrust) = (Arc::clone(&self.known), Arc::clone(&self.distrust));
        let all = async move {
            let mut found: Vec<ObjectMeta> = listing.try_collect().await?;
            // The kernel refuses to create a table where the log has any file, such as the temporary file of a writer
            // that is creating it.
            found.retain(|file| !is_hidden(&file.location) && !distrust.hides(&file.location));
            // The kernel relies on the order; a disk lists its files in any order.
            found.sort_unstable_by(|a, b| a.location.cmp(&b.location));
            let is_fetched_whole =
                |file: &ObjectMeta| file.size <= WHOLE_BYTES || file.location.as_ref().ends_with(".json");
            let whole = found.iter().filter(|file| is_fetched_whole(file) && is_checkpoint(&file.location));
            let whole: Vec<Path> = whole.map(|file| file.location.clone()).collect();
            let entries = found.iter().filter(|file| is_entry(&file.location));
            let tags: Vec<_> = entries.map(|file| (file.location.clone(), tag(file))).collect();
            let is_sized = |file: &&ObjectMeta| is_entry(&file.location) || is_checkpoint(&file.location);
            let sizes: Vec<_> = found.iter().filter(is_sized).map(|file| (file.location.clone(), file.size)).collect();
            let mut known = lock(&known);
            known.fetched_whole.extend(whole);
            known.sizes.extend(sizes);
            tags.into_iter().for_each(|(location, tag)| known.note_tag(location, tag));
            drop(known);
            Ok::<_, Error>(stream::iter(found.into_iter().map(Ok)))
        };
        stream::once(all).try_flatten().boxed()
    }
}

impl KnownLog {
    /// Notes the tag of an entry. One that was replaced, in a log that was set back, is fetched again.
    fn note_tag(&mut self, location: Path, tag: u64) {
        if self.tags.get(&location).is_some_and(|known| *known != tag)
            && let Some((_, bytes)) = self.files.remove(&location)
        {
            self.bytes -= bytes.len();
        }
        self.tags.insert(location, tag);
    }

    fn keep(&mut self, location: &Path, meta: &ObjectMeta, bytes: &Bytes) {
        if self.bytes + bytes.len() > KNOWN_BYTES {
            self.files.clear();
            self.bytes = 0;
        }
        if bytes.len() <= KNOWN_BYTES && self.files.insert(location.clone(), (meta.clone(), bytes.clone())).is_none() {
            self.bytes += bytes.len();
        }
    }
}

/// A hash of the store's tag of a file. Listings and answers may quote it differently.
fn tag(file: &ObjectMeta) -> u64 {
    match &file.e_tag {
        Some(tag) => xxh3_64(tag.trim_start_matches("W/").trim_matches('"').as_bytes()),
        None => xxh3_64(format!("{} {}", file.size, file.last_modified.timestamp_micros()).as_bytes()),
    }
}

/// An error whose kind for the caller is that of an I/O error.
fn failed(kind: std::io::ErrorKind, text: String) -> Error {
    Error::Generic { store: "log", source: Box::new(std::io::Error::new(kind, text)) }
}

/// The error of a store that again and again answers with another number of bytes than a file has.
fn short(location: &Path, found: u64, stated: u64) -> Error {
    let text = format!("the store returned {found} of the {stated} bytes that it lists for {location}");
    failed(std::io::ErrorKind::TimedOut, text)
}

/// The part of a whole file that was asked for.
fn answer((meta, bytes): (ObjectMeta, Bytes), options: &GetOptions) -> Result<GetResult> {
    let part = options.range.as_ref().map_or(Ok(0..bytes.len()), |range| within(range, &bytes))?;
    let range = part.start as u64..part.end as u64;
    let body = if options.head { Bytes::new() } else { bytes.slice(part) };
    let payload = GetResultPayload::Stream(stream::once(async move { Ok(body) }).boxed());
    Ok(GetResult { payload, meta, range, attributes: Default::default(), extensions: Default::default() })
}

/// The part of a file that a range covers; an error where the range starts after the file's end.
fn within(range: &GetRange, file: &Bytes) -> Result<Range<usize>> {
    let found = range.as_range(file.len() as u64);
    let found = found.map_err(|e| failed(std::io::ErrorKind::UnexpectedEof, format!("it is truncated: {e}")))?;
    Ok(found.start as usize..found.end as usize)
}

/// Returns true if the store has to answer: only the store has other versions of an object.
fn is_conditional(options: &GetOptions) -> bool {
    options.if_match.is_some()
        || options.if_none_match.is_some()
        || options.if_modified_since.is_some()
        || options.if_unmodified_since.is_some()
        || options.version.is_some()
}

/// The name of a file of the log, where this is one.
fn log_name(location: &Path) -> Option<&str> {
    location.as_ref().strip_prefix("_delta_log/")
}

/// Returns true if this is an entry: `_delta_log/00000000000000000012.json`.
fn is_entry(location: &Path) -> bool {
    let version = log_name(location).and_then(|name| name.strip_suffix(".json"));
    version.is_some_and(|name| name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if this is a checkpoint, a part of one, or a file that one points to.
fn is_checkpoint(location: &Path) -> bool {
    log_name(location).is_some_and(|name| name.contains(".checkpoint.") || name.starts_with("_sidecars/"))
}

impl fmt::Display for LogStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogStore({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for LogStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        // An entry that was created by this PUT never changes: keeping its bytes spares later reads a request.
        let is_final = is_entry(location) && opts.mode == PutMode::Create;
        let entry = is_final.then(|| Bytes::from(payload.clone()));
        let put = self.inner.put_opts(location, payload, opts).await?;
        if let Some(bytes) = entry {
            let meta = ObjectMeta {
                location: location.clone(),
                last_modified: SystemTime::now().into(),
                size: bytes.len() as u64,
                e_tag: put.e_tag.clone(),
                version: put.version.clone(),
            };
            let mut known = self.known();
            if meta.e_tag.is_some() {
                known.tags.insert(location.clone(), tag(&meta));
            }
            known.sizes.insert(location.clone(), meta.size);
            known.keep(location, &meta, &bytes);
        }
        Ok(put)
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if is_hint(location) {
            return self.hint(location, options).await;
        }
        if is_conditional(&options) {
            return self.inner.get_opts(location, options).await;
        }
        match self.whole(location).await? {
            Some(file) => answer(file, &options),
            None if options.head || options.range.is_none() => self.inner.get_opts(location, options).await,
            None => self.fetch_part(location, options).await.map(|(part, _)| part),
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Some((_, bytes)) = self.whole(location).await? else {
            let fetch = |range: Range<u64>| async move {
                let options = GetOptions::new().with_range(Some(range));
                self.fetch_part(location, options).await.map(|(_, bytes)| bytes)
            };
            return coalesce_ranges(ranges, fetch, OBJECT_STORE_COALESCE_DEFAULT).await;
        };
        let part = |range: &Range<u64>| Ok(bytes.slice(within(&GetRange::Bounded(range.clone()), &bytes)?));
        ranges.iter().map(part).collect()
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list_with_offset(prefix, offset))
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
