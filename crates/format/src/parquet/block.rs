//! Recycled memory for pages and arrays.
//!
//! A scan makes and drops gigabytes of buffers of a few sizes. Taken from the system each time, half of the work would be
//! the kernel's: mapping and zeroing pages. A [`Block`] goes back to its [`Pool`] when the last array that points into
//! it is dropped, by whomever. Memory of a block is always initialised: zeroed when it is new, else with what it held.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::buffer::Buffer;
use bytes::Bytes;

/// Arrow's recommendation, and the size of a cache line.
const ALIGNMENT: usize = 64;
/// Bytes beyond what was asked for, so that decoders may write whole vectors at the end.
pub(crate) const SLACK_BYTES: usize = 64;
/// Smaller blocks cost the allocator nothing and are not kept.
const LEAST_KEPT_BYTES: usize = 16 << 10;
/// Below this, populating costs as much as it spares.
#[cfg(target_os = "linux")]
const LEAST_POPULATED_BYTES: usize = 64 << 10;
/// The least size of a page; where pages are larger, the kernel declines.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 4096;
/// What a pool keeps at most.
const KEPT_BYTES: usize = 192 << 20;

/// Blocks that wait to be used again, by capacity.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    blocks: BTreeMap<usize, Vec<Memory>>,
    bytes: usize,
    closed: bool,
}

