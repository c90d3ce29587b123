//! A workbook in memory: its sheets and their cells, by calamine.

use std::collections::HashSet;
use std::io::Cursor;

use bytes::Bytes;
use calamine::{DataRef, Reader, SheetType, SheetVisible, Xlsx, XlsxError};
use lakerace_io::option::SHEET;
use lakerace_io::{Error, Job, Result, panics};

use super::number_format::MomentKind;
use super::package::{PackageLimits, check_package, too_large};
use crate::suggestions::{listed, nearest};

/// Sheets that an error or a warning names.
const SHOWN_SHEETS: usize = 10;

/// Cells without values after which a sheet is taken to be empty, where only a warning depends on it.
const BLANK_CELLS_AT_MOST: usize = 10_000;

/// Advice for workbooks that contradict themselves.
pub(super) const SAVE_AGAIN: &str = "open the workbook in Excel or LibreOffice, and save it again";

/// Cells between two looks at the job.
const CELLS_OF_STEP: u64 = 65_536;

/// A cell of a sheet.
pub(super) struct SheetCell<'a> {
    /// Its row and its column, from 0.
    pub position: (u32, u32),
    /// Its value, or `None` for a formula whose value is not stored.
    pub value: Option<DataRef<'a>>,
    /// The parts of a moment that its format shows.
    pub moment: MomentKind,
}

/// A workbook whose archive was checked.
pub(super) struct OpenWorkbook {
    xlsx: Xlsx<Cursor<Bytes>>,
    /// A sheet may have formulas.
    has_formulas: bool,
    url: String,
}

impl OpenWorkbook {
    /// Opens a workbook: lists of sheets, formats and shared texts are read.
    ///
    /// # Errors
    /// `Corrupt` for a damaged one; `Unsupported` for other kinds of workbooks, for encryption, and for sizes that memory
    /// is not spent on.
    pub fn open(bytes: &Bytes, url: &str, job: &Job) -> Result<Self> {
        let limits = PackageLimits::default();
        let package = check_package(bytes, &limits, job).map_err(|error| error.at(url))?;
        let xlsx = guarded(|| Xlsx::new(Cursor::new(package.bytes))).map_err(|error| error.at(url))?;
        Ok(Self { xlsx, has_formulas: package.has_formulas, url: url.to_owned() })
    }

    /// Fails for a file that is larger than a workbook may be, before it is fetched.
    pub fn check_size(size_bytes: u64) -> Result<()> {
        let limit = PackageLimits::default().file_bytes;
        if size_bytes > limit { Err(too_large("the workbook", limit)) } else { Ok(()) }
    }

    /// Returns true if serial numbers count from 1904.
    pub fn is_1904(&self) -> bool {
        self.xlsx.has_1904_epoch()
    }

    /// The name of the sheet that is read: the wanted one, or the first one that Excel shows. A warning names others
    /// that have values.
    ///
    /// # Errors
    /// `NotFound` for a name that no sheet has, `Usage` for a sheet without cells, such as a chart.
    pub fn choose_sheet(&mut self, wanted: Option<&str>, job: &Job) -> Result<String> {
        if let Some(wanted) = wanted {
            return self.find_sheet(wanted).map_err(|error| error.at(&self.url));
        }
        let sheets: Vec<_> = self.xlsx.sheets_metadata().to_vec();
        let is_table = |typ: SheetType| typ == SheetType::WorkSheet;
        let shown = |sheet: &&calamine::Sheet| is_table(sheet.typ) && sheet.visible == SheetVisible::Visible;
        let first = sheets.iter().find(shown).or_else(|| sheets.iter().find(|sheet| is_table(sheet.typ)));
        let Some(first) = first else {
            return Err(Error::invalid("the workbook has no sheet with cells")
                .at(&self.url)
                .advice("add a sheet with the rows to it"));
        };
        let others = sheets.iter().filter(shown).filter(|sheet| sheet.name != first.name);
        let others: Vec<&str> = others.map(|sheet| sheet.name.as_str()).filter(|name| self.has_values(name)).collect();
        if let [other, ..] = others.as_slice() {
            let (names, verb) = (names_of(&others), if others.len() == 1 { "has" } else { "have" });
            if !self.has_values(&first.name) {
                return Err(Error::invalid(format!(
                    "the first sheet, {:?}, is empty; {names} {verb} values",
                    first.name
                ))
                .at(&self.url)
                .advice(format!("choose one, as by {}", SHEET.to(*other))));
            }
            job.warn(&format!(
                "{}: only the first sheet, {:?}, is read; {names} {verb} values, too. Choose a sheet with {SHEET}",
                self.url, first.name,
            ));
        }
        Ok(first.name.clone())
    }

    /// The sheet of a name, in small or capital letters.
    fn find_sheet(&self, wanted: &str) -> Result<String> {
        let sheets = self.xlsx.sheets_metadata();
        let same = |name: &str| name.to_lowercase() == wanted.to_lowercase();
        let found = sheets.iter().find(|sheet| sheet.name == wanted);
        match found.or_else(|| sheets.iter().find(|sheet| same(&sheet.name))) {
            Some(sheet) if sheet.typ == SheetType::WorkSheet => Ok(sheet.name.clone()),
            Some(sheet) => Err(Error::usage(format!("the sheet {:?} has no cells: it is of another kind", sheet.name))
                .advice("choose a sheet with rows")),
            None => {
                let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
                let near = nearest(wanted, names.iter().copied()).map(|near| format!("did you mean {near:?}? "));
                Err(Error::not_found(format!("there is no sheet {wanted:?}")).advice(format!(
                    "{}the sheets are {}",
                    near.unwrap_or_default(),
                    names_of(&names)
                )))
            }
        }
    }

