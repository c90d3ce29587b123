//! Memory of dropped regions, kept for the next scan.
//!
//! A process that reads table after table would return gigabytes to the system and get them again, and the kernel would
//! zero them each time. Up to [`IDLE_BYTES_AT_MOST`] of them stay mapped until no region was made or dropped for
//! [`PAUSE`]; then all but [`IDLE_BYTES_KEPT`] are returned. Memory of the allocator, which small columns have, is kept
//! in the same way: the allocator would zero it for the next scan.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Weak};
use std::time::Duration;

use lakerace_exec::OwningProcess;
use lakerace_io::freed_memory;
use lakerace_io::wait::{ProcessLocal, lock};

use super::{ArenaRegion, HeapMemory, MOVED_UNITS, MOVED_UNITS_AT_MOST, RegionMapping, UNIT_BYTES};

/// Bytes that stay mapped permanently.
const IDLE_BYTES_KEPT: usize = 64 << 20;
/// The pause between two scans after which the memory of the first is no longer kept.
const PAUSE: Duration = Duration::from_secs(1);

/// A quarter of the memory that was available to the process at the first scan.
static IDLE_BYTES_AT_MOST: LazyLock<usize> = LazyLock::new(|| (available_bytes() / 4).max(IDLE_BYTES_KEPT));

static SPARE_MEMORY: ProcessLocal<SpareMemory> = ProcessLocal::new(|| SpareMemory::new(Some(PAUSE)));

/// Mapped memory without parts in it.
#[derive(Debug)]
pub(super) struct SpareMemory {
    state: Mutex<SpareMemoryState>,
    /// Bytes of the allocator, and of units that are resident and idle: those of spare mappings and of regions that still have parts.
    idle_bytes: AtomicUsize,
    /// The idle time before it is trimmed; `None` if its owner trims it.
    pause: Option<Duration>,
    /// In a process that is forked from it, nothing is taken or kept: a thread of the owner may have had the lock.
    owner: OwningProcess,
}

#[derive(Debug)]
struct SpareMemoryState {
    /// In the order in which they were dropped: a table is dropped front to back, and the next one takes the same memory in the same order.
    mappings: VecDeque<RegionMapping>,
    /// Regions with idle units.
    regions: Vec<Weak<ArenaRegion>>,
    /// Memory of the allocator, by its size.
    heap: BTreeMap<usize, Vec<HeapMemory>>,
    is_used: bool,
    has_trimmer: bool,
}

impl SpareMemory {
    pub(super) fn new(pause: Option<Duration>) -> Self {
        let state = SpareMemoryState {
            mappings: VecDeque::new(),
            regions: Vec::new(),
            heap: BTreeMap::new(),
            is_used: false,
            has_trimmer: false,
        };
        Self { state: Mutex::new(state), idle_bytes: AtomicUsize::new(0), pause, owner: OwningProcess::current() }
    }

