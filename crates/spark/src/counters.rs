//! Counts of live objects in this process, with which tests find leaks.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicI64, Ordering};

use mimalloc::MiMalloc;

/// Handles of readers.
pub(crate) static READERS: AtomicI64 = AtomicI64::new(0);
/// Threads that read for them.
pub(crate) static THREADS: AtomicI64 = AtomicI64::new(0);
/// Batches that Java holds.
pub(crate) static BATCHES: AtomicI64 = AtomicI64::new(0);
/// Handles of writers.
pub(crate) static WRITERS: AtomicI64 = AtomicI64::new(0);
static ALLOCATIONS: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);

/// A count, by its place in `lakerace.spark.Native.live`.
pub(crate) fn live(what: i32) -> i64 {
    let counters = [&READERS, &THREADS, &BATCHES, &ALLOCATIONS, &BYTES, &WRITERS];
    usize::try_from(what).ok().and_then(|what| counters.get(what)).map_or(0, |counter| counter.load(Ordering::SeqCst))
}

/// Counts one up, and down when it is dropped.
#[derive(Debug)]
pub(crate) struct LiveCount(&'static AtomicI64);

impl LiveCount {
    pub(crate) fn new(counter: &'static AtomicI64) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for LiveCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// mimalloc, because decoders allocate large buffers on several threads, for which the system's allocator is slow.
/// Debug builds count.
pub(crate) struct NativeAllocator;

fn count(allocations: i64, bytes: i64) {
    if cfg!(debug_assertions) {
        ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
        BYTES.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: all calls are forwarded to mimalloc unchanged.
unsafe impl GlobalAlloc for NativeAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-1, -(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(0, size as i64 - layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.realloc(pointer, layout, size) }
    }
}
