//! Contents of a store on an object store.

use std::mem::MaybeUninit;
use std::sync::Arc;

use bytes::Bytes;
use lakerace_io::{Error, Result};

use super::SEGMENT_BYTES;
use super::names::StoreNames;
use super::shared::{self, PackStore};
use crate::encode::Encoding;
use crate::home::{ContentSink, Each, RandomAccessFile, Reads, Stat};
use crate::index::{IndexEntry, Segment};
use crate::name::{not_found, shown};

/// Stored bytes that are fetched together for many contents; one longer content is fetched for itself.
const FETCH_BYTES: u64 = 64 << 20;

/// Decodes a content's parts into the memory for it.
pub(super) fn decode(
    shared: &PackStore,
    entry: &IndexEntry,
    stored: &[Bytes],
    out: &mut [MaybeUninit<u8>],
) -> Result<()> {
    let encoding = shared.encoding(&entry.encoding)?;
    let mut parts = out.chunks_mut(SEGMENT_BYTES);
    for (number, stored) in (0..).zip(stored) {
        encoding.decode(number, stored, parts.next().unwrap_or_default())?;
    }
    match parts.next() {
        None => Ok(()),
        Some(_) => Err(Error::corrupt("the index has fewer parts of the content than its length requires")),
    }
}

/// Decodes a part of a content that is as long as parts are.
pub(super) fn decode_part(shared: &PackStore, encoding: &Encoding, part: usize, segment: &Segment) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let stored = shared.fetch(std::slice::from_ref(segment))?.pop();
    let stored = stored.ok_or_else(|| Error::internal("a segment was not read"))?;
    encoding.decode(part as u64, &stored, bytes.begin(SEGMENT_BYTES)?)?;
    // SAFETY: decoding has written all of it.
    unsafe { bytes.set_len(SEGMENT_BYTES) };
    Ok(bytes)
}

fn give(shared: &PackStore, entry: &IndexEntry, stored: &[Bytes], sink: &mut dyn ContentSink) -> Result<usize> {
    let size = usize::try_from(entry.size).map_err(|_| Error::unsupported("the content does not fit into memory"))?;
    decode(shared, entry, stored, sink.begin(size)?)?;
    Ok(size)
}

fn get(shared: &PackStore, name: &str, entry: &IndexEntry, sink: &mut dyn ContentSink) -> Result<usize> {
    let stored = shared.fetch(&entry.segments)?;
    give(shared, entry, &stored, sink).map_err(|e| e.at(shown(name)))
}

/// Gives contents in the order of their places in packs, some at a time.
fn get_many(shared: &PackStore, names: &[&str], found: &[Option<Arc<IndexEntry>>], each: Each<'_>) -> Result<()> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    let place =
        |at: &usize| found[*at].as_ref().and_then(|entry| entry.segments.first()).map(|one| (one.pack, one.start));
    order.sort_by_key(place);
    let mut order = order.as_slice();
    let mut content = Vec::new();
    while !order.is_empty() {
        let mut bytes = 0;
        let fits = |at: &&usize| {
            let stored =
                |entry: &Arc<IndexEntry>| entry.segments.iter().map(|segment| u64::from(segment.len)).sum::<u64>();
            bytes += found[**at].as_ref().map_or(0, stored);
            bytes <= FETCH_BYTES
        };
        let count = order.iter().take_while(fits).count().max(1);
        let (now, later) = order.split_at(count);
        let entries = now.iter().filter_map(|at| found[*at].as_ref());
        let segments: Vec<_> = entries.flat_map(|entry| entry.segments.iter().copied()).collect();
        let stored = shared.fetch(&segments)?;
        let mut stored = stored.as_slice();
        for at in now {
            let Some(entry) = &found[*at] else {
                each(*at, None)?;
                continue;
            };
            let (own, rest) = stored.split_at(entry.segments.len());
            stored = rest;
            let size = give(shared, entry, own, &mut content).map_err(|e| e.at(shown(names[*at])))?;
            // SAFETY: `give` has written all of it.
            unsafe { content.set_len(size) };
            each(*at, Some(&content))?;
        }
        order = later;
    }
    Ok(())
}

