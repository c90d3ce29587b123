//! Parts that the benches of this crate measure, each beside its plain alternative. No interface: it changes without notice.

use std::fs::File;

use bytes::Bytes;

use crate::fetch::buffers::Buffer;

/// Reads a piece of a file into memory that other pieces have left.
pub fn read_piece(file: &File, offset: u64, length: usize) -> std::io::Result<Bytes> {
    let mut buffer = Buffer::with_capacity(length).map_err(std::io::Error::other)?;
    buffer.read_at(file, offset, length)?;
    Ok(buffer.freeze())
}

/// Has the kernel read a range of a file ahead.
pub fn advise(file: &File, offset: u64, length: u64) {
    crate::fetch::local::advise(file, offset, length);
}
