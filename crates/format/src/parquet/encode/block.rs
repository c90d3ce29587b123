//! Memory for encoded pages, reused from row group to row group.
//!
//! A row group is held encoded until its last column is complete, then it is written and dropped. Getting that memory
//! from the system each time costs a page fault for every 4 KiB, approximately as much as copying it twice.

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::literals::PageBody;
use lakerace_io::wait::lock;

/// A block's size once a chunk has grown large: one write to a disk.
const BLOCK_BYTES: usize = 2 << 20;
/// A chunk's first block holds at least this, so that narrow chunks take little.
const FIRST_BYTES: usize = 4 << 10;

/// Blocks that wait to be used again.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockPool(Arc<Mutex<Vec<Vec<u8>>>>);

/// A chunk's bytes, appended to.
pub(crate) struct BlockBuffer {
    pool: BlockPool,
    full: Vec<Bytes>,
    open: Vec<u8>,
    bytes: usize,
}

/// A block that returns to its pool.
struct ReturningBlock {
    block: Vec<u8>,
    pool: BlockPool,
}

impl BlockBuffer {
    /// No bytes yet.
    pub(crate) fn new(pool: &BlockPool) -> Self {
        Self { pool: pool.clone(), full: Vec::new(), open: Vec::new(), bytes: 0 }
    }

    /// Appends a page, which stays in one piece.
    pub(crate) fn push(&mut self, header: &[u8], body: &PageBody<'_>) {
        let length = header.len() + body.len();
        if self.open.capacity() - self.open.len() < length {
            self.close();
            // Blocks double with the chunk: less is unused than used.
            let size = self.bytes.clamp(FIRST_BYTES, BLOCK_BYTES).max(length);
            self.open = if size == BLOCK_BYTES { self.pool.take() } else { Vec::with_capacity(size) };
        }
        self.open.extend_from_slice(header);
        body.append_to(&mut self.open);
        self.bytes += length;
    }

    fn close(&mut self) {
        let block = std::mem::take(&mut self.open);
        if block.capacity() == BLOCK_BYTES {
            self.full.push(Bytes::from_owner(ReturningBlock { block, pool: self.pool.clone() }));
        } else if !block.is_empty() {
            self.full.push(block.into());
        }
    }

    /// The bytes, in order.
    pub(crate) fn finish(mut self) -> Vec<Bytes> {
        self.close();
        self.full
    }
}

impl BlockPool {
    fn take(&self) -> Vec<u8> {
        let waiting = lock(&self.0).pop();
        waiting.unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES))
    }
}

impl AsRef<[u8]> for ReturningBlock {
    fn as_ref(&self) -> &[u8] {
        &self.block
    }
}

impl Drop for ReturningBlock {
    fn drop(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        lock(&self.pool.0).push(block);
    }
}

#[cfg(test)]
mod tests;
