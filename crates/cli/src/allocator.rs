//! mimalloc, as the command and the Python package use it.

use std::ffi::{c_int, c_long};

use lakerace_io::freed_memory;
// Links it.
use mimalloc as _;

/// `mi_option_purge_delay`: milliseconds for which freed memory is kept.
const PURGE_DELAY: c_int = 15;

/// The value without a setting of the environment or of another version.
const USUAL_MS: c_long = 1000;

/// A load frees more than half a gigabyte per second: memory that is kept for some milliseconds adds up.
const SOON_MS: c_long = 0;

unsafe extern "C" {
    safe fn mi_option_get(option: c_int) -> c_long;
    safe fn mi_option_set(option: c_int, value: c_long);
}

/// Lets loads have their freed memory returned soon. For programs whose global allocator is mimalloc.
pub fn register() {
    if mi_option_get(PURGE_DELAY) == USUAL_MS {
        freed_memory::on_change(|soon| mi_option_set(PURGE_DELAY, if soon { SOON_MS } else { USUAL_MS }));
    }
}
