#![allow(clippy::unwrap_used)]

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::util::pretty::pretty_format_batches;
use lakerace_io::{ErrorKind, Location, StorageOptions};

use super::*;
use crate::excel::tests::{SampleWorkbook, number, row, text};
use crate::{ColumnUnion, CsvOptions, ExcelOptions, OrcOptions, ParquetOptions};

/// Rows of an id and a value of the name `v`.
fn sheet(values: &[&str]) -> String {
    let mut rows = row(1, &[&text("A1", "id"), &text("B1", "v")]);
    for (number_of_row, value) in (2..).zip(values) {
        let id = number(&format!("A{number_of_row}"), &number_of_row.to_string(), 0);
        rows += &row(number_of_row, &[&id, &value.replace("R", &format!("B{number_of_row}"))]);
    }
    rows
}

const ONE: &str = "<c r=\"R\"><v>1</v></c>";
const ERROR: &str = "<c r=\"R\" t=\"e\"><v>#DIV/0!</v></c>";
const TEXT: &str = "<c r=\"R\" t=\"str\"><v>x</v></c>";

/// Reads workbooks of these sheets in this order.
fn read(sheets: &[String], csv: &CsvOptions, request: &ReadRequest) -> Result<(RecordBatch, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    let files = sheets.iter().enumerate().map(|(n, sheet)| {
        let path = folder.path().join(format!("{n}.xlsx"));
        std::fs::write(&path, SampleWorkbook::new(sheet).bytes()).unwrap();
        let location = Location::parse(path.to_str().unwrap()).unwrap();
        InputFile::from(location.object(&StorageOptions::default(), &job).unwrap())
    });
    let (orc, excel) = (OrcOptions::default(), ExcelOptions::default());
    let options = OpenOptions {
        all: &[],
        first: None,
        csv,
        parquet: ParquetOptions::default(),
        orc: &orc,
        excel: &excel,
        union: ColumnUnion::Related,
        columns: None,
    };
    let source = ExcelSource::open_files(files.collect(), &options, &job)?;
    let plan = source.plan(request)?;
    let batches = source.read(&plan)?.collect::<Result<Vec<_>>>()?;
    let all = concat_batches(&plan.schema, &batches).map_err(Error::unexpected)?;
    Ok((all, job.meter().counts().bad_rows))
}

fn shown(batch: &RecordBatch) -> String {
    pretty_format_batches(std::slice::from_ref(batch)).unwrap().to_string()
}

#[test]
fn bad_rows_are_errors_or_left_out_or_nulls() {
    let sheets = [sheet(&[ONE, ERROR, ONE])];
    let request = ReadRequest::default();
    let error = read(&sheets, &CsvOptions::default(), &request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("sheet \"Sheet1\", cell B3, column \"v\""), "{error}");
    assert!(error.to_string().contains("the cell has the error #DIV/0!"), "{error}");
    for (on_bad_row, rows, nulls) in [(OnBadRow::Skip, 2, 0), (OnBadRow::Null, 3, 1)] {
        let csv = CsvOptions { on_bad_row, ..CsvOptions::default() };
        let (batch, bad) = read(&sheets, &csv, &request).unwrap();
        assert_eq!((batch.num_rows(), batch.column(1).null_count(), bad), (rows, nulls, 1));
    }
    // The bad row is after the limit, or in a column that is not read.
    let limited = ReadRequest { limit: Some(1), ..ReadRequest::default() };
    assert_eq!(read(&sheets, &CsvOptions::default(), &limited).unwrap().0.num_rows(), 1);
    let ids = ReadRequest { columns: Some(vec!["id".to_owned()]), ..ReadRequest::default() };
    assert_eq!(read(&sheets, &CsvOptions::default(), &ids).unwrap().0.num_rows(), 3);
    let small = ReadRequest { batch_rows: Some(1), ..ReadRequest::default() };
    let csv = CsvOptions { on_bad_row: OnBadRow::Skip, ..CsvOptions::default() };
    assert_eq!(read(&sheets, &csv, &small).unwrap().0.num_rows(), 2);
}

#[test]
fn later_workbooks_have_the_columns_and_types_of_the_first() {
    let (first, request) = (sheet(&[ONE]), ReadRequest::default());
    let (batch, _) = read(&[first.clone(), sheet(&[ONE, ONE])], &CsvOptions::default(), &request).unwrap();
    assert_eq!(batch.num_rows(), 3);
    let swapped =
        row(1, &[&text("A1", "v"), &text("B1", "id")]) + &row(2, &[&number("A2", "5", 0), &number("B2", "6", 0)]);
    let (batch, _) = read(&[first.clone(), swapped], &CsvOptions::default(), &request).unwrap();
    assert!(shown(&batch).contains("| 6  | 5 |"), "{}", shown(&batch));
    let other = first.replace(">v<", ">w<");
    let error = read(&[first.clone(), other], &CsvOptions::default(), &request).unwrap_err();
    assert!(error.to_string().contains("the header has a column \"w\""), "{error}");
    let error = read(&[first.clone(), sheet(&[ONE, TEXT])], &CsvOptions::default(), &request).unwrap_err();
    let message = "\"x\" is not a value of type int64, which was inferred from the first file";
    assert!(error.to_string().contains(message), "{error}");
    let csv = CsvOptions { schema: Some("v utf8".to_owned()), ..CsvOptions::default() };
    let (batch, _) = read(&[first, sheet(&[ONE, TEXT])], &csv, &request).unwrap();
    assert!(shown(&batch).contains("| 3  | x |"), "{}", shown(&batch));
}

#[test]
fn a_schema_without_a_header_names_columns_from_a() {
    let rows = row(1, &[&number("B1", "1", 0)]) + &row(2, &[&number("B2", "2", 0), &text("C2", "x")]);
    let csv =
        |schema: &str| CsvOptions { schema: Some(schema.to_owned()), header: Some(false), ..CsvOptions::default() };
    let request = ReadRequest::default();
    let (batch, _) = read(std::slice::from_ref(&rows), &csv("a int64, b int32, c utf8, d utf8"), &request).unwrap();
    assert_eq!(batch.columns().iter().map(|column| column.null_count()).collect::<Vec<_>>(), [2, 0, 1, 2]);
    let error = read(std::slice::from_ref(&rows), &csv("a int64, b int32"), &request).unwrap_err();
    assert!(error.to_string().contains("column C has values"), "{error}");
    let error = read(&[rows], &csv("a int64 not null, b int32, c utf8"), &request).unwrap_err();
    assert!(error.to_string().contains("cell A1") && error.to_string().contains("`not null`"), "{error}");
}
