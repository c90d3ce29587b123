//! Files in memory, as long as the store is open. They are encoded as in any other home.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Bound, Deref, DerefMut};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use lakerace_io::wait::{read_lock, write_lock};
use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::encode::{self, Encoding, EncodingContext, PIECE_BYTES, TrainedDictionary, TrainingSamples};
use crate::file_metadata::{check_metadata, now_ms};
use crate::fork::{OpeningProcess, RunningOperation};
use crate::home::{
    CompactOutcome, ContentSink, Damage, Each, FileVersion, Home, HomeOperation, IfExists, Progress, PutOptions,
    RandomAccessFile, Reads, Stat, VerifyOutcome, Write, WriteBatch,
};
use crate::name::{check_name, composed, not_found, prefix_end, shown};
use crate::options::{Compression, Options};
use crate::stream::go_on;

type Files = BTreeMap<Arc<str>, Arc<StoredFile>>;

/// A store in memory.
#[derive(Debug)]
pub(crate) struct MemoryHome {
    shared: Arc<StoreFiles>,
}

#[derive(Debug)]
struct StoreFiles {
    files: RwLock<Files>,
    toolbox: EncodingContext,
    compression: Compression,
    dictionary: RwLock<Option<Arc<TrainedDictionary>>>,
    is_read_only: bool,
    opener: OpeningProcess,
}

/// A lock of a store, during which the process does not fork.
struct StoreLock<G> {
    guard: G,
    _running: RunningOperation,
}

impl<G: Deref> Deref for StoreLock<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for StoreLock<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

#[derive(Debug)]
struct StoredFile {
    size: u64,
    mtime_ms: i64,
    checksum: u64,
    encoding: Arc<Encoding>,
    metadata: Option<String>,
    pieces: Vec<Vec<u8>>,
}

impl MemoryHome {
    pub(crate) fn open(options: &Options) -> Result<Self> {
        if options.pack_bytes.unwrap_or(0) > 0 {
            return Err(Error::unsupported("a store in memory does not pack files into blocks")
                .at("memory:")
                .advice("omit pack_bytes, or use a SQLite store"));
        }
        Ok(Self {
            shared: Arc::new(StoreFiles {
                files: RwLock::default(),
                toolbox: EncodingContext::new(options)?,
                compression: options.compression.unwrap_or_default(),
                dictionary: RwLock::default(),
                is_read_only: options.read_only,
                opener: OpeningProcess::new(),
            }),
        })
    }
}

impl StoreFiles {
    fn read(&self) -> Result<StoreLock<RwLockReadGuard<'_, Files>>> {
        let running = self.opener.enter()?;
        Ok(StoreLock { guard: read_lock(&self.files), _running: running })
    }

    fn write(&self) -> Result<StoreLock<RwLockWriteGuard<'_, Files>>> {
        if self.is_read_only {
            return Err(Error::usage("the store is open read-only").advice("open it without read_only"));
        }
        let running = self.opener.enter()?;
        Ok(StoreLock { guard: write_lock(&self.files), _running: running })
    }

    fn encode(&self, data: &[u8], options: &PutOptions) -> Result<Arc<StoredFile>> {
        let _running = self.opener.enter()?;
        check_metadata(options.metadata.as_deref())?;
        let compression = options.compression.unwrap_or(self.compression);
        let dictionary = read_lock(&self.dictionary).clone();
        let encoding = self.toolbox.encoding(compression, dictionary.filter(|_| compression.dictionary));
        let mut pieces = Vec::with_capacity(data.len().div_ceil(PIECE_BYTES));
        let (first, rest) = data.split_at(data.len().min(PIECE_BYTES));
        for (piece, part) in (0..).zip(std::iter::once(first).chain(rest.chunks(PIECE_BYTES))) {
            let mut stored = Vec::new();
            encoding.encode(piece, part, compression.level, &mut stored)?;
            pieces.push(stored);
        }
        let mut hash = Xxh3Default::new();
        pieces.iter().for_each(|stored| hash.update(stored));
        let checksum = if encoding.chain.is_empty() { xxh3_64(data) } else { hash.digest() };
        Ok(Arc::new(StoredFile {
            size: data.len() as u64,
            mtime_ms: options.mtime_ms.unwrap_or_else(now_ms),
            checksum,
            encoding: Arc::new(encoding),
            metadata: options.metadata.clone(),
            pieces,
        }))
    }
}

