//! Files on an object store.
//!
//! Contents are stored in immutable packs of approximately 12 MiB, names in a table that records the place of each
//! content ([`Index`]). A put adds to a pack in memory; a flush sends packs and then makes one version of the table.
//! Any number of writers may do so at the same time.

mod names;
mod pack;
mod read;
mod rebase;
mod shared;
mod staged;
mod verify;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use lakerace_io::object_store::path::Path;
use lakerace_io::option::PACK_SIZE;
use lakerace_io::{Error, JobStore, Result};
use xxhash_rust::xxh3::Xxh3Default;

use self::pack::StoredPart;
use self::read::{LiveNames, PackSnapshot};
use self::shared::PackStore;
use crate::content_copy;
use crate::encode::Encoding;
use crate::file_metadata::{check_metadata, now_ms};
use crate::home::{
    CompactOutcome, ContentSink, Each, FileVersion, Home, HomeOperation, IfExists, PendingAppend, Progress, PutOptions,
    RandomAccessFile, Reads, Stat, VerifyOutcome, Write, WriteBatch, read_parts,
};
use crate::index::{Index, IndexEntry, Segment};
use crate::name::not_found;
use crate::options::{Compression, Options};
use crate::stream::go_on;

/// The content's bytes of a segment; the last one of a content is shorter.
const SEGMENT_BYTES: usize = 4 << 20;

/// How long a pack stays after its last file: a writer flushes within this time, and a reader of an older version ends.
const UNUSED_MS: i64 = 24 * 60 * 60 * 1000;

/// A store on an object store.
#[derive(Debug)]
pub(crate) struct PackHome(Arc<PackStore>);

impl PackHome {
    /// Opens the store below `root`.
    pub(crate) fn open(place: (JobStore, Path, String), index: Box<dyn Index>, options: &Options) -> Result<Self> {
        if options.compression.is_some_and(|compression| compression.dictionary) {
            return Err(no_dictionary().at(place.2));
        }
        if options.pack_bytes.unwrap_or(0) > 0 {
            return Err(Error::unsupported("a store on an object store does not pack files into blocks")
                .at(place.2)
                .advice(format!("omit {PACK_SIZE}, or use a SQLite store")));
        }
        Ok(Self(Arc::new(PackStore::new(place, index, options)?)))
    }

    fn with_location<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|e| e.at(&self.0.location))
    }
}

fn no_dictionary() -> Error {
    Error::unsupported("a store on an object store compresses without a dictionary")
        .advice("use zstd, or a SQLite store")
}

/// A content on its way into packs, part by part.
struct PackUpload {
    shared: Arc<PackStore>,
    name: String,
    options: PutOptions,
    encoding: Arc<Encoding>,
    compression: Compression,
    /// Bytes that do not fill a part yet.
    rest: Vec<u8>,
    size: u64,
    hash: Xxh3Default,
    segments: Vec<Segment>,
}

impl PackUpload {
    fn new(shared: &Arc<PackStore>, name: &str, options: &PutOptions) -> Result<Self> {
        shared.may_write(name)?;
        check_metadata(options.metadata.as_deref())?;
        let compression = options.compression.unwrap_or(shared.compression);
        if compression.dictionary {
            return Err(no_dictionary());
        }
        Ok(Self {
            shared: Arc::clone(shared),
            name: name.to_owned(),
            options: options.clone(),
            encoding: Arc::new(shared.toolbox.encoding(compression, None)),
            compression,
            rest: Vec::new(),
            size: 0,
            hash: Xxh3Default::new(),
            segments: Vec::new(),
        })
    }

    fn part(&mut self, data: &[u8]) -> Result<()> {
        let number = self.segments.len() as u64;
        let mut encoded = Vec::new();
        let stored = match self.encoding.is_plain() {
            true => data,
            false => {
                self.encoding.encode(number, data, self.compression.level, &mut encoded)?;
                &encoded
            }
        };
        self.hash.update(if self.encoding.chain.is_empty() { data } else { stored });
        self.size += data.len() as u64;
        let part = StoredPart { name: &self.name, number, size: data.len(), encoding: &self.encoding.text, stored };
        self.segments.push(self.shared.add(&part)?);
        Ok(())
    }

    fn append(&mut self, mut data: &[u8]) -> Result<()> {
        while self.rest.len() + data.len() >= SEGMENT_BYTES {
            let (now, later) = data.split_at(SEGMENT_BYTES - self.rest.len());
            if self.rest.is_empty() {
                self.part(now)?;
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(now);
                self.part(&whole)?;
            }
            data = later;
        }
        self.rest.extend_from_slice(data);
        Ok(())
    }

    /// Ends the content, which has no name yet.
    fn entry(mut self) -> Result<Arc<IndexEntry>> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() || self.segments.is_empty() {
            self.part(&rest)?;
        }
        Ok(Arc::new(IndexEntry {
            size: self.size,
            mtime_ms: self.options.mtime_ms.unwrap_or_else(now_ms),
            encoding: self.encoding.text.as_str().into(),
            checksum: self.hash.digest(),
            metadata: self.options.metadata,
            segments: self.segments,
        }))
    }
}

