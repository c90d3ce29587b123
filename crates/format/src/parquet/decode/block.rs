//! Recycled memory for pages and arrays.
//!
//! A scan makes and drops gigabytes of buffers of a few sizes. If they came from the system each time, half of the work
//! would be the kernel's: mapping and zeroing pages. A [`Block`] returns to its [`MemoryPool`] when the last array that
//! points into it is dropped. Memory of a block is always initialised: with zeros, or with the contents of an earlier
//! block.

use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::ops::RangeInclusive;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use arrow::buffer::Buffer;
use bytes::Bytes;

#[cfg(target_os = "linux")]
use super::arena::{ArenaBytes, LARGEST_BYTES, RegionCursor, keep_heap, spare_heap};
use super::heap_memory::HeapMemory;
use lakerace_io::wait::lock;
use lakerace_orc::spread::ZeroDefault;

/// Bytes beyond the requested ones, so that decoders may write whole vectors at the end.
pub(crate) const SLACK_BYTES: usize = 64;
/// Smaller blocks cost the allocator nothing and are not kept.
const LEAST_KEPT_BYTES: usize = 16 << 10;
/// Bytes that a column takes from the allocator before it takes regions: small scans have no use for those.
#[cfg(target_os = "linux")]
const HEAP_BYTES: usize = 4 << 20;
/// Blocks that are taken from regions.
#[cfg(target_os = "linux")]
const REGION_BLOCK_BYTES: RangeInclusive<usize> = 64 << 10..=LARGEST_BYTES;
/// The most bytes that the pools of a scan keep.
const KEPT_BYTES: usize = 192 << 20;

/// Memory of one column: blocks that wait to be reused, by capacity, and the source of new ones. Each column has its
/// own pool, because the memory that a table keeps usually is that of whole columns.
#[derive(Debug, Default)]
pub struct MemoryPool {
    state: Mutex<BlockPoolState>,
    /// Bytes that wait, in all pools of the scan.
    kept_bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct BlockPoolState {
    blocks: BTreeMap<usize, Vec<AlignedMemory>>,
    closed: bool,
    /// Bytes taken so far from the allocator.
    #[cfg(target_os = "linux")]
    taken_bytes: usize,
    #[cfg(target_os = "linux")]
    region: Option<RegionCursor>,
}

/// Owned, initialised, aligned bytes.
#[derive(Debug)]
struct AlignedMemory {
    start: NonNull<u8>,
    bytes: usize,
    origin: MemoryOrigin,
}

#[derive(Debug)]
enum MemoryOrigin {
    /// The allocator.
    Heap(HeapMemory),
    #[cfg(target_os = "linux")]
    Region { _part: ArenaBytes },
}

// SAFETY: it owns its bytes like a `Box<[u8]>` does.
unsafe impl Send for AlignedMemory {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for AlignedMemory {}

impl AlignedMemory {
    /// Bytes from the allocator: those of a dropped table, or new ones.
    fn heap(capacity: usize) -> Self {
        #[cfg(target_os = "linux")]
        let spare = (capacity >= LEAST_KEPT_BYTES).then(|| spare_heap(capacity)).flatten();
        #[cfg(not(target_os = "linux"))]
        let spare = None;
        let memory = spare.unwrap_or_else(|| HeapMemory::zeroed(capacity));
        Self { start: memory.start(), bytes: memory.len(), origin: MemoryOrigin::Heap(memory) }
    }

    /// Frees memory that a table had: the next scan may use it again.
    fn free(self) {
        match self.origin {
            #[cfg(target_os = "linux")]
            MemoryOrigin::Heap(memory) => keep_heap(memory),
            #[cfg(not(target_os = "linux"))]
            MemoryOrigin::Heap(memory) => drop(memory),
            #[cfg(target_os = "linux")]
            MemoryOrigin::Region { .. } => {}
        }
    }
}

/// Memory on loan from a pool.
#[derive(Debug)]
pub struct Block {
    /// `None` only while it is dropped.
    memory: Option<AlignedMemory>,
    pool: Arc<MemoryPool>,
}

impl MemoryPool {
    /// Makes a separate pool.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Makes a pool for each of `columns` columns; together they keep no more than one would.
    pub(crate) fn for_columns(columns: usize) -> Vec<Arc<Self>> {
        let kept_bytes = Arc::<AtomicUsize>::default();
        let pool = || Arc::new(Self { kept_bytes: Arc::clone(&kept_bytes), ..Self::default() });
        std::iter::repeat_with(pool).take(columns).collect()
    }

    /// A block of at least `bytes` bytes and the slack, with unspecified contents.
    pub(crate) fn take_with_slack(self: &Arc<Self>, bytes: usize) -> Block {
        self.take(bytes.saturating_add(SLACK_BYTES))
    }

