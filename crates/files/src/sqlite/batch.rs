//! Writes that become visible together.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::inner::Inner;
use super::record::ContentPlace;
use super::writer::{PreparedFile, StoreWriter, StoredBody};
use crate::file_metadata::{check_metadata, now_ms};
use crate::home::{IfExists, PutOptions, WriteBatch};
use crate::name::shown;

/// Bytes that a batch keeps in memory before it takes the store for writing.
const BUFFER_BYTES: usize = 8 << 20;

/// Contents that share blocks have at most this many bytes.
const PACKED_BYTES: usize = 4096;

/// A batch that keeps writes in memory and applies them in one transaction at the end. Too many writes start the
/// transaction early, and other writers wait until it ends.
pub(super) struct SqliteBatch {
    inner: Arc<Inner>,
    work: Vec<BatchOperation>,
    bytes: usize,
    lease: Option<Box<StoreWriter>>,
    /// Why nothing more can be done.
    broken: Option<Error>,
}

enum BatchOperation {
    Put {
        name: String,
        file: PreparedFile<'static>,
    },
    /// Its content goes into a block, with those of its neighbours.
    Pack {
        name: String,
        content: Vec<u8>,
        options: PutOptions,
    },
    Remove(String),
    Rename {
        from: String,
        to: String,
        if_exists: IfExists,
    },
}

impl BatchOperation {
    fn put_name(&self) -> Option<&str> {
        match self {
            Self::Put { name, .. } | Self::Pack { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl SqliteBatch {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner, work: Vec::new(), bytes: 0, lease: None, broken: None }
    }

    fn add(&mut self, op: BatchOperation, bytes: usize) -> Result<()> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.work.push(op);
        self.bytes += bytes + 64;
        if self.bytes < BUFFER_BYTES { Ok(()) } else { self.spill() }
    }

    /// Applies the operations in memory, in a transaction that stays open.
    fn spill(&mut self) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        let _gate = inner.connections.enter()?;
        if self.lease.is_none() {
            let mut writer = inner.connections.lease()?;
            if let Err(e) = writer.begin() {
                inner.connections.queue.give_back(Some(writer));
                return Err(self.break_with(e));
            }
            inner.connections.outstanding.fetch_add(1, Ordering::AcqRel);
            self.lease = Some(writer);
        }
        let Some(writer) = &mut self.lease else { return Err(Error::internal("the store has no writer")) };
        order(&mut self.work);
        let done = apply(&inner, writer, &self.work);
        self.work.clear();
        self.bytes = 0;
        done.map_err(|e| self.break_with(e))
    }

    fn break_with(&mut self, error: Error) -> Error {
        let error = error.at(&self.inner.location);
        self.take_back();
        self.work.clear();
        self.broken = Some(error.clone());
        error
    }

    /// Ends the transaction without a trace.
    fn take_back(&mut self) {
        if self.end(|writer| writer.rollback()).is_some() {
            // Numbers of encodings that were new in it are no one's now.
            self.inner.catalog.forget();
        }
    }

    fn end<T>(&mut self, how: impl FnOnce(&mut StoreWriter) -> T) -> Option<T> {
        let mut writer = self.lease.take()?;
        let done = how(&mut writer);
        self.inner.connections.queue.give_back(Some(writer));
        self.inner.connections.outstanding.fetch_sub(1, Ordering::AcqRel);
        Some(done)
    }

    fn try_put(&mut self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        self.inner.may_write(name)?;
        if self.inner.pack_bytes > 0 && data.len() <= PACKED_BYTES {
            check_metadata(options.metadata.as_deref())?;
            let mut options = options.clone();
            options.mtime_ms.get_or_insert_with(now_ms);
            let op = BatchOperation::Pack { name: name.to_owned(), content: data.to_vec(), options };
            return self.add(op, data.len());
        }
        let inner = Arc::clone(&self.inner);
        let file = owned(inner.prepare_in(self.lease.as_deref_mut(), data, options)?);
        self.add(BatchOperation::Put { name: name.to_owned(), file }, data.len())
    }
}

