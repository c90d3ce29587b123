//! Blocks of whole records become record batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use bytes::Bytes;
use lakerace_io::option::{DATE_FORMAT, DELIMITER, ENCODING, INFER_ROWS, ON_BAD_ROW, QUOTE, SCHEMA, TIMESTAMP_FORMAT};
use lakerace_io::{Error, Result};

use super::column::{BadFields, CsvColumn, FieldError, FieldText, Text, TypeOrigin};
use super::columns::column_for;
use super::fields::{FieldSplitter, FieldTable, OnRagged, RaggedRow};
use super::rules::DialectRules;
use crate::options::OnBadRow;
use crate::schema_text::{print_field_type, print_type, quoted_name};
use crate::text::infer;

/// Approximate maximum of field offsets in a table, so that it fits into a core's own cache together with the text.
const TABLE_OFFSETS: usize = 16 << 10;

/// The positions of a file's columns, and the wanted ones.
#[derive(Debug, Clone)]
pub(super) struct WantedLayout {
    /// The file, as the user knows it.
    pub url: Arc<str>,
    /// Fields of a record.
    pub columns: usize,
    /// For each column of the batches, its position in the file.
    pub positions: Vec<usize>,
}

/// The settings for making batches of text: the same for all files and threads of a read.
#[derive(Debug)]
pub(super) struct BatchParser {
    pub rules: Arc<DialectRules>,
    /// The columns to convert.
    pub schema: SchemaRef,
    /// The origin of each type.
    pub origins: Vec<TypeOrigin>,
    pub on_bad_row: OnBadRow,
    /// Rows that the last block had, to make room for as many.
    pub expected_rows: AtomicUsize,
}

/// Whole records at one place of a file.
#[derive(Debug, Clone)]
pub(super) struct RecordSlice {
    pub bytes: Bytes,
    /// The number of its first line, from 1.
    pub line: u64,
}

/// The outcome of a block.
#[derive(Debug)]
pub(super) struct ParsedBlock {
    /// The good rows, in order, up to the error.
    pub batch: RecordBatch,
    /// Rows that were left out or in which a field was replaced by null.
    pub bad_rows: u64,
    /// Why it ends here.
    pub error: Option<Error>,
}

impl BatchParser {
    /// Parses the pieces of one block, in order. Texts of the largest piece are referred to, those of others copied.
    pub fn parse(&self, pieces: &[RecordSlice], layout: &WantedLayout) -> Result<ParsedBlock> {
        let expected = self.expected_rows.load(Ordering::Relaxed);
        let room = expected + expected / 16;
        let fields = self.schema.fields().iter().zip(&self.origins);
        let columns = fields
            .map(|(field, origin)| column_for(field, room, *origin, &self.rules.values))
            .collect::<Result<Vec<_>>>()?;
        let block = pieces.iter().max_by_key(|p| p.bytes.len()).map_or_else(Bytes::new, |p| p.bytes.clone());
        let mut block = TextBlock {
            parser: self,
            layout,
            columns,
            text: block,
            rows: 0,
            bad: Vec::new(),
            skipped: 0,
            table: FieldTable::default(),
            found: Vec::new(),
        };
        let error = pieces.iter().find_map(|piece| block.piece(piece).err());
        if error.is_none() {
            self.expected_rows.store(block.rows, Ordering::Relaxed);
        }
        block.finish(error)
    }
}

struct TextBlock<'a> {
    parser: &'a BatchParser,
    layout: &'a WantedLayout,
    columns: Vec<Box<dyn CsvColumn>>,
    /// The text that string views refer to.
    text: Bytes,
    rows: usize,
    /// Rows to leave out, or that were mended, ascending.
    bad: Vec<usize>,
    /// Rows that never became one.
    skipped: u64,
    table: FieldTable,
    found: Vec<(usize, usize, FieldError)>,
}

