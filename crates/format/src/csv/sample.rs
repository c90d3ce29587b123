//! The front of a file: its columns' names, and rows to infer their types from.

use arrow::datatypes::DataType;
use bytes::Bytes;
use lakerace_io::option::{DELIMITER, ENCODING, NO_HEADER, QUOTE, SCHEMA, SKIP_ROWS};
use lakerace_io::{Error, Object, Result};

use super::column::{FieldText, Text};
use super::fields::{FieldSplitter, FieldTable, OnRagged};
use super::header::record_fields;
use super::rules::DialectRules;
use super::scan::{ScanState, first_end, step};
use super::sniff::other_delimiter;
use crate::text::infer::InferredType;
use crate::text::{MAX_SAMPLE_BYTES, header_names, made_up_names, read_front, without_byte_order_mark};

/// The front of a file.
#[derive(Debug)]
pub(super) struct FileSample {
    url: String,
    text: Bytes,
    /// The text is the whole file.
    is_whole: bool,
    /// The start of the rows.
    rows_at: usize,
    /// The start of the header.
    header_at: usize,
    /// The columns' names.
    pub names: Vec<String>,
}

impl FileSample {
    /// Reads as much as `rows` rows take, but no more than 4 MiB of text.
    ///
    /// # Errors
    /// `Invalid` where the file is empty, not UTF-8, or its header can't be read.
    pub fn read(object: &Object, rules: &DialectRules, rows: usize) -> Result<Self> {
        let url = object.url();
        let (text, is_whole) =
            read_front(object, rows.saturating_add(rules.skip_rows), rules.form).map_err(|e| e.at(&url))?;
        let text = without_byte_order_mark(text, &url)?;
        let mut sample = Self { url, text, is_whole, rows_at: 0, header_at: 0, names: Vec::new() };
        sample.find_columns(rules)?;
        Ok(sample)
    }

