//! Joins blocks to whole records, in order: the incomplete record at a block's end precedes the next block.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use lakerace_io::option::{NO_HEADER, QUOTE, SCHEMA};
use lakerace_io::{Error, Result};

use super::header::record_fields;
use super::parse::{RecordSlice, WantedLayout};
use super::rules::DialectRules;
use super::scan::{ScanState, SpeculativeScan, first_end, open_quote};
use crate::text::header_names;

/// The longest record, in bytes: a quote that is never closed must not take all memory.
pub(super) const MAX_RECORD_BYTES: usize = 256 << 20;

/// The columns that every file has, and those that are read.
#[derive(Debug)]
pub(super) struct FileColumns {
    /// The file whose header was read first.
    pub first_url: String,
    /// The names in that file's order.
    pub names: Vec<String>,
    /// The positions in `names` of the columns that are read.
    pub wanted: Vec<usize>,
}

/// The state between two blocks.
#[derive(Debug)]
pub(super) struct BlockChain {
    rules: Arc<DialectRules>,
    columns: Arc<FileColumns>,
    state: ScanState,
    /// Lines that are still to be skipped.
    skip_left: u64,
    /// The start of the record that the last block ended within.
    carry: Vec<u8>,
    /// The line on which that record starts.
    carry_line: u64,
    /// The line on which the next block starts.
    line: u64,
    /// The layout of the current file; `None` until its header was read.
    layout: Option<Arc<WantedLayout>>,
}

/// Whole records of a block, with what they need to be parsed.
#[derive(Debug)]
pub(super) struct BlockRecords {
    pub pieces: Vec<RecordSlice>,
    /// `None` if there are no records.
    pub layout: Option<Arc<WantedLayout>>,
    /// Why the file ends after them.
    pub error: Option<Error>,
}

/// The block as the chain needs it.
#[derive(Debug)]
pub(super) struct ScannedBlock {
    pub url: Arc<str>,
    pub bytes: Bytes,
    pub outlook: SpeculativeScan,
    pub is_first: bool,
    pub is_last: bool,
}

impl BlockChain {
    pub fn new(rules: Arc<DialectRules>, columns: Arc<FileColumns>) -> Self {
        Self {
            rules,
            columns,
            state: ScanState::Start,
            skip_left: 0,
            carry: Vec::new(),
            carry_line: 1,
            line: 1,
            layout: None,
        }
    }

    /// The whole records that end in the block. Called for every block in order.
    pub fn resolve(&mut self, block: &ScannedBlock) -> Result<BlockRecords> {
        if block.is_first {
            self.begin_file(&block.url);
        }
        if self.skip_left > 0 {
            return self.skip_lines(block);
        }
        self.resolve_rows(block)
    }

    /// Skips the lines at the front of a file.
    fn skip_lines(&mut self, block: &ScannedBlock) -> Result<BlockRecords> {
        let ends = memchr::memchr_iter(b'\n', &block.bytes).map(|at| at + 1);
        let skipped = block.outlook.newlines.min(self.skip_left);
        self.line += skipped;
        self.skip_left -= skipped;
        let last_end = ends.take(skipped as usize).last().unwrap_or(0);
        let from = if self.skip_left == 0 { last_end } else { block.bytes.len() };
        let bytes = block.bytes.slice(from..);
        let outlook = SpeculativeScan::scan(&bytes, &self.rules);
        let url = Arc::clone(&block.url);
        self.resolve_rows(&ScannedBlock { url, bytes, outlook, is_first: false, is_last: block.is_last })
    }

    fn resolve_rows(&mut self, block: &ScannedBlock) -> Result<BlockRecords> {
        let bytes = &block.bytes;
        let before = self.state;
        let (last_end, after) = block.outlook.resolve(before, bytes, &self.rules);
        self.state = after;
        let mut pieces = Vec::new();
        match last_end {
            None => {
                if self.carry.is_empty() {
                    self.carry_line = self.line;
                }
                self.carry.extend_from_slice(bytes);
            }
            Some(last_end) => {
                self.whole_records(before, last_end, block, &mut pieces)?;
                let left = &bytes[last_end..];
                self.carry_line = self.line + block.outlook.newlines - count_lines(left);
                self.carry.extend_from_slice(left);
            }
        }
        self.line += block.outlook.newlines;
        if self.carry.len() > MAX_RECORD_BYTES {
            return Err(self.unclosed(&block.url).unwrap_or_else(|| {
                let limit = MAX_RECORD_BYTES >> 20;
                Error::invalid(format!("the row is longer than {limit} MiB"))
                    .at(format!("{}, line {}", block.url, self.carry_line))
                    .advice("check that the file is text with line feeds")
            }));
        }
        let mut error = None;
        if block.is_last {
            error = self.end_file(block, &mut pieces).err();
        }
        Ok(BlockRecords { pieces, layout: self.layout.clone(), error })
    }

