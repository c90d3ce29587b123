//! A separate thread that writes one file, while the encoding thread continues.
//!
//! All pages of a row group are complete at the same time. If the thread that passes rows to the encoders also wrote
//! them, no encoding would happen in the meantime; and the first use of pages of the kernel's cache can take as long as
//! the encoding. If it does, the thread writes past the cache, if allowed: see
//! [`PageCache`](super::page_cache::PageCache).

use std::fs::File;
use std::io::{ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lakerace_exec::{ConsumerItems, ConsumerThread, ProcessLocal, SemaphorePermit, WeightedSemaphore};

use super::direct::{DirectOutcome, UncachedFile};
use super::page_cache::CacheWay;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::meter::RequestKind;

/// Limit of files of this process that have such a thread: others are written by the encoding thread. Two files of a
/// job, one that is ending and the next, or those of two jobs.
const WRITERS: u64 = 2;

/// Limit of pieces in one write: fewer than any system accepts in one call.
const PIECES: usize = 256;
/// Limit of bytes in one write, unless one piece is longer: errors and cancellation take effect after it.
const WRITE_BYTES: u64 = 4 << 20;

static WRITERS_IN_USE: ProcessLocal<WeightedSemaphore> = ProcessLocal::new(|| WeightedSemaphore::new(WRITERS));

/// See the [module](self).
#[derive(Debug)]
pub(super) struct WriteBehind {
    thread: ConsumerThread<Bytes, u64, Error>,
    job: Job,
}

impl WriteBehind {
    /// Starts a thread that appends to `file`, which has `position` bytes. The caller may be up to `limit_bytes` ahead
    /// of it. The thread writes past the page cache if this is allowed and faster. `None` if many files have a thread,
    /// or none can be started.
    pub(super) fn begin(
        file: &File,
        target: &Path,
        position: u64,
        limit_bytes: usize,
        may_pass: bool,
        job: &Job,
    ) -> Result<Option<Self>> {
        let Some(permit) = SemaphorePermit::try_acquire(&*WRITERS_IN_USE, 1) else { return Ok(None) };
        // The clone shares the position, which nothing else moves or uses.
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(position))?;
        let writer = ThreadWriter {
            file,
            target: target.to_owned(),
            position,
            may_pass,
            buffer_bytes: limit_bytes,
            past: None,
            job: job.clone(),
        };
        let write = move |items| {
            let _permit = permit;
            writer.write_all(items)
        };
        // Without a thread, the caller writes.
        let thread = ConsumerThread::start("lakerace-write", limit_bytes as u64, job, write);
        Ok(thread.ok().map(|thread| Self { thread, job: job.clone() }))
    }

    /// Appends bytes. Blocks while too many wait.
    pub(super) fn write(&mut self, bytes: Bytes) -> Result<()> {
        let (before, length) = (Instant::now(), bytes.len() as u64);
        self.thread.send(bytes, length)?;
        self.job.page_cache().note_waited(before.elapsed());
        Ok(())
    }

    /// Ends the input: the thread ends when everything is written, and another file may have one.
    pub(super) fn close(&self) {
        self.thread.close();
    }

    /// Waits until everything is written, and returns the length of the file.
    pub(super) fn finish(self) -> Result<u64> {
        self.thread.finish()
    }
}

/// The state of the thread: a file, whose position is after the written bytes.
struct ThreadWriter {
    file: File,
    /// The name that the file gets.
    target: PathBuf,
    /// Bytes of the file, those included that wait until they fill a block.
    position: u64,
    may_pass: bool,
    /// Bytes that wait until they fill a block, at most.
    buffer_bytes: usize,
    /// Set while it writes past the page cache.
    past: Option<UncachedFile>,
    job: Job,
}

impl ThreadWriter {
    /// Appends all pieces that arrive, and returns the length of the file.
    fn write_all(mut self, mut items: ConsumerItems<Bytes, u64, Error>) -> Result<u64> {
        let mut pieces = Vec::new();
        while items.take_some(&mut pieces, PIECES, WRITE_BYTES)? {
            let bytes: usize = pieces.iter().map(Bytes::len).sum();
            self.append(&pieces, bytes as u64)?;
        }
        self.end()?;
        Ok(self.position)
    }

    /// Appends pieces with this many bytes in total.
    fn append(&mut self, pieces: &[Bytes], bytes: u64) -> Result<()> {
        if !self.may_pass {
            write_all(&self.file, pieces)?;
        } else if self.job.page_cache().way() == CacheWay::Direct {
            self.pass(pieces, bytes)?;
        } else {
            self.end()?;
            let before = processor_time();
            write_all(&self.file, pieces)?;
            self.job.page_cache().note_cached(bytes, processor_time().saturating_sub(before));
        }
        self.position += bytes;
        self.job.meter().count_file(RequestKind::Put, &self.target);
        self.job.meter().wrote_bytes(bytes);
        Ok(())
    }

    fn pass(&mut self, pieces: &[Bytes], bytes: u64) -> Result<()> {
        let past = match &mut self.past {
            Some(past) => past,
            None => self.past.insert(UncachedFile::begin(self.position, self.buffer_bytes)?),
        };
        for (number, piece) in pieces.iter().enumerate() {
            if past.append(&self.file, piece)? == DirectOutcome::Refused {
                self.past = None;
                self.job.page_cache().refuse();
                return Ok(write_all(&self.file, &pieces[number + 1..])?);
            }
        }
        self.job.page_cache().note_direct(bytes);
        Ok(())
    }

    /// Writes the gathered bytes; later ones go into the page cache.
    fn end(&mut self) -> Result<()> {
        if let Some(mut past) = self.past.take()
            && past.end(&self.file)? == DirectOutcome::Refused
        {
            self.job.page_cache().refuse();
        }
        Ok(())
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Writes pieces one after the other at the place where the file's last write ended.
fn write_all(mut file: &File, pieces: &[Bytes]) -> std::io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = slices.as_mut_slice();
    // This skips empty pieces at the start.
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match file.write_vectored(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(bytes) => IoSlice::advance_slices(&mut rest, bytes),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
