//! Recycled buffers: a scan fills the same few over and over, so that the kernel need not map and zero new pages.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt;
use lakerace_exec::{ProcessLocal, lock};
use object_store::{GetResult, GetResultPayload};

use crate::error::{Error, Result};
use crate::store::error::store_error;

/// Buffers start at page borders: the kernel copies fastest there, and typed views of them are aligned.
const ALIGNMENT: usize = 4096;

/// Smaller buffers are cheap to make.
const SMALLEST_POOLED: usize = 64 << 10;

/// Capacities are powers of two from [`SMALLEST_POOLED`] on and three steps between each two, so that a buffer fits
/// many requests and little of it is left over.
const CLASSES: usize = 48;

/// An unused buffer of up to this many classes more than needed is reused: up to half of it stays empty.
const LARGER_CLASSES: usize = 3;

/// Bytes of unused buffers kept at most: while something is fetched, as many as are read ahead by default.
const KEPT_BYTES_BUSY: usize = crate::plan::PREFETCH_BYTES as usize;

/// The bytes that are kept while nothing is fetched.
const KEPT_BYTES_IDLE: usize = 64 << 20;

static POOL: ProcessLocal<BufferPool> = ProcessLocal::new(|| BufferPool {
    state: Mutex::new(BufferPoolState { classes: [const { Vec::new() }; CLASSES], kept_bytes: 0, users: 0 }),
});

struct BufferPool {
    state: Mutex<BufferPoolState>,
}

struct BufferPoolState {
    classes: [Vec<BufferMemory>; CLASSES],
    kept_bytes: usize,
    users: usize,
}

/// A user of the pool: the pool keeps more while there is one.
#[derive(Debug)]
pub(crate) struct PoolUser(());

impl PoolUser {
    pub(crate) fn new() -> Self {
        POOL.lock().users += 1;
        Self(())
    }
}

impl Drop for PoolUser {
    fn drop(&mut self) {
        let mut state = POOL.lock();
        // The parent of a forked process may have made it.
        state.users = state.users.saturating_sub(1);
        if state.users == 0 {
            state.shrink(KEPT_BYTES_IDLE);
        }
    }
}

impl BufferPoolState {
    /// Frees the largest buffers until at most `bytes` are kept.
    fn shrink(&mut self, bytes: usize) {
        for class in self.classes.iter_mut().rev() {
            while self.kept_bytes > bytes
                && let Some(memory) = class.pop()
            {
                self.kept_bytes -= memory.capacity;
            }
        }
    }
}

/// Bytes to be filled once and then shared. Goes back to the pool when the last share of it is dropped.
#[derive(Debug)]
pub(crate) struct PooledBuffer {
    /// `None` only for no capacity and while it is given back.
    memory: Option<BufferMemory>,
    len: usize,
}

#[derive(Debug)]
struct BufferMemory {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a Memory owns its allocation; nothing else points to it.
unsafe impl Send for BufferMemory {}
// SAFETY: shared references only read.
unsafe impl Sync for BufferMemory {}

impl BufferMemory {
    fn layout(capacity: usize) -> Result<Layout> {
        Layout::from_size_align(capacity, ALIGNMENT)
            .map_err(|_| Error::unavailable(format!("{capacity} bytes are more than memory can hold")))
    }

    fn new(capacity: usize) -> Result<Self> {
        let layout = Self::layout(capacity.max(1))?;
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Ok(Self { start, capacity: layout.size() })
    }
}

impl Drop for BufferMemory {
    fn drop(&mut self) {
        if let Ok(layout) = Self::layout(self.capacity) {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

impl PooledBuffer {
    /// An empty buffer for `capacity` bytes at least.
    pub(crate) fn with_capacity(capacity: usize) -> Result<Self> {
        if capacity == 0 {
            return Ok(Self { memory: None, len: 0 });
        }
        let memory = match class_of(capacity) {
            Some(class) => match POOL.take(class) {
                Some(memory) => memory,
                None => BufferMemory::new(class_bytes(class))?,
            },
            None => BufferMemory::new(capacity)?,
        };
        Ok(Self { memory: Some(memory), len: 0 })
    }

    fn capacity(&self) -> usize {
        self.memory.as_ref().map_or(0, |m| m.capacity)
    }

    /// The place and the size of all of its memory, filled or not.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self) -> (*mut u8, usize) {
        self.memory.as_ref().map_or((std::ptr::null_mut(), 0), |m| (m.start.as_ptr(), m.capacity))
    }

    /// Forgets the bytes from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends as many of `bytes` as fit, and returns their number.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> usize {
        let fitting = bytes.len().min(self.capacity() - self.len);
        if let Some(memory) = &self.memory {
            // SAFETY: `len + fitting` is within the capacity, and the buffer is ours alone.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.start.as_ptr().add(self.len), fitting);
            }
            self.len += fitting;
        }
        fitting
    }

