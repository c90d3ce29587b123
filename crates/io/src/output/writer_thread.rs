//! Writes of one file by a thread of its own, while the one that encodes goes on.
//!
//! A row group is complete all at once. Where the thread that hands rows to the encoders also wrote it, nothing would be
//! encoded meanwhile; and pages of the kernel's cache that are touched for the first time can take as long as the encoding.
//! Where they do, the thread goes past the cache, if it may: see [`PageCache`](super::page_cache::PageCache).

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, IoSlice, Seek, SeekFrom, Write};
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lakerace_exec::{SemaphorePermit, WatchedValue, WeightedSemaphore};

use super::direct::{Kept, Past};
use super::page_cache::Way;
use crate::{Error, Job, RequestKind, Result};

/// Files of this process that have such a thread at most: others are written by who encodes them. Two of a job's files, one
/// that is ending and the next, or those of two jobs.
const WRITERS: u64 = 2;

/// Pieces that are written at once, at most: fewer than any system takes in one call.
const PIECES: usize = 256;
/// Bytes that are written at once, unless one piece is longer: an error comes out, and a cancelled job ends, behind it.
const WRITE_BYTES: usize = 4 << 20;

static WRITERS_IN_USE: WeightedSemaphore = WeightedSemaphore::new(WRITERS);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Behind {
    shared: Arc<Shared>,
    limit_bytes: usize,
    thread: Option<JoinHandle<()>>,
    job: Job,
}

#[derive(Debug, Default)]
struct Shared(WatchedValue<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Bytes>,
    /// Of what waits and of what is being written.
    bytes: usize,
    /// Bytes of the file, once all are written.
    written: Option<u64>,
    failed: Option<Error>,
    /// Nothing comes any more: the thread ends once it has written everything, or at once.
    is_closed: bool,
    is_given_up: bool,
}

impl Behind {
    /// A thread that appends to `file`, which has `position` bytes, up to `limit_bytes` behind the caller, and past the page
    /// cache if it may and that is faster. `None` where many files have one, or none can be started.
    pub(super) fn begin(
        file: &File,
        position: u64,
        limit_bytes: usize,
        may_pass: bool,
        job: &Job,
    ) -> Result<Option<Self>> {
        let Some(permit) = SemaphorePermit::try_acquire(&WRITERS_IN_USE, 1) else { return Ok(None) };
        let shared = Arc::new(Shared::default());
        // The clone has the same place, which nobody else moves or looks at.
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(position))?;
        let theirs = Arc::clone(&shared);
        let mut writer = Writer { file, position, may_pass, buffer_bytes: limit_bytes, past: None, job: job.clone() };
        let thread = std::thread::Builder::new().name("lakerace-write".to_owned()).spawn(move || {
            theirs.run(&mut writer);
            drop((writer, permit));
        });
        // Without a thread, the caller writes.
        Ok(thread.ok().map(|thread| Self { shared, limit_bytes, thread: Some(thread), job: job.clone() }))
    }

    /// Appends bytes. Blocks while too many wait.
    pub(super) fn write(&mut self, bytes: Bytes) -> Result<()> {
        let limit = self.limit_bytes;
        let before = Instant::now();
        let mut queue = self.wait(|queue| queue.bytes == 0 || queue.bytes + bytes.len() <= limit)?;
        self.job.page_cache().note_waited(before.elapsed());
        queue.bytes += bytes.len();
        queue.waiting.push_back(bytes);
        drop(queue);
        self.shared.0.notify_all();
        Ok(())
    }

    /// Nothing more comes: the thread ends when everything is written, and another file may have one.
    pub(super) fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.0.notify_all();
    }

    /// Waits until everything is written, and says how long the file is.
    pub(super) fn finish(self) -> Result<u64> {
        self.close();
        let queue = self.wait(|queue| queue.written.is_some())?;
        queue.written.ok_or_else(|| Error::internal("the thread that writes a file has not ended"))
    }

    fn wait(&self, is_over: impl Fn(&Queue) -> bool) -> Result<MutexGuard<'_, Queue>> {
        self.shared.0.wait_until(&self.job, |queue| {
            if let Some(error) = &queue.failed {
                return Err(error.clone());
            }
            self.job.check()?;
            // With the lock in hand: what it had to say, it has said.
            let has_ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
            let is_over = is_over(queue);
            if has_ended && !is_over {
                return Err(Error::internal("the thread that writes a file has ended before its time"));
            }
            Ok(is_over)
        })
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        (queue.is_closed, queue.is_given_up) = (true, true);
        drop(queue);
        self.shared.0.notify_all();
        if let Some(thread) = self.thread.take() {
            // It can't panic; if it did, the file is not finished.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock()
    }

    fn run(&self, writer: &mut Writer) {
        let mut pieces = Vec::new();
        while self.next(&mut pieces) {
            let bytes: usize = pieces.iter().map(Bytes::len).sum();
            let outcome = writer.append(&pieces, bytes as u64);
            // What was written is let go before others are let in.
            pieces.clear();
            let mut queue = self.lock();
            queue.bytes -= bytes;
            queue.failed = outcome.err();
            drop(queue);
            self.0.notify_all();
        }
        let mut queue = self.lock();
        if queue.is_given_up || queue.failed.is_some() {
            return;
        }
        drop(queue);
        let ended = writer.end();
        queue = self.lock();
        match ended {
            Ok(()) => queue.written = Some(writer.position),
            Err(e) => queue.failed = Some(e),
        }
        drop(queue);
        self.0.notify_all();
    }

    /// Takes what is to be written next. Nothing, and `false`: it is over.
    fn next(&self, pieces: &mut Vec<Bytes>) -> bool {
        let mut queue = self.lock();
        loop {
            if queue.is_given_up || queue.failed.is_some() {
                // The bytes go with the queue, and who waits hears of the error.
                return false;
            }
            if !queue.waiting.is_empty() {
                break;
            }
            if queue.is_closed {
                return false;
            }
            queue = self.0.wait(queue);
        }
        let mut bytes = 0;
        while pieces.len() < PIECES
            && let Some(next) = queue.waiting.front()
            && (pieces.is_empty() || bytes + next.len() <= WRITE_BYTES)
        {
            bytes += next.len();
            pieces.extend(queue.waiting.pop_front());
        }
        true
    }
}

