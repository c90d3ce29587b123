//! Files of lines in blocks of whole lines.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lakerace_io::{Error, Result};

use crate::text::{BlockReader, fetch_block, without_byte_order_mark};

/// Bytes of a line at most.
const MAX_LINE_BYTES: usize = 256 << 20;

/// Whole lines of one file.
#[derive(Debug)]
pub(super) struct LineBlock {
    /// The file, by its number in the plan.
    pub file: usize,
    /// The number of the first line, from 1.
    pub first_line: u64,
    pub text: Bytes,
}

/// All files of a read, in blocks of whole lines.
pub(super) struct LineBlocks {
    input: BlockReader,
    urls: Arc<[String]>,
    /// The start of a line whose end is not read yet.
    rest: BytesMut,
    line: u64,
}

impl LineBlocks {
    /// The files by their URLs.
    pub fn new(input: BlockReader, urls: Arc<[String]>) -> Self {
        Self { input, urls, rest: BytesMut::new(), line: 1 }
    }

    /// The rest of a line and the whole lines after it.
    fn join(&mut self, lines: Bytes) -> Bytes {
        if self.rest.is_empty() {
            return lines;
        }
        self.rest.extend_from_slice(&lines);
        std::mem::take(&mut self.rest).freeze()
    }

    fn next_block(&mut self) -> Result<Option<LineBlock>> {
        while let Some(raw) = self.input.next_block()? {
            let mut bytes = fetch_block(&raw.data, &self.input.fetcher())?;
            if raw.is_first {
                self.line = 1;
                bytes = without_byte_order_mark(bytes, &self.urls[raw.file])?;
            }
            let end = match raw.is_last {
                true => bytes.len(),
                false => memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1),
            };
            let after = bytes.split_off(end);
            let text = if end > 0 || raw.is_last { self.join(bytes) } else { Bytes::new() };
            self.rest.extend_from_slice(&after);
            if self.rest.len() > MAX_LINE_BYTES {
                let message = format!("the line is longer than {} MiB", MAX_LINE_BYTES >> 20);
                let line = self.line + memchr::memchr_iter(b'\n', &text).count() as u64;
                return Err(Error::invalid(message)
                    .at(format!("{}, line {line}", self.urls[raw.file]))
                    .advice("write each row on its own line, for example with: jq -c '.[]'"));
            }
            if text.is_empty() {
                continue;
            }
            let first_line = self.line;
            self.line += memchr::memchr_iter(b'\n', &text).count() as u64;
            return Ok(Some(LineBlock { file: raw.file, first_line, text }));
        }
        Ok(None)
    }
}

impl Iterator for LineBlocks {
    type Item = Result<LineBlock>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_block().transpose()
    }
}
