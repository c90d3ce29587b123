//! CSV and TBL files.
//!
//! # Text to fields
//! The format is RFC 4180, with common deviations: lines end with a line feed or with a carriage return and a line
//! feed, the last line may lack its end, the text may start with a UTF-8 byte order mark, quoted fields may contain
//! line feeds, and a quote inside a field that does not start with one is an ordinary character. Blank lines are not
//! rows, unless there is only one column: then they are nulls. TBL is TPC's format: fields end with `|`, without quotes
//! or header.
//!
//! A header names the columns; one without a name becomes `column_N` (N from 1), a second one of the same name gets
//! `_2`, and so on. Without a header they are `column_1`, `column_2`, …, or those of the schema given.
//!
//! # Fields to values
//! An unquoted field that equals a null string (by default: an empty one) is null; `""` is the empty text, and null in
//! columns that are not text. Blanks around values other than text don't matter. Values are exact: a number with more
//! digits than its type holds is a bad row, not a rounded number (floats take the nearest one, and none beyond all).
//! Timestamps with a zone are read from texts with an offset (`Z`, `+02:00`) or, without one, as UTC; timestamps without
//! a zone refuse an offset. A text of a type that is not declared gets the type that a sample of the first file's rows
//! suggests; see `text::infer`. A schema can name some of a header's columns only: the others are inferred. After the sample and
//! in later files, a value that would have led to another type is a bad row, such as `007` among integers.
//!
//! A row with too few or too many fields, or with a field that is not of its column's type, is a bad row; of the fields,
//! only those of the columns that are read are looked at. [`OnBadRow`](crate::OnBadRow) decides.
//!
//! # Values to text
//! See [`CsvSink`].

pub(crate) mod bits;
pub(crate) mod chain;
mod column;
mod columns;
mod fields;
mod format;
mod header;
mod lines;
mod other_column;
mod parse;
mod print;
mod read;
mod rules;
pub(crate) mod sample;
mod scan;
mod sink;
mod sniff;
mod source;
mod text;
mod value_texts;

use std::sync::Arc;

use lakerace_io::option::{
    COMMENT, COMPRESSION, DATE_FORMAT, DECIMAL_COMMA, DELIMITER, ENCODING, ESCAPE, FILE_NAME_COLUMN, HEADER,
    INFER_ROWS, NO_HEADER, NULL_STRING, ON_BAD_ROW, OUTPUT_DELIMITER, OUTPUT_NO_HEADER, QUOTE, SCHEMA, SKIP_ROWS,
    TIMESTAMP_FORMAT,
};

pub use format::moment_texts;
pub use lines::CsvLines;
pub use rules::Dialect;
pub use sink::CsvSink;
pub(crate) use sniff::has_tabs;
pub use source::CsvSource;

use crate::file_format::FileFormat;

/// Comma-separated values with a header.
pub static CSV: FileFormat = FileFormat {
    title: "CSV",
    endings: &["csv"],
    is_streamed: true,
    text_check: Some(|schema, options| CsvSource::check_schema(schema, Dialect::Csv, options)),
    options: &[
        &FILE_NAME_COLUMN,
        &DELIMITER,
        &QUOTE,
        &ESCAPE,
        &NULL_STRING,
        &HEADER,
        &NO_HEADER,
        &SCHEMA,
        &INFER_ROWS,
        &ON_BAD_ROW,
        &SKIP_ROWS,
        &COMMENT,
        &DATE_FORMAT,
        &TIMESTAMP_FORMAT,
        &DECIMAL_COMMA,
        &ENCODING,
        &COMPRESSION,
        &OUTPUT_DELIMITER,
        &OUTPUT_NO_HEADER,
    ],
    ..FileFormat::new(
        Dialect::Csv.name(),
        |files, options, job| Ok(Arc::new(CsvSource::open_files(files, options.all, Dialect::Csv, options.csv, job)?)),
        |output, schema, options, job| CsvSink::create(output, schema, Dialect::Csv, options, job),
    )
};

/// Values separated by tabs, with a header.
pub static TSV: FileFormat = FileFormat {
    name: Dialect::Tsv.name(),
    title: "TSV",
    help: Some("CSV with tabs between fields"),
    endings: &["tsv", "tab"],
    text_check: Some(|schema, options| CsvSource::check_schema(schema, Dialect::Tsv, options)),
    open: |files, options, job| {
        Ok(Arc::new(CsvSource::open_files(files, options.all, Dialect::Tsv, options.csv, job)?))
    },
    create: |output, schema, options, job| CsvSink::create(output, schema, Dialect::Tsv, options, job),
    ..CSV
};

/// TPC's `|`-terminated fields without a header.
pub static TBL: FileFormat = FileFormat {
    name: Dialect::Tbl.name(),
    title: "TBL",
    endings: &["tbl"],
    is_dbgen: true,
    text_check: Some(|schema, options| CsvSource::check_schema(schema, Dialect::Tbl, options)),
    open: |files, options, job| {
        Ok(Arc::new(CsvSource::open_files(files, options.all, Dialect::Tbl, options.csv, job)?))
    },
    create: |output, schema, options, job| CsvSink::create(output, schema, Dialect::Tbl, options, job),
    ..CSV
};
