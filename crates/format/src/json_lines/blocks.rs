//! Files of lines in blocks of whole lines.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lakerace_io::{Error, Result};

use super::places::{FilePlace, FilePlaces};
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
    /// The place of the file, if it has values for columns that lines lack.
    pub place: Option<Arc<FilePlace>>,
    is_last: bool,
}

/// All files of a read, in blocks of whole lines.
pub(super) struct LineBlocks {
    input: BlockReader,
    urls: Arc<[String]>,
    /// The start of a line whose end is not read yet.
    rest: BytesMut,
    line: u64,
    places: FilePlaces,
    /// The file of the last block, with its place.
    current: Option<(usize, Option<Arc<FilePlace>>)>,
    /// Blocks that were read to know the front of a file.
    ready: VecDeque<LineBlock>,
    /// The result after them.
    after: Option<Result<Option<LineBlock>>>,
}

impl LineBlocks {
    /// The files by their URLs.
    pub fn new(input: BlockReader, urls: Arc<[String]>, places: FilePlaces) -> Self {
        let (rest, ready) = (BytesMut::new(), VecDeque::new());
        Self { input, urls, rest, line: 1, places, current: None, ready, after: None }
    }

    /// The rest of a line and the whole lines after it.
    fn join(&mut self, lines: Bytes) -> Bytes {
        if self.rest.is_empty() {
            return lines;
        }
        self.rest.extend_from_slice(&lines);
        std::mem::take(&mut self.rest).freeze()
    }

    /// The next block, with the place of its file.
    fn next_block(&mut self) -> Result<Option<LineBlock>> {
        if self.ready.is_empty() {
            let Some(block) = self.next_lines()? else { return Ok(None) };
            if self.current.as_ref().is_none_or(|(file, _)| *file != block.file) {
                return self.start_file(block).map(Some);
            }
            self.ready.push_back(block);
        }
        let place = self.current.as_ref().and_then(|(_, place)| place.clone());
        Ok(self.ready.pop_front().map(|block| LineBlock { place, ..block }))
    }

    /// The first block of a file. Where its place has values for lines, its first rows are read with it: they tell
    /// which columns the file has.
    fn start_file(&mut self, block: LineBlock) -> Result<LineBlock> {
        let file = block.file;
        if !self.places.has_values(file) {
            self.current = Some((file, None));
            return Ok(block);
        }
        let lines_of = |block: &LineBlock| memchr::memchr_iter(b'\n', &block.text).count();
        let (mut lines, mut bytes) = (lines_of(&block), block.text.len());
        let (mut front, mut is_last) = (vec![block.text.clone()], block.is_last);
        while !is_last && !self.places.is_front(lines, bytes) {
            match self.next_lines() {
                Ok(Some(next)) if next.file == file => {
                    (lines, bytes) = (lines + lines_of(&next), bytes + next.text.len());
                    is_last = next.is_last;
                    front.push(next.text.clone());
                    self.ready.push_back(next);
                }
                // It is reported after these blocks.
                other => {
                    self.after = Some(other);
                    break;
                }
            }
        }
        let place = self.places.file_place(file, front);
        self.current = Some((file, place.clone()));
        Ok(LineBlock { place, ..block })
    }

    fn next_lines(&mut self) -> Result<Option<LineBlock>> {
        self.after.take().unwrap_or_else(|| self.read_lines())
    }

    fn read_lines(&mut self) -> Result<Option<LineBlock>> {
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
            return Ok(Some(LineBlock { file: raw.file, first_line, text, place: None, is_last: raw.is_last }));
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
