//! The rows of sheets in batches.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatchOptions};
use arrow::datatypes::Field;
use arrow::record_batch::RecordBatch;
use lakerace_io::option::{ON_BAD_ROW, SCHEMA};
use lakerace_io::{Error, Job, Result};

use super::{OwnColumn, fetch, positions, read_table};
use crate::batch_selection::BatchSelection;
use crate::excel::cell_arrays::{BadValue, BadValues, CellFault};
use crate::excel::cells::{CellValue, is_inexact_integer};
use crate::excel::column_values::{ColumnToRead, ColumnTypeOrigin, column_array};
use crate::excel::sheet::{SheetOptions, SheetTable};
use crate::input::Constants;
use crate::options::OnBadRow;
use crate::schema_text::{print_field_type, quoted_name};
use crate::sequential_files::SequentialFile;

/// Rows in a batch, where no other number is given.
const BATCH_ROWS: usize = 65_536;

/// Cells in a batch at most, as a sheet may have 16,384 columns.
const BATCH_CELLS: usize = 8 << 20;

/// Characters of a text that an error shows.
const SHOWN_CHARACTERS: usize = 40;

/// The work of a read.
pub(super) struct ReadWork {
    /// The sheet that was read for the schema.
    pub first: Arc<SheetTable>,
    pub first_url: String,
    pub options: SheetOptions,
    pub own: Vec<OwnColumn>,
    /// The constants of files, by their positions in the source.
    pub constants: Vec<Option<Arc<Constants>>>,
    pub selection: BatchSelection,
    pub on_bad_row: OnBadRow,
    pub job: Job,
}

/// A sheet whose rows are read.
struct OpenSheet {
    table: Arc<SheetTable>,
    /// The columns of the sheet that the files' own columns are.
    positions: Vec<Option<usize>>,
    constants: Option<Arc<Constants>>,
    next_row: usize,
}

/// Batches of one sheet after another.
pub(super) struct SheetRows {
    work: ReadWork,
    files: VecDeque<SequentialFile>,
    sheet: Option<OpenSheet>,
    /// The error that ends the read, after the rows before it.
    error: Option<Error>,
    rows_left: u64,
    batch_rows: usize,
}

impl SheetRows {
    /// Starts to read these files.
    pub fn new(work: ReadWork, files: VecDeque<SequentialFile>, limit: Option<u64>, batch_rows: Option<usize>) -> Self {
        let of_memory = BATCH_CELLS / work.selection.width().max(1);
        let batch_rows = batch_rows.unwrap_or(BATCH_ROWS).min(BATCH_ROWS).min(of_memory).max(1);
        Self { work, files, sheet: None, error: None, rows_left: limit.unwrap_or(u64::MAX), batch_rows }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left > 0 {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            self.work.job.check()?;
            let Some(sheet) = &mut self.sheet else {
                let Some(file) = self.files.pop_front() else { return Ok(None) };
                self.sheet = Some(self.work.open(file)?);
                continue;
            };
            let rows = sheet.next_row..sheet.table.row_count().min(sheet.next_row.saturating_add(self.batch_rows));
            if rows.is_empty() {
                self.sheet = None;
                continue;
            }
            sheet.next_row = rows.end;
            let (batch, error) = self.work.batch(sheet, rows)?;
            self.error = error;
            let kept = (batch.num_rows() as u64).min(self.rows_left);
            self.rows_left -= kept;
            if kept > 0 {
                self.work.job.meter().read_rows(kept);
                return Ok(Some(batch.slice(0, kept as usize)));
            }
        }
        Ok(None)
    }
}

impl Iterator for SheetRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl ReadWork {
    fn open(&self, file: SequentialFile) -> Result<OpenSheet> {
        let (mut object, constants) = (file.object, self.constants[file.position].clone());
        let url = object.url();
        let table = if url == self.first_url {
            Arc::clone(&self.first)
        } else {
            let bytes = fetch(&mut object)?;
            Arc::new(read_table(&bytes, &url, &self.options, &self.job)?)
        };
        let positions = positions(&self.own, &table, &self.first_url)?;
        Ok(OpenSheet { table, positions, constants, next_row: 0 })
    }