fn insert(files: &mut Files, name: &str, file: Arc<StoredFile>, if_exists: IfExists) -> Result<()> {
    if_exists.check(name, || Ok(files.get(name).map(|file| file.version())))?;
    files.insert(name.into(), file);
    Ok(())
}

fn rename(files: &mut Files, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
    let file = files.get(from).cloned().ok_or_else(|| not_found(from))?;
    if from != to {
        insert(files, to, file, if_exists)?;
        files.remove(from);
    }
    Ok(())
}

impl StoredFile {
    fn version(&self) -> FileVersion {
        FileVersion::new(self.size, self.mtime_ms, self.checksum, self.metadata.as_deref())
    }

    fn stat(&self, name: &str) -> Stat {
        Stat {
            name: name.to_owned(),
            size: self.size,
            mtime_ms: self.mtime_ms,
            checksum: Some(self.checksum),
            encoding: self.encoding.text.clone(),
            metadata: self.metadata.clone(),
        }
    }

    fn piece(&self, piece: u64, out: &mut Vec<u8>) -> Result<()> {
        let start = piece * PIECE_BYTES as u64;
        let size = self.size.saturating_sub(start).min(PIECE_BYTES as u64) as usize;
        let stored = self.pieces.get(piece as usize).ok_or_else(|| Error::internal("a piece is missing"))?;
        self.encoding.decode(piece, stored, out.begin(size)?)?;
        // SAFETY: decoding has written all of it.
        unsafe { out.set_len(size) };
        Ok(())
    }

    /// The content, without a copy if it is stored unencoded.
    fn content(&self) -> Result<Cow<'_, [u8]>> {
        if let ([only], true) = (self.pieces.as_slice(), self.encoding.is_plain()) {
            return Ok(Cow::Borrowed(only));
        }
        let mut all = Vec::new();
        let size = self.give(&mut all)?;
        // SAFETY: `give` has written all of it.
        unsafe { all.set_len(size) };
        Ok(Cow::Owned(all))
    }

    fn give(&self, sink: &mut dyn ContentSink) -> Result<usize> {
        let size = usize::try_from(self.size).map_err(|_| Error::internal("the size does not fit into memory"))?;
        let out = sink.begin(size)?;
        let whole = std::iter::once(&mut [][..]).take(usize::from(size == 0));
        for (piece, part) in (0..).zip(out.chunks_mut(PIECE_BYTES).chain(whole)) {
            let stored = self.pieces.get(piece as usize).ok_or_else(|| Error::internal("a piece is missing"))?;
            self.encoding.decode(piece, stored, part)?;
        }
        Ok(size)
    }
}

fn get(files: &Files, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
    let file = files.get(name).ok_or_else(|| not_found(name))?;
    match file.content()? {
        Cow::Borrowed(bytes) => {
            encode::copy(bytes, sink.begin(bytes.len())?);
            Ok(bytes.len())
        }
        Cow::Owned(_) => file.give(sink),
    }
}

fn get_many(files: &Files, names: &[&str], each: Each<'_>) -> Result<()> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|at| names[*at]);
    for at in order {
        match files.get(names[at]) {
            Some(file) => each(at, Some(&file.content()?))?,
            None => each(at, None)?,
        }
    }
    Ok(())
}

