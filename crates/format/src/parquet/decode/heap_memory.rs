//! Bytes from the allocator.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Arrow's recommendation, and the size of a cache line.
pub(crate) const ALIGNMENT: usize = 64;

/// Owned, initialised bytes of the allocator, aligned for Arrow.
#[derive(Debug)]
pub(crate) struct HeapMemory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its bytes like a `Box<[u8]>` does.
unsafe impl Send for HeapMemory {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for HeapMemory {}

impl HeapMemory {
    /// Zeros.
    pub fn zeroed(capacity: usize) -> Self {
        // A capacity that overflows a layout is never requested: the sizes of pages are limited far below.
        let layout = Layout::from_size_align(capacity, ALIGNMENT).unwrap_or(Layout::new::<[u8; ALIGNMENT]>());
        // SAFETY: the size is not zero: capacities are multiples of a cache line.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, layout }
    }

    /// The start of the bytes.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for HeapMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` by the same allocator with the same layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
