//! How much memory a thread holds, so that a test can say what reading took at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTED: Counted = Counted;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The most bytes that `work` held at once on this thread, more than were held before it.
pub fn peak_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).max(0) as usize)
}

struct Counted;

fn note(bytes: isize) {
    // Threads that end have no counters any more.
    let held = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        held.get()
    });
    let _ = held.map(|held| PEAK.try_with(|peak| peak.set(peak.get().max(held))));
}

// SAFETY: every call goes to the system's allocator as it came.
#[allow(unsafe_code, reason = "an allocator can't be written without it")]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(-(layout.size() as isize));
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes as isize - layout.size() as isize);
        unsafe { System.realloc(block, layout, bytes) }
    }
}