    /// The spare memory of this process.
    pub(super) fn shared() -> &'static Self {
        &SPARE_MEMORY
    }

    /// The spare mapping that was dropped first.
    pub(super) fn take(&self) -> Option<RegionMapping> {
        let mut state = self.lock();
        state.is_used = true;
        state.mappings.pop_front()
    }

    /// Moves the memory of an idle unit, from any mapping, to a unit that has none; `false` if there is no such memory
    /// or the kernel does not support it.
    pub(super) fn move_unit_to(&self, target: &RegionMapping, unit: usize) -> bool {
        if self.owner.is_forked() {
            return false;
        }
        // The lock is held throughout: another thread may be moving the memory of this unit.
        let mut state = self.lock();
        if self.idle_bytes() == 0 || MOVED_UNITS.load(Ordering::Relaxed) >= MOVED_UNITS_AT_MOST {
            return false;
        }
        // The last mappings are needed last.
        for mapping in state.mappings.iter().rev() {
            let resident = mapping.resident.load(Ordering::Acquire);
            if resident != 0 {
                let is_moved = mapping.move_unit(resident.ilog2() as usize, target, unit);
                self.release_units(u32::from(is_moved));
                return is_moved;
            }
        }
        let mut is_moved = false;
        // Dropping the last handle of a region takes the lock.
        let mut handles = Vec::new();
        while let Some(region) = state.regions.pop() {
            let Some(held) = region.upgrade() else { continue };
            handles.push(Arc::clone(&held));
            held.is_noted.store(false, Ordering::Release);
            let Some(idle) = held.claim_idle() else { continue };
            is_moved = held.mapping.move_unit(idle, target, unit);
            if is_moved {
                self.release_units(1);
            } else {
                held.idle.fetch_or(1 << idle, Ordering::AcqRel);
            }
            if !held.is_noted.swap(true, Ordering::AcqRel) {
                state.regions.push(region);
            }
            break;
        }
        drop(state);
        is_moved
    }

    /// Takes a mapping, and counts all its resident units as idle.
    pub(super) fn put(&'static self, mapping: RegionMapping) {
        if mapping.resident_units() == 0 || self.owner.is_forked() {
            return;
        }
        let mut state = self.lock();
        state.is_used = true;
        state.mappings.push_back(mapping);
        self.trim_later(state);
    }

    /// Notes a region with idle units.
    pub(super) fn note(&'static self, region: Weak<ArenaRegion>) {
        let mut state = self.lock();
        state.is_used = true;
        if state.regions.len() == state.regions.capacity() {
            state.regions.retain(|region| region.strong_count() > 0);
        }
        state.regions.push(region);
        self.trim_later(state);
    }

    /// Memory of the allocator, of at least `capacity` bytes and up to a quarter more.
    pub(super) fn take_heap(&self, capacity: usize) -> Option<HeapMemory> {
        if self.idle_bytes() == 0 {
            return None;
        }
        let mut state = self.lock();
        state.is_used = true;
        let sizes = state.heap.range_mut(capacity..=capacity.saturating_add(capacity / 4));
        let memory = sizes.map(|(_, kept)| kept).find_map(Vec::pop)?;
        self.idle_bytes.fetch_sub(memory.len(), Ordering::Relaxed);
        Some(memory)
    }

    /// Keeps memory of the allocator, or frees it.
    pub(super) fn put_heap(&'static self, memory: HeapMemory) {
        if !self.admit(memory.len()) {
            return;
        }
        let mut state = self.lock();
        state.is_used = true;
        state.heap.entry(memory.len()).or_default().push(memory);
        self.trim_later(state);
    }

    /// Counts a unit as idle; `false` if it has to be returned to the system instead.
    pub(super) fn admit_unit(&self) -> bool {
        self.admit(UNIT_BYTES)
    }

    fn admit(&self, bytes: usize) -> bool {
        if freed_memory::is_returned_soon() || self.owner.is_forked() {
            return false;
        }
        let Some(most) = IDLE_BYTES_AT_MOST.checked_sub(bytes) else { return false };
        let admit = |idle: usize| (idle <= most).then_some(idle + bytes);
        self.idle_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, admit).is_ok()
    }

    /// Counts units as idle no more.
    pub(super) fn release_units(&self, units: u32) {
        self.idle_bytes.fetch_sub(units as usize * UNIT_BYTES, Ordering::Relaxed);
    }

    /// Bytes of idle units.
    pub(super) fn idle_bytes(&self) -> usize {
        self.idle_bytes.load(Ordering::Relaxed)
    }

    /// Returns idle units to the system until `IDLE_BYTES_KEPT` are left, those of regions in use first.
    pub(super) fn trim(&self) {
        let mut state = self.lock();
        // The lock is held: a region's cursor may use such a unit again. Dropping the last handle of a region takes the
        // lock.
        let handles: Vec<Arc<ArenaRegion>> = state.regions.drain(..).filter_map(|region| region.upgrade()).collect();
        handles.iter().for_each(|region| region.release_idle());
        let mut freed = Vec::new();
        while state.mapped_bytes() > IDLE_BYTES_KEPT {
            freed.extend(state.mappings.pop_back());
        }
        let mut freed_heap = Vec::new();
        let mut heap_bytes: usize = state.heap.iter().map(|(bytes, kept)| bytes * kept.len()).sum();
        while state.mapped_bytes() + heap_bytes > IDLE_BYTES_KEPT {
            // The largest first.
            let Some(mut size) = state.heap.last_entry() else { break };
            let Some(memory) = size.get_mut().pop() else {
                size.remove();
                continue;
            };
            heap_bytes -= memory.len();
            freed_heap.push(memory);
        }
        drop(state);
        for mapping in freed {
            self.release_units(mapping.resident_units());
        }
        self.idle_bytes.fetch_sub(freed_heap.iter().map(HeapMemory::len).sum(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, SpareMemoryState> {
        lock(&self.state)
    }

    /// Starts the thread that trims after a pause, unless one is running or there is nothing to trim.
    fn trim_later(&'static self, mut state: MutexGuard<'_, SpareMemoryState>) {
        let Some(pause) = self.pause else { return };
        if self.idle_bytes() <= IDLE_BYTES_KEPT || state.has_trimmer {
            return;
        }
        let thread = std::thread::Builder::new().name("lakerace-memory".to_owned()).stack_size(64 << 10);
        match thread.spawn(move || self.trim_after(pause)) {
            Ok(_) => state.has_trimmer = true,
            Err(_) => {
                drop(state);
                self.trim();
            }
        }
    }

    fn trim_after(&self, pause: Duration) {
        loop {
            std::thread::sleep(pause);
            let mut state = self.lock();
            if !std::mem::take(&mut state.is_used) {
                state.has_trimmer = false;
                break;
            }
        }
        self.trim();
    }
}

impl SpareMemoryState {
    /// Bytes of spare mappings that are resident.
    fn mapped_bytes(&self) -> usize {
        self.mappings.iter().map(RegionMapping::resident_units).sum::<u32>() as usize * UNIT_BYTES
    }
}

/// The bytes that the system has free or can free immediately, within the limit of the control group; 0 if unknown.
fn available_bytes() -> usize {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = told.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.strip_suffix("kB"));
    let available = field.and_then(number).unwrap_or(0).saturating_mul(1 << 10);
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    limit.as_deref().and_then(number).map_or(available, |limit| limit.min(available))
}
