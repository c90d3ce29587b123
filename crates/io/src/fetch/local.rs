//! Pieces of local files, read by the thread that needs them.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;

use crate::lock::lock;
use crate::store::error as store_error;
use crate::{Error, Object, Request, Result};

/// How far the kernel is told to read ahead of a piece that came from the disk.
const READ_AHEAD_BYTES: u64 = 16 << 20;

/// A page cache gives more than this; what is slower came from the disk.
const PAGE_CACHE_BYTES_PER_SECOND: f64 = 1.5e9;

/// Pieces from this size on tell how fast the file is: of smaller ones, the call itself takes most of the time.
const TELLING_BYTES: u64 = 256 << 10;

/// Files open at once: a folder of many must not use up the process's descriptors.
const OPEN_FILES: usize = 64;

/// The open files of a plan.
#[derive(Debug)]
pub(super) struct LocalFiles {
    slots: Mutex<Vec<Slot>>,
    from_disk: AtomicBool,
    /// Which of the plan's requests the kernel was told of: it goes through all pages of a request to see what it has.
    told: Box<[AtomicBool]>,
}

/// One file of the plan.
#[derive(Debug, Clone, Default)]
struct Slot {
    open: Option<Arc<Opened>>,
    /// That of its first opening: a file that is opened again must have it still.
    version: Option<Version>,
}

#[derive(Debug)]
struct Opened {
    file: File,
    version: Version,
}

/// Inode, time of change (s, ns) and size.
type Version = (u64, i64, i64, u64);

fn version_of(file: &File) -> std::io::Result<Version> {
    let metadata = file.metadata()?;
    Ok((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

impl LocalFiles {
    /// For a plan of so many files and requests.
    pub(super) fn new(files: usize, requests: usize) -> Self {
        let told = std::iter::repeat_with(|| AtomicBool::new(false)).take(requests).collect();
        Self { slots: Mutex::new(vec![Slot::default(); files]), from_disk: AtomicBool::new(true), told }
    }

    /// Reads `range`, and has the kernel fetch what comes next while it is decoded: the plan's requests from number `next` on.
    pub(super) fn read(
        &self,
        file: u32,
        object: &Object,
        range: &Range<u64>,
        (plan, next): (&[Request], usize),
    ) -> Result<Bytes> {
        let opened = self.opened(file as usize, object)?;
        if range.end > opened.version.3 {
            return Err(object.too_short(range, Some(opened.version.3)));
        }
        let failed = |e: std::io::Error| Error::from(e).at(object.url());
        if self.from_disk.load(Ordering::Relaxed) {
            self.read_ahead(&opened, file, plan, next);
        }
        let start = Instant::now();
        let bytes = object.read_local(&opened.file, range.clone());
        let length = range.end - range.start;
        if length >= TELLING_BYTES {
            let speed = length as f64 / start.elapsed().as_secs_f64().max(1e-9);
            self.from_disk.store(speed < PAGE_CACHE_BYTES_PER_SECOND, Ordering::Relaxed);
        }
        // A file that was written to in place has changed its time; one that was replaced stays what we have open.
        if version_of(&opened.file).map_err(failed)? != opened.version {
            return Err(store_error::replaced().at(object.url()));
        }
        bytes
    }

    fn opened(&self, file: usize, object: &Object) -> Result<Arc<Opened>> {
        if let Some(opened) = &self.lock()[file].open {
            return Ok(Arc::clone(opened));
        }
        let (handle, ..) = object.open_local()?;
        let version = version_of(&handle).map_err(|e| Error::from(e).at(object.url()))?;
        let opened = Arc::new(Opened { file: handle, version });
        let mut slots = self.lock();
        if let Some(first) = &slots[file].open {
            return Ok(Arc::clone(first));
        }
        if *slots[file].version.get_or_insert(version) != version {
            return Err(store_error::replaced().at(object.url()));
        }
        if slots.iter().filter(|slot| slot.open.is_some()).count() >= OPEN_FILES {
            // Scans go through files in order, so the first one is the one least needed.
            if let Some(oldest) = slots.iter_mut().find(|slot| slot.open.is_some()) {
                oldest.open = None;
            }
        }
        slots[file].open = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Tells the kernel of the file's requests from number `next` on that it was not told of.
    fn read_ahead(&self, opened: &Opened, file: u32, plan: &[Request], next: usize) {
        let mut left = READ_AHEAD_BYTES;
        let ahead = plan.iter().zip(&self.told).skip(next);
        for (request, told) in ahead.take_while(|(request, _)| request.file == file) {
            let len = request.range.end - request.range.start;
            if !told.swap(true, Ordering::Relaxed) {
                advise(&opened.file, request.range.start, len);
            }
            left = left.saturating_sub(len);
            if left == 0 {
                break;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Slot>> {
        lock(&self.slots)
    }
}

/// Has the kernel read a range ahead. Advice only: a file system that does not take it reads when asked.
#[cfg(target_os = "linux")]
pub(crate) fn advise(file: &std::fs::File, start: u64, len: u64) {
    let _ = rustix::fs::fadvise(file, start, std::num::NonZeroU64::new(len), rustix::fs::Advice::WillNeed);
}

/// Other systems read ahead by their own rules.
#[cfg(not(target_os = "linux"))]
pub(crate) fn advise(_file: &std::fs::File, _start: u64, _len: u64) {}

#[cfg(test)]
mod tests;
