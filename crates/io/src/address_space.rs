//! Address space, which may be limited for a process (`ulimit -v`).
//!
//! An allocation that fails ends the process, so a job adapts to the available space: it uses fewer threads and less
//! memory for rows, and does not start if the rest is not enough.

use rustix::process::{Resource, getrlimit};

use crate::error::{Error, Result};

/// Code, buffers and stacks of a job that writes, in addition to rows, whose memory a limit bounds.
const WRITE_BYTES: u64 = 288 << 20;
/// The address space of a job that only reads.
const READ_BYTES: u64 = 96 << 20;
/// The address space of each thread.
const THREAD_BYTES: u64 = 48 << 20;
/// Memory for rows, at least.
const LEAST_MEMORY_BYTES: u64 = 64 << 20;

/// A job, by the address space that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSize {
    /// Rows pass by.
    Reads,
    /// Rows wait to be sorted, encoded or sent.
    Writes,
}

impl JobSize {
    fn least_bytes(self) -> u64 {
        match self {
            Self::Reads => READ_BYTES + THREAD_BYTES,
            Self::Writes => WRITE_BYTES + THREAD_BYTES,
        }
    }
}

/// Returns true if a limit is set.
pub fn is_limited() -> bool {
    getrlimit(Resource::As).current.is_some()
}

/// Checks that a job may take the address space that it needs.
///
/// # Errors
/// `Unavailable`.
pub fn check(size: JobSize) -> Result<()> {
    getrlimit(Resource::As).current.map_or(Ok(()), |limit| check_limit(limit, used_bytes(), size))
}

fn check_limit(limit: u64, used: u64, size: JobSize) -> Result<()> {
    let needed = used.saturating_add(size.least_bytes());
    if limit >= needed {
        return Ok(());
    }
    let kilobytes = |bytes: u64| bytes.div_ceil(1 << 10);
    let (limit, needed) = (kilobytes(limit), kilobytes(needed));
    Err(Error::unavailable(format!(
        "the address space is limited to {limit} kB (ulimit -v), but the job needs {needed} kB"
    ))
    .advice("raise the limit"))
}

/// `most`, or as many threads as there is address space for.
pub fn threads_within(most: usize) -> usize {
    free_bytes().map_or(most, |free| threads_of(free).clamp(1, most.max(1)))
}

fn threads_of(free: u64) -> usize {
    usize::try_from(free.saturating_sub(WRITE_BYTES) / THREAD_BYTES).unwrap_or(usize::MAX)
}

/// `most`, or the part of the address space that is for rows. For options that are not given.
pub fn memory_within(most: u64) -> u64 {
    free_bytes().map_or(most, |free| most.min(memory_of(free)))
}

fn memory_of(free: u64) -> u64 {
    // Freed memory is not always returned.
    (free.saturating_sub(WRITE_BYTES) / 2).max(LEAST_MEMORY_BYTES)
}

/// Bytes that this process may still take; `None` where no limit is set.
fn free_bytes() -> Option<u64> {
    getrlimit(Resource::As).current.map(|limit| limit.saturating_sub(used_bytes()))
}

/// The address space that this process uses. Systems that do not report it do not enforce the limit either.
fn used_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.split_whitespace().next()?.parse().ok());
    size.map_or(0, |kilobytes: u64| kilobytes << 10)
}

#[cfg(test)]
mod tests;