impl Write for PackUpload {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.append(bytes).map_err(|e| e.at(&self.shared.location))
    }

    fn read_back(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let total = self.size + self.rest.len() as u64;
        read_parts((offset, total), out, SEGMENT_BYTES, |part| match self.segments.get(part as usize) {
            None => Ok(Cow::Borrowed(self.rest.as_slice())),
            Some(segment) => read::decode_part(&self.shared, &self.encoding, part as usize, segment).map(Cow::Owned),
        })
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let (shared, name, if_exists) = (Arc::clone(&self.shared), self.name.clone(), self.options.if_exists);
        let done = self.entry().and_then(|entry| shared.apply(|staged| staged.put(&name, entry, if_exists)));
        done.and_then(|()| shared.commit_many()).map_err(|e| e.at(&shared.location))
    }
}

fn entry_of(shared: &Arc<PackStore>, name: &str, data: &[u8], options: &PutOptions) -> Result<Arc<IndexEntry>> {
    let mut upload = PackUpload::new(shared, name, options)?;
    upload.append(data)?;
    upload.entry()
}

/// A content made of another one, which may be none, and more bytes. It keeps the other one's metadata where `options` have none.
fn appended(
    shared: &Arc<PackStore>,
    (name, before): (&str, Option<&Arc<IndexEntry>>),
    options: &PutOptions,
    tail: &mut dyn PendingAppend,
) -> Result<Arc<IndexEntry>> {
    let mut options = options.clone();
    if options.metadata.is_none() {
        options.metadata = before.and_then(|entry| entry.metadata.clone());
    }
    let mut upload = PackUpload::new(shared, name, &options)?;
    if let Some(before) = before {
        let mut content = read::open(shared, name, Arc::clone(before));
        content_copy::copy(&mut *content, &mut |bytes| upload.append(bytes))?;
    }
    tail.give(&mut |bytes| upload.append(bytes))?;
    upload.entry()
}

/// A batch whose contents go to packs immediately, and whose names go to the table at the end.
struct PackBatch {
    shared: Arc<PackStore>,
    work: Vec<HomeOperation<(String, Arc<IndexEntry>, IfExists)>>,
}

impl WriteBatch for PackBatch {
    fn put(&mut self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        let entry = entry_of(&self.shared, name, data, options).map_err(|e| e.at(&self.shared.location))?;
        self.work.push(HomeOperation::Put((name.to_owned(), entry, options.if_exists)));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.work.push(HomeOperation::Remove(name.to_owned()));
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.shared.may_write(to)?;
        self.work.push(HomeOperation::Rename(from.to_owned(), to.to_owned(), if_exists));
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Self { shared, work } = *self;
        let applied = shared.apply(|staged| {
            work.into_iter().try_for_each(|op| match op {
                HomeOperation::Put((name, entry, if_exists)) => staged.put(&name, entry, if_exists),
                HomeOperation::Remove(name) => staged.remove(&name),
                HomeOperation::Rename(from, to, if_exists) => staged.rename(&from, &to, if_exists),
            })
        });
        applied.and_then(|()| shared.commit()).map_err(|e| e.at(&shared.location))
    }
}

impl Reads for PackHome {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        self.with_location(LiveNames(&self.0).get(name, sink))
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        self.with_location(LiveNames(&self.0).get_many(names, each))
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        self.with_location(self.0.find(name).map(|found| found.map(|entry| shared::stat(name, &entry))))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        self.with_location(self.0.list(prefix, from, limit))
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        let entry = self.0.find(name).and_then(|entry| entry.ok_or_else(|| not_found(name)));
        self.with_location(entry.map(|entry| read::open(&self.0, name, entry)))
    }
}

impl Home for PackHome {
    fn location(&self) -> &str {
        &self.0.location
    }

    fn put(&self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        let put = entry_of(&self.0, name, data, options)
            .and_then(|entry| self.0.apply(|staged| staged.put(name, entry, options.if_exists)))
            .and_then(|()| self.0.commit_many());
        self.with_location(put)
    }

    fn create(&self, name: &str, options: &PutOptions) -> Result<Box<dyn Write>> {
        let upload = self.with_location(PackUpload::new(&self.0, name, options))?;
        Ok(Box::new(upload))
    }

    fn version(&self, name: &str) -> Result<Option<FileVersion>> {
        self.with_location(self.0.find(name).map(|found| found.map(|entry| staged::version(&entry))))
    }

    fn append_in_place(&self, name: &str, tail: &mut dyn PendingAppend, options: &PutOptions) -> Result<bool> {
        let mut append = || loop {
            let before = self.0.find(name)?;
            let entry = appended(&self.0, (name, before.as_ref()), options, tail)?;
            if self.0.apply_append(name, before.as_ref(), entry)? {
                return self.0.commit_many();
            }
        };
        self.with_location(append()).map(|()| true)
    }

