//! Pieces of local files, read by the thread that needs them.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use lakerace_exec::lock;

use crate::error::{Error, Result};
use crate::open_files::{FileIdentity, OpenedFile, ReadHandle, ReaderFiles};
use crate::plan::Request;
use crate::read_permit::ReadPermit;
use crate::store::error as store_error;
use crate::store::object::Object;

/// Bytes that the kernel reads ahead of a piece that came from the disk.
const READ_AHEAD_BYTES: u64 = 16 << 20;

/// The least speed of the page cache; slower reads came from the disk.
const PAGE_CACHE_BYTES_PER_SECOND: f64 = 1.5e9;

/// Pieces from this size on show the speed of the file: for smaller ones, the call itself takes most of the time.
const TELLING_BYTES: u64 = 256 << 10;

/// The local files of a plan.
#[derive(Debug)]
pub(super) struct LocalFiles {
    open: ReaderFiles,
    /// The versions of files at their first opening: a file that is opened again must have the same.
    versions: Mutex<Vec<Option<FileIdentity>>>,
    from_disk: AtomicBool,
    /// For each file, the end of the plan's requests that the kernel was advised of: each advice scans all pages of a
    /// request in the page cache.
    told: Box<[AtomicUsize]>,
    /// For each request of the plan, the bytes of all up to its end.
    sums: Box<[u64]>,
}

/// The kernel was not advised of any request.
const NOT_TOLD: usize = usize::MAX;

impl LocalFiles {
    /// For a plan of these requests to `files` files.
    pub(super) fn new(files: usize, plan: &[Request]) -> Self {
        let told = std::iter::repeat_with(|| AtomicUsize::new(NOT_TOLD)).take(files).collect();
        let lengths = plan.iter().map(|request| request.range.end - request.range.start);
        let sums = lengths.scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        });
        let (open, versions) = (ReaderFiles::new(), Mutex::new(vec![None; files]));
        Self { open, versions, from_disk: AtomicBool::new(true), told, sums: sums.collect() }
    }

    /// Reads `range`, and lets the kernel fetch the plan's requests from number `next` on while it is decoded.
    pub(super) fn read(
        &self,
        file: u32,
        object: &Object,
        range: &Range<u64>,
        (plan, next): (&[Request], usize),
    ) -> Result<Bytes> {
        let (handle, _permit) = self.handle(file, object)?;
        let opened = &*handle.opened;
        if range.end > opened.version.size_bytes {
            return Err(object.too_short(range, Some(opened.version.size_bytes)));
        }
        let failed = |e: std::io::Error| Error::from(e).at(object.url());
        if self.from_disk.load(Ordering::Relaxed) {
            self.read_ahead(opened, file, plan, next);
        }
        let start = Instant::now();
        let bytes = object.read_local(&opened.file, range.clone());
        let length = range.end - range.start;
        if length >= TELLING_BYTES {
            let speed = length as f64 / start.elapsed().as_secs_f64().max(1e-9);
            self.from_disk.store(speed < PAGE_CACHE_BYTES_PER_SECOND, Ordering::Relaxed);
        }
        // A file that was written to in place has changed its time; a replaced one is still the one that is open.
        if FileIdentity::from_metadata(&opened.file.metadata().map_err(failed)?) != opened.version {
            return Err(store_error::replaced().at(object.url()));
        }
        bytes
    }

    /// The file, and the permit of one that is closed after the read.
    fn handle(&self, file: u32, object: &Object) -> Result<(ReadHandle, Option<ReadPermit>)> {
        if let Some(handle) = self.open.find(file) {
            return Ok((handle, None));
        }
        let (opened, permit) = object.open_local()?;
        if *lock(&self.versions)[file as usize].get_or_insert(opened.version) != opened.version {
            return Err(store_error::replaced().at(object.url()));
        }
        let handle = self.open.keep(file, opened);
        let permit = (!handle.is_kept).then_some(permit);
        Ok((handle, permit))
    }

    /// Advises the kernel of the file's requests from number `next` on that it was not advised of; ranges that touch
    /// are merged into one advice. The total cost for a plan grows with the plan's requests, and not with the number of
    /// calls.
    fn read_ahead(&self, opened: &OpenedFile, file: u32, plan: &[Request], next: usize) {
        let Some(told) = self.told.get(file as usize) else { return };
        let before = next.checked_sub(1).and_then(|last| self.sums.get(last)).copied().unwrap_or(0);
        let stop = self.sums.partition_point(|sum| *sum < before.saturating_add(READ_AHEAD_BYTES));
        let stop = (stop + 1).min(plan.len());
        let is_new = |known: usize| (known == NOT_TOLD || known < stop).then_some(stop);
        let Ok(known) = told.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_new) else { return };
        // Pieces may be read out of order: requests before the current one are not fetched again.
        let from = if known == NOT_TOLD { next } else { known.max(next) };
        let mut ahead: Option<Range<u64>> = None;
        for request in plan.get(from..stop).unwrap_or_default().iter().filter(|request| request.file == file) {
            match &mut ahead {
                Some(range) if range.end == request.range.start => range.end = request.range.end,
                _ => {
                    if let Some(range) = ahead.replace(request.range.clone()) {
                        advise(&opened.file, range);
                    }
                }
            }
        }
        if let Some(range) = ahead {
            advise(&opened.file, range);
        }
    }
}

/// Has the kernel read a range ahead. Advice only: a file system that does not take it reads when asked.
#[cfg(target_os = "linux")]
pub(crate) fn advise(file: &std::fs::File, range: Range<u64>) {
    // A length of zero would mean up to the end of the file.
    if let Some(length) = std::num::NonZeroU64::new(range.end - range.start) {
        let _ = rustix::fs::fadvise(file, range.start, Some(length), rustix::fs::Advice::WillNeed);
    }
}

/// Other systems read ahead by their own rules.
#[cfg(not(target_os = "linux"))]
pub(crate) fn advise(_file: &std::fs::File, _range: Range<u64>) {}

#[cfg(test)]
mod tests;
