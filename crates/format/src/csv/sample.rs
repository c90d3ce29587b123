//! The front of a file: its columns' names, and rows to infer their types from.

use std::io::{BufRead, Read};

use arrow::datatypes::DataType;
use bytes::Bytes;
use lakerace_io::{Error, Job, Object, Pipe, Result};

use super::column::Text;
use super::fields::{FieldSplitter, FieldTable, OnRagged};
use super::header::{header_names, made_up_names, record_fields};
use super::infer::Kinds;
use super::rules::Rules;
use super::scan::{State, first_end, step};
use crate::text::{FileCompression, RangeReader, read_block, without_byte_order_mark};

/// Bytes of text that are looked at, at most.
pub(super) const MAX_SAMPLE_BYTES: usize = 4 << 20;

/// Bytes of text that are looked at first; they often do.
const FIRST_SAMPLE_BYTES: usize = 512 << 10;

/// Bytes of a request for a packed file's front.
const PACKED_STEP_BYTES: u64 = 256 << 10;

/// The front of a file.
#[derive(Debug)]
pub(super) struct Sample {
    url: String,
    text: Bytes,
    /// The text is the whole file.
    is_whole: bool,
    /// Where the rows begin.
    rows_at: usize,
    /// The columns' names.
    pub names: Vec<String>,
}

impl Sample {
    /// Reads as much as `rows` rows take, but no more than 4 MiB of text.
    ///
    /// # Errors
    /// `Invalid` where the file is empty, not UTF-8, or its header can't be read.
    pub fn read(object: &Object, rules: &Rules, rows: usize) -> Result<Self> {
        let url = object.url();
        let (text, is_whole) = read_front(object, rows).map_err(|e| e.at(&url))?;
        let text = without_byte_order_mark(text, &url)?;
        let mut sample = Self { url, text, is_whole, rows_at: 0, names: Vec::new() };
        sample.find_columns(rules)?;
        Ok(sample)
    }

    fn find_columns(&mut self, rules: &Rules) -> Result<()> {
        let mut at = 0;
        while let Some(blank) = [&b"\n"[..], b"\r\n"].iter().find(|b| self.text[at..].starts_with(b)) {
            at += blank.len();
        }
        let rest = &self.text[at..];
        if rest.is_empty() {
            return Err(self.empty(rules));
        }
        if !rest.contains(&b'\n') && memchr::memchr(b'\r', &rest[..rest.len() - 1]).is_some() {
            return Err(Error::invalid("lines end with carriage returns only")
                .at(&self.url)
                .advice("convert them to line feeds, for example with: tr '\\r' '\\n'"));
        }
        let end = match first_end(State::Start, rest, rules) {
            Some(end) => at + end,
            None if self.is_whole => self.text.len(),
            None => {
                let limit = MAX_SAMPLE_BYTES >> 20;
                return Err(Error::invalid(format!("the first row is longer than {limit} MiB"))
                    .at(format!("{}, line 1", self.url))
                    .advice("check --delimiter and --quote (delimiter, quote), and that the file is text"));
            }
        };
        let fields = record_fields(&self.text[at..end], rules).map_err(|e| {
            Error::new(e.kind(), format!("the first row can't be read: {}", e.message()))
                .at(&self.url)
                .advice("check --quote (quote), and that the file is UTF-8")
        })?;
        if rules.header {
            self.names = header_names(fields);
            self.rows_at = end;
        } else {
            self.names = made_up_names(fields.len());
            self.rows_at = at;
        }
        Ok(())
    }

    fn empty(&self, rules: &Rules) -> Error {
        if rules.header {
            Error::invalid("the file is empty: it has no header").at(&self.url).advice(
                "give the columns by --schema (schema), and say that there is no header by --no-header (header=False)",
            )
        } else {
            Error::invalid("the file is empty: there is no row to learn the columns from")
                .at(&self.url)
                .advice("give the columns by --schema (schema)")
        }
    }