impl TextBlock<'_> {
    fn piece(&mut self, piece: &RecordSlice) -> Result<()> {
        let rules = &*self.parser.rules;
        let is_utf8 = self.check_utf8(piece)?;
        let on_ragged = match self.parser.on_bad_row {
            OnBadRow::Error => OnRagged::Stop,
            OnBadRow::Skip => OnRagged::Skip,
            OnBadRow::Null => OnRagged::Mend,
        };
        let is_block = piece.bytes.as_ptr() == self.text.as_ptr() && piece.bytes.len() == self.text.len();
        let text = Text { bytes: &piece.bytes, block: is_block.then_some(0), is_utf8, rules };
        let most = (TABLE_OFFSETS / (self.layout.columns + 1)).clamp(1, 4096);
        let mut splitter = FieldSplitter::new(&piece.bytes, rules, self.layout.columns, on_ragged);
        while !splitter.is_done() {
            let ragged = splitter.fill(&mut self.table, most);
            self.append(&text, piece)?;
            if let Some(ragged) = ragged {
                return Err(self.ragged(ragged, piece));
            }
        }
        Ok(())
    }

    /// Text that is not UTF-8 ends the read, unless bad fields are skipped.
    fn check_utf8(&self, piece: &RecordSlice) -> Result<bool> {
        if simdutf8::basic::from_utf8(&piece.bytes).is_ok() {
            return Ok(true);
        }
        match (self.parser.on_bad_row, simdutf8::compat::from_utf8(&piece.bytes)) {
            (OnBadRow::Error, Err(error)) => {
                let at = error.valid_up_to();
                let line = line_of(piece, at);
                let column = piece.bytes[..at].iter().rev().take_while(|b| **b != b'\n').count() + 1;
                Err(Error::invalid(format!("byte 0x{:02x} is not valid UTF-8", piece.bytes[at]))
                    .at(format!("{}, line {line}, byte {column} of it", self.layout.url))
                    .advice(format!("set the file's encoding, for example with {}", ENCODING.to("latin1"))))
            }
            _ => Ok(false),
        }
    }

    /// Appends the table's rows to all columns.
    fn append(&mut self, text: &Text<'_>, piece: &RecordSlice) -> Result<()> {
        let rows = self.table.rows();
        let mut stop_at = rows;
        self.found.clear();
        for (i, column) in self.columns.iter_mut().enumerate() {
            let nullable = self.parser.schema.field(i).is_nullable();
            let mode = self.parser.on_bad_row;
            let mut bad = BadFields { column: i, nullable, mode, stop_at, found: &mut self.found };
            column.append(&self.table, self.layout.positions[i], text, &mut bad);
            stop_at = bad.stop_at;
        }
        if stop_at < rows {
            self.rows += stop_at;
            let first = self.found.iter().rev().find(|(row, ..)| *row == stop_at).copied();
            return Err(match first {
                Some(found) => self.bad_field(found, text, piece),
                None => Error::internal("a row was rejected without a reason"),
            });
        }
        self.skipped += self.table.skipped;
        let from = self.bad.len();
        let base = self.rows;
        self.bad.extend(self.table.mended.iter().map(|row| base + row));
        self.bad.extend(self.found.iter().map(|(row, ..)| base + row));
        self.bad[from..].sort_unstable();
        self.bad.dedup();
        self.rows += rows;
        Ok(())
    }

    fn bad_field(
        &self,
        (row, column, badness): (usize, usize, FieldError),
        text: &Text<'_>,
        piece: &RecordSlice,
    ) -> Error {
        let field = self.parser.schema.field(column);
        let position = self.layout.positions[column];
        let (start, end) = self.table.column(position).nth(row).unwrap_or_default();
        let shown = shorten(text.bytes.get(start..end.wrapping_sub(1)).unwrap_or(&[]));
        let type_name = print_field_type(field);
        let error = match badness {
            FieldError::Value if self.parser.origins.get(column) == Some(&TypeOrigin::Inferred) => {
                let found = text.field(start, end);
                let usual = match &found {
                    FieldText::Text(field) => text.rules.values.inferred(field.trim_ascii()),
                    FieldText::Null | FieldText::Bad(_) => None,
                };
                let looks = usual.as_deref().map_or(DataType::Utf8View, infer::type_of);
                let loses_digits = usual.as_deref().is_some_and(infer::loses_digits);
                let problem = match field.data_type() {
                    DataType::Float64 if loses_digits => "has more digits than a value of type",
                    _ => "is not a value of type",
                };
                let message = format!("{shown} {problem} {type_name}, which was inferred from the first rows");
                Error::invalid(message).advice(inferred_advice(field.name(), field.data_type(), &looks))
            }
            FieldError::Value => {
                let has_zone = match text.field(start, end) {
                    FieldText::Text(field) => text.rules.values.has_zone(&field),
                    FieldText::Null | FieldText::Bad(_) => false,
                };
                Error::invalid(format!("{shown} is not a value of type {type_name}")).advice(value_advice(
                    field.name(),
                    field.data_type(),
                    has_zone,
                ))
            }
            FieldError::Null => Error::invalid("null in a column that is declared `not null`").advice(format!(
                "declare it nullable in {SCHEMA}, or exclude such rows with {}",
                ON_BAD_ROW.to("skip")
            )),
            FieldError::Quote => Error::invalid(format!("{shown} continues after its closing quote")).advice(format!(
                "double a quote that is part of the text, or choose another quote character or none with {QUOTE}"
            )),
            FieldError::Utf8 => Error::invalid(format!("{shown} is not valid UTF-8")),
        };
        let line = line_of(piece, start.min(text.bytes.len()));
        error.at(format!("{}, line {line}, column {:?}", self.layout.url, field.name()))
    }

    fn ragged(&self, ragged: RaggedRow, piece: &RecordSlice) -> Error {
        let (found, wanted) = (ragged.fields, self.layout.columns);
        let line = line_of(piece, ragged.start);
        Error::invalid(format!("the row has {found} field{}, not {wanted}", if found == 1 { "" } else { "s" }))
            .at(format!("{}, line {line}", self.layout.url))
            .advice(format!(
                "check {DELIMITER} and {QUOTE}, or accept such rows with {} or {}",
                ON_BAD_ROW.to("skip"),
                ON_BAD_ROW.to("null")
            ))
    }

    fn finish(mut self, error: Option<Error>) -> Result<ParsedBlock> {
        let borrowed: usize = self.columns.iter().map(|c| c.borrowed_bytes()).sum();
        // A block with few references would stay in memory for these.
        let is_wasteful = borrowed < self.text.len() / 2;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        let keep = (self.parser.on_bad_row == OnBadRow::Skip && !self.bad.is_empty()).then(|| self.keep_mask());
        for column in &mut self.columns {
            let copies = is_wasteful && column.borrowed_bytes() > 0;
            let mut array = column.finish(&self.text);
            if array.len() > self.rows {
                array = array.slice(0, self.rows);
            }
            if copies {
                array = Arc::new(array.as_string_view().gc());
            }
            if let Some(keep) = &keep {
                array = arrow::compute::filter(&array, keep).map_err(|e| internal(&e))?;
            }
            arrays.push(array);
        }
        let rows = keep.as_ref().map_or(self.rows, BooleanArray::true_count);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.parser.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|e| internal(&e))?;
        Ok(ParsedBlock { batch, bad_rows: self.bad.len() as u64 + self.skipped, error })
    }

    fn keep_mask(&self) -> BooleanArray {
        let mut keep = vec![true; self.rows];
        for row in &self.bad {
            if let Some(keep) = keep.get_mut(*row) {
                *keep = false;
            }
        }
        BooleanArray::from(keep)
    }
}