    /// Reads the bytes from `offset` on until the buffer holds `len` bytes or the file ends.
    pub(crate) fn read_at(&mut self, file: &std::fs::File, offset: u64, len: usize) -> std::io::Result<()> {
        let len = len.min(self.capacity());
        let Some(memory) = &self.memory else { return Ok(()) };
        while self.len < len {
            // SAFETY: the spare bytes lie within the allocation and are ours alone; they are handed to the kernel as
            // uninitialised memory and counted only when it has filled them.
            let spare = unsafe {
                let start = memory.start.as_ptr().add(self.len).cast::<std::mem::MaybeUninit<u8>>();
                std::slice::from_raw_parts_mut(start, len - self.len)
            };
            let filled = match rustix::io::pread(file, spare, offset + self.len as u64) {
                Ok((filled, _)) => filled.len(),
                Err(rustix::io::Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            };
            if filled == 0 {
                break;
            }
            self.len += filled;
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The filled bytes, to be shared and sliced without a copy.
    pub(crate) fn freeze(self) -> Bytes {
        if self.len == 0 { Bytes::new() } else { Bytes::from_owner(self) }
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: the first `len` bytes were filled, and nothing writes once the buffer is shared.
            Some(memory) => unsafe { std::slice::from_raw_parts(memory.start.as_ptr(), self.len) },
            None => &[],
        }
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            POOL.give_back(memory);
        }
    }
}

/// Bytes that are being filled from the front while those before are read already.
#[derive(Debug)]
pub(crate) struct GrowingBuffer {
    /// `None` for no bytes and while it is given back.
    memory: Option<BufferMemory>,
    len: usize,
    filled: AtomicUsize,
}

/// The only writer of a [`GrowingBuffer`]: it appends a body, some of whose bytes it drops.
#[derive(Debug)]
pub(crate) struct BufferFiller {
    growing: Arc<GrowingBuffer>,
    /// Bytes of the body that have arrived, and their final number.
    received: usize,
    body_len: usize,
    /// Ranges of the body that are not kept, in order, without overlap.
    gaps: VecDeque<Range<usize>>,
}

/// Some filled bytes of a [`GrowingBuffer`], which they keep alive.
struct BufferPart {
    growing: Arc<GrowingBuffer>,
    range: Range<usize>,
}

impl BufferFiller {
    /// Room for a body of `len` bytes, none of which has arrived, without those in `gaps`: ranges of it, in order and
    /// without overlap.
    pub(crate) fn with_gaps(len: usize, gaps: VecDeque<Range<usize>>) -> Result<Self> {
        let kept = len - gaps.iter().map(ExactSizeIterator::len).sum::<usize>();
        let memory = PooledBuffer::with_capacity(kept)?.memory.take();
        let growing = Arc::new(GrowingBuffer { memory, len: kept, filled: AtomicUsize::new(0) });
        Ok(Self { growing, received: 0, body_len: len, gaps })
    }

    pub(crate) fn growing(&self) -> &Arc<GrowingBuffer> {
        &self.growing
    }

    /// Takes as many of the next bytes of the body as fit, and returns their number.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> usize {
        let fitting = bytes.len().min(self.body_len - self.received);
        let mut rest = &bytes[..fitting];
        while !rest.is_empty() {
            let next = self.gaps.front().cloned().unwrap_or(self.body_len..self.body_len);
            let is_gap = next.start <= self.received;
            let end = if is_gap { next.end } else { next.start };
            let (now, later) = rest.split_at(rest.len().min(end - self.received));
            if !is_gap {
                self.keep(now);
            }
            self.received += now.len();
            if self.received == next.end {
                self.gaps.pop_front();
            }
            rest = later;
        }
        fitting
    }

    fn keep(&mut self, bytes: &[u8]) {
        let filled = self.growing.filled.load(Ordering::Relaxed);
        let fitting = bytes.len().min(self.growing.len - filled);
        if let Some(memory) = &self.growing.memory {
            // SAFETY: `filled + fitting` is within the allocation. There is only one Filler, so nothing else writes,
            // and nothing reads after `filled`, which is moved only when the bytes are there.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.start.as_ptr().add(filled), fitting);
            }
            self.growing.filled.store(filled + fitting, Ordering::Release);
        }
    }
}

impl GrowingBuffer {
    /// The number of bytes from the start that can be read.
    pub(crate) fn filled(&self) -> usize {
        self.filled.load(Ordering::Acquire)
    }

    /// Filled bytes, without a copy; `None` if they have not all arrived yet.
    pub(crate) fn slice(self: &Arc<Self>, range: Range<usize>) -> Option<Bytes> {
        if range.start > range.end || range.end > self.filled() {
            return None;
        }
        Some(Bytes::from_owner(BufferPart { growing: Arc::clone(self), range }))
    }
}

