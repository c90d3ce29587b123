//! How the allocator of both programs is set up.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// `mi_option_purge_delay` of mimalloc's header, which the crate does not name.
const PURGE_DELAY: mi_option_t = 15;
/// A tenth of the milliseconds that freed pages stay (`mi_option_arena_purge_mult`).
const PURGE_DELAY_MS: c_long = 500;

/// Has mimalloc keep freed memory for seconds where it gives it back after 100 ms. What one phase of a job frees the next one
/// fills again; every page that was given back in between is another one for the system to clear, which took a tenth of
/// an upsert. `MIMALLOC_PURGE_DELAY` in the environment says otherwise.
pub fn keep_freed_memory() {
    // SAFETY: the call sets a number, before which nothing has to be set up.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) }
}
