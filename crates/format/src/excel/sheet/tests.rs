#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::*;
use crate::excel::tests::{SampleWorkbook, number, row, text};

fn options(csv: CsvOptions) -> SheetOptions {
    SheetOptions::new(&csv, None)
}

fn read(workbook: &SampleWorkbook, csv: CsvOptions) -> Result<SheetTable> {
    let job = Job::default();
    let mut workbook = OpenWorkbook::open(&workbook.bytes(), "book", &job)?;
    SheetTable::read(&mut workbook, "book", &options(csv), &job)
}

/// The names of the columns, each with the texts of its values.
fn shown(table: &SheetTable) -> Vec<(String, Vec<Option<String>>)> {
    let text_of = |value: CellValue| {
        let mut text = String::new();
        value.write_text(&table.texts, &mut text);
        if let CellValue::Bad(bad) = value { bad.shown(&table.texts) } else { text }
    };
    let columns = table.columns.iter();
    columns.map(|c| (c.name.clone(), c.values(0..table.row_count()).map(|v| v.map(text_of)).collect())).collect()
}

fn column(name: &str, values: &[Option<&str>]) -> (String, Vec<Option<String>>) {
    (name.to_owned(), values.iter().map(|value| value.map(str::to_owned)).collect())
}

#[test]
fn the_first_row_with_a_value_names_the_columns() {
    // Column A is empty, D has values but no name, E a name but no values, F neither.
    let rows = [
        row(3, &[&text("B3", "id"), &text("C3", "id"), &text("E3", "note"), "<c r=\"F3\" s=\"1\"/>", &text("G3", " ")]),
        row(4, &["<c r=\"A4\" s=\"1\"/>"]),
        row(5, &[&number("B5", "1", 0), &text("D5", "x")]),
        row(9, &[&number("C9", "2.5", 0), "<c r=\"F9\" s=\"1\"/>"]),
    ];
    let table = read(&SampleWorkbook::new(&rows.concat()), CsvOptions::default()).unwrap();
    let expected = [
        column("id", &[Some("1"), None]),
        column("id_2", &[None, Some("2.5")]),
        column("column_4", &[Some("x"), None]),
        column("note", &[None, None]),
    ];
    assert_eq!(shown(&table), expected);
    assert_eq!(table.cell_name(1, 2), "C9");
    let table = read(
        &SampleWorkbook::new(&rows.concat()),
        CsvOptions { skip_rows: 3, header: Some(false), ..CsvOptions::default() },
    );
    let names: Vec<_> = table.unwrap().columns.iter().map(|column| column.name.clone()).collect();
    assert_eq!(names, ["column_2", "column_3", "column_4"]);
}

#[test]
fn empty_rows_of_one_column_are_nulls() {
    let rows = [row(1, &[&text("B1", "id")]), row(3, &[&number("B3", "1", 0)]), row(6, &[&number("B6", "2", 0)])];
    let table = read(&SampleWorkbook::new(&rows.concat()), CsvOptions::default()).unwrap();
    assert_eq!(shown(&table), [column("id", &[None, Some("1"), None, None, Some("2")])]);
    assert_eq!(table.cell_name(4, 1), "B6");
}

#[test]
fn null_strings_are_texts_numbers_and_errors() {
    let rows = [
        row(1, &[&text("A1", "a"), &text("B1", "b")]),
        row(2, &[&text("A2", "-"), &number("B2", "-999", 0)]),
        row(3, &["<c r=\"A3\" t=\"e\"><v>#N/A</v></c>", "<c r=\"B3\" t=\"e\"><v>#REF!</v></c>"]),
        row(4, &["<c r=\"A4\" t=\"str\"><v></v></c>", &number("B4", "1", 0)]),
    ];
    let nulls = ["-", "-999", "#N/A"].map(str::to_owned).to_vec();
    let csv = CsvOptions { null_strings: Some(nulls), ..CsvOptions::default() };
    let table = read(&SampleWorkbook::new(&rows.concat()), csv).unwrap();
    let expected = [column("a", &[None, None, Some("")]), column("b", &[None, Some("the error #REF!"), Some("1")])];
    assert_eq!(shown(&table), expected);
    let table = read(&SampleWorkbook::new(&rows.concat()), CsvOptions::default()).unwrap();
    assert_eq!(shown(&table)[0], column("a", &[Some("-"), Some("the error #N/A"), None]));
}