fn owned(file: PreparedFile<'_>) -> PreparedFile<'static> {
    let body = match file.body {
        StoredBody::One(bytes) => StoredBody::One(Cow::Owned(bytes.into_owned())),
        StoredBody::Pieces(pieces) => {
            StoredBody::Pieces(pieces.into_iter().map(|piece| Cow::Owned(piece.into_owned())).collect())
        }
        StoredBody::At(place) => StoredBody::At(place),
    };
    PreparedFile { body, metadata: file.metadata.map(|text| Cow::Owned(text.into_owned())), ..file }
}

/// Puts between other work are put in the order of names, which touches each page once; of one name, the last stays the last.
fn order(work: &mut [BatchOperation]) {
    for run in work.chunk_by_mut(|a, b| a.put_name().is_some() == b.put_name().is_some()) {
        if run[0].put_name().is_some() && !run.is_sorted_by_key(BatchOperation::put_name) {
            let names: Vec<&str> = run.iter().filter_map(BatchOperation::put_name).collect();
            let order = super::open::in_order(&names);
            for place in 0..order.len() {
                // An item from an earlier place has been swapped away: this follows the swaps.
                let mut from = order[place];
                while from < place {
                    from = order[from];
                }
                run.swap(place, from);
            }
        }
    }
}

fn apply(inner: &Inner, writer: &mut StoreWriter, work: &[BatchOperation]) -> Result<()> {
    let mut at = 0;
    while let Some(op) = work.get(at) {
        let done = match op {
            BatchOperation::Put { name, file } => writer.put(name, file).map_err(|e| e.at(shown(name))),
            BatchOperation::Remove(name) => writer.remove(name),
            BatchOperation::Rename { from, to, if_exists } => writer.rename(from, to, *if_exists),
            BatchOperation::Pack { .. } => {
                at += pack(inner, writer, &work[at..])?;
                continue;
            }
        };
        done?;
        at += 1;
    }
    Ok(())
}

/// Puts the files at the front of `work` that share a block, and says how many these are.
fn pack(inner: &Inner, writer: &mut StoreWriter, work: &[BatchOperation]) -> Result<usize> {
    let (mut block, mut files) = (Vec::with_capacity(inner.pack_bytes), Vec::new());
    let mut compression = None;
    for op in work {
        let BatchOperation::Pack { name, content, options } = op else { break };
        let of_this = options.compression.unwrap_or(inner.compression);
        let fits = block.is_empty() || block.len() + content.len() <= inner.pack_bytes;
        if !fits || *compression.get_or_insert(of_this) != of_this {
            break;
        }
        files.push((name, block.len(), content, options));
        block.extend_from_slice(content);
    }
    // The contents of a block compress together, so a dictionary is not useful.
    let compression = crate::options::Compression { dictionary: false, ..compression.unwrap_or(inner.compression) };
    let put_as = inner.put_as_in(Some(writer), compression)?;
    let mut stored = u32::try_from(block.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    put_as.encoding.encode(0, &block, put_as.level, &mut stored)?;
    let place = writer.add_block(&stored)?;
    for (name, start, content, options) in &files {
        let checksum = match put_as.encoding.chain.is_empty() {
            true => xxh3_64(content),
            false => xxh3_64_with_seed(&stored, 0),
        };
        let file = PreparedFile {
            size: content.len() as u64,
            mtime_ms: options.mtime_ms.unwrap_or_default(),
            encoding: put_as.id,
            checksum,
            metadata: options.metadata.as_deref().map(Cow::Borrowed),
            body: StoredBody::At(ContentPlace::Block { place, start: *start as u64 }),
            if_exists: options.if_exists,
        };
        writer.put(name, &file).map_err(|e| e.at(shown(name)))?;
    }
    Ok(files.len())
}

/// Makes sure that encodings of blocks have numbers, outside of the transaction that uses them.
fn number_encodings(inner: &Inner, work: &[BatchOperation]) -> Result<()> {
    let mut known = None;
    for op in work {
        if let BatchOperation::Pack { options, .. } = op {
            let compression = options.compression.unwrap_or(inner.compression);
            if known != Some(compression) {
                inner.put_as(crate::options::Compression { dictionary: false, ..compression })?;
                known = Some(compression);
            }
        }
    }
    Ok(())
}

impl WriteBatch for SqliteBatch {
    fn put(&mut self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        self.try_put(name, data, options).map_err(|e| e.at(&self.inner.location))
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.add(BatchOperation::Remove(name.to_owned()), name.len())
    }

    fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        self.inner.may_write(to)?;
        self.add(BatchOperation::Rename { from: from.to_owned(), to: to.to_owned(), if_exists }, from.len() + to.len())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let inner = Arc::clone(&self.inner);
        let mut work = std::mem::take(&mut self.work);
        if self.lease.is_none() {
            order(&mut work);
            let done = number_encodings(&inner, &work);
            return done
                .and_then(|()| inner.write(|writer| apply(&inner, writer, &work)))
                .map_err(|e| e.at(&inner.location));
        }
        let _gate = inner.connections.enter()?;
        order(&mut work);
        let done = self.end(|writer| {
            let done = apply(&inner, writer, &work).and_then(|()| writer.commit());
            if done.is_err() {
                writer.rollback();
                inner.catalog.forget();
            }
            done
        });
        done.unwrap_or(Ok(())).map_err(|e| e.at(&inner.location))
    }
}

impl Drop for SqliteBatch {
    fn drop(&mut self) {
        if self.inner.connections.is_tainted.load(Ordering::Relaxed) {
            // The connection is the parent's.
            std::mem::forget(self.lease.take());
            return;
        }
        self.take_back();
    }
}

/// Puts files in the transaction that `writer` is in, in blocks where the store has them.
pub(super) fn put_all(inner: &Inner, writer: &mut StoreWriter, files: Vec<(&str, Vec<u8>, PutOptions)>) -> Result<()> {
    let mut work = Vec::with_capacity(files.len());
    for (name, content, options) in files {
        let name = name.to_owned();
        work.push(match inner.pack_bytes > 0 && content.len() <= PACKED_BYTES {
            true => BatchOperation::Pack { name, content, options },
            false => BatchOperation::Put { name, file: owned(inner.prepare_in(Some(writer), &content, &options)?) },
        });
    }
    order(&mut work);
    apply(inner, writer, &work)
}