/// The line of a position in a piece.
fn line_of(piece: &RecordSlice, at: usize) -> u64 {
    piece.line + memchr::memchr_iter(b'\n', &piece.bytes[..at]).count() as u64
}

/// A text as an error shows it: in quotes, control characters escaped, at most 40 characters.
fn shorten(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(&field[..field.len().min(200)]);
    let shown: String = text.chars().take(40).collect();
    let more = if shown.len() < text.len() || field.len() > 200 { "…" } else { "" };
    format!("{:?}{more}", shown)
}

/// Advice that reads a value of another type. `has_zone`: it is a timestamp with a time zone.
fn value_advice(name: &str, data_type: &DataType, has_zone: bool) -> String {
    let wider = match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => "int64".to_owned(),
        DataType::Int64 | DataType::UInt64 => "float64".to_owned(),
        DataType::Timestamp(unit, None) if has_zone => print_type(&DataType::Timestamp(*unit, Some("UTC".into()))),
        _ => "utf8".to_owned(),
    };
    let name = quoted_name(name);
    let form = match data_type {
        DataType::Date32 | DataType::Date64 => format!("say how dates are written with {DATE_FORMAT}, "),
        DataType::Timestamp(..) if !has_zone => format!("say how timestamps are written with {TIMESTAMP_FORMAT}, "),
        _ => String::new(),
    };
    format!(
        "{form}give its type with a schema such as {}, or accept it with {} or {}",
        SCHEMA.to(format!("{name} {wider}")),
        ON_BAD_ROW.to("skip"),
        ON_BAD_ROW.to("null")
    )
}

/// Advice that reads a column in which a value looks like another type than the one that was inferred.
fn inferred_advice(name: &str, inferred: &DataType, looks: &DataType) -> String {
    let wider = match (inferred, looks) {
        (DataType::Int64, DataType::Float64) => "float64",
        (DataType::Date32, DataType::Timestamp(_, None)) => "timestamp(us)",
        _ => "utf8",
    };
    let name = quoted_name(name);
    format!(
        "give its type with a schema such as {}, infer it from more rows with {INFER_ROWS}, or accept it with {} or {}",
        SCHEMA.to(format!("{name} {wider}")),
        ON_BAD_ROW.to("skip"),
        ON_BAD_ROW.to("null")
    )
}

pub(super) fn internal(error: &arrow::error::ArrowError) -> Error {
    Error::internal(format!("a batch of CSV rows could not be built: {error}"))
}