#[test]
fn cells_have_the_values_that_their_formats_show() {
    let rows = [
        row(
            1,
            &[
                &text("A1", "d"),
                &text("B1", "t"),
                &text("C1", "h"),
                &text("D1", "l"),
                &text("E1", "f"),
                &text("F1", "i"),
            ],
        ),
        row(
            2,
            &[
                &number("A2", "1", 1),
                &number("B2", "1.5", 2),
                &number("C2", "0.25", 3),
                &number("D2", "1.5", 4),
                "<c r=\"E2\"><f>1+1</f><v>2</v></c>",
                "<c r=\"F2\" t=\"d\"><v>2024-02-29T12:00:00</v></c>",
            ],
        ),
        row(
            3,
            &[
                "<c r=\"A3\" t=\"b\"><v>1</v></c>",
                "<c r=\"E3\"><f>E2</f></c>",
                "<c r=\"F3\" t=\"d\"><v>2024-02-29</v></c>",
            ],
        ),
    ];
    let days = |first: &str, at: &str| {
        [
            column("d", &[Some(first), Some("true")]),
            column("t", &[Some(at), None]),
            column("h", &[Some("06:00:00"), None]),
            column("l", &[Some("36:00:00"), None]),
            column("e", &[]),
            column("i", &[Some("2024-02-29T12:00:00"), Some("2024-02-29")]),
        ]
    };
    for (workbook, mut expected) in [
        (SampleWorkbook::new(&rows.concat()), days("1900-01-01", "1900-01-01T12:00:00")),
        (SampleWorkbook::new(&rows.concat()).since_1904(), days("1904-01-02", "1904-01-02T12:00:00")),
    ] {
        expected[4] = column("f", &[Some("2"), Some("a formula without a stored value")]);
        assert_eq!(shown(&read(&workbook, CsvOptions::default()).unwrap()), expected);
    }
}

#[test]
fn texts_of_moments_and_numbers_are_values_or_bad_cells() {
    let cell = |name: &str, kind: &str, text: &str| format!("<c r=\"{name}\" {kind}><v>{text}</v></c>");
    let rows = [
        row(1, &[&text("A1", "d"), &text("B1", "n"), &text("C1", "s")]),
        row(2, &[&cell("A2", "t=\"d\" s=\"3\"", "12:30:00"), &cell("B2", "", " 7 "), &cell("C2", "t=\"str\"", " 7 ")]),
        row(3, &[&cell("A3", "t=\"d\"", "12:60:00"), &cell("B3", "t=\"n\"", "0x10"), &cell("C3", "t=\"str\"", "0x10")]),
        row(4, &[&cell("A4", "t=\"d\"", "PT26H"), &cell("B4", "s=\"1\"", "NaN"), &cell("C4", "t=\"s\"", " 1 ")]),
        row(5, &[&cell("A5", "t=\"d\"", "-"), &cell("B5", "", "INF"), &cell("C5", "t=\"s\"", "x")]),
    ];
    let workbook = SampleWorkbook::new(&rows.concat()).shared(&["a", "b"]);
    let nulls = ["-", "INF"].map(str::to_owned).to_vec();
    let csv = CsvOptions { null_strings: Some(nulls), ..CsvOptions::default() };
    let bad_date = "the date \"12:60:00\", which is none of ISO 8601 without a zone";
    let number = |text: &str| format!("the number {text:?}, which is not finite, or none");
    let expected = [
        column("d", &[Some("12:30:00"), Some(bad_date), Some("26:00:00"), None]),
        column("n", &[Some("7"), Some(&number("0x10")), Some(&number("NaN")), None]),
        column("s", &[Some(" 7 "), Some("0x10"), Some("b"), Some(&number("x"))]),
    ];
    assert_eq!(shown(&read(&workbook, csv).unwrap()), expected);
}

#[test]
fn far_and_disordered_cells_take_no_memory() {
    // Dense, these cells would be 16 billion.
    let far = row(1, &[&text("A1", "a")]) + &row(1_048_576, &[&number("XFD1048576", "1", 0)]);
    let table = read(&SampleWorkbook::new(&far), CsvOptions::default()).unwrap();
    assert_eq!(shown(&table), [column("a", &[None]), column("column_16384", &[Some("1")])]);
    for (rows, message) in [
        (row(1, &[&text("XFE1", "a")]), "outside of the largest sheet"),
        (row(1_048_577, &[&text("A1048577", "a")]), "outside of the largest sheet"),
        (row(1, &[&text("B1", "a"), &text("A1", "b")]), "occurs twice, or rows and cells are not in order"),
        (row(1, &[&text("A1", "a"), &text("A1", "b")]), "occurs twice"),
        (row(2, &[&text("A2", "a")]) + &row(1, &[&text("A1", "b")]), "not in order"),
    ] {
        let error = read(&SampleWorkbook::new(&rows), CsvOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn errors_name_the_cell() {
    let cases = [
        ("<c r=\"B1\" t=\"e\"><v>#N/A</v></c>", "the name of a column is the error #N/A", "cell B1"),
        ("<c r=\"B1\"><f>A1</f></c>", "the name of a column is a formula without", "cell B1"),
        ("<c r=\"B1\" t=\"e\"><v>#SPILL!</v></c>", "#SPILL!", "after cell A1"),
        ("<c r=\"B1\" t=\"s\"><v>7</v></c>", "shared strings", "after cell A1"),
    ];
    for (cell, message, place) in cases {
        let workbook = SampleWorkbook::new(&row(1, &[&text("A1", "a"), cell]));
        let error = read(&workbook, CsvOptions::default()).unwrap_err().to_string();
        assert!(
            error.contains(message) && error.contains("book, sheet \"Sheet1\"") && error.contains(place),
            "{error}"
        );
    }
    let empty = SampleWorkbook::new(&row(1, &["<c r=\"A1\" s=\"1\"/>"]));
    let error = read(&empty, CsvOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("the sheet is empty"), "{error}");
}
