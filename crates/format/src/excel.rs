//! Excel workbooks, read by the crate calamine: one sheet is one table.
//!
//! # Sheet to rows
//! The first row with a value is the header, by the rules of CSV: a column without a name becomes `column_N`, where
//! column A is 1, and a second one of the same name gets `_2`. Empty rows are not rows, unless there is only one column:
//! then they are nulls. Columns without a name and without a value are left out. A merged cell has its value in its first
//! cell, and nulls in the others.
//!
//! # Cells to values
//! The types come from all rows: bool, int64, float64, date32, timestamp, time64, else text. Excel stores numbers as
//! doubles: a column is int64 if all of its numbers are whole and below 2^53. A number is a date or a time by its format:
//! `yyyy-mm-dd` gives dates, `h:mm` times of day, both together timestamps, rounded to milliseconds as in Excel.
//! Durations (`[h]:mm`) are text, such as `26:30:00`. Moments in ISO 8601, as strict workbooks have them, are the same. A cell
//! with an error such as `#N/A`, a formula without a stored value, and a number that is none make a bad row;
//! [`OnBadRow`](crate::OnBadRow) decides.
//!
//! # Bounds
//! A workbook is unpacked in memory. [`package`] checks the parts of its archive first, so that a few bytes don't become
//! gigabytes.

mod cell_arrays;
mod cells;
mod column_values;
mod given_values;
mod iso_moments;
mod number_format;
mod odd_numbers;
mod package;
mod part_encoding;
mod sheet;
mod source;
mod texts;
mod workbook;
mod xml_parts;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_io::option::{FILE_NAME_COLUMN, HEADER, NO_HEADER, NULL_STRING, ON_BAD_ROW, SCHEMA, SHEET, SKIP_ROWS};
use lakerace_io::{Job, Output, Result};

use self::source::ExcelSource;
use crate::file_format::FileFormat;
use crate::options::WriteOptions;
use crate::sink::Sink;

/// Workbooks of Excel 2007 and later.
pub static EXCEL: FileFormat = FileFormat {
    title: "Excel",
    help: Some("A sheet of an Excel workbook (.xlsx, .xlsm), which is only read"),
    endings: &["xlsx", "xlsm"],
    // Older and encrypted workbooks: opening them says what to do. A zip archive is known by the name of its first file.
    marks: &[package::COMPOUND_FILE_MAGIC],
    is_read_only: true,
    is_typed_by_target: true,
    options: &[&SHEET, &FILE_NAME_COLUMN, &HEADER, &NO_HEADER, &NULL_STRING, &SCHEMA, &ON_BAD_ROW, &SKIP_ROWS],
    ..FileFormat::new(
        "excel",
        |files, options, job| Ok(Arc::new(ExcelSource::open_files(files, options, job)?)),
        refuse,
    )
};

fn refuse(output: Output, _: SchemaRef, _: &WriteOptions, _: &Job) -> Result<Box<dyn Sink>> {
    Err(EXCEL.read_only_error().at(output.url()))
}

/// Returns true if a zip archive whose first file has this name is an office document.
pub(crate) fn is_document_part(name: &str) -> bool {
    let is_folder = ["_rels/", "docProps/", "xl/", "customXml/"].iter().any(|folder| name.starts_with(folder));
    is_folder || name == "[Content_Types].xml" || name == "mimetype"
}

#[cfg(test)]
mod tests;
