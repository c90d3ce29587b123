//! One stream of a column: bytes cut into compressed blocks, and where row groups begin in them.

use crate::Result;
use crate::encode::codec::Compressor;
use crate::proto::StreamKind;

/// What the row index tells about a position besides its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Plain bytes: nothing.
    Plain,
    /// Runs: the values of the run to be skipped, always 0 as each row group starts a run.
    Runs,
    /// Bits in byte runs: also the bits of a byte to be skipped.
    Bits,
    /// No position at all: the stream is read as a whole.
    Unindexed,
}

/// A stream that is being written.
pub(crate) struct Stream {
    kind: StreamKind,
    shape: Shape,
    block_size: usize,
    /// What has not been compressed yet; append here.
    pub(crate) raw: Vec<u8>,
    /// Compressed blocks.
    blocks: Vec<u8>,
    /// Where each block begins in `blocks`.
    starts: Vec<usize>,
    /// Where each row group begins: byte before compression, and bits of it to be skipped.
    marks: Vec<(usize, u8)>,
}

/// A stream of a finished stripe.
pub(crate) struct FinishedStream {
    pub(crate) kind: StreamKind,
    pub(crate) bytes: Vec<u8>,
}

impl Stream {
    pub(crate) fn new(kind: StreamKind, shape: Shape, block_size: usize) -> Self {
        Self { kind, shape, block_size, raw: Vec::new(), blocks: Vec::new(), starts: Vec::new(), marks: Vec::new() }
    }

    /// Starts a row group; `bits` of the next byte belong to the group before.
    pub(crate) fn mark(&mut self, bits: u8) {
        self.marks.push((self.starts.len() * self.block_size + self.raw.len(), bits));
    }

    /// Compresses all full blocks.
    pub(crate) fn drain(&mut self, compressor: &mut Compressor) -> Result<()> {
        if compressor.is_none() || self.raw.len() < self.block_size {
            return Ok(());
        }
        let full = self.raw.len() / self.block_size * self.block_size;
        self.compress(full, compressor)
    }

    fn compress(&mut self, len: usize, compressor: &mut Compressor) -> Result<()> {
        for block in self.raw[..len].chunks(self.block_size) {
            self.starts.push(self.blocks.len());
            compressor.append(block, &mut self.blocks)?;
        }
        self.raw.drain(..len);
        Ok(())
    }

    /// Compresses what is left; positions can be asked for from now on.
    pub(crate) fn close(&mut self, compressor: &mut Compressor) -> Result<()> {
        if compressor.is_none() { Ok(()) } else { self.compress(self.raw.len(), compressor) }
    }

    /// Appends the position of row group `group` to an entry of the row index; of a closed stream only.
    pub(crate) fn push_position(&self, group: usize, compressed: bool, positions: &mut Vec<u64>) {
        if self.shape == Shape::Unindexed {
            return;
        }
        let Some(&(byte, bits)) = self.marks.get(group) else { return };
        if compressed {
            let block = byte / self.block_size;
            positions.push(self.starts.get(block).map_or(self.blocks.len(), |&start| start) as u64);
            // A group that starts at the end of the last block starts there, not in a block of its own.
            positions.push((byte % self.block_size) as u64);
        } else {
            positions.push(byte as u64);
        }
        match self.shape {
            Shape::Plain | Shape::Unindexed => (),
            Shape::Runs => positions.push(0),
            Shape::Bits => positions.extend([0, u64::from(bits)]),
        }
    }

    /// The bytes of a closed stream, which starts anew.
    pub(crate) fn take(&mut self) -> FinishedStream {
        let compressed = !self.starts.is_empty();
        let bytes = std::mem::take(if compressed { &mut self.blocks } else { &mut self.raw });
        self.clear();
        FinishedStream { kind: self.kind, bytes }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.raw.clear();
        self.blocks.clear();
        self.starts.clear();
        self.marks.clear();
    }

    /// Bytes that the stream will about take in the file.
    pub(crate) fn encoded_bytes(&self) -> usize {
        self.raw.len() + self.blocks.len()
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.raw.capacity() + self.blocks.capacity() + self.starts.capacity() * 8 + self.marks.capacity() * 16
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
