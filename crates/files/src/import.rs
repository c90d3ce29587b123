//! Files on their way into a store.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lakerace_io::{Error, Result};
use rustix::fs::{Mode, OFlags};

use crate::home::{Progress, PutOptions, WriteBatch};
use crate::name::{check_name, shown};
use crate::store::Store;
use crate::stream::{ContentReader, WHOLE_BYTES, go_on};

/// The files and bytes of a transaction of an import.
const BATCH: (usize, u64) = (10_000, 32 << 20);

/// The bytes of a content that comes from a reader.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContentLength {
    /// Another number of them is damage.
    Exact(u64),
    /// The most bytes that are taken. Those after them came while it was read.
    AtMost(u64),
}

impl ContentLength {
    fn bytes(self) -> u64 {
        match self {
            Self::Exact(bytes) | Self::AtMost(bytes) => bytes,
        }
    }

    /// The most bytes that are read. For an exact length, this is one byte more, to detect a longer content.
    fn limit(self) -> u64 {
        match self {
            Self::Exact(bytes) => bytes.saturating_add(1),
            Self::AtMost(bytes) => bytes,
        }
    }

    fn check(self, read: u64) -> Result<()> {
        match self {
            Self::Exact(bytes) if read < bytes => {
                Err(Error::corrupt(format!("the archive is damaged: it ends after {read} of {bytes} bytes")))
            }
            Self::Exact(bytes) if read > bytes => Err(Error::corrupt(format!(
                "the archive is damaged: it holds more than the {bytes} bytes that it states"
            ))),
            Self::Exact(_) | Self::AtMost(_) => Ok(()),
        }
    }
}

/// Files on their way into a store, some thousands a transaction.
pub(crate) struct FileImport<'a> {
    store: &'a Store,
    prefix: String,
    options: &'a PutOptions,
    progress: Progress<'a>,
    batch: Option<Box<dyn WriteBatch>>,
    in_batch: (usize, u64),
    /// Transactions that were ended.
    batches: u64,
    files: u64,
    bytes: u64,
}

impl<'a> FileImport<'a> {
    pub(crate) fn new(store: &'a Store, prefix: String, options: &'a PutOptions, progress: Progress<'a>) -> Self {
        Self { store, prefix, options, progress, batch: None, in_batch: (0, 0), batches: 0, files: 0, bytes: 0 }
    }

    /// Adds the current content of a local file.
    pub(crate) fn file(&mut self, path: &Path, name: &str) -> Result<()> {
        let place = |e: std::io::Error| Error::from(e).at(path.display());
        // A path that became a link or a pipe in the meantime is not followed, and does not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let mut file = File::from(opened.map_err(|e| place(e.into()))?);
        let found = file.metadata().map_err(place)?;
        let mtime_ms = found.mtime().saturating_mul(1000).saturating_add(found.mtime_nsec() / 1_000_000);
        self.content(name, ContentLength::AtMost(found.len()), Some(mtime_ms), &mut file)
    }

    /// Takes a content from a reader.
    pub(crate) fn content(
        &mut self,
        name: &str,
        length: ContentLength,
        mtime_ms: Option<i64>,
        from: &mut dyn Read,
    ) -> Result<()> {
        let name = format!("{}{name}", self.prefix);
        check_name(&name)?;
        let options = PutOptions { mtime_ms, ..self.options.clone() };
        let mut from = from.take(length.limit());
        let size = match length.bytes() > WHOLE_BYTES {
            true => self.large(&name, length, &options, &mut from)?,
            false => self.small(&name, length, &options, &mut from)?,
        };
        self.files += 1;
        self.bytes += size;
        self.go_on()
    }

    /// An error where the work is to stop.
    pub(crate) fn go_on(&mut self) -> Result<()> {
        go_on((self.progress)(self.files, self.bytes))
    }

    fn large(&mut self, name: &str, length: ContentLength, options: &PutOptions, from: &mut dyn Read) -> Result<u64> {
        self.end_batch()?;
        let mut out = self.store.create(name, options)?;
        let (mut buffer, mut size) = (vec![0; 1 << 20], 0);
        loop {
            let len = from.read(&mut buffer).map_err(|e| Error::from(e).at(shown(name)))?;
            if len == 0 {
                break;
            }
            out.write(&buffer[..len])?;
            size += len as u64;
            go_on((self.progress)(self.files, self.bytes + size))?;
        }
        length.check(size).map_err(|e| e.at(shown(name)))?;
        out.finish()?;
        Ok(size)
    }

    fn small(&mut self, name: &str, length: ContentLength, options: &PutOptions, from: &mut dyn Read) -> Result<u64> {
        let mut content = Vec::with_capacity(length.bytes() as usize);
        from.read_to_end(&mut content).map_err(|e| Error::from(e).at(shown(name)))?;
        let size = content.len() as u64;
        length.check(size).map_err(|e| e.at(shown(name)))?;
        let batch = match &mut self.batch {
            Some(batch) => batch,
            None => self.batch.insert(self.store.batch()?),
        };
        batch.put(name, &content, options)?;
        self.in_batch = (self.in_batch.0 + 1, self.in_batch.1 + size);
        if self.in_batch.0 >= BATCH.0 || self.in_batch.1 >= BATCH.1 {
            self.end_batch()?;
        }
        Ok(size)
    }

    /// Takes the content of a file that this import has put when `batches` of its transactions were ended; says how many are ended at
    /// this one.
    pub(crate) fn again(&mut self, name: &str, of: &str, batches: u64, mtime_ms: Option<i64>) -> Result<u64> {
        if batches >= self.batches {
            self.end_batch()?;
        }
        let content = self.store.open_read(&format!("{}{of}", self.prefix))?;
        let (length, now) = (ContentLength::Exact(content.size()), self.batches);
        self.content(name, length, mtime_ms, &mut ContentReader::new(content))?;
        Ok(now)
    }

    /// Transactions that were ended.
    pub(crate) fn batches(&self) -> u64 {
        self.batches
    }

    fn end_batch(&mut self) -> Result<()> {
        self.in_batch = (0, 0);
        self.batches += 1;
        self.batch.take().map_or(Ok(()), |batch| batch.commit())
    }

    pub(crate) fn end(mut self) -> Result<(u64, u64)> {
        self.end_batch()?;
        Ok((self.files, self.bytes))
    }
}
