//! Writes of one file that are under way together, by io_uring.
//!
//! A file has a separate ring while it is being written, so that no lock is needed, and dropping the file waits for the
//! writes that a failed file has under way. Into the page cache, bytes are written from the encoder's memory; small
//! writes are gathered. Past the page cache (`O_DIRECT`), everything goes through buffers that are aligned and
//! registered with the kernel; the last bytes, which are not a whole block, are written by a plain write after the
//! others.
//!
//! Not every file system writes into the page cache without blocking. Where one does not (ext4, tmpfs), the kernel
//! hands each such write of a ring to a kernel thread, one after the other for a file: the copy into the cache is not
//! cheaper, and runs on another core, which has to fetch the bytes first. On these file systems, files have no ring:
//! see [`never_blocks`].
//!
//! The kernel reads the memory of a write until it reports its completion. So the bytes of all writes under way are
//! owned by [`Ring::under_way`], are released only by their completion, and [`Ring::drop`] waits for all of them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use io_uring::{IoUring, Probe, opcode, types};
use lakerace_exec::{ProcessLocal, SemaphorePermit, WeightedSemaphore};
use rustix::fs::FallocateFlags;
use rustix::process::{Resource, getrlimit};

use super::direct::{BLOCK_BYTES, set_direct};
use crate::fetch::buffers::PooledBuffer;
use crate::file_io::refused;
use crate::{Error, FileIo, Job, RequestKind, Result};

/// Bytes of a buffer: a write of this size keeps a disk busy longer than it takes to ask for the next.
const BUFFER_BYTES: usize = 1 << 20;

/// Buffers of a file.
const BUFFERS: usize = 4;

/// Into the page cache, writes of this size are submitted directly: copying them first costs more than a submission.
const OWN_WRITE_BYTES: usize = 64 << 10;

/// Writes of a file under way at most.
const WRITES: usize = 8;

/// Limit of submitted bytes that the caller can't free yet, unless one write is longer.
const UNDER_WAY_BYTES: usize = 16 << 20;

/// Files of this process that have a ring at most: others are written by plain writes. Bounds the memory of buffers to 128 MiB.
const RINGS: u64 = 32;

/// The kernel writes less than 2 GiB per call.
const LARGEST_WRITE: usize = 1 << 30;

/// Bytes of a file that are reserved together: within them, writes past the page cache need not wait for each other. As
/// many as the file has, between these bounds; the rest is freed at the end.
const RESERVED_BYTES: std::ops::RangeInclusive<u64> = (8 << 20)..=(64 << 20);

static RINGS_IN_USE: ProcessLocal<WeightedSemaphore> = ProcessLocal::new(|| WeightedSemaphore::new(RINGS));

/// See the [module](self).
pub(super) struct Ring {
    uring: IoUring,
    /// Stays open as long as the kernel may use it.
    file: File,
    /// The name that the file gets.
    target: PathBuf,
    /// By the number that the kernel gets with a write and returns with its completion.
    under_way: Vec<Option<KernelWrite>>,
    free: Vec<RegisteredBuffer>,
    filling: Option<RegisteredBuffer>,
    is_registered: bool,
    is_direct: bool,
    /// Bytes of the file that were sent; the gathered bytes come next.
    sent: u64,
    /// The length to which the file was extended ahead of the writes, if it was; then, whether it is to be extended
    /// again.
    reserved: Option<u64>,
    is_reserving: bool,
    failed: Option<Error>,
    job: Job,
    _permit: SemaphorePermit,
}

/// A buffer, and the number under which it is registered.
struct RegisteredBuffer {
    buffer: PooledBuffer,
    index: u16,
}

/// A write that the kernel knows of.
struct KernelWrite {
    held: HeldBytes,
    /// The offset in the file, and the number of its bytes that are written.
    offset: u64,
    done: usize,
    /// True if it is written past the page cache.
    is_direct: bool,
}

/// The owner of the bytes of a write.
enum HeldBytes {
    Piece(RegisteredBuffer),
    Shared(Bytes),
}

/// Asks the kernel in which way `file`, which is new and empty, can be written: the wanted way, or another one and the
/// reason.
pub(super) fn probe(file: &File, wanted: FileIo) -> (FileIo, Option<String>) {
    if let Err(e) = probe_kernel() {
        return (FileIo::Sync, Some(refused(&e)));
    }
    let is_direct = wanted == FileIo::UringDirect;
    let tried = if is_direct { set_direct(file, true).and_then(|()| set_direct(file, false)) } else { Ok(()) };
    match tried {
        Ok(()) if is_direct || never_blocks(file, 0) => (wanted, None),
        Ok(()) => (FileIo::Sync, Some(WRITES_BLOCK.to_owned())),
        Err(e) => (if never_blocks(file, 0) { FileIo::Uring } else { FileIo::Sync }, Some(not_direct(&e))),
    }
}

