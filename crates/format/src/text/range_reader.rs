//! A file's stored bytes as a reader.

use std::io::{BufRead, Read};

use bytes::Bytes;
use lakerace_io::Result;

/// A file's stored bytes in order, fetched range by range: `fetch(at)` returns the bytes from a position on, none at
/// the end.
pub(crate) struct RangeReader<F> {
    fetch: F,
    at: u64,
    bytes: Bytes,
}

impl<F: FnMut(u64) -> Result<Bytes>> RangeReader<F> {
    /// Starts at the front.
    pub fn new(fetch: F) -> Self {
        Self { fetch, at: 0, bytes: Bytes::new() }
    }
}

impl<F: FnMut(u64) -> Result<Bytes>> Read for RangeReader<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let ready = self.fill_buf()?;
        let n = ready.len().min(buffer.len());
        buffer[..n].copy_from_slice(&ready[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl<F: FnMut(u64) -> Result<Bytes>> BufRead for RangeReader<F> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.bytes.is_empty() {
            self.bytes = (self.fetch)(self.at).map_err(std::io::Error::other)?;
            self.at += self.bytes.len() as u64;
        }
        Ok(&self.bytes)
    }

    fn consume(&mut self, n: usize) {
        let _ = self.bytes.split_to(n.min(self.bytes.len()));
    }
}
