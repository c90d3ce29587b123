//! Trees of the local file system, into a store and out of it.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lakerace_io::{Error, Result};
use rustix::fs::{Mode, OFlags};

use crate::name::{check_name, shown};
use crate::store::folder_prefix;
use crate::{Batch, IfExists, Progress, PutOptions, Store};

/// Contents above this go into the store piece by piece, in bytes.
const WHOLE_BYTES: u64 = 16 << 20;

/// What one transaction of an import has, in files and bytes.
const BATCH: (usize, u64) = (10_000, 32 << 20);

impl Store {
    /// Puts all files below `tree`, a directory, under `folder`; says how many files and bytes these are. Symbolic links are
    /// passed over. They become visible some thousands at a time.
    pub fn import_tree(
        &self,
        tree: &Path,
        folder: &str,
        options: &PutOptions,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let mut import = Import::new(self, folder_prefix(folder), options, progress);
        let mut folders = vec![(tree.to_owned(), String::new())];
        // The last is taken first: folders go in the reverse order of names.
        while let Some((path, below)) = folders.pop() {
            let mut names = Vec::new();
            for entry in std::fs::read_dir(&path).map_err(|e| Error::from(e).at(path.display()))? {
                let entry = entry.map_err(|e| Error::from(e).at(path.display()))?;
                let kind = entry.file_type().map_err(|e| Error::from(e).at(path.display()))?;
                let name = entry.file_name().into_string().map_err(|_| {
                    Error::invalid("the name is not UTF-8, as a store takes them").at(entry.path().display())
                })?;
                names.push((name, kind));
            }
            names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let mut inner = Vec::new();
            for (name, kind) in names {
                let below = format!("{below}{name}");
                if kind.is_dir() {
                    inner.push((path.join(&name), format!("{below}/")));
                } else if kind.is_file() {
                    import.file(&path.join(&name), &below)?;
                }
            }
            folders.extend(inner.into_iter().rev());
        }
        import.end()
    }

    /// Writes all files of `folder` below `tree`, a directory that is made where there is none; says how many files and bytes these
    /// are. A file that is there is replaced, or an error. No part of a file's path may be a symbolic link.
    pub fn export_tree(
        &self,
        folder: &str,
        tree: &Path,
        if_exists: IfExists,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let prefix = folder_prefix(folder);
        let target = Store::open(
            &format!("dir:{}", tree.display()),
            crate::Options { read_only: false, ..crate::Options::default() },
        )?;
        let (mut files, mut bytes) = (0, 0);
        let mut buffer = vec![0; 1 << 20];
        self.each(&prefix, &mut |stat| {
            let options = PutOptions { if_exists, mtime_ms: Some(stat.mtime_ms), ..PutOptions::default() };
            let name = &stat.name[prefix.len()..];
            if stat.size <= WHOLE_BYTES {
                target.put(name, &self.get(&stat.name)?, &options)?;
            } else {
                let mut content = self.open_read(&stat.name)?;
                let mut out = target.create(name, &options)?;
                let mut at = 0;
                loop {
                    let len = content.read_at(at, &mut buffer)?;
                    if len == 0 {
                        break;
                    }
                    out.write(&buffer[..len])?;
                    at += len as u64;
                }
                out.finish()?;
            }
            files += 1;
            bytes += stat.size;
            go_on(progress(files, bytes)).map(|()| true)
        })?;
        Ok((files, bytes))
    }
}

/// The error for a work that was stopped.
pub(crate) fn go_on(wanted: bool) -> Result<()> {
    if wanted { Ok(()) } else { Err(Error::cancelled()) }
}

/// Files on their way into a store, some thousands a transaction.
pub(crate) struct Import<'a> {
    store: &'a Store,
    prefix: String,
    options: &'a PutOptions,
    progress: Progress<'a>,
    batch: Option<Box<dyn Batch>>,
    in_batch: (usize, u64),
    files: u64,
    bytes: u64,
}

impl<'a> Import<'a> {
    pub(crate) fn new(store: &'a Store, prefix: String, options: &'a PutOptions, progress: Progress<'a>) -> Self {
        Self { store, prefix, options, progress, batch: None, in_batch: (0, 0), files: 0, bytes: 0 }
    }

    fn file(&mut self, path: &Path, name: &str) -> Result<()> {
        let place = |e: std::io::Error| Error::from(e).at(path.display());
        // One that became a link or a pipe meanwhile is not followed, and does not block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let mut file = File::from(opened.map_err(|e| place(e.into()))?);
        let found = file.metadata().map_err(place)?;
        let modified = found.modified().map_err(place)?;
        self.content(name, found.len(), Some(to_ms(modified)), &mut file)
    }

    /// Takes a content of about `size` bytes from a reader.
    pub(crate) fn content(&mut self, name: &str, size: u64, mtime_ms: Option<i64>, from: &mut dyn Read) -> Result<()> {
        let name = format!("{}{name}", self.prefix);
        check_name(&name)?;
        let options = PutOptions { mtime_ms, ..self.options.clone() };
        let read = |e: std::io::Error| Error::from(e).at(shown(&name));
        let size = if size > WHOLE_BYTES {
            self.end_batch()?;
            let mut out = self.store.create(&name, &options)?;
            let (mut buffer, mut whole) = (vec![0; 1 << 20], 0);
            loop {
                let len = from.read(&mut buffer).map_err(read)?;
                if len == 0 {
                    break;
                }
                out.write(&buffer[..len])?;
                whole += len as u64;
            }
            out.finish()?;
            whole
        } else {
            let mut content = Vec::with_capacity(size as usize);
            from.read_to_end(&mut content).map_err(read)?;
            let batch = match &mut self.batch {
                Some(batch) => batch,
                None => self.batch.insert(self.store.batch()?),
            };
            batch.put(&name, &content, &options)?;
            self.in_batch = (self.in_batch.0 + 1, self.in_batch.1 + content.len() as u64);
            if self.in_batch.0 >= BATCH.0 || self.in_batch.1 >= BATCH.1 {
                self.end_batch()?;
            }
            content.len() as u64
        };
        self.files += 1;
        self.bytes += size;
        go_on((self.progress)(self.files, self.bytes))
    }

    fn end_batch(&mut self) -> Result<()> {
        self.in_batch = (0, 0);
        self.batch.take().map_or(Ok(()), |batch| batch.commit())
    }

    pub(crate) fn end(mut self) -> Result<(u64, u64)> {
        self.end_batch()?;
        Ok((self.files, self.bytes))
    }
}

fn to_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A content as a reader, for what writes archives.
pub(crate) struct ContentReader {
    content: Box<dyn crate::Content>,
    at: u64,
}

impl ContentReader {
    pub(crate) fn new(content: Box<dyn crate::Content>) -> Self {
        Self { content, at: 0 }
    }
}

impl Read for ContentReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = self.content.read_at(self.at, out).map_err(std::io::Error::other)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// Flushes what was written for others to read.
pub(crate) fn flushed(out: &mut dyn std::io::Write) -> Result<()> {
    out.flush().map_err(Error::from)
}