fn probe_kernel() -> io::Result<()> {
    let uring = IoUring::new(2)?;
    let mut probe = Probe::new();
    uring.submitter().register_probe(&mut probe)?;
    let knows_writes = probe.is_supported(opcode::Write::CODE) && probe.is_supported(opcode::WriteFixed::CODE);
    if knows_writes { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

impl Ring {
    /// A ring that appends to `file`, which has `position` bytes and will have more. `None` if the file is to be
    /// written without a ring: if the kernel refuses or the file system is faster without one, of which the job is
    /// notified; if many files have a ring; and after an unaligned end past the page cache.
    pub(super) fn begin(file: &File, target: &Path, position: u64, is_direct: bool, job: &Job) -> Result<Option<Self>> {
        if is_direct && !position.is_multiple_of(BLOCK_BYTES as u64) {
            return Ok(None);
        }
        let Some(permit) = SemaphorePermit::try_acquire(&*RINGS_IN_USE, 1) else { return Ok(None) };
        let uring = match IoUring::new(WRITES as u32) {
            Ok(uring) => uring,
            Err(e) => {
                job.fall_back(FileIo::Sync, refused(&e));
                return Ok(None);
            }
        };
        let pieces = (0..BUFFERS as u16)
            .map(|index| Ok(RegisteredBuffer { buffer: PooledBuffer::with_capacity(BUFFER_BYTES)?, index }));
        let mut ring = Self {
            uring,
            file: file.try_clone()?,
            target: target.to_owned(),
            under_way: (0..WRITES).map(|_| None).collect(),
            free: pieces.collect::<Result<_>>()?,
            filling: None,
            is_registered: false,
            is_direct: false,
            sent: position,
            reserved: None,
            is_reserving: false,
            failed: None,
            job: job.clone(),
            _permit: permit,
        };
        if is_direct {
            ring.begin_direct();
        }
        if ring.is_direct {
            ring.register();
        } else if !never_blocks(file, position) {
            job.fall_back(FileIo::Sync, WRITES_BLOCK.to_owned());
            return Ok(None);
        }
        Ok(Some(ring))
    }

    /// Appends bytes. Blocks while as many are under way as may be.
    pub(super) fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.check()?;
        if self.is_direct || bytes.len() < OWN_WRITE_BYTES {
            return self.gather(&bytes);
        }
        self.send_gathered()?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let next = rest.split_to(rest.len().min(LARGEST_WRITE));
            self.send(HeldBytes::Shared(next))?;
        }
        Ok(())
    }

    /// Writes the rest, waits for everything, and returns the length of the file.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.check()?;
        let mut tail = Vec::new();
        if self.is_direct
            && let Some(piece) = &mut self.filling
        {
            let whole = piece.buffer.len() / BLOCK_BYTES * BLOCK_BYTES;
            tail.extend_from_slice(&piece.buffer.as_ref()[whole..]);
            piece.buffer.truncate(whole);
        }
        self.send_gathered()?;
        while self.under_way.iter().any(Option::is_some) {
            self.wait()?;
        }
        self.check()?;
        self.end_direct()?;
        if !tail.is_empty() {
            self.file.write_all_at(&tail, self.sent)?;
            self.sent += tail.len() as u64;
            self.count(tail.len());
        }
        if self.reserved.is_some() {
            self.file.set_len(self.sent)?;
        }
        Ok(self.sent)
    }

    /// Without registered buffers, the kernel looks up their pages for each write; everything else is the same.
    fn register(&mut self) {
        let memory = self.free.iter().map(|piece| {
            let (start, len) = piece.buffer.memory();
            libc::iovec { iov_base: start.cast(), iov_len: len }
        });
        let memory: Vec<_> = memory.collect();
        // SAFETY: the buffers live as long as the ring, which never replaces one: they go from `free` to `filling` and
        // `under_way` and back.
        match unsafe { self.uring.submitter().register_buffers(&memory) } {
            Ok(()) => self.is_registered = true,
            Err(e) => self.job.warn(&format!(
                "the kernel can't register buffers with io_uring ({e}), so writes use other buffers (see the limit of \
                 locked memory, ulimit -l)"
            )),
        }
    }

    fn begin_direct(&mut self) {
        match set_direct(&self.file, true) {
            Ok(()) => {
                self.is_direct = true;
                self.is_reserving = true;
            }
            Err(e) => self.tell_of_no_direct(&e),
        }
    }

    fn end_direct(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_direct) { set_direct(&self.file, false) } else { Ok(()) }
    }

    fn tell_of_no_direct(&self, error: &io::Error) {
        self.job.fall_back(FileIo::Uring, not_direct(error));
    }

    fn check(&self) -> Result<()> {
        self.job.check()?;
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn count(&self, bytes: usize) {
        self.job.meter().wrote_bytes(bytes as u64);
        self.job.meter().count_file(RequestKind::Put, &self.target);
    }

    fn gather(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let mut piece = match self.filling.take() {
                Some(piece) => piece,
                None => self.free_piece()?,
            };
            let room = BUFFER_BYTES - piece.buffer.len();
            let (now, later) = bytes.split_at(bytes.len().min(room));
            piece.buffer.append(now);
            bytes = later;
            let is_full = piece.buffer.len() == BUFFER_BYTES;
            self.filling = Some(piece);
            if is_full {
                self.send_gathered()?;
            }
        }
        Ok(())
    }

    fn free_piece(&mut self) -> Result<RegisteredBuffer> {
        loop {
            if let Some(piece) = self.free.pop() {
                return Ok(piece);
            }
            self.wait()?;
        }
    }

    fn send_gathered(&mut self) -> Result<()> {
        match self.filling.take() {
            None => Ok(()),
            Some(piece) if piece.buffer.len() == 0 => {
                self.free.push(piece);
                Ok(())
            }
            Some(piece) => self.send(HeldBytes::Piece(piece)),
        }
    }

    /// Hands the next bytes of the file to the kernel, once that has done enough of those before.
    fn send(&mut self, held: HeldBytes) -> Result<()> {
        let write = KernelWrite { held, offset: self.sent, done: 0, is_direct: false };
        self.sent += write.bytes().len() as u64;
        self.reserve();
        let number = loop {
            let bytes: usize = self.under_way.iter().flatten().map(|write| write.bytes().len()).sum();
            let free = self.under_way.iter().position(Option::is_none);
            match free {
                Some(number) if bytes == 0 || bytes + write.bytes().len() <= UNDER_WAY_BYTES => break number,
                _ => self.wait()?,
            }
        };
        self.under_way[number] = Some(write);
        self.submit(number);
        self.reap();
        self.check()
    }

    /// Makes the file longer ahead of the writes: those that lengthen it go one after the other past the page cache.
    fn reserve(&mut self) {
        let begin = self.reserved.unwrap_or(0);
        if !self.is_reserving || begin >= self.sent {
            return;
        }
        // A file that may not become so long is an error only when it does.
        let longest = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let more = self.sent.clamp(*RESERVED_BYTES.start(), *RESERVED_BYTES.end());
        let end = (self.sent + more).min(longest);
        let reserved = |file: &File| rustix::fs::fallocate(file, FallocateFlags::empty(), begin, end - begin);
        // If a disk is nearly full, or a file system reserves nothing, writes extend the file.
        self.is_reserving = self.sent <= end && reserved(&self.file).is_ok();
        // Some of it may be reserved although it failed.
        self.reserved = Some(end);
    }

    /// Submits the rest of a write to the kernel.
    fn submit(&mut self, number: usize) {
        let Some(write) = &mut self.under_way[number] else { return };
        write.is_direct = self.is_direct;
        let rest = &write.bytes()[write.done..];
        #[cfg(test)]
        let rest = &rest[..faults::longest(rest.len())];
        let (start, len, offset) = (rest.as_ptr(), rest.len() as u32, write.offset + write.done as u64);
        let file = types::Fd(self.file.as_raw_fd());
        let entry = match &write.held {
            HeldBytes::Piece(piece) if self.is_registered => {
                opcode::WriteFixed::new(file, start, len, piece.index).offset(offset).build()
            }
            _ => opcode::Write::new(file, start, len).offset(offset).build(),
        };
        let entry = entry.user_data(number as u64);
        // SAFETY: the bytes belong to `under_way[number]`, which stays until the kernel has answered: see `complete`
        // and `drop`. They are on the heap, or static, and nothing writes to them: `held` is the only owner of a piece,
        // and shared bytes are read only.
        if unsafe { self.uring.submission().push(&entry) }.is_err() {
            // There are as many entries as numbers.
            self.under_way[number] = None;
            self.fail(Error::internal("a ring has no room for a write"));
            return;
        }
        // Submissions that it does not accept now are submitted with the next one or when their completion is awaited.
        if let Err(e) = self.uring.submit()
            && !is_passing(&e)
        {
            self.fail(e.into());
        }
    }

    /// Waits until the kernel is done with a write.
    fn wait(&mut self) -> Result<()> {
        match self.uring.submit_and_wait(1) {
            Err(e) if !is_passing(&e) => return Err(e.into()),
            _ => {}
        }
        self.reap();
        self.check()
    }

    /// Takes the kernel's answers.
    fn reap(&mut self) {
        loop {
            let next = self.uring.completion().next().map(|entry| (entry.user_data() as usize, entry.result()));
            let Some((number, result)) = next else { return };
            self.complete(number, result);
        }
    }

    /// The kernel is done with a write: with all of it, with some of it, or it failed.
    fn complete(&mut self, number: usize, result: i32) {
        let Some(mut write) = self.under_way.get_mut(number).and_then(Option::take) else { return };
        #[cfg(test)]
        let result = faults::result(result, write.is_direct);
        let again = match usize::try_from(result) {
            Ok(0) => {
                self.fail(io::Error::from(io::ErrorKind::WriteZero).into());
                false
            }
            Ok(written) => {
                write.done += written;
                write.done < write.bytes().len()
            }
            Err(_) => self.is_worth_retrying(io::Error::from_raw_os_error(-result), write.is_direct),
        };
        if again && self.failed.is_none() {
            self.under_way[number] = Some(write);
            return self.submit(number);
        }
        if self.failed.is_none() {
            self.count(write.bytes().len());
            if write.is_direct {
                self.job.page_cache().note_direct(write.bytes().len() as u64);
            }
        }
        if let HeldBytes::Piece(mut piece) = write.held {
            piece.buffer.truncate(0);
            self.free.push(piece);
        }
    }

    /// Returns true if a failed write is repeated; otherwise the file has failed.
    fn is_worth_retrying(&mut self, error: io::Error, was_direct: bool) -> bool {
        if is_passing(&error) {
            return true;
        }
        // The disk's blocks are longer than ours, or a short write has ended within one.
        if was_direct && error.raw_os_error() == Some(libc::EINVAL) && self.end_direct().is_ok() {
            self.tell_of_no_direct(&error);
            return true;
        }
        self.fail(error.into());
        false
    }

    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.under_way.iter().any(Option::is_some) {
            match self.uring.submit_and_wait(1) {
                Err(e) if !is_passing(&e) => {
                    // The kernel may read them still: they are never freed.
                    std::mem::forget(std::mem::take(&mut self.under_way));
                    return;
                }
                _ => {}
            }
            while let Some(entry) = self.uring.completion().next().map(|entry| entry.user_data()) {
                if let Some(write) = self.under_way.get_mut(entry as usize) {
                    *write = None;
                }
            }
        }
        if self.is_registered {
            // At once, and not when the kernel gets round to it: locked memory is limited.
            let _ = self.uring.submitter().unregister_buffers();
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let under_way = self.under_way.iter().flatten().count();
        f.debug_struct("Ring").field("sent", &self.sent).field("under_way", &under_way).finish_non_exhaustive()
    }
}