fn list(files: &Files, prefix: &str, from: &str, limit: usize) -> Vec<Stat> {
    let from = prefix.max(from);
    let end = prefix_end(prefix.as_bytes());
    let behind = files.range::<str, _>((Bound::Included(from), Bound::Unbounded));
    let within = behind.take_while(|(name, _)| end.as_deref().is_none_or(|end| name.as_bytes() < end));
    within.take(limit).map(|(name, file)| file.stat(name)).collect()
}

struct OpenMemoryFile {
    file: Arc<StoredFile>,
    current: Option<(u64, Vec<u8>)>,
}

impl RandomAccessFile for OpenMemoryFile {
    fn size(&self) -> u64 {
        self.file.size
    }

    fn read_at(&mut self, mut offset: u64, out: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < out.len() && offset < self.file.size {
            let piece = offset / PIECE_BYTES as u64;
            if self.current.as_ref().is_none_or(|(loaded, _)| *loaded != piece) {
                let mut bytes = self.current.take().map(|(_, bytes)| bytes).unwrap_or_default();
                self.file.piece(piece, &mut bytes)?;
                self.current = Some((piece, bytes));
            }
            let bytes = self.current.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
            let rest = &bytes[(offset % PIECE_BYTES as u64) as usize..];
            let len = rest.len().min(out.len() - done);
            out[done..done + len].copy_from_slice(&rest[..len]);
            done += len;
            offset += len as u64;
        }
        Ok(done)
    }
}

fn open(files: &Files, name: &str) -> Result<Box<dyn RandomAccessFile>> {
    let file = files.get(name).cloned().ok_or_else(|| not_found(name))?;
    Ok(Box::new(OpenMemoryFile { file, current: None }))
}

impl Reads for MemoryHome {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        get(&*self.shared.read()?, name, sink)
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        get_many(&*self.shared.read()?, names, each)
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        Ok(self.shared.read()?.get(name).map(|file| file.stat(name)))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        Ok(list(&*self.shared.read()?, prefix, from, limit))
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        open(&*self.shared.read()?, name)
    }
}

struct MemorySnapshot(Files);

impl Reads for MemorySnapshot {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        get(&self.0, name, sink)
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        get_many(&self.0, names, each)
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        Ok(self.0.get(name).map(|file| file.stat(name)))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        Ok(list(&self.0, prefix, from, limit))
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        open(&self.0, name)
    }
}

struct MemoryUpload {
    shared: Arc<StoreFiles>,
    name: String,
    options: PutOptions,
    bytes: Vec<u8>,
}

impl Write for MemoryUpload {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn read_back(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let rest = self.bytes.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let file = self.shared.encode(&self.bytes, &self.options)?;
        insert(&mut *self.shared.write()?, &self.name, file, self.options.if_exists)
    }
}

struct MemoryBatch {
    shared: Arc<StoreFiles>,
    work: Vec<HomeOperation<(String, Arc<StoredFile>, IfExists)>>,
}

impl WriteBatch for MemoryBatch {
    fn put(&mut self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        check_name(name)?;
        self.work.push(HomeOperation::Put((name.to_owned(), self.shared.encode(data, options)?, options.if_exists)));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.work.push(HomeOperation::Remove(name.to_owned()));
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        check_name(to)?;
        self.work.push(HomeOperation::Rename(from.to_owned(), to.to_owned(), if_exists));
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let mut files = self.shared.write()?;
        // A failure leaves all files unchanged.
        let mut next = files.clone();
        for op in self.work {
            match op {
                HomeOperation::Put((name, file, if_exists)) => insert(&mut next, &name, file, if_exists)?,
                HomeOperation::Remove(name) => drop(next.remove(name.as_str()).ok_or_else(|| not_found(&name))?),
                HomeOperation::Rename(from, to, if_exists) => rename(&mut next, &from, &to, if_exists)?,
            }
        }
        *files = next;
        Ok(())
    }
}

impl Home for MemoryHome {
    fn location(&self) -> &str {
        "memory:"
    }

    fn put(&self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        check_name(name)?;
        let file = self.shared.encode(data, options)?;
        insert(&mut *self.shared.write()?, name, file, options.if_exists)
    }

