//! Open contents and snapshots.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use lakerace_io::wait::{lock, value_mut};
use lakerace_io::{Error, Result};

use super::catalog::StoreCatalog;
use super::inner::Inner;
use super::reader::{LocatedFile, StoreReader, filled};
use super::record::ContentPlace;
use super::schema::SHORT_BYTES;
use crate::encode::PIECE_BYTES;
use crate::home::{ContentSink, Each, RandomAccessFile, Reads, Stat};
use crate::name::{not_found, shown};

/// Gives the contents of `names` in the order of names: neighbours are on one page.
pub(super) fn visit_all(
    reader: &mut StoreReader,
    catalog: &StoreCatalog,
    names: &[&str],
    each: Each<'_>,
) -> Result<()> {
    let see = |at: usize| reader.visit(catalog, names[at], &mut |content| each(at, content));
    if names.is_sorted() {
        return (0..names.len()).try_for_each(see);
    }
    in_order(names).into_iter().try_for_each(see)
}

/// The positions of names in the order of their bytes; equal names stay in their order. The eight bytes after the
/// common prefix are compared first, which seldom requires the names themselves.
pub(super) fn in_order(names: &[&str]) -> Vec<usize> {
    let first = names.first().map(|name| name.as_bytes()).unwrap_or_default();
    let alike = names.iter().fold(first.len(), |alike, name| {
        first[..alike].iter().zip(name.as_bytes()).take_while(|(a, b)| a == b).count()
    });
    let key = |name: &str| {
        let rest = &name.as_bytes()[alike..];
        let mut bytes = [0; 8];
        let len = rest.len().min(8);
        bytes[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(bytes)
    };
    let mut order: Vec<(u64, usize)> = names.iter().enumerate().map(|(at, name)| (key(name), at)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| (names[a.1], a.1).cmp(&(names[b.1], b.1))));
    order.into_iter().map(|(_, at)| at).collect()
}

/// A state of a store, in a read transaction.
#[derive(Debug, Clone)]
pub(super) struct SqliteSnapshot(Arc<HeldReader>);

#[derive(Debug)]
struct HeldReader {
    inner: Arc<Inner>,
    /// `None` only while it is dropped.
    reader: Mutex<Option<StoreReader>>,
}

impl SqliteSnapshot {
    pub(super) fn new(inner: &Arc<Inner>) -> Result<Self> {
        let _gate = inner.connections.enter()?;
        let mut reader = inner.connections.reader()?;
        reader.begin()?;
        inner.connections.outstanding.fetch_add(1, Ordering::AcqRel);
        Ok(Self(Arc::new(HeldReader { inner: Arc::clone(inner), reader: Mutex::new(Some(reader)) })))
    }

    fn read<T>(&self, read: impl FnOnce(&mut StoreReader, &StoreCatalog) -> Result<T>) -> Result<T> {
        let held = &self.0;
        let done = (|| {
            let _gate = held.inner.connections.enter()?;
            let mut reader = lock(&held.reader);
            let reader = reader.as_mut().ok_or_else(|| Error::internal("a snapshot has no connection"))?;
            let done = read(reader, &held.inner.catalog);
            reader.check().and(done)
        })();
        done.map_err(|e: Error| e.at(&held.inner.location))
    }
}

impl Drop for HeldReader {
    fn drop(&mut self) {
        let reader = value_mut(&mut self.reader).take();
        if self.inner.connections.is_tainted.load(Ordering::Relaxed) {
            // The connection is the parent's: closing it would touch its files.
            std::mem::forget(reader);
            return;
        }
        if let Some(mut reader) = reader {
            reader.end();
            self.inner.connections.give_back(reader);
        }
        self.inner.connections.outstanding.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Reads for SqliteSnapshot {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        self.read(|reader, catalog| reader.get(catalog, name, sink))
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        self.read(|reader, catalog| visit_all(reader, catalog, names, each))
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        self.read(|reader, _| reader.stat(name))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        self.read(|reader, _| reader.list(prefix, from, limit))
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        open(SqliteReadHandle::Snapshot(self.clone()), name)
    }
}

/// The way in which an open content reads.
pub(super) enum SqliteReadHandle {
    Home(Arc<Inner>),
    Snapshot(SqliteSnapshot),
}

impl SqliteReadHandle {
    fn read<T>(&self, read: impl FnOnce(&mut StoreReader, &StoreCatalog) -> Result<T>) -> Result<T> {
        match self {
            Self::Home(inner) => inner.read(read),
            Self::Snapshot(snapshot) => snapshot.read(read),
        }
    }
}

/// A content that is read piece by piece.
struct PieceReader {
    via: SqliteReadHandle,
    name: String,
    located: LocatedFile,
    /// The piece that was decoded last.
    current: Option<(u64, Vec<u8>)>,
}

/// A content that is in memory.
struct WholeContent(Vec<u8>);

/// Opens a content. A short one is read immediately; for others, each read fetches the piece that it needs.
pub(super) fn open(via: SqliteReadHandle, name: &str) -> Result<Box<dyn RandomAccessFile>> {
    let located = via.read(|reader, _| reader.locate(name))?.ok_or_else(|| not_found(name))?;
    if located.size > SHORT_BYTES as u64
        && let ContentPlace::Chunks(_) = located.place
    {
        return Ok(Box::new(PieceReader { via, name: name.to_owned(), located, current: None }));
    }
    let mut bytes = Vec::new();
    let size = via.read(|reader, catalog| reader.get(catalog, name, &mut bytes))?;
    filled(&mut bytes, size);
    Ok(Box::new(WholeContent(bytes)))
}

impl RandomAccessFile for WholeContent {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

impl PieceReader {
    fn load(&mut self, piece: u64) -> Result<&[u8]> {
        if self.current.as_ref().is_none_or(|(loaded, _)| *loaded != piece) {
            let mut bytes = self.current.take().map(|(_, bytes)| bytes).unwrap_or_default();
            let Self { via, name, located, .. } = self;
            let read = via.read(|reader, catalog| {
                reader.in_one_state(|reader| {
                    if reader.locate(name)?.as_ref() != Some(located) {
                        return Err(Error::conflict("the file was replaced or removed while it was read")
                            .advice("open it again, or read it from a snapshot"));
                    }
                    reader.piece(catalog, located, piece, &mut bytes)
                })
            });
            read.map_err(|e| e.at(shown(&self.name)))?;
            self.current = Some((piece, bytes));
        }
        Ok(self.current.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default())
    }
}

impl RandomAccessFile for PieceReader {
    fn size(&self) -> u64 {
        self.located.size
    }

    fn read_at(&mut self, mut offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < out.len() && offset < self.located.size {
            let (piece, at) = (offset / PIECE_BYTES as u64, (offset % PIECE_BYTES as u64) as usize);
            let bytes = self.load(piece)?.get(at..).unwrap_or_default();
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

#[cfg(test)]
mod tests;