    /// Returns true if a sheet has a value. One that can't be read has none here: nothing but a message depends on it.
    fn has_values(&mut self, sheet: &str) -> bool {
        let xlsx = &mut self.xlsx;
        let found = guarded(|| {
            let mut cells = xlsx.worksheet_cells_reader(sheet)?;
            for _ in 0..BLANK_CELLS_AT_MOST {
                match cells.next_cell()? {
                    Some(cell) if *cell.get_value() != DataRef::Empty => return Ok(true),
                    Some(_) => {}
                    None => break,
                }
            }
            Ok(false)
        });
        found.unwrap_or(false)
    }

    /// Calls `visit` with each cell of a sheet that is not empty, row by row.
    ///
    /// # Errors
    /// `Corrupt` for a damaged sheet, with the last cell before the damage; those of `visit`.
    pub fn visit_cells(
        &mut self,
        sheet: &str,
        job: &Job,
        mut visit: impl FnMut(SheetCell<'_>) -> Result<()>,
    ) -> Result<()> {
        let uncalculated = if self.has_formulas { self.uncalculated(sheet, job)? } else { HashSet::new() };
        let xlsx = &mut self.xlsx;
        let mut last = None;
        let outcome = guarded(|| {
            let mut cells = xlsx.worksheet_cells_reader(sheet)?;
            let format_of = |style: &calamine::Style| {
                style
                    .number_format
                    .as_ref()
                    .map_or(MomentKind::Unknown, |format| MomentKind::of_format(&format.format_code))
            };
            let moments: Vec<MomentKind> = cells.styles().iter().map(format_of).collect();
            let mut seen = 0u64;
            while let Some((cell, style)) = cells.next_cell_with_style_id()? {
                seen += 1;
                if seen.is_multiple_of(CELLS_OF_STEP)
                    && let Err(error) = job.check()
                {
                    return Ok(Err(error));
                }
                let position = cell.get_position();
                last = Some(position);
                let value = match cell.get_value() {
                    DataRef::Empty if uncalculated.contains(&position) => None,
                    DataRef::Empty => continue,
                    value => Some(value.clone()),
                };
                let moment = match moments.get(style) {
                    Some(moment) => *moment,
                    // A workbook without styles has cells of the first one.
                    None if style == 0 => MomentKind::Unknown,
                    None => {
                        let message = format!("a cell has the style {style}, which the workbook lacks");
                        let place = format!("{}, sheet {sheet:?}, cell {}", self.url, cell_name(position));
                        return Ok(Err(Error::corrupt(message).at(place).advice(SAVE_AGAIN)));
                    }
                };
                if let Err(error) = visit(SheetCell { position, value, moment }) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        });
        let place = match last {
            Some(position) => format!("{}, sheet {sheet:?}, after cell {}", self.url, cell_name(position)),
            None => format!("{}, sheet {sheet:?}", self.url),
        };
        outcome.map_err(|error| error.at(place))?
    }

    /// The cells with a formula whose value is not stored: a program wrote them that does not calculate.
    fn uncalculated(&mut self, sheet: &str, job: &Job) -> Result<HashSet<(u32, u32)>> {
        let xlsx = &mut self.xlsx;
        let outcome = guarded(|| {
            let mut cells = xlsx.worksheet_cells_reader(sheet)?;
            let (mut found, mut seen) = (HashSet::new(), 0u64);
            while let Some(cell) = cells.next_cell_with_formula_metadata()? {
                seen += 1;
                if seen.is_multiple_of(CELLS_OF_STEP)
                    && let Err(error) = job.check()
                {
                    return Ok(Err(error));
                }
                if cell.formula.is_some() && cell.value == DataRef::Empty {
                    found.insert(cell.pos);
                }
            }
            Ok(Ok(found))
        });
        outcome.map_err(|error| error.at(format!("{}, sheet {sheet:?}", self.url)))?
    }
}

/// The name of a cell, such as `B7`.
pub(super) fn cell_name((row, column): (u32, u32)) -> String {
    format!("{}{}", column_letters(column), u64::from(row) + 1)
}

/// The letters of a column, from 0: `A`, …, `Z`, `AA`, ….
pub(super) fn column_letters(column: u32) -> String {
    let mut letters = Vec::new();
    let mut rest = u64::from(column) + 1;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + (rest % 26) as u8));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

/// Names of sheets in a sentence.
fn names_of(sheets: &[&str]) -> String {
    let mut names: Vec<String> = sheets.iter().take(SHOWN_SHEETS).map(|name| format!("{name:?}")).collect();
    if sheets.len() > SHOWN_SHEETS {
        names.push(format!("{} others", sheets.len() - SHOWN_SHEETS));
    }
    listed(names, "and")
}

/// Runs a call of calamine, which may panic on damaged files.
fn guarded<T>(call: impl FnOnce() -> std::result::Result<T, XlsxError>) -> Result<T> {
    match panics::caught(call) {
        Ok(outcome) => outcome.map_err(|error| damaged(&error)),
        Err(payload) => {
            let damaged =
                || Error::corrupt("the workbook is damaged: its parts contradict one another").advice(SAVE_AGAIN);
            Err(panics::shortage(&*payload).unwrap_or_else(damaged))
        }
    }
}

fn damaged(error: &XlsxError) -> Error {
    match error {
        XlsxError::Password => Error::unsupported("the workbook is encrypted by a password")
            .advice("open it in Excel, and save it without a password"),
        error => Error::corrupt(format!("the workbook is damaged: {error}")).advice(SAVE_AGAIN),
    }
}

#[cfg(test)]
mod tests;