    /// The rows of a range, filtered and projected, up to the first bad one if that is an error.
    fn batch(&self, sheet: &OpenSheet, rows: Range<usize>) -> Result<(RecordBatch, Option<Error>)> {
        let table = &sheet.table;
        let mut bad = BadValues::new(self.on_bad_row);
        let mut columns = Vec::with_capacity(self.selection.own_positions.len());
        for (number, own) in self.selection.own_positions.iter().enumerate() {
            let read = ColumnToRead {
                column: sheet.positions[*own].map(|at| &table.columns[at]),
                field: self.selection.own.field(number),
                origin: self.own[*own].origin,
                number,
            };
            columns.push(column_array(&read, rows.clone(), &table.texts, &mut bad)?);
        }
        let (keep, stop, error) = self.judge(sheet, rows.clone(), &bad.found);
        let columns = columns.into_iter().map(|column| column.slice(0, stop)).collect();
        let columns = match &keep {
            None => columns,
            Some(keep) => filtered(columns, keep)?,
        };
        let kept = keep.as_ref().map_or(stop, BooleanArray::true_count);
        let options = RecordBatchOptions::new().with_row_count(Some(kept));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.selection.own), columns, &options)
            .map_err(Error::unexpected)?;
        let batch = self.selection.select(batch, sheet.constants.as_deref()).map_err(|error| error.at(&table.place))?;
        Ok((batch, error))
    }

    /// The rows that stay, if bad ones are left out; the number of rows before an error; the error.
    fn judge(
        &self,
        sheet: &OpenSheet,
        rows: Range<usize>,
        bad: &[BadValue],
    ) -> (Option<BooleanArray>, usize, Option<Error>) {
        let is_error = |bad: &&BadValue| match self.on_bad_row {
            OnBadRow::Error => true,
            OnBadRow::Skip => false,
            OnBadRow::Null => bad.fault == CellFault::Null,
        };
        let worst = bad.iter().filter(is_error).min_by_key(|bad| (bad.row, bad.column));
        let stop = worst.map_or(rows.len(), |worst| worst.row);
        let mut is_bad = vec![false; stop];
        for found in bad {
            if let Some(is_bad) = is_bad.get_mut(found.row) {
                *is_bad = true;
            }
        }
        self.job.meter().bad_rows(is_bad.iter().filter(|is_bad| **is_bad).count() as u64);
        let error = worst.map(|worst| self.error(sheet, rows.start, worst));
        let is_skipped = self.on_bad_row == OnBadRow::Skip && is_bad.contains(&true);
        let keep = is_skipped.then(|| is_bad.into_iter().map(|is_bad| Some(!is_bad)).collect());
        (keep, stop, error)
    }

    /// The error of a bad cell, with its place and the ways out.
    fn error(&self, sheet: &OpenSheet, first_row: usize, bad: &BadValue) -> Error {
        let (field, at) = (self.selection.own.field(bad.column), self.selection.own_positions[bad.column]);
        let own = &self.own[at];
        let position = sheet.positions[at].map_or(own.position, |at| sheet.table.columns[at].position);
        let cell = sheet.table.cell_name(first_row + bad.row, position);
        let error = match bad.fault {
            CellFault::Null => Error::invalid("null in a column that is declared `not null`")
                .advice(format!("declare it nullable in {SCHEMA}, or skip such rows with {}", ON_BAD_ROW.to("skip"))),
            CellFault::Value(CellValue::Bad(bad)) => {
                Error::invalid(format!("the cell has {}", bad.shown(&sheet.table.texts))).advice(format!(
                    "correct it, and save the workbook in a program that calculates; or accept it with {} or {}",
                    ON_BAD_ROW.to("null"),
                    ON_BAD_ROW.to("skip")
                ))
            }
            CellFault::Value(value) => value_error(&value, sheet, field, own.origin),
        };
        error.at(format!("{}, cell {cell}, column {:?}", sheet.table.place, field.name()))
    }
}

/// The error of a value that is none of the column's type.
fn value_error(value: &CellValue, sheet: &OpenSheet, field: &Field, origin: ColumnTypeOrigin) -> Error {
    let mut text = String::new();
    value.write_text(&sheet.table.texts, &mut text);
    let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    let type_name = print_field_type(field);
    let message = match value {
        CellValue::Number(number) if is_inexact_integer(*number) => {
            format!("{shown}{more} may be rounded, as a workbook keeps 15 to 17 digits: it is not read as {type_name}")
        }
        _ => format!("{shown:?}{more} is not a value of type {type_name}"),
    };
    let inferred = if origin == ColumnTypeOrigin::Inferred { ", which was inferred from the first file" } else { "" };
    let name = quoted_name(field.name());
    Error::invalid(message + inferred).advice(format!(
        "give its type with a schema such as {}, or accept it with {} or {}",
        SCHEMA.to(format!("{name} utf8")),
        ON_BAD_ROW.to("skip"),
        ON_BAD_ROW.to("null")
    ))
}

fn filtered(columns: Vec<arrow::array::ArrayRef>, keep: &BooleanArray) -> Result<Vec<arrow::array::ArrayRef>> {
    let filter = |column: arrow::array::ArrayRef| arrow::compute::filter(&column, keep).map_err(Error::unexpected);
    columns.into_iter().map(filter).collect()
}