impl KernelWrite {
    fn bytes(&self) -> &[u8] {
        match &self.held {
            HeldBytes::Piece(piece) => piece.buffer.as_ref(),
            HeldBytes::Shared(bytes) => bytes,
        }
    }
}

fn not_direct(error: &io::Error) -> String {
    format!("files can't be written past the page cache here ({error}), so they are written through it")
}

/// The message where [`never_blocks`] says no.
const WRITES_BLOCK: &str = "the file system here writes into the page cache only by blocking calls, which io_uring \
                            would leave to kernel threads, so files are written by blocking writes (uring-direct \
                            bypasses the page cache)";

/// Returns true if the file system of `file`, which has `position` bytes, supports writes into the page cache that
/// don't block; it tries one.
fn never_blocks(file: &File, position: u64) -> bool {
    #[cfg(test)]
    if let Some(known) = faults::never_blocks() {
        return known;
    }
    let byte = [std::io::IoSlice::new(&[0])];
    let written = rustix::io::pwritev2(file, &byte, position, rustix::io::ReadWriteFlags::NOWAIT);
    let is_as_before = written != Ok(1) || file.set_len(position).is_ok();
    is_as_before
        && !matches!(written, Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL))
}

/// Returns true if a call or a write was not made, for a reason that passes. Writes that wait for a thread of the kernel are
/// cancelled when the thread ends that sent them.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ECANCELED))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
use tests::faults;