    fn create(&self, name: &str, options: &PutOptions) -> Result<Box<dyn Write>> {
        check_name(name)?;
        drop(self.shared.write()?);
        let (shared, name, options) = (Arc::clone(&self.shared), name.to_owned(), options.clone());
        Ok(Box::new(MemoryUpload { shared, name, options, bytes: Vec::new() }))
    }

    fn version(&self, name: &str) -> Result<Option<FileVersion>> {
        Ok(self.shared.read()?.get(name).map(|file| file.version()))
    }

    fn batch(&self) -> Result<Box<dyn WriteBatch>> {
        Ok(Box::new(MemoryBatch { shared: Arc::clone(&self.shared), work: Vec::new() }))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.shared.write()?.remove(name).map(drop).ok_or_else(|| not_found(name))
    }

    fn remove_prefix(&self, prefix: &str) -> Result<u64> {
        let mut files = self.shared.write()?;
        let names: Vec<Arc<str>> = files
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(|(name, _)| name.starts_with(prefix))
            .map(|(name, _)| Arc::clone(name))
            .collect();
        names.iter().for_each(|name| drop(files.remove(name)));
        Ok(names.len() as u64)
    }

    fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        check_name(to)?;
        rename(&mut *self.shared.write()?, from, to, if_exists)
    }

    fn copy(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        check_name(to)?;
        let mut files = self.shared.write()?;
        let file = files.get(from).cloned().ok_or_else(|| not_found(from))?;
        if from == to { Ok(()) } else { insert(&mut files, to, file, if_exists) }
    }

    fn set_metadata(&self, name: &str, metadata: Option<&str>) -> Result<()> {
        check_metadata(metadata)?;
        let mut files = self.shared.write()?;
        let file = files.get(name).ok_or_else(|| not_found(name))?;
        let changed = StoredFile {
            metadata: metadata.map(str::to_owned),
            encoding: Arc::clone(&file.encoding),
            pieces: file.pieces.clone(),
            ..**file
        };
        files.insert(name.into(), Arc::new(changed));
        Ok(())
    }

    fn snapshot(&self) -> Result<Box<dyn Reads>> {
        Ok(Box::new(MemorySnapshot(self.shared.read()?.clone())))
    }

    fn verify(&self, progress: Progress<'_>) -> Result<VerifyOutcome> {
        let files = self.shared.read()?.clone();
        let mut verified = VerifyOutcome::default();
        for (name, file) in &files {
            go_on(progress(verified.files, verified.bytes))?;
            verified.files += 1;
            if let Some(composed) = composed(name).filter(|composed| files.contains_key(composed.as_str())) {
                verified.alike.push((name.to_string(), composed));
            }
            match file.content() {
                Ok(content) if !file.encoding.chain.is_empty() || xxh3_64(&content) == file.checksum => {
                    verified.bytes += file.size;
                }
                other => {
                    let problem = other
                        .map_or_else(|e| e.to_string(), |_| "the content differs from what was written".to_owned());
                    verified.damage.push(Damage { name: Some(shown(name)), between: None, problem });
                }
            }
        }
        Ok(verified)
    }

    fn compact(&self, _: Progress<'_>) -> Result<CompactOutcome> {
        let bytes = self.shared.read()?.values().flat_map(|file| &file.pieces).map(|piece| piece.len() as u64).sum();
        Ok(CompactOutcome { bytes_before: bytes, bytes_after: bytes, ..CompactOutcome::default() })
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn train(&self) -> Result<u32> {
        let _running = self.shared.opener.enter()?;
        let mut samples = TrainingSamples::default();
        for file in self.shared.read()?.values() {
            samples.add(&file.content()?);
        }
        let mut dictionary = write_lock(&self.shared.dictionary);
        let id = dictionary.as_ref().map_or(1, |known| known.id + 1);
        *dictionary = Some(Arc::new(TrainedDictionary::new(id, samples.train()?)?));
        Ok(id)
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