/// What the thread has: a file, whose place is behind what was written.
struct Writer {
    file: File,
    /// Bytes of the file, those included that wait until they fill a block.
    position: u64,
    may_pass: bool,
    /// Bytes that wait until they fill a block, at most.
    buffer_bytes: usize,
    /// While it goes past the page cache.
    past: Option<Past>,
    job: Job,
}

impl Writer {
    /// Appends pieces of so many bytes altogether.
    fn append(&mut self, pieces: &[Bytes], bytes: u64) -> Result<()> {
        if !self.may_pass {
            write_all(&self.file, pieces)?;
        } else if self.job.page_cache().way() == Way::Direct {
            self.pass(pieces, bytes)?;
        } else {
            self.end()?;
            let before = processor_time();
            write_all(&self.file, pieces)?;
            self.job.page_cache().note_cached(bytes, processor_time().saturating_sub(before));
        }
        self.position += bytes;
        self.job.meter().count(RequestKind::Put, 1);
        self.job.meter().wrote_bytes(bytes);
        Ok(())
    }

    fn pass(&mut self, pieces: &[Bytes], bytes: u64) -> Result<()> {
        let past = match &mut self.past {
            Some(past) => past,
            None => self.past.insert(Past::begin(self.position, self.buffer_bytes)?),
        };
        for (number, piece) in pieces.iter().enumerate() {
            if past.append(&self.file, piece)? == Kept::Refused {
                self.past = None;
                self.job.page_cache().refuse();
                return Ok(write_all(&self.file, &pieces[number + 1..])?);
            }
        }
        self.job.page_cache().note_direct(bytes);
        Ok(())
    }

    /// Writes what waits: what follows goes into the page cache.
    fn end(&mut self) -> Result<()> {
        if let Some(mut past) = self.past.take()
            && past.end(&self.file)? == Kept::Refused
        {
            self.job.page_cache().refuse();
        }
        Ok(())
    }
}

/// What this thread has taken of a processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Writes pieces one behind the other at the place where the file's last write ended.
fn write_all(mut file: &File, pieces: &[Bytes]) -> std::io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = slices.as_mut_slice();
    // Empty ones in front are passed over by this.
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