/// Owned, initialised, aligned bytes.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its bytes like a `Box<[u8]>` does.
unsafe impl Send for Memory {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed bytes, of which the first `used` will be written at once.
    fn new(capacity: usize, used: usize) -> Self {
        // A capacity that overflows a layout can't be asked for: pages are bounded far below.
        let layout = Layout::from_size_align(capacity, ALIGNMENT).unwrap_or(Layout::new::<[u8; SLACK_BYTES]>());
        // SAFETY: the size is not zero: every capacity is a multiple of the slack.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        populate(start, used.min(layout.size()));
        Self { start, layout }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` by the same allocator with the same layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Memory on loan from a pool.
#[derive(Debug)]
pub(crate) struct Block {
    /// `None` only while it is dropped.
    memory: Option<Memory>,
    pool: Arc<Pool>,
}

impl Pool {
    /// A block of at least `bytes` bytes and the slack, with unspecified contents.
    pub fn take_with_slack(self: &Arc<Self>, bytes: usize) -> Block {
        self.take(bytes.saturating_add(SLACK_BYTES))
    }

    /// A block of at least `bytes` bytes, with unspecified contents.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Block {
        let capacity = class(bytes.max(1));
        let recycled = self.state.lock().unwrap_or_else(PoisonError::into_inner).recycle(capacity);
        Block { memory: Some(recycled.unwrap_or_else(|| Memory::new(capacity, bytes))), pool: Arc::clone(self) }
    }

    /// Frees what is kept, and from now on what comes back.
    pub fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        let blocks = std::mem::take(&mut state.blocks);
        state.bytes = 0;
        drop(state);
        drop(blocks);
    }
}

impl PoolState {
    /// The smallest kept block of `capacity` bytes or up to a quarter more.
    fn recycle(&mut self, capacity: usize) -> Option<Memory> {
        let most = capacity.saturating_add(capacity / 4);
        let (_, kept) = self.blocks.range_mut(capacity..=most).find(|(_, kept)| !kept.is_empty())?;
        let memory = kept.pop()?;
        self.bytes -= memory.layout.size();
        Some(memory)
    }
}

/// Capacities come in steps of a sixteenth, so that blocks fit again and little of them is left over.
fn class(bytes: usize) -> usize {
    let step = (bytes.next_power_of_two() / 32).max(SLACK_BYTES);
    bytes.div_ceil(step).saturating_mul(step)
}

/// Has the kernel map new memory in one go: cheaper than a fault for every page of it. Where it can't, the faults
/// come as ever.
#[cfg(target_os = "linux")]
fn populate(start: NonNull<u8>, bytes: usize) {
    use rustix::mm::{Advice, madvise};
    if bytes < LEAST_POPULATED_BYTES {
        return;
    }
    let skipped = start.as_ptr().align_offset(PAGE_BYTES);
    let Some(bytes) = bytes.checked_sub(skipped) else { return };
    // SAFETY: the range lies within an allocation of ours, and populating changes no byte of it.
    let _ = unsafe { madvise(start.as_ptr().add(skipped).cast(), bytes, Advice::LinuxPopulateWrite) };
}

#[cfg(not(target_os = "linux"))]
fn populate(_: NonNull<u8>, _: usize) {}

impl Drop for Block {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        let capacity = memory.layout.size();
        if capacity < LEAST_KEPT_BYTES {
            return;
        }
        let mut state = self.pool.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.closed && state.bytes + capacity <= KEPT_BYTES {
            state.bytes += capacity;
            state.blocks.entry(capacity).or_default().push(memory);
        }
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: the memory is initialised and as long as its layout says.
            Some(memory) => unsafe { std::slice::from_raw_parts(memory.start.as_ptr(), memory.layout.size()) },
            None => &[],
        }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            // SAFETY: as in `deref`, and the block is borrowed mutably.
            Some(memory) => unsafe { std::slice::from_raw_parts_mut(memory.start.as_ptr(), memory.layout.size()) },
            None => &mut [],
        }
    }
}

impl Block {
    /// The bytes as values of a plain type; what does not fill a value is left out.
    pub fn typed_mut<T: Plain>(&mut self) -> &mut [T] {
        let bytes: &mut [u8] = self;
        // SAFETY: `T: Plain` may hold any bits, and the start is aligned to more than `T`.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
    }

    /// The first `bytes` bytes as an Arrow buffer, without a copy.
    pub fn into_buffer(self, bytes: usize) -> Buffer {
        shared_buffer(&Arc::new(self), 0..bytes)
    }
}

fn shared_buffer(block: &Arc<Block>, range: Range<usize>) -> Buffer {
    let bytes = &block[range];
    let start = NonNull::from(bytes).cast::<u8>();
    let length = bytes.len();
    // SAFETY: the bytes live as long as the block, which the buffer keeps, and are written to no more: a shared block
    // is only read.
    unsafe { Buffer::from_custom_allocation(start, length, Arc::clone(block) as _) }
}

/// Types of which every bit pattern is a value.
///
/// # Safety
/// No padding, no invalid values, alignment of at most [`ALIGNMENT`].
pub(crate) unsafe trait Plain: Copy + Default + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty),*) => {$(
        // SAFETY: integers and arrays of them hold any bits.
        unsafe impl Plain for $t {}
    )*};
}
plain!(u8, u16, u32, u64, u128, [u64; 4]);

/// The bytes of a page: decompressed into a block, or as they came.
#[derive(Debug, Clone)]
pub(crate) enum PageBytes {
    /// Decompressed.
    Block(Arc<Block>, Range<usize>),
    /// As stored, or made from another encoding.
    Stored(Bytes),
}

impl Deref for PageBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Block(block, range) => &block[range.clone()],
            Self::Stored(bytes) => bytes,
        }
    }
}

impl PageBytes {
    /// No bytes.
    pub fn empty() -> Self {
        Self::Stored(Bytes::new())
    }

    /// A part of the bytes, without a copy. The range must lie within them.
    pub fn slice(&self, part: Range<usize>) -> Self {
        match self {
            Self::Block(block, range) => {
                Self::Block(Arc::clone(block), range.start + part.start..range.start + part.end)
            }
            Self::Stored(bytes) => Self::Stored(bytes.slice(part)),
        }
    }

    /// The bytes as an Arrow buffer, without a copy.
    pub fn buffer(&self) -> Buffer {
        match self {
            Self::Block(block, range) => shared_buffer(block, range.clone()),
            Self::Stored(bytes) => Buffer::from(bytes.clone()),
        }
    }
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
