//! Memory for large blocks, packed without gaps and mapped in the page size that is currently cheaper.
//!
//! Collecting a table touches gigabytes of new memory, and that costs as much as decoding it. If the kernel has huge
//! pages ready, mapping one takes a third of the time of 512 small ones; if it must make one, or a hypervisor must
//! first find the memory, it takes ten times as long. This changes from second to second, so it is measured: units are
//! mapped as huge pages until one was slow, and tried again later. Mapped memory is kept for the next scan for a while,
//! in the [`SpareMemory`].

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap_fixed, munmap};

use super::heap_memory::HeapMemory;
use spare_memory::SpareMemory;

mod spare_memory;

/// The size of a huge page, and the unit in which regions are mapped and unmapped.
const UNIT_BYTES: usize = 2 << 20;
/// Units of a region. A region is address space; only the part that is used becomes memory.
const UNITS: usize = 32;
/// Units that hold memory of another mapping. A process has a limited number of mappings, 65,530 by default, and each
/// such unit takes one.
static MOVED_UNITS: AtomicUsize = AtomicUsize::new(0);
const MOVED_UNITS_AT_MOST: usize = 4096;
/// Blocks start at cache lines.
const ALIGNMENT: usize = 64;

/// The largest block that is worth taking from a region: half of one would go to waste otherwise.
pub(crate) const LARGEST_BYTES: usize = UNITS * UNIT_BYTES / 4;

/// Address space of [`UNITS`] units.
#[derive(Debug)]
struct RegionMapping {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    start: NonNull<u8>,
    /// A bit for each unit that is backed by memory.
    resident: AtomicU32,
    /// A bit for each unit whose memory was moved here: the kernel keeps a separate record for it.
    moved: AtomicU32,
}

// SAFETY: it owns its address space; parts of it are handed out once.
unsafe impl Send for RegionMapping {}
// SAFETY: as above; shared state is counted by atomics.
unsafe impl Sync for RegionMapping {}

/// A mapping with a count of users for each unit.
#[derive(Debug)]
struct ArenaRegion {
    mapping: ManuallyDrop<RegionMapping>,
    spare: &'static SpareMemory,
    /// Parts in each unit, and one for the cursor while more may come.
    users: [AtomicU32; UNITS],
    /// A bit for each resident unit without users.
    idle: AtomicU32,
    /// No part is added any more.
    is_complete: AtomicBool,
    /// The spare memory knows that idle units exist.
    is_noted: AtomicBool,
}

/// Hands out the bytes of a region, front to back.
#[derive(Debug)]
pub(crate) struct RegionCursor {
    region: Arc<ArenaRegion>,
    /// Bytes that were allocated.
    taken: usize,
    /// Units that are mapped to memory.
    populated: usize,
    /// Units that the cursor no longer counts as a user of.
    left: usize,
    /// The page size that the kernel was last advised of, for all units that are not mapped yet.
    advised: Option<PageSize>,
}

/// The size of the pages of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageSize {
    Small,
    Huge,
}

/// Some bytes of a region, initialised when allocated: with zeros, or with the contents of an earlier part.
#[derive(Debug)]
pub(crate) struct ArenaBytes {
    region: Arc<ArenaRegion>,
    offset: usize,
    bytes: usize,
}

impl RegionMapping {
    fn new() -> Option<Self> {
        let mapped_bytes = (UNITS + 1) * UNIT_BYTES;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let mapped =
            unsafe { mmap_anonymous(std::ptr::null_mut(), mapped_bytes, ProtFlags::READ | ProtFlags::WRITE, flags) };
        let mapped = NonNull::new(mapped.ok()?.cast::<u8>())?;
        let skipped = mapped.as_ptr().align_offset(UNIT_BYTES);
        // SAFETY: the mapping is one unit longer than the units, which start at the next multiple of a unit.
        let start = unsafe { mapped.add(skipped) };
        Some(Self { mapped, mapped_bytes, start, resident: AtomicU32::new(0), moved: AtomicU32::new(0) })
    }

    fn unit(&self, unit: usize) -> *mut std::ffi::c_void {
        // SAFETY: units lie within the mapping.
        unsafe { self.start.as_ptr().add(unit * UNIT_BYTES).cast() }
    }

