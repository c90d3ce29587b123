//! Appending to a file past the page cache (`O_DIRECT`), by blocking writes of whole blocks.
//!
//! For a dedicated thread; without io_uring, which containers often do not allow.

use std::fs::File;
use std::io::{self, ErrorKind, Write};

use crate::fetch::buffers::PooledBuffer;

/// Offsets, lengths and addresses past the page cache: the largest block that disks have.
pub(super) const BLOCK_BYTES: usize = 4096;

/// Bytes of a write at most: it keeps a disk busy for much longer than it takes to ask for the next one.
const BUFFER_BYTES: usize = 4 << 20;

/// A file whose writes go past the cache, until [`Self::end`]. Its position is that of the file: after the written
/// bytes.
#[derive(Debug)]
pub(super) struct UncachedFile {
    buffer: PooledBuffer,
    /// Bytes up to the next block, which go into the cache before the others.
    head_bytes: usize,
    is_direct: bool,
}

/// The answer of the file system.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DirectOutcome {
    Direct,
    /// Not past the cache: the bytes so far went through it.
    Refused,
}

impl UncachedFile {
    /// For a file that has `position` bytes, all of them written. The buffer takes approximately `most_bytes`, within
    /// its own limits.
    pub(super) fn begin(position: u64, most_bytes: usize) -> crate::error::Result<Self> {
        let buffer_bytes = most_bytes.clamp(BLOCK_BYTES, BUFFER_BYTES).next_multiple_of(BLOCK_BYTES);
        let head_bytes = (position.next_multiple_of(BLOCK_BYTES as u64) - position) as usize;
        Ok(Self { buffer: PooledBuffer::with_capacity(buffer_bytes)?, head_bytes, is_direct: false })
    }

    /// Takes bytes, and writes those that fill a buffer.
    pub(super) fn append(&mut self, mut file: &File, bytes: &[u8]) -> io::Result<DirectOutcome> {
        let (head, mut rest) = bytes.split_at(self.head_bytes.min(bytes.len()));
        file.write_all(head)?;
        self.head_bytes -= head.len();
        while !rest.is_empty() {
            if !self.is_direct {
                if set_direct(file, true).is_err() {
                    file.write_all(rest)?;
                    return Ok(DirectOutcome::Refused);
                }
                self.is_direct = true;
            }
            let taken = self.buffer.append(rest);
            rest = &rest[taken..];
            if !rest.is_empty() && self.write_blocks(file)? == DirectOutcome::Refused {
                file.write_all(rest)?;
                return Ok(DirectOutcome::Refused);
            }
        }
        Ok(DirectOutcome::Direct)
    }

    /// Writes the rest: whole blocks past the cache, and the bytes after them, like all later ones, into it.
    pub(super) fn end(&mut self, mut file: &File) -> io::Result<DirectOutcome> {
        let kept = if self.is_direct { self.write_blocks(file)? } else { DirectOutcome::Direct };
        self.leave(file)?;
        file.write_all(self.buffer.as_ref())?;
        self.buffer.truncate(0);
        Ok(kept)
    }

    /// Writes the buffer's whole blocks; the bytes after them stay. If the file system refuses, all is written through
    /// the cache.
    fn write_blocks(&mut self, mut file: &File) -> io::Result<DirectOutcome> {
        let whole = self.buffer.len() / BLOCK_BYTES * BLOCK_BYTES;
        let mut done = 0;
        while done < whole {
            match file.write(&self.buffer.as_ref()[done..whole]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => done += bytes,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Its blocks are longer than ours, or a short write has ended within one.
                Err(e) if e.kind() == ErrorKind::InvalidInput => {
                    self.leave(file)?;
                    file.write_all(&self.buffer.as_ref()[done..])?;
                    self.buffer.truncate(0);
                    return Ok(DirectOutcome::Refused);
                }
                Err(e) => return Err(e),
            }
        }
        let mut tail = [0; BLOCK_BYTES];
        let tail = &mut tail[..self.buffer.len() - whole];
        tail.copy_from_slice(&self.buffer.as_ref()[whole..]);
        self.buffer.truncate(0);
        self.buffer.append(tail);
        Ok(DirectOutcome::Direct)
    }

    fn leave(&mut self, file: &File) -> io::Result<()> {
        if std::mem::take(&mut self.is_direct) { set_direct(file, false) } else { Ok(()) }
    }
}

/// Has the writes of a file go past the cache, or through it again.
#[cfg(target_os = "linux")]
pub(super) fn set_direct(file: &File, is_direct: bool) -> io::Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(file)?;
    flags.set(rustix::fs::OFlags::DIRECT, is_direct);
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}

/// Other systems have no such flag.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_direct(_file: &File, _is_direct: bool) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests;