impl AsRef<[u8]> for BufferPart {
    fn as_ref(&self) -> &[u8] {
        match &self.growing.memory {
            // SAFETY: `slice` made sure that these bytes were filled, and filled bytes are never written again.
            Some(memory) => unsafe {
                std::slice::from_raw_parts(memory.start.as_ptr().add(self.range.start), self.range.len())
            },
            None => &[],
        }
    }
}

impl Drop for GrowingBuffer {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            POOL.give_back(memory);
        }
    }
}

impl BufferPool {
    fn lock(&self) -> std::sync::MutexGuard<'_, BufferPoolState> {
        lock(&self.state)
    }

    /// Memory of this class, or of a slightly larger one: that is better than new pages next to unused ones.
    fn take(&self, class: usize) -> Option<BufferMemory> {
        let mut state = self.lock();
        let largest = (class + LARGER_CLASSES).min(CLASSES - 1);
        let memory = state.classes[class..=largest].iter_mut().find_map(Vec::pop)?;
        state.kept_bytes -= memory.capacity;
        Some(memory)
    }

    fn give_back(&self, memory: BufferMemory) {
        let Some(class) = class_of(memory.capacity) else { return };
        let mut state = self.lock();
        let most = if state.users > 0 { KEPT_BYTES_BUSY } else { KEPT_BYTES_IDLE };
        if memory.capacity == class_bytes(class) && state.kept_bytes + memory.capacity <= most {
            state.kept_bytes += memory.capacity;
            state.classes[class].push(memory);
        }
    }
}

/// The class whose buffers hold `capacity` bytes; `None` for a capacity that is too small or too large to be kept.
fn class_of(capacity: usize) -> Option<usize> {
    if capacity < SMALLEST_POOLED {
        return None;
    }
    let power = (capacity / SMALLEST_POOLED).ilog2();
    let base = SMALLEST_POOLED.checked_shl(power)?;
    let class = 4 * power as usize + (capacity - base).div_ceil(base / 4);
    (class < CLASSES).then_some(class)
}

/// The capacity of a class's buffers.
fn class_bytes(class: usize) -> usize {
    (SMALLEST_POOLED << (class / 4)) / 4 * (4 + class % 4)
}

/// The whole body of an answer, in one buffer of the announced size. More or fewer bytes are an error.
pub(crate) async fn collect_body(result: GetResult, url: &str) -> Result<Bytes> {
    let range = result.range.clone();
    let len = usize::try_from(range.end - range.start)
        .map_err(|_| Error::unsupported("the length exceeds the address space").at(url))?;
    match result.payload {
        GetResultPayload::File(file, _) => {
            let mut buffer = PooledBuffer::with_capacity(len)?;
            buffer.read_at(&file, range.start, len).map_err(|e| Error::from(e).at(url))?;
            if buffer.len() < len { Err(short_body(len, buffer.len(), url)) } else { Ok(buffer.freeze()) }
        }
        GetResultPayload::Stream(mut stream) => {
            let mut buffer = None;
            while let Some(chunk) = stream.next().await {
                let chunk = chunk.map_err(|e| store_error(e, url))?;
                if buffer.is_none() && chunk.len() == len {
                    // The whole body in one chunk, as a store in memory returns it: no copy.
                    buffer = Some(CollectedPart::Whole(chunk));
                    continue;
                }
                let filled = match buffer.get_or_insert(CollectedPart::Parts(PooledBuffer::with_capacity(len)?)) {
                    CollectedPart::Parts(parts) => parts.append(&chunk),
                    CollectedPart::Whole(_) => 0,
                };
                if filled < chunk.len() {
                    return Err(Error::unavailable("the store sent more bytes than it announced").at(url));
                }
            }
            let bytes = match buffer {
                None => Bytes::new(),
                Some(CollectedPart::Whole(bytes)) => bytes,
                Some(CollectedPart::Parts(parts)) => parts.freeze(),
            };
            if bytes.len() < len { Err(short_body(len, bytes.len(), url)) } else { Ok(bytes) }
        }
    }
}

/// Fills `filler` with the body of an answer for exactly its bytes, and calls `progress` after each chunk.
pub(crate) async fn fill_from_body(
    result: GetResult,
    filler: &mut BufferFiller,
    url: &str,
    mut progress: impl FnMut(),
) -> Result<()> {
    let mut stream = result.into_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|e| store_error(e, url))?;
        if filler.append(&chunk) < chunk.len() {
            return Err(Error::unavailable("the store sent more bytes than it announced").at(url));
        }
        progress();
    }
    let (received, len) = (filler.received, filler.body_len);
    if received < len { Err(short_body(len, received, url)) } else { Ok(()) }
}

enum CollectedPart {
    Whole(Bytes),
    Parts(PooledBuffer),
}

fn short_body(expected: usize, got: usize, url: &str) -> Error {
    Error::unavailable(format!("the response ended after {got} of {expected} bytes")).advice("run it again").at(url)
}

#[cfg(test)]
mod tests;
