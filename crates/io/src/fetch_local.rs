//! Pieces of local files, read by the thread that needs them.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;

use crate::buffers::Buffer;
use crate::local_store::{e_tag, open_file};
use crate::location::file_path;
use crate::{Error, Object, Request, RequestKind, Result, store_error};

/// How far the kernel is told to read ahead of a piece that came from the disk.
const READ_AHEAD_BYTES: u64 = 16 << 20;

/// A page cache gives more than this; what is slower came from the disk.
const PAGE_CACHE_BYTES_PER_SECOND: f64 = 1.5e9;

/// Files open at once: a folder of many must not use up the process's descriptors.
const OPEN_FILES: usize = 64;

/// The open files of a plan.
#[derive(Debug)]
pub(super) struct LocalFiles {
    open: Mutex<Vec<Option<Arc<Opened>>>>,
    from_disk: AtomicBool,
}

#[derive(Debug)]
struct Opened {
    file: File,
    /// Inode, time of change (s, ns) and size when it was opened.
    version: (u64, i64, i64, u64),
}

fn version_of(file: &File) -> std::io::Result<(u64, i64, i64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

impl LocalFiles {
    pub(super) fn new(files: usize) -> Self {
        Self { open: Mutex::new(vec![None; files]), from_disk: AtomicBool::new(true) }
    }

    /// Reads `range`, and has the kernel fetch what comes next in `ahead` while it is decoded.
    pub(super) fn read(&self, file: u32, object: &Object, range: &Range<u64>, ahead: &[Request]) -> Result<Bytes> {
        let opened = self.opened(file as usize, object)?;
        if range.end > opened.version.3 {
            return Err(object.too_short(range, Some(opened.version.3)));
        }
        let failed = |e: std::io::Error| Error::from(e).at(object.url());
        if self.from_disk.load(Ordering::Relaxed) {
            read_ahead(&opened, file, ahead);
        }
        let len = usize::try_from(range.end - range.start).map_err(|_| Error::internal("a range beyond memory"))?;
        let start = Instant::now();
        let mut buffer = Buffer::with_capacity(len)?;
        buffer.read_at(&opened.file, range.start, len).map_err(failed)?;
        let speed = len as f64 / start.elapsed().as_secs_f64().max(1e-9);
        self.from_disk.store(speed < PAGE_CACHE_BYTES_PER_SECOND, Ordering::Relaxed);
        object.store.job.meter().count(RequestKind::Get, 1);
        object.store.job.meter().read_bytes(buffer.len() as u64);
        // A file that was written to in place has changed its time; one that was replaced stays what we have open.
        if version_of(&opened.file).map_err(failed)? != opened.version {
            return Err(store_error::replaced().at(object.url()));
        }
        if buffer.len() < len {
            return Err(object.too_short(range, Some(range.start + buffer.len() as u64)));
        }
        Ok(buffer.freeze())
    }

    fn opened(&self, file: usize, object: &Object) -> Result<Arc<Opened>> {
        if let Some(opened) = &self.lock()[file] {
            return Ok(Arc::clone(opened));
        }
        let failed = |e: std::io::Error| Error::from(e).at(object.url());
        let (handle, metadata) = open_file(&file_path(&object.path)).map_err(failed)?;
        if object.e_tag.as_ref().is_some_and(|known| *known != e_tag(&metadata)) {
            return Err(store_error::replaced().at(object.url()));
        }
        let version = version_of(&handle).map_err(failed)?;
        let opened = Arc::new(Opened { file: handle, version });
        let mut open = self.lock();
        if let Some(first) = &open[file] {
            return Ok(Arc::clone(first));
        }
        if open.iter().flatten().count() >= OPEN_FILES {
            // Scans go through files in order, so the first one is the one least needed. Opened again, it must
            // still be the same version.
            if let Some(oldest) = open.iter_mut().find(|o| o.is_some()) {
                *oldest = None;
            }
        }
        open[file] = Some(Arc::clone(&opened));
        Ok(opened)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Arc<Opened>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_ahead(opened: &Opened, file: u32, ahead: &[Request]) {
    let mut left = READ_AHEAD_BYTES;
    for request in ahead.iter().take_while(|r| r.file == file) {
        let len = request.range.end - request.range.start;
        // Advice only: a file system that does not take it reads when asked.
        let _ = rustix::fs::fadvise(
            &opened.file,
            request.range.start,
            std::num::NonZeroU64::new(len),
            rustix::fs::Advice::WillNeed,
        );
        left = left.saturating_sub(len);
        if left == 0 {
            break;
        }
    }
}
