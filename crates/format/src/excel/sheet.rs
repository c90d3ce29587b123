//! A sheet as a table: its header, and the values of its columns.

use std::collections::BTreeMap;

use calamine::DataRef;
use lakerace_io::option::{HEADER, NO_HEADER, SKIP_ROWS};
use lakerace_io::{Error, Job, Result};

use super::cells::{BadCell, CellValue, ExcelError, ValueKinds, duration_text};
use super::iso_moments::{IsoValue, iso_value};
use super::number_format::MomentKind;
use super::odd_numbers::ODD_NUMBER;
use super::texts::SheetTexts;
use super::workbook::{OpenWorkbook, SAVE_AGAIN, SheetCell, cell_name};
use crate::options::CsvOptions;
use crate::text::header_names;

/// Rows and columns of the largest sheet.
const LARGEST: (u32, u32) = (1 << 20, 1 << 14);

/// The options by which a sheet is read.
#[derive(Debug, Clone)]
pub(super) struct SheetOptions {
    /// The name of the sheet; `None`: the first one.
    pub sheet: Option<String>,
    /// The first row with a value names the columns.
    pub has_header: bool,
    /// Rows at the top that are not read.
    skip_rows: u32,
    /// Texts that mean null.
    nulls: Vec<String>,
    /// Numbers that mean null: those that a null text is.
    null_numbers: Vec<f64>,
}

impl SheetOptions {
    /// Makes the options of all sheets of a source.
    pub fn new(options: &CsvOptions, sheet: Option<&str>) -> Self {
        let nulls = options.null_strings.clone().unwrap_or_else(|| vec![String::new()]);
        Self {
            sheet: sheet.map(str::to_owned),
            has_header: options.header.unwrap_or(true),
            skip_rows: u32::try_from(options.skip_rows).unwrap_or(u32::MAX),
            null_numbers: nulls.iter().filter_map(|text| text.parse().ok()).collect(),
            nulls,
        }
    }

    fn is_null(&self, text: &str) -> bool {
        self.nulls.iter().any(|null| null == text)
    }
}

/// A column of a sheet. Only cells with a value take memory.
#[derive(Debug, Default)]
pub(super) struct SheetColumn {
    /// Its name, of the header or made up.
    pub name: String,
    /// The header names it.
    pub is_named: bool,
    /// Its number in the sheet, from 0.
    pub position: u32,
    /// The kinds of its values.
    pub kinds: ValueKinds,
    /// The rows of the values, ascending.
    rows: Vec<u32>,
    values: Vec<CellValue>,
}

impl SheetColumn {
    fn push(&mut self, row: u32, value: CellValue) {
        self.kinds.add(&value);
        self.rows.push(row);
        self.values.push(value);
    }

    /// The values of a range of rows, `None` for empty cells.
    pub fn values(&self, rows: std::ops::Range<usize>) -> impl Iterator<Item = Option<CellValue>> {
        let mut at = self.rows.partition_point(|row| (*row as usize) < rows.start);
        rows.map(move |row| {
            let is_here = self.rows.get(at).is_some_and(|next| *next as usize == row);
            at += usize::from(is_here);
            if is_here { self.values.get(at - 1).copied() } else { None }
        })
    }
}

/// The values of a sheet.
#[derive(Debug)]
pub(super) struct SheetTable {
    /// The file and the sheet, as errors name them.
    pub place: String,
    /// Its columns from left to right.
    pub columns: Vec<SheetColumn>,
    /// The texts that its cells refer to.
    pub texts: SheetTexts,
    /// The row of the sheet, from 0, that each row is.
    rows: Vec<u32>,
}

impl SheetTable {
    /// Returns true if rows follow the header.
    pub fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Reads a sheet of a workbook.
    ///
    /// # Errors
    /// `Invalid` for a sheet without a header, or with an error in it; those of [`OpenWorkbook`].
    pub fn read(workbook: &mut OpenWorkbook, url: &str, options: &SheetOptions, job: &Job) -> Result<Self> {
        let sheet = workbook.choose_sheet(options.sheet.as_deref(), job)?;
        let place = format!("{url}, sheet {sheet:?}");
        let mut gathered = GatheredCells::new(options, &place, workbook.is_1904());
        workbook.visit_cells(&sheet, job, |cell| gathered.add(cell))?;
        gathered.finish()
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The name of a cell, by the row of the table and the column of the sheet.
    pub fn cell_name(&self, row: usize, position: u32) -> String {
        cell_name((self.rows.get(row).copied().unwrap_or(0), position))
    }
}

/// The cells of a sheet while they are read.
struct GatheredCells<'a> {
    options: &'a SheetOptions,
    place: &'a str,
    is_1904: bool,
    /// The names of columns, by position, once the header was reached.
    header: BTreeMap<u32, String>,
    header_row: Option<u32>,
    columns: Vec<SheetColumn>,
    texts: SheetTexts,
    rows: Vec<u32>,
    last: Option<(u32, u32)>,
}

impl<'a> GatheredCells<'a> {
    fn new(options: &'a SheetOptions, place: &'a str, is_1904: bool) -> Self {
        let (columns, rows) = (Vec::new(), Vec::new());
        let (header, header_row, texts, last) = (BTreeMap::new(), None, SheetTexts::default(), None);
        Self { options, place, is_1904, header, header_row, columns, texts, rows, last }
    }

    fn at(&self, position: (u32, u32)) -> String {
        format!("{}, cell {}", self.place, cell_name(position))
    }