    /// Maps a unit to memory. Where the kernel can't do it ahead, the first touch does.
    fn populate(&self, unit: usize, advised: &mut Option<PageSize>) {
        let size = COST.page_size();
        let start = Instant::now();
        if *advised != Some(size) {
            let kind = if size == PageSize::Small { Advice::LinuxNoHugepage } else { Advice::LinuxHugepage };
            // An advice waits until no other thread maps memory, and lets none begin: one is given for all units that follow.
            // SAFETY: the units lie within our own mapping, and the advice changes no byte.
            let _ = unsafe { madvise(self.unit(unit), (UNITS - unit) * UNIT_BYTES, kind) };
            *advised = Some(size);
        }
        // SAFETY: as above.
        let populated = unsafe { madvise(self.unit(unit), UNIT_BYTES, Advice::LinuxPopulateWrite) };
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // If the kernel can't populate pages, the cost of a huge page is unknown: none is requested.
        COST.note(size, if populated.is_ok() { ns } else { u64::MAX / 2 });
    }

    fn resident_units(&self) -> u32 {
        self.resident.load(Ordering::Acquire).count_ones()
    }

    /// Returns the memory of a unit to the system.
    fn release(&self, unit: usize) {
        self.resident.fetch_and(!(1 << unit), Ordering::AcqRel);
        // SAFETY: the unit lies within the mapping, and no part lies in it.
        let _ = unsafe { madvise(self.unit(unit), UNIT_BYTES, Advice::LinuxDontNeed) };
    }

    /// Moves the memory of a unit without users to a unit of another mapping, which has none; `false` where the kernel can't.
    fn move_unit(&self, unit: usize, target: &Self, target_unit: usize) -> bool {
        let flags = MremapFlags::MAYMOVE | MremapFlags::DONTUNMAP;
        let (from, to) = (self.unit(unit), target.unit(target_unit));
        // SAFETY: both units lie within their mappings, no part lies in either, and the address space of both stays mapped.
        if unsafe { mremap_fixed(from, UNIT_BYTES, UNIT_BYTES, flags, to) }.is_err() {
            return false;
        }
        self.resident.fetch_and(!(1 << unit), Ordering::AcqRel);
        target.resident.fetch_or(1 << target_unit, Ordering::AcqRel);
        if target.moved.fetch_or(1 << target_unit, Ordering::AcqRel) & 1 << target_unit == 0 {
            MOVED_UNITS.fetch_add(1, Ordering::Relaxed);
        }
        true
    }
}