    /// The type of every column, and how many rows were looked at.
    pub fn types(&self, rules: &Rules, rows: usize) -> (Vec<DataType>, usize) {
        let text = &self.text[self.rows_at..self.rows_end(rules)];
        let mut kinds = vec![Kinds::default(); self.names.len()];
        let mut splitter = FieldSplitter::new(text, rules, self.names.len(), OnRagged::Skip);
        let mut table = FieldTable::default();
        let as_text = Text { bytes: text, block: None, is_utf8: false, rules };
        let mut seen = 0;
        while seen < rows && !splitter.is_done() {
            splitter.fill(&mut table, (rows - seen).min(1024));
            seen += table.rows();
            for (column, kind) in kinds.iter_mut().enumerate() {
                kind.look(&table, column, &as_text);
            }
        }
        (kinds.into_iter().map(Kinds::data_type).collect(), seen)
    }

    /// Where the last whole row of the sample ends.
    fn rows_end(&self, rules: &Rules) -> usize {
        if self.is_whole {
            return self.text.len();
        }
        let mut state = State::Start;
        let mut end = self.rows_at;
        for (i, byte) in self.text[self.rows_at..].iter().enumerate() {
            let (next, ended) = step(state, *byte, rules);
            state = next;
            if ended {
                end = self.rows_at + i + 1;
            }
        }
        end
    }
}

/// The first bytes of a file's text, and whether they are all of it.
pub(crate) fn read_front(object: &Object, rows: usize) -> Result<(Bytes, bool)> {
    if let Some(pipe) = object.stream() {
        return front_of_pipe(pipe, &object.store.job);
    }
    let size = object.size_bytes.unwrap_or(0);
    let named = FileCompression::detect(object.path.as_ref(), &[]);
    if named == FileCompression::None {
        let first = object.read_range(0..size.min(FIRST_SAMPLE_BYTES as u64))?;
        if FileCompression::detect("", &first) == FileCompression::None {
            let enough = first.len() as u64 == size || has_rows(&first, rows);
            let text = if enough { first } else { object.read_range(0..size.min(MAX_SAMPLE_BYTES as u64))? };
            let is_whole = text.len() as u64 == size;
            return Ok((text, is_whole));
        }
    }
    let source = object.clone();
    let mut packed = RangeReader::new(move |at| {
        let end = size.min(at + PACKED_STEP_BYTES);
        if at < end { source.read_range(at..end) } else { Ok(Bytes::new()) }
    });
    let compression = if named == FileCompression::None {
        let first = packed.fill_buf().map_err(|e| named.error(&e))?;
        FileCompression::detect("", first)
    } else {
        named
    };
    decompressed_front(compression.decompress(packed)?, compression, rows)
}

/// The front of a pipe, which stays there for the read. Of a packed one, what its first bytes give.
fn front_of_pipe(pipe: &Pipe, job: &Job) -> Result<(Bytes, bool)> {
    let (front, is_whole) = pipe.peek(FIRST_SAMPLE_BYTES, job)?;
    let compression = FileCompression::detect(pipe.name(), &front);
    if compression == FileCompression::None {
        return Ok((front, is_whole));
    }
    let mut reader = compression.decompress(std::io::Cursor::new(front))?;
    let mut text = Vec::new();
    let outcome = reader.as_mut().take(MAX_SAMPLE_BYTES as u64).read_to_end(&mut text);
    // What ends in the middle of a packed block has given all that it can.
    if is_whole || text.is_empty() {
        outcome.map_err(|e| compression.error(&e))?;
    }
    let is_whole = is_whole && text.len() < MAX_SAMPLE_BYTES;
    Ok((Bytes::from(text), is_whole))
}

fn decompressed_front(
    mut reader: Box<dyn Read + Send>,
    compression: FileCompression,
    rows: usize,
) -> Result<(Bytes, bool)> {
    let mut read = |bytes| read_block(reader.as_mut(), bytes).map_err(|e| compression.error(&e));
    let first = read(FIRST_SAMPLE_BYTES)?;
    if first.len() < FIRST_SAMPLE_BYTES {
        return Ok((first, true));
    }
    if has_rows(&first, rows) {
        return Ok((first, false));
    }
    let more = read(MAX_SAMPLE_BYTES - FIRST_SAMPLE_BYTES)?;
    let is_whole = more.len() < MAX_SAMPLE_BYTES - FIRST_SAMPLE_BYTES;
    Ok((Bytes::from([first, more].concat()), is_whole))
}

/// Whether the text has so many lines behind a header.
fn has_rows(text: &[u8], rows: usize) -> bool {
    memchr::memchr_iter(b'\n', text).nth(rows).is_some()
}
