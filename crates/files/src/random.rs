//! Randomness that a fork does not repeat.
//!
//! The generator of a thread is copied by a fork: parent and child would give packs the same names, and contents the same keys.

use std::sync::Once;

use lakerace_io::{Error, Result};
use rand::TryRng;
use rand::rngs::SysRng;

/// Fills `out` from the operating system, which never gives two processes the same.
pub(crate) fn fill(out: &mut [u8]) -> Result<()> {
    SysRng.try_fill_bytes(out).map_err(|e| Error::unavailable(format!("the system provides no random bytes: {e}")))
}

/// Has the generator of the forking thread seeded again in each child, for the names that other crates draw from it.
pub(crate) fn reseed_at_fork() {
    static ONCE: Once = Once::new();
    // SAFETY: the function lives as long as the process.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(reseed));
    });
}

extern "C" fn reseed() {
    // Names of packs and salts of keys come from the system's random bytes, so that a failure here does not affect
    // them.
    let _ = rand::rng().reseed();
}