    fn batch(&self) -> Result<Box<dyn WriteBatch>> {
        self.with_location(self.0.is_writable())?;
        Ok(Box::new(PackBatch { shared: Arc::clone(&self.0), work: Vec::new() }))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.with_location(self.0.apply(|staged| staged.remove(name)))
    }

    fn remove_prefix(&self, prefix: &str) -> Result<u64> {
        let names = self.with_location(self.0.list(prefix, "", usize::MAX))?;
        let mut removed = 0;
        let done = self.0.apply(|staged| {
            for stat in &names {
                // Another thread may have been faster.
                if staged.find(&stat.name)?.is_some() {
                    staged.remove(&stat.name)?;
                    removed += 1;
                }
            }
            Ok(())
        });
        self.with_location(done.map(|()| removed))
    }

    fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let done = self.0.may_write(to).and_then(|()| self.0.apply(|staged| staged.rename(from, to, if_exists)));
        self.with_location(done)
    }

    fn copy(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let done = self.0.may_write(to).and_then(|()| {
            self.0.apply(|staged| {
                let entry = staged.find(from)?.ok_or_else(|| not_found(from))?;
                if from == to { Ok(()) } else { staged.put(to, entry, if_exists) }
            })
        });
        self.with_location(done)
    }

    fn set_metadata(&self, name: &str, metadata: Option<&str>) -> Result<()> {
        let done = check_metadata(metadata).and_then(|()| {
            self.0.apply(|staged| {
                let entry = staged.find(name)?.ok_or_else(|| not_found(name))?;
                let entry = IndexEntry { metadata: metadata.map(str::to_owned), ..IndexEntry::clone(&entry) };
                staged.put(name, Arc::new(entry), IfExists::Replace)
            })
        });
        self.with_location(done)
    }

    /// The newest version of the table. What is pending becomes one first.
    fn snapshot(&self) -> Result<Box<dyn Reads>> {
        let done = self.0.commit().and_then(|()| self.0.refresh());
        self.with_location(done)?;
        Ok(Box::new(PackSnapshot::new(&self.0)))
    }

    fn verify(&self, progress: Progress<'_>) -> Result<VerifyOutcome> {
        let done = if self.0.is_read_only { Ok(()) } else { self.0.commit() };
        self.with_location(done.and_then(|()| self.0.refresh()).and_then(|_| verify::verify(&self.0, progress)))
    }

    fn compact(&self, progress: Progress<'_>) -> Result<CompactOutcome> {
        self.with_location(self.0.is_writable().and_then(|()| compact(&self.0, progress)))
    }

    fn flush(&self) -> Result<()> {
        self.with_location(self.0.commit())
    }

    fn close(&self) -> Result<()> {
        self.flush()
    }

    fn train(&self) -> Result<u32> {
        self.with_location(Err(no_dictionary()))
    }

    fn warnings(&self) -> Vec<String> {
        self.0.take_warnings()
    }
}

impl Drop for PackHome {
    fn drop(&mut self) {
        // Who wants to know whether it is durable flushes or closes before. A child owes nothing.
        if !self.0.is_forked() {
            let _ = self.0.commit();
        }
    }
}

/// Removes packs of which no file needs anything, and compacts the table.
fn compact(shared: &Arc<PackStore>, progress: Progress<'_>) -> Result<CompactOutcome> {
    shared.commit()?;
    // Times are the store's: a pack that was listed as old before the table was read is not of a writer that continues.
    let packs = shared.packs()?;
    shared.refresh()?;
    let mut used = HashSet::new();
    for (seen, found) in (0_u64..).zip(shared.names().walk("", "", usize::MAX)) {
        go_on(progress(seen, 0))?;
        used.extend(packs_of(&found?.1));
    }
    let before = now_ms() - UNUSED_MS;
    let bytes_before = packs.iter().map(|pack| pack.bytes).sum();
    let mut unused: Vec<_> =
        packs.into_iter().filter(|pack| !used.contains(&pack.id) && pack.modified_ms < before).collect();
    if !unused.is_empty() {
        // A pack whose last file went within the time is one that a reader or a pending copy may need.
        match shared.index.at(before)? {
            Some(then) => then.each(&mut |_, entry| {
                used.extend(entry.iter().flat_map(packs_of));
                Ok(())
            })?,
            None => unused.clear(),
        }
        unused.retain(|pack| !used.contains(&pack.id));
    }
    let freed: u64 = unused.iter().map(|pack| pack.bytes).sum();
    let orphans = unused.len() as u64;
    if orphans > 0 {
        shared.store.delete_all(unused.into_iter().map(|pack| pack.path).collect())?;
    }
    shared.index.compact()?;
    shared.refresh()?;
    Ok(CompactOutcome { bytes_before, bytes_after: bytes_before - freed, rewritten: 0, orphans })
}

fn packs_of(entry: &IndexEntry) -> impl Iterator<Item = u128> {
    entry.segments.iter().map(|segment| segment.pack)
}
