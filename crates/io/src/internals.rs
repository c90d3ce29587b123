//! Parts for benches, each next to its plain alternative, and for tests of other crates. No interface: it changes without notice.

use std::fs::File;
use std::time::Duration;

use bytes::Bytes;

use crate::fetch::buffers::PooledBuffer;
use crate::job::Job;

/// Reads a piece of a file into memory that other pieces have left.
pub fn read_piece(file: &File, offset: u64, length: usize) -> std::io::Result<Bytes> {
    let mut buffer = PooledBuffer::with_capacity(length).map_err(std::io::Error::other)?;
    buffer.read_at(file, offset, length)?;
    Ok(buffer.freeze())
}

/// Has the kernel read a range of a file ahead.
pub fn advise(file: &File, offset: u64, length: u64) {
    crate::fetch::local::advise(file, offset..offset + length);
}

/// Lets a job find its writes into the page cache slow, so that it writes large files past the cache from here on.
pub fn find_page_cache_slow(job: &Job) {
    job.page_cache().note_cached(1 << 30, Duration::from_secs(60));
}