    /// Takes a cell: of the header, or of a row.
    fn add(&mut self, cell: SheetCell<'_>) -> Result<()> {
        let position @ (row, column) = cell.position;
        if row >= LARGEST.0 || column >= LARGEST.1 {
            return Err(Error::corrupt("a cell is outside of the largest sheet")
                .at(self.at(position))
                .advice(SAVE_AGAIN));
        }
        if self.last.is_some_and(|last| position <= last) {
            return Err(Error::corrupt("a cell occurs twice, or rows and cells are not in order")
                .at(self.at(position))
                .advice(SAVE_AGAIN));
        }
        self.last = Some(position);
        if row < self.options.skip_rows {
            return Ok(());
        }
        let value = self.value_of(cell);
        if self.options.has_header && self.header_row.is_none_or(|header| header == row) {
            self.header_row = Some(row);
            return self.add_name(position, value);
        }
        if self.rows.last() != Some(&row) {
            self.rows.push(row);
        }
        let Some(value) = value else { return Ok(()) };
        let at = column as usize;
        if self.columns.len() <= at {
            self.columns.resize_with(at + 1, SheetColumn::default);
        }
        let table_row = (self.rows.len() - 1) as u32;
        self.columns[at].push(table_row, value);
        Ok(())
    }

    /// Takes a cell of the header.
    fn add_name(&mut self, position: (u32, u32), value: Option<CellValue>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        if let CellValue::Bad(bad) = value {
            return Err(Error::invalid(format!("the name of a column is {}", bad.shown(&self.texts)))
                .at(self.at(position))
                .advice(format!("correct it, or declare that there is no header with {NO_HEADER}")));
        }
        let mut name = String::new();
        value.write_text(&self.texts, &mut name);
        self.header.insert(position.1, name);
        Ok(())
    }

    /// The value of a cell; `None` for null.
    fn value_of(&mut self, cell: SheetCell<'_>) -> Option<CellValue> {
        let Some(value) = cell.value else { return Some(CellValue::Bad(BadCell::Uncalculated)) };
        let number = |number: f64| (!self.options.null_numbers.contains(&number)).then_some(CellValue::Number(number));
        match value {
            DataRef::Empty => None,
            DataRef::Int(integer) => number(integer as f64),
            DataRef::Float(float) => number(float),
            DataRef::Bool(value) => Some(CellValue::Boolean(value)),
            DataRef::DateTime(moment) if moment.is_duration() => {
                Some(CellValue::Text(self.texts.add(&duration_text(moment.as_f64()))))
            }
            DataRef::DateTime(moment) => Some(CellValue::of_serial(moment.as_f64(), cell.moment, self.is_1904)),
            DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => self.iso(&text, cell.moment),
            DataRef::String(text) => self.text(&text, false),
            DataRef::SharedString(text) => self.text(text, true),
            DataRef::Error(error) => {
                let error = ExcelError::from(error);
                (!self.options.is_null(error.0)).then_some(CellValue::Bad(BadCell::Error(error)))
            }
        }
    }

    fn text(&mut self, text: &str, is_shared: bool) -> Option<CellValue> {
        if self.options.is_null(text) {
            return None;
        }
        Some(CellValue::Text(if is_shared { self.texts.add_shared(text) } else { self.texts.add(text) }))
    }

    /// A moment that is stored as text, or a number that is none.
    fn iso(&mut self, text: &str, kind: MomentKind) -> Option<CellValue> {
        let odd_number = text.strip_prefix(ODD_NUMBER);
        if self.options.is_null(odd_number.unwrap_or(text)) {
            return None;
        }
        if let Some(number) = odd_number {
            return Some(CellValue::Bad(BadCell::NoNumber(self.texts.add(number))));
        }
        Some(match iso_value(text, kind, self.is_1904) {
            Some(IsoValue::Moment(moment)) => moment,
            Some(IsoValue::Duration(days)) => CellValue::Text(self.texts.add(&duration_text(days))),
            None => CellValue::Bad(BadCell::NoMoment(self.texts.add(text))),
        })
    }

    fn finish(mut self) -> Result<SheetTable> {
        self.texts.end_sharing();
        if self.header.is_empty() && self.columns.is_empty() {
            let what = match self.options.has_header {
                true => "the sheet is empty: it has no header",
                false => "the sheet is empty: there is no row to learn the columns from",
            };
            return Err(Error::invalid(what)
                .at(self.place)
                .advice(format!("check the sheet, {SKIP_ROWS} and {HEADER}")));
        }
        let named = self.header.last_key_value().map_or(0, |(last, _)| *last as usize + 1);
        let width = named.max(self.columns.len());
        self.columns.resize_with(width, SheetColumn::default);
        let fields = (0..width as u32).map(|position| self.header.get(&position).cloned()).collect();
        for ((position, column), name) in (0..).zip(&mut self.columns).zip(header_names(fields)) {
            column.is_named = self.header.get(&position).is_some_and(|name| !name.trim().is_empty());
            (column.position, column.name) = (position, name);
            column.rows.shrink_to_fit();
            column.values.shrink_to_fit();
        }
        self.columns.retain(|column| column.is_named || !column.values.is_empty());
        if let [column] = self.columns.as_mut_slice() {
            fill_rows(column, &mut self.rows, self.header_row);
        }
        Ok(SheetTable { place: self.place.to_owned(), columns: self.columns, texts: self.texts, rows: self.rows })
    }
}

/// Adds the empty rows of a single column as nulls. The first one is below the header.
fn fill_rows(column: &mut SheetColumn, rows: &mut Vec<u32>, header_row: Option<u32>) {
    let (Some(first), Some(last)) = (rows.first().copied(), rows.last().copied()) else { return };
    let first = header_row.map_or(first, |header| header + 1);
    for row in &mut column.rows {
        *row = rows.get(*row as usize).map_or(0, |of_sheet| of_sheet - first);
    }
    *rows = (first..=last).collect();
}

#[cfg(test)]
mod tests;