/// The current names, with pending changes.
pub(super) struct LiveNames<'a>(pub(super) &'a Arc<PackStore>);

impl LiveNames<'_> {
    pub(super) fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        self.0.with_newest(|| {
            let entry = self.0.find(name)?.ok_or_else(|| not_found(name))?;
            get(self.0, name, &entry, sink)
        })
    }

    pub(super) fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        let found = self.0.find_all(names)?;
        get_many(self.0, names, &found, each)
    }
}

/// A version of the table.
pub(super) struct PackSnapshot {
    shared: Arc<PackStore>,
    names: StoreNames,
}

impl PackSnapshot {
    pub(super) fn new(shared: &Arc<PackStore>) -> Self {
        Self { shared: Arc::clone(shared), names: shared.names() }
    }

    fn find(&self, name: &str) -> Result<Arc<IndexEntry>> {
        let _running = self.shared.opener.enter()?;
        self.names.find(name)?.ok_or_else(|| not_found(name))
    }

    fn with_location<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|e| e.at(&self.shared.location))
    }
}

impl Reads for PackSnapshot {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        self.with_location(self.find(name).and_then(|entry| get(&self.shared, name, &entry, sink)))
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        let _running = self.shared.opener.enter()?;
        let found: Result<Vec<_>> = names.iter().map(|name| self.names.find(name)).collect();
        self.with_location(found.and_then(|found| get_many(&self.shared, names, &found, each)))
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        let _running = self.shared.opener.enter()?;
        self.with_location(self.names.find(name).map(|found| found.map(|entry| shared::stat(name, &entry))))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        let _running = self.shared.opener.enter()?;
        let files = self.names.walk(prefix, from, limit).take(limit);
        self.with_location(files.map(|found| found.map(|(name, entry)| shared::stat(&name, &entry))).collect())
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        let entry = self.with_location(self.find(name))?;
        Ok(open(&self.shared, name, entry))
    }
}

/// A content that is read part by part. Packs don't change, so it stays the same after it is opened.
struct PartReader {
    shared: Arc<PackStore>,
    name: String,
    entry: Arc<IndexEntry>,
    /// The part that was decoded last.
    current: Option<(usize, Vec<u8>)>,
}

pub(super) fn open(shared: &Arc<PackStore>, name: &str, entry: Arc<IndexEntry>) -> Box<dyn RandomAccessFile> {
    Box::new(PartReader { shared: Arc::clone(shared), name: name.to_owned(), entry, current: None })
}

impl PartReader {
    fn load(&mut self, part: usize) -> Result<&[u8]> {
        if self.current.as_ref().is_none_or(|(loaded, _)| *loaded != part) {
            let short = || Error::corrupt("the index has fewer parts of the content than its length requires");
            let segment = self.entry.segments.get(part).ok_or_else(short)?;
            let stored = self.shared.fetch(std::slice::from_ref(segment))?;
            let rest = self.entry.size.saturating_sub((part * SEGMENT_BYTES) as u64);
            let size = rest.min(SEGMENT_BYTES as u64) as usize;
            let mut bytes = self.current.take().map(|(_, bytes)| bytes).unwrap_or_default();
            let encoding = self.shared.encoding(&self.entry.encoding)?;
            for stored in &stored {
                encoding.decode(part as u64, stored, bytes.begin(size)?)?;
            }
            // SAFETY: decoding has written all of it.
            unsafe { bytes.set_len(size) };
            self.current = Some((part, bytes));
        }
        Ok(self.current.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default())
    }
}

impl RandomAccessFile for PartReader {
    fn size(&self) -> u64 {
        self.entry.size
    }

    fn read_at(&mut self, mut offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < out.len() && offset < self.entry.size {
            let (part, at) = (offset / SEGMENT_BYTES as u64, (offset % SEGMENT_BYTES as u64) as usize);
            let place = shown(&self.name);
            let bytes = self.load(part as usize).map_err(|e| e.at(place))?.get(at..).unwrap_or_default();
            let len = bytes.len().min(out.len() - done);
            if len == 0 {
                break;
            }
            out[done..done + len].copy_from_slice(&bytes[..len]);
            done += len;
            offset += len as u64;
        }
        Ok(done)
    }
}