    fn begin_file(&mut self, url: &Arc<str>) {
        self.state = ScanState::record_start(&self.rules);
        self.skip_left = self.rules.skip_rows as u64;
        self.carry.clear();
        self.line = 1;
        self.carry_line = 1;
        self.layout = None;
        if !self.rules.header {
            let (columns, positions) = (self.columns.names.len(), self.columns.wanted.clone());
            self.layout = Some(Arc::new(WantedLayout { url: Arc::clone(url), columns, positions }));
        }
    }

    /// The records up to `last_end`: the one that started in an earlier block, and all others. Headers are removed.
    fn whole_records(
        &mut self,
        before: ScanState,
        last_end: usize,
        block: &ScannedBlock,
        pieces: &mut Vec<RecordSlice>,
    ) -> Result<()> {
        let bytes = &block.bytes;
        let mut at = 0;
        let mut line = self.line;
        if !self.carry.is_empty() {
            at = first_end(before, &bytes[..last_end], &self.rules).unwrap_or(last_end);
            line += count_lines(&bytes[..at]);
            let mut record = std::mem::take(&mut self.carry);
            record.extend_from_slice(&bytes[..at]);
            let record = RecordSlice { bytes: Bytes::from(record), line: self.carry_line };
            if !self.take_header(&record, &block.url)? {
                pieces.push(record);
            }
        }
        while self.layout.is_none() && at < last_end {
            let end = first_end(ScanState::record_start(&self.rules), &bytes[at..last_end], &self.rules)
                .map_or(last_end, |e| at + e);
            let record = RecordSlice { bytes: bytes.slice(at..end), line };
            self.take_header(&record, &block.url)?;
            line += count_lines(&record.bytes);
            at = end;
        }
        if at < last_end {
            pieces.push(RecordSlice { bytes: bytes.slice(at..last_end), line });
        }
        Ok(())
    }

    /// Ends a file: the rest is its last record, where no quote is open.
    fn end_file(&mut self, block: &ScannedBlock, pieces: &mut Vec<RecordSlice>) -> Result<()> {
        if let Some(error) = self.unclosed(&block.url) {
            return Err(error);
        }
        if !self.carry.is_empty() {
            let record = RecordSlice { bytes: Bytes::from(std::mem::take(&mut self.carry)), line: self.carry_line };
            if !self.take_header(&record, &block.url)? {
                pieces.push(record);
            }
        }
        if self.layout.is_none() {
            return Err(Error::invalid("the file is empty: it has no header").at(&block.url).advice(format!(
                "give the columns with {SCHEMA}, and declare that there is no header with {NO_HEADER}"
            )));
        }
        Ok(())
    }

    fn unclosed(&self, url: &str) -> Option<Error> {
        if !matches!(self.state, ScanState::Quoted | ScanState::Escaped) {
            return None;
        }
        let opened = open_quote(&self.carry, &self.rules)?;
        let line = self.carry_line + count_lines(&self.carry[..opened]);
        Some(
            Error::invalid("the quote that opens here is never closed")
                .at(format!("{url}, line {line}"))
                .advice(format!("close it, or choose another quote character or none with {QUOTE}")),
        )
    }

    /// Takes the record as the header if there is none yet, unless the line is blank. Returns true if it was taken or
    /// skipped.
    fn take_header(&mut self, record: &RecordSlice, url: &Arc<str>) -> Result<bool> {
        if self.layout.is_some() {
            return Ok(false);
        }
        if matches!(&record.bytes[..], b"\n" | b"\r\n") || self.rules.is_comment(&record.bytes) {
            return Ok(true);
        }
        let at = || format!("{url}, line {}", record.line);
        let names = record_fields(&record.bytes, &self.rules)
            .map_err(|e| Error::new(e.kind(), format!("the header can't be read: {}", e.message())).at(at()))?;
        let names = header_names(names);
        let positions = self.columns.positions(&names).map_err(|message| {
            Error::invalid(message)
                .at(at())
                .advice("files that are read together must have the same columns, in any order")
        })?;
        self.layout = Some(Arc::new(WantedLayout { url: Arc::clone(url), columns: names.len(), positions }));
        Ok(true)
    }
}

impl FileColumns {
    /// The positions of the wanted columns in a file with these names, or the problem with them.
    fn positions(&self, names: &[String]) -> Result<Vec<usize>, String> {
        if names == self.names {
            return Ok(self.wanted.clone());
        }
        let by_name: HashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        let known: HashMap<&str, ()> = self.names.iter().map(|n| (n.as_str(), ())).collect();
        if let Some(missing) = self.names.iter().find(|n| !by_name.contains_key(n.as_str())) {
            return Err(format!("the header has no column {missing:?}, which {} has", self.first_url));
        }
        if let Some(surplus) = names.iter().find(|n| !known.contains_key(n.as_str())) {
            return Err(format!("the header has a column {surplus:?}, which {} does not have", self.first_url));
        }
        Ok(self.wanted.iter().filter_map(|w| by_name.get(self.names[*w].as_str()).copied()).collect())
    }
}

fn count_lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