    /// A block of at least `bytes` bytes, with unspecified contents.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Block {
        let capacity = class(bytes.max(1));
        let mut state = self.lock();
        let memory = match state.recycle(capacity) {
            Some(memory) => {
                self.kept_bytes.fetch_sub(memory.bytes, Ordering::Relaxed);
                memory
            }
            None => state.fresh(capacity),
        };
        drop(state);
        Block { memory: Some(memory), pool: Arc::clone(self) }
    }

    /// Frees the kept memory, and from now on all memory that is returned: that of the rows that were read, which the next scan may
    /// use again.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        #[cfg(target_os = "linux")]
        {
            state.region = None;
        }
        let blocks = std::mem::take(&mut state.blocks);
        drop(state);
        let bytes = blocks.values().flatten().map(|memory| memory.bytes).sum();
        self.kept_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Keeps memory for the next block of its size, or frees it.
    fn give_back(&self, memory: AlignedMemory) {
        let bytes = memory.bytes;
        if bytes < LEAST_KEPT_BYTES {
            return;
        }
        let mut state = self.lock();
        if state.closed {
            drop(state);
            memory.free();
            return;
        }
        if self.kept_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT_BYTES {
            self.kept_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return;
        }
        state.blocks.entry(bytes).or_default().push(memory);
    }

    fn lock(&self) -> MutexGuard<'_, BlockPoolState> {
        lock(&self.state)
    }
}

impl BlockPoolState {
    /// The smallest kept block of `capacity` bytes or up to a quarter more.
    fn recycle(&mut self, capacity: usize) -> Option<AlignedMemory> {
        let most = capacity.saturating_add(capacity / 4);
        let (_, kept) = self.blocks.range_mut(capacity..=most).find(|(_, kept)| !kept.is_empty())?;
        kept.pop()
    }

    /// New memory: of the allocator at first, later and where the block is large of a region.
    #[cfg(target_os = "linux")]
    fn fresh(&mut self, capacity: usize) -> AlignedMemory {
        if self.taken_bytes < HEAP_BYTES || !REGION_BLOCK_BYTES.contains(&capacity) {
            self.taken_bytes = self.taken_bytes.saturating_add(capacity);
            return AlignedMemory::heap(capacity);
        }
        let mut part = self.region.as_mut().and_then(|region| region.take(capacity));
        if part.is_none() {
            self.region = RegionCursor::new();
            part = self.region.as_mut().and_then(|region| region.take(capacity));
        }
        match part {
            Some(part) => {
                AlignedMemory { start: part.start(), bytes: part.len(), origin: MemoryOrigin::Region { _part: part } }
            }
            None => AlignedMemory::heap(capacity),
        }
    }

    /// New memory.
    #[cfg(not(target_os = "linux"))]
    fn fresh(&mut self, capacity: usize) -> AlignedMemory {
        AlignedMemory::heap(capacity)
    }
}

/// Capacities come in steps of a sixteenth, so that blocks can be reused with little waste.
fn class(bytes: usize) -> usize {
    let step = (bytes.next_power_of_two() / 32).max(SLACK_BYTES);
    bytes.div_ceil(step).saturating_mul(step)
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.give_back(memory);
        }
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: the memory is initialised and as long as its layout says.
            Some(memory) => unsafe { std::slice::from_raw_parts(memory.start.as_ptr(), memory.bytes) },
            None => &[],
        }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            // SAFETY: as in `deref`, and the block is borrowed mutably.
            Some(memory) => unsafe { std::slice::from_raw_parts_mut(memory.start.as_ptr(), memory.bytes) },
            None => &mut [],
        }
    }
}

impl Block {
    /// The bytes as values of a plain type; trailing bytes that do not fill a value are left out.
    pub(crate) fn typed_mut<T: PlainOldData>(&mut self) -> &mut [T] {
        let bytes: &mut [u8] = self;
        // SAFETY: `T: PlainOldData` may hold any bits, and the start is aligned to more than `T`.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T>()) }
    }

    /// The first `bytes` bytes as an Arrow buffer, without a copy.
    pub(crate) fn into_buffer(self, bytes: usize) -> Buffer {
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
/// No padding, no invalid values, alignment of at most 64 bytes.
pub(crate) unsafe trait PlainOldData: ZeroDefault + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty),*) => {$(
        // SAFETY: integers and arrays of them hold any bits.
        unsafe impl PlainOldData for $t {}
    )*};
}
plain!(u8, u16, u32, u64, u128, [u64; 4]);

/// The bytes of a page: decompressed into a block, or as they were stored.
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
mod tests;
