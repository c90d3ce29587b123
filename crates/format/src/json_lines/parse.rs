//! Parses blocks of lines into batches.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use lakerace_io::{Error, Result};

use super::blocks::LineBlock;
use super::column::{ExtraFields, ObjectColumns};
use super::fault::{LineFault, RowUnit, no_object};
use super::places::LineColumns;
use crate::batch_selection::BatchSelection;
use crate::input::Constants;
use crate::json::{Json, JsonKind};
use crate::options::OnBadRow;

/// The work of threads on blocks.
pub(super) struct LineParser {
    pub urls: Arc<[String]>,
    pub unit: RowUnit,
    pub columns: Arc<LineColumns>,
    /// Columns that are known, and skipped.
    pub unread: Vec<String>,
    pub others: ExtraFields,
    pub on_bad_row: OnBadRow,
    /// The constants of files, by the file's number.
    pub constants: Vec<Option<Arc<Constants>>>,
    pub selection: BatchSelection,
}

/// The rows of a block.
pub(super) struct ParsedRows {
    pub batch: RecordBatch,
    pub bad_rows: u64,
    /// The error after the rows.
    pub error: Option<Error>,
}

impl LineParser {
    /// A block's rows: parsed, filtered, projected.
    pub fn parse(&self, block: &LineBlock) -> Result<ParsedRows> {
        let LineColumns { schema, origins } = self.columns.as_ref();
        let object = ObjectColumns::new(schema.fields(), origins, "", self.others)?;
        let mut object = object.with_unread(self.unread.iter().cloned());
        if let Some(place) = &block.place {
            object = object.with_missing(place);
        }
        let (mut rows, mut bad_lines, mut error) = (0, Vec::new(), None);
        for (line, number) in NumberedLines::from_block(block) {
            match append(&mut object, self.unit, line) {
                Ok(is_row) => rows += usize::from(is_row),
                Err(LineFault::Json(_) | LineFault::Value(_)) if self.on_bad_row == OnBadRow::Skip => {
                    bad_lines.push(number);
                }
                Err(fault) => {
                    error = Some(fault.error(&self.urls[block.file], self.unit, number, line));
                    break;
                }
            }
        }
        if !bad_lines.is_empty() {
            // Parts of bad lines stand among the values: the others are read again without them.
            object.finish(0)?;
            self.append_others(&mut object, block, &bad_lines)?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), object.finish(rows)?, &options);
        let constants = self.constants.get(block.file).and_then(Option::as_deref);
        let batch = self.selection.select(batch.map_err(Error::unexpected)?, constants);
        let batch = batch.map_err(|error| error.at(&self.urls[block.file]))?;
        Ok(ParsedRows { batch, bad_rows: bad_lines.len() as u64, error })
    }

    /// Appends the rows of all lines but these.
    fn append_others(&self, object: &mut ObjectColumns, block: &LineBlock, bad_lines: &[u64]) -> Result<()> {
        let mut bad_lines = bad_lines.iter().peekable();
        for (line, number) in NumberedLines::from_block(block) {
            if bad_lines.next_if_eq(&&number).is_none() {
                append(object, self.unit, line)
                    .map_err(|fault| fault.error(&self.urls[block.file], self.unit, number, line))?;
            }
        }
        Ok(())
    }
}

/// Appends the row of a line. False: the line is blank.
fn append(object: &mut ObjectColumns, unit: RowUnit, line: &[u8]) -> std::result::Result<bool, LineFault> {
    let mut json = Json::new(line);
    if json.is_at_end() {
        return Ok(false);
    }
    if json.kind() != Ok(JsonKind::Object) {
        return Err(no_object(unit, json.position()));
    }
    object.append(&mut json)?;
    if !json.is_at_end() {
        let message = "other text follows the object on its line".to_owned();
        return Err(LineFault::value(json.position(), message, "write each row on its own line".to_owned()));
    }
    Ok(true)
}

/// Lines without their ends, and their numbers.
struct NumberedLines<'a> {
    text: &'a [u8],
    at: usize,
    number: u64,
}

impl<'a> NumberedLines<'a> {
    fn from_block(block: &'a LineBlock) -> Self {
        Self { text: &block.text, at: 0, number: block.first_line }
    }
}

impl<'a> Iterator for NumberedLines<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let number = self.number;
        self.at += len + 1;
        self.number += 1;
        Some((&rest[..len], number))
    }
}