    fn find_columns(&mut self, rules: &DialectRules) -> Result<()> {
        let mut at = self.skipped_bytes(rules)?;
        loop {
            let rest = &self.text[at..];
            if let Some(blank) = [&b"\n"[..], b"\r\n"].iter().find(|blank| rest.starts_with(blank)) {
                at += blank.len();
            } else if rules.is_comment(rest) {
                at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            } else {
                break;
            }
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
        let end = match first_end(ScanState::record_start(rules), rest, rules) {
            Some(end) => at + end,
            None if self.is_whole => self.text.len(),
            None => {
                let limit = MAX_SAMPLE_BYTES >> 20;
                return Err(Error::invalid(format!("the first row is longer than {limit} MiB"))
                    .at(format!("{}, line 1", self.url))
                    .advice(format!("check {DELIMITER} and {QUOTE}, and that the file is text")));
            }
        };
        let fields = record_fields(&self.text[at..end], rules).map_err(|e| {
            let advice = match self.better_delimiter(at, end, rules) {
                Some((lines, delimiter)) => format!("{lines}: use {}", DELIMITER.to(char::from(delimiter))),
                None => format!("check {QUOTE}, and set an encoding other than UTF-8 with {ENCODING}"),
            };
            Error::new(e.kind(), format!("the first row can't be read: {}", e.message())).at(&self.url).advice(advice)
        })?;
        self.header_at = at;
        if rules.header {
            self.names = header_names(fields);
            self.rows_at = end;
        } else {
            self.names = made_up_names(fields.len());
            self.rows_at = at;
        }
        Ok(())
    }

    /// The end of the lines that are skipped.
    fn skipped_bytes(&self, rules: &DialectRules) -> Result<usize> {
        let Some(last) = rules.skip_rows.checked_sub(1) else { return Ok(0) };
        match memchr::memchr_iter(b'\n', &self.text).nth(last) {
            Some(end) => Ok(end + 1),
            None if self.is_whole => Ok(self.text.len()),
            None => {
                let limit = MAX_SAMPLE_BYTES >> 20;
                Err(Error::unsupported(format!("the first {} lines are longer than {limit} MiB", rules.skip_rows))
                    .at(&self.url)
                    .advice(format!("check {SKIP_ROWS}")))
            }
        }
    }

    fn empty(&self, rules: &DialectRules) -> Error {
        if rules.header {
            Error::invalid("the file is empty: it has no header")
                .at(&self.url)
                .advice(format!("give the columns with {SCHEMA}, and declare that there is no header with {NO_HEADER}"))
        } else {
            Error::invalid("the file is empty: there is no row to infer the columns from")
                .at(&self.url)
                .advice(format!("give the columns with {SCHEMA}"))
        }
    }

    /// The type of every column, and the number of rows that were examined.
    pub fn types(&self, rules: &DialectRules, rows: usize) -> (Vec<DataType>, usize) {
        let text = &self.text[self.rows_at..self.rows_end(rules)];
        let mut inferred = vec![InferredType::default(); self.names.len()];
        let mut splitter = FieldSplitter::new(text, rules, self.names.len(), OnRagged::Skip);
        let mut table = FieldTable::default();
        let as_text = Text { bytes: text, block: None, is_utf8: false, rules };
        let mut seen = 0;
        while seen < rows && !splitter.is_done() {
            splitter.fill(&mut table, (rows - seen).min(1024));
            seen += table.rows();
            for (column, inferred) in inferred.iter_mut().enumerate() {
                infer_column(inferred, &table, column, &as_text);
            }
        }
        (inferred.into_iter().map(InferredType::data_type).collect(), seen)
    }

    /// A warning of text in one column whose lines all have the same number of another delimiter.
    pub fn other_delimiter(&self, rules: &DialectRules) -> Option<String> {
        if self.names.len() != 1 {
            return None;
        }
        let start = if rules.header { self.header_at } else { self.rows_at };
        let (lines, delimiter) = self.delimited_lines(start, rules)?;
        let option = |delimiter: u8| DELIMITER.to(char::from(delimiter));
        Some(format!(
            "{}: there is one column, but {lines}: use {}, or {} for one column",
            self.url,
            option(delimiter),
            option(rules.delimiter),
        ))
    }

    /// Another delimiter by which the first record, which can't be read, has fields; and the same of the lines, in words.
    fn better_delimiter(&self, start: usize, end: usize, rules: &DialectRules) -> Option<(String, u8)> {
        let (lines, delimiter) = self.delimited_lines(start, rules)?;
        let other = DialectRules { delimiter, ..rules.clone() };
        record_fields(&self.text[start..end], &other).ok().map(|_| (lines, delimiter))
    }

    /// Another delimiter that all lines have equally often, in words and as a character.
    fn delimited_lines(&self, start: usize, rules: &DialectRules) -> Option<(String, u8)> {
        let (delimiter, fields) = other_delimiter(&self.text[start..], self.is_whole, rules)?;
        let between = char::from(delimiter);
        Some((format!("each of the first lines has {fields} fields between {between:?}"), delimiter))
    }

    /// The end of the last whole row of the sample.
    fn rows_end(&self, rules: &DialectRules) -> usize {
        if self.is_whole {
            return self.text.len();
        }
        let mut state = ScanState::record_start(rules);
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

/// Adds a column's fields in a table to its type.
fn infer_column(inferred: &mut InferredType, table: &FieldTable, column: usize, text: &Text<'_>) {
    for (start, end) in table.column(column) {
        if inferred.is_text() {
            return;
        }
        match text.field(start, end) {
            FieldText::Null => {}
            FieldText::Bad(_) => inferred.update_as_text(),
            FieldText::Text(field) if text.rules.values.is_plain() => inferred.update(field.trim_ascii()),
            FieldText::Text(field) => match text.rules.values.inferred(field.trim_ascii()) {
                Some(field) => inferred.update(&field),
                None => inferred.update_as_text(),
            },
        }
    }
}