impl Drop for RegionMapping {
    fn drop(&mut self) {
        MOVED_UNITS.fetch_sub(self.moved.load(Ordering::Acquire).count_ones() as usize, Ordering::Relaxed);
        // SAFETY: mapped by `new`; no cursor or part exists any more, because their region has released the mapping.
        let _ = unsafe { munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}

impl ArenaRegion {
    /// A region in a spare mapping, or in a new one.
    fn new(spare: &'static SpareMemory) -> Option<Self> {
        let mapping = spare.take().map_or_else(RegionMapping::new, Some)?;
        Some(Self {
            idle: AtomicU32::new(mapping.resident.load(Ordering::Acquire)),
            mapping: ManuallyDrop::new(mapping),
            spare,
            users: [const { AtomicU32::new(1) }; UNITS],
            is_complete: AtomicBool::new(false),
            is_noted: AtomicBool::new(false),
        })
    }

    /// Backs a unit by memory. `advised` is the page size of this unit and of those after it.
    fn populate(&self, unit: usize, advised: &mut Option<PageSize>) {
        if self.idle.fetch_and(!(1 << unit), Ordering::AcqRel) & 1 << unit != 0 {
            self.spare.release_units(1);
            return;
        }
        if self.spare.move_unit_to(&self.mapping, unit) {
            return;
        }
        self.mapping.populate(unit, advised);
        self.mapping.resident.fetch_or(1 << unit, Ordering::AcqRel);
    }

    /// Takes the last idle unit from the region.
    fn claim_idle(&self) -> Option<usize> {
        let mut idle = self.idle.load(Ordering::Acquire);
        while idle != 0 {
            let unit = idle.ilog2();
            idle = self.idle.fetch_and(!(1 << unit), Ordering::AcqRel);
            if idle & 1 << unit != 0 {
                return Some(unit as usize);
            }
        }
        None
    }

    /// Lets other regions use the idle units.
    fn note_idle(self: &Arc<Self>) {
        if self.idle.load(Ordering::Acquire) != 0 && !self.is_noted.swap(true, Ordering::AcqRel) {
            self.spare.note(Arc::downgrade(self));
        }
    }

    /// Releases one use of a unit.
    fn leave(self: &Arc<Self>, unit: usize) {
        if self.users[unit].fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // Streamed rows return their units one by one, so that these do not accumulate.
        if !self.is_complete.load(Ordering::Acquire) || !self.spare.admit_unit() {
            self.mapping.release(unit);
            return;
        }
        self.idle.fetch_or(1 << unit, Ordering::AcqRel);
        self.note_idle();
    }

    /// Returns idle units to the system.
    fn release_idle(&self) {
        self.is_noted.store(false, Ordering::Release);
        let idle = self.idle.swap(0, Ordering::AcqRel);
        (0..UNITS).filter(|unit| idle & 1 << unit != 0).for_each(|unit| self.mapping.release(unit));
        self.spare.release_units(idle.count_ones());
    }
}

impl Drop for ArenaRegion {
    fn drop(&mut self) {
        // SAFETY: the mapping is taken once, here, and not used afterwards.
        self.spare.put(unsafe { ManuallyDrop::take(&mut self.mapping) });
    }
}

impl RegionCursor {
    /// At the front of a region without parts; `None` where the system gives no address space.
    pub fn new() -> Option<Self> {
        Self::in_region_of(SpareMemory::shared())
    }

    fn in_region_of(spare: &'static SpareMemory) -> Option<Self> {
        let region = Arc::new(ArenaRegion::new(spare)?);
        region.note_idle();
        Some(Self { region, taken: 0, populated: 0, left: 0, advised: None })
    }

    /// The next `bytes` bytes, at most [`LARGEST_BYTES`]; `None` at the end of the region.
    pub fn take(&mut self, bytes: usize) -> Option<ArenaBytes> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let offset = self.taken;
        let end = offset.checked_add(bytes).filter(|end| *end <= UNITS * UNIT_BYTES)?;
        while self.populated * UNIT_BYTES < end {
            self.region.populate(self.populated, &mut self.advised);
            self.populated += 1;
        }
        let part = ArenaBytes { region: Arc::clone(&self.region), offset, bytes };
        for unit in part.units() {
            self.region.users[unit].fetch_add(1, Ordering::AcqRel);
        }
        self.taken = end;
        while (self.left + 1) * UNIT_BYTES <= end {
            self.region.leave(self.left);
            self.left += 1;
        }
        Some(part)
    }
}

impl Drop for RegionCursor {
    fn drop(&mut self) {
        self.region.is_complete.store(true, Ordering::Release);
        for unit in self.left..self.populated {
            self.region.leave(unit);
        }
    }
}

impl ArenaBytes {
    /// The start of the bytes.
    pub fn start(&self) -> NonNull<u8> {
        // SAFETY: parts lie within their region.
        unsafe { self.region.mapping.start.add(self.offset) }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    fn units(&self) -> std::ops::RangeInclusive<usize> {
        self.offset / UNIT_BYTES..=(self.offset + self.bytes - 1) / UNIT_BYTES
    }
}

impl Drop for ArenaBytes {
    fn drop(&mut self) {
        for unit in self.units() {
            self.region.leave(unit);
        }
    }
}

/// Bytes of the allocator that a dropped table had: at least `capacity`, and up to a quarter more.
pub(crate) fn spare_heap(capacity: usize) -> Option<HeapMemory> {
    SpareMemory::shared().take_heap(capacity)
}

/// Keeps bytes of the allocator for the next scan for a while, or frees them.
pub(crate) fn keep_heap(memory: HeapMemory) {
    SpareMemory::shared().put_heap(memory);
}

/// The recent cost of mapping, for all regions of the process.
static COST: MappingCost =
    MappingCost { small_ns: AtomicU64::new(0), small_until: AtomicU32::new(0), pause: AtomicU32::new(0) };

/// Units to map as small pages after a slow huge one: at first, and after many slow ones in a row.
const PAUSES: (u32, u32) = (8, 128);

struct MappingCost {
    /// The average time of a unit of small pages.
    small_ns: AtomicU64,
    /// Units to be mapped as small pages before a huge one is tried again.
    small_until: AtomicU32,
    /// Their number when the last huge page was slow.
    pause: AtomicU32,
}

impl MappingCost {
    /// The page size of the next unit.
    fn page_size(&self) -> PageSize {
        // The first unit measures the cost of small pages.
        let is_small = self.small_ns.load(Ordering::Relaxed) == 0
            || self.small_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if is_small { PageSize::Small } else { PageSize::Huge }
    }

    fn note(&self, size: PageSize, ns: u64) {
        let known = self.small_ns.load(Ordering::Relaxed);
        if size == PageSize::Small {
            let mean = if known == 0 { ns } else { known - known / 4 + ns / 4 };
            self.small_ns.store(mean.max(1), Ordering::Relaxed);
        } else if ns > known {
            let pause = (self.pause.load(Ordering::Relaxed) * 2).clamp(PAUSES.0, PAUSES.1);
            self.pause.store(pause, Ordering::Relaxed);
            self.small_until.store(pause, Ordering::Relaxed);
        } else {
            self.pause.store(0, Ordering::Relaxed);
            // Ready huge pages are clearly cheaper. If they are not, both are slow, or the known cost of small ones is too old.
            if ns > known / 2 {
                self.small_until.store(1, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests;
