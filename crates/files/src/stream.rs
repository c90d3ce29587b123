//! Contents as streams of bytes, into a store and out of it.

use std::io::Read;

use lakerace_io::{Error, Result};

/// Contents above this go into the store piece by piece, in bytes.
pub(crate) const WHOLE_BYTES: u64 = 16 << 20;

/// The error for a work that was stopped.
pub(crate) fn go_on(wanted: bool) -> Result<()> {
    if wanted { Ok(()) } else { Err(Error::cancelled()) }
}

/// A content as a reader, for writers of archives.
pub(crate) struct ContentReader {
    content: Box<dyn crate::home::RandomAccessFile>,
    at: u64,
}

impl ContentReader {
    pub(crate) fn new(content: Box<dyn crate::home::RandomAccessFile>) -> Self {
        Self { content, at: 0 }
    }
}

impl Read for ContentReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = self.content.read_at(self.at, out).map_err(std::io::Error::other)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// Flushes the written bytes, so that others can read them.
pub(crate) fn flushed(out: &mut dyn std::io::Write) -> Result<()> {
    out.flush().map_err(Error::from)
}
