//! A stream's bytes, decompressed chunk by chunk into a window.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::compress::{CHUNK_HEADER, Codec, Decompressor, chunk_header};
use crate::error::{Error, Result};

/// The decompressor that the streams of a stripe share: one of them decompresses at a time.
pub(crate) type SharedDecompressor = Arc<Mutex<Decompressor>>;

/// Bytes of a piece of an uncompressed stream that is read in pieces.
const PLAIN_PIECE: usize = 128 << 10;

/// The bytes of one stream, or of a part of it.
pub(crate) struct StreamInput {
    source: Bytes,
    /// The next byte of `source` to be taken.
    at: usize,
    /// True if `source` may end within a chunk: it is the part of a stream that some row groups need.
    partial: bool,
    /// `None` where the file is uncompressed: then the window is `source`.
    decompressor: Option<SharedDecompressor>,
    window: Vec<u8>,
    start: usize,
    end: usize,
}

impl StreamInput {
    pub(crate) fn new(source: Bytes, decompressor: &SharedDecompressor, partial: bool) -> Self {
        let codec = decompressor.lock().unwrap_or_else(PoisonError::into_inner).codec();
        let decompressor = (codec != Codec::None).then(|| Arc::clone(decompressor));
        Self { source, at: 0, partial, decompressor, window: Vec::new(), start: 0, end: 0 }
    }

    /// At least `wanted` bytes in one piece, or all that are left where they are fewer.
    #[inline]
    pub(crate) fn ensure(&mut self, wanted: usize) -> Result<&[u8]> {
        if self.decompressor.is_none() {
            return Ok(self.source.get(self.at..).unwrap_or_default());
        }
        if self.end - self.start < wanted {
            self.refill(wanted)?;
        }
        Ok(&self.window[self.start..self.end])
    }

    /// The next chunk, decompressed into newly allocated memory; `None` at the end.
    ///
    /// For a stream whose chunks outlive it; never together with the other ways to read.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Vec<u8>>> {
        if self.decompressor.is_none() {
            let rest = self.source.get(self.at..).unwrap_or_default();
            let piece = rest.get(..PLAIN_PIECE).unwrap_or(rest).to_vec();
            self.at += piece.len();
            return Ok(Some(piece).filter(|piece| !piece.is_empty()));
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.window = Vec::new();
            self.refill(1)?;
        }
        let mut piece = std::mem::take(&mut self.window);
        piece.truncate(self.end);
        piece.drain(..self.start);
        (self.start, self.end) = (0, 0);
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }

    /// Takes `count` of the bytes that [`ensure`](Self::ensure) showed.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        if self.decompressor.is_none() {
            self.at += count;
        } else {
            self.start += count;
        }
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> Result<()> {
        let Some(shared) = &self.decompressor else { return Ok(()) };
        let mut decompressor = shared.lock().unwrap_or_else(PoisonError::into_inner);
        self.window.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted && self.at < self.source.len() {
            let rest = &self.source[self.at..];
            let chunk = rest.split_first_chunk::<CHUNK_HEADER>().and_then(|(header, rest)| {
                let (length, original) = chunk_header(*header);
                Some((rest.get(..length)?, original))
            });
            let Some((chunk, original)) = chunk else {
                if self.partial {
                    self.at = self.source.len();
                    break;
                }
                return Err(Error::corrupt(format!("ends within the compression chunk at byte {}", self.at)));
            };
            self.at += CHUNK_HEADER + chunk.len();
            self.end = decompressor.chunk(chunk, original, &mut self.window, self.end)?;
        }
        Ok(())
    }

    /// Goes to a position of a row index: `chunk` bytes into the source (where compressed, the beginning of a chunk), then
    /// `offset` bytes on.
    pub(crate) fn seek(&mut self, chunk: usize, offset: usize) -> Result<()> {
        if chunk > self.source.len() {
            return Err(Error::corrupt(format!("a row group starts at byte {chunk} of {}", self.source.len())));
        }
        (self.at, self.start, self.end) = (chunk, 0, 0);
        self.skip(offset)
    }

    /// Passes `count` bytes over.
    pub(crate) fn skip(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            let step = self.ensure(1)?.len().min(count);
            if step == 0 {
                return Err(short(count));
            }
            self.advance(step);
            count -= step;
        }
        Ok(())
    }

    /// Appends the next `count` bytes to `out`; memory grows with the bytes that are there.
    pub(crate) fn append(&mut self, mut count: usize, out: &mut Vec<u8>) -> Result<()> {
        while count > 0 {
            let bytes = self.ensure(1)?;
            let step = bytes.len().min(count);
            if step == 0 {
                return Err(short(count));
            }
            out.extend_from_slice(&bytes[..step]);
            self.advance(step);
            count -= step;
        }
        Ok(())
    }
}

/// The stream ends `missing` bytes too early.
#[cold]
pub(crate) fn short(missing: usize) -> Error {
    Error::corrupt(format!("ends, but {missing} more bytes are needed"))
}
