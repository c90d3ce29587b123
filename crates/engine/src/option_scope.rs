//! The places that each option of reading and writing applies to. An option that nothing would read is an error.

use std::fmt;

use lakerace_delta::DELTA;
use lakerace_format::suggestions::listed;
use lakerace_format::{ColumnUnion, FileFormat, OnBadRow, TableFormat, TimestampUnit, WriteOptions};
use lakerace_io::option::{
    BLOOM_FILTER, COMMENT, COMPRESSION, DATE_FORMAT, DECIMAL_COMMA, DELIMITER, ENCODING, ESCAPE, FILE_BYTES,
    FILE_NAME_COLUMN, HEADER, INFER_ROWS, MEMORY_LIMIT, NO_HEADER, NULL_STRING, ON_BAD_ROW, ORDER_BY, OUTPUT_DELIMITER,
    OUTPUT_NO_HEADER, OptionDefinition, QUOTE, ROW_GROUP_BYTES, ROW_GROUP_ROWS, SCHEMA, SHEET, SKIP_ROWS,
    TIMESTAMP_FORMAT, TIMESTAMP_UNIT, UNION_COLUMNS,
};
use lakerace_io::{Error, Result};

use crate::options::ReadOptions;

/// A kind of place, for the scope of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// A file, or a stream, of a format.
    File(&'static FileFormat),
    /// A folder of files of a format.
    Folder(&'static FileFormat),
    /// A table with a log.
    Table(&'static TableFormat),
    /// A generated table.
    Generated,
    /// A collection, an index or a table of a database.
    Database,
}

/// Table formats.
const TABLES: [&TableFormat; 1] = [&DELTA];

/// Options that every database takes.
const DATABASE_OPTIONS: [&OptionDefinition; 1] = [&SCHEMA];

impl PlaceKind {
    /// The kind of a source, by the name of its format.
    pub(crate) fn of_source(format: &str) -> Self {
        if let Some(table) = TABLES.into_iter().find(|table| table.name == format) {
            return Self::Table(table);
        }
        if format == lakerace_tpch::FORMAT {
            return Self::Generated;
        }
        FileFormat::find(format).map_or(Self::Database, Self::File)
    }

    /// The format of its files, which for a table are its data files.
    pub(crate) fn file_format(self) -> Option<&'static FileFormat> {
        match self {
            Self::File(format) | Self::Folder(format) => Some(format),
            Self::Table(table) => Some(table.files),
            Self::Generated | Self::Database => None,
        }
    }

    /// Returns true if its columns are read in the types of the table that their rows go to.
    pub(crate) fn is_typed_by_target(self) -> bool {
        self.file_format().is_some_and(|format| format.is_text() || format.is_typed_by_target)
    }

    /// Returns true if its columns are stored apart, with statistics.
    pub(crate) fn is_columnar(self) -> bool {
        self.file_format().is_some_and(|format| format.is_columnar)
    }

    fn takes(self, option: &OptionDefinition) -> bool {
        match self {
            Self::File(format) => format.takes(option),
            Self::Folder(format) => format.takes(option) || option.id == FILE_BYTES.id,
            Self::Table(table) => table.takes(option),
            Self::Generated => false,
            Self::Database => DATABASE_OPTIONS.iter().any(|taken| taken.id == option.id),
        }
    }
}

impl fmt::Display for PlaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(format) => write!(f, "a file in format {}", format.name),
            Self::Folder(format) => write!(f, "a folder of files in format {}", format.name),
            Self::Table(table) => write!(f, "a {} table", table.title),
            Self::Generated => f.write_str("a generated table"),
            Self::Database => f.write_str("in a database"),
        }
    }
}

/// An option, and whether it is given.
type OptionScope<O> = (&'static OptionDefinition, fn(&O) -> bool);

/// Options of the dialect of CSV, which a copy takes for its target, too.
static DIALECT: [OptionScope<ReadOptions>; 4] = [
    (&DELIMITER, |read| read.csv.delimiter.is_some()),
    (&QUOTE, |read| read.csv.quote.is_some()),
    (&ESCAPE, |read| read.csv.escape.is_some()),
    (&NULL_STRING, |read| read.csv.null_strings.is_some()),
];

static READING: [OptionScope<ReadOptions>; 15] = [
    (&HEADER, |read| read.csv.header == Some(true)),
    (&NO_HEADER, |read| read.csv.header == Some(false)),
    (&SCHEMA, |read| read.csv.schema.is_some()),
    (&INFER_ROWS, |read| read.csv.infer_rows.is_some()),
    (&ON_BAD_ROW, |read| read.csv.on_bad_row != OnBadRow::Error),
    (&SKIP_ROWS, |read| read.csv.skip_rows > 0),
    (&COMMENT, |read| read.csv.comment.is_some()),
    (&DATE_FORMAT, |read| read.csv.date_format.is_some()),
    (&TIMESTAMP_FORMAT, |read| read.csv.timestamp_format.is_some()),
    (&DECIMAL_COMMA, |read| read.csv.decimal_comma),
    (&ENCODING, |read| read.csv.encoding.is_some()),
    (&SHEET, |read| read.excel.sheet.is_some()),
    // That of ORC is also set by the Spark connector, for all sources.
    (&TIMESTAMP_UNIT, |read| read.parquet.timestamp_unit != TimestampUnit::Auto),
    (&UNION_COLUMNS, |read| read.column_union == ColumnUnion::Any),
    (&FILE_NAME_COLUMN, |read| read.file_name_column.is_some()),
];

static WRITING: [OptionScope<WriteOptions>; 8] = [
    (&COMPRESSION, |write| write.compression.is_some()),
    (&ROW_GROUP_ROWS, |write| write.row_group_rows.is_some()),
    (&ROW_GROUP_BYTES, |write| write.row_group_bytes.is_some()),
    (&BLOOM_FILTER, |write| !write.bloom_filter_columns.is_empty()),
    (&FILE_BYTES, |write| write.file_bytes.is_some()),
    (&MEMORY_LIMIT, |write| write.memory_bytes.is_some()),
    (&OUTPUT_DELIMITER, |write| write.csv.delimiter.is_some()),
    (&OUTPUT_NO_HEADER, |write| write.csv.header.is_some()),
];

/// Refuses options of reading that do not apply to `source`.
///
/// The options of a CSV dialect also apply to `target`, where rows go.
///
/// # Errors
/// `Usage`, with the option, the place and the kinds of places that it applies to.
pub(crate) fn check_read_scope(
    options: &ReadOptions,
    source: PlaceKind,
    target: Option<PlaceKind>,
    place: &str,
) -> Result<()> {
    options.storage.check_names()?;
    if !target.is_some_and(|target| DIALECT.iter().all(|(option, _)| target.takes(option))) {
        check_scopes(&DIALECT, options, source, place)?;
    }
    check_scopes(&READING, options, source, place)
}

/// Refuses options of reading that are given to a source and apply to no source that they are given to.
///
/// # Errors
/// Those of [`check_read_scope`].
pub(crate) fn check_either_scope(sides: [(&ReadOptions, PlaceKind, &str); 2]) -> Result<()> {
    for (options, kind, place) in sides {
        options.storage.check_names()?;
        for scope @ (option, is_given) in DIALECT.iter().chain(&READING) {
            if !sides.iter().any(|(options, kind, _)| is_given(options) && kind.takes(option)) {
                check_scopes(std::slice::from_ref(scope), options, kind, place)?;
            }
        }
    }
    Ok(())
}

/// Refuses options of writing that do not apply to `target`, and targets that are never written.
///
/// # Errors
/// Those of [`check_read_scope`].
pub(crate) fn check_write_scope(options: &WriteOptions, target: PlaceKind, place: &str) -> Result<()> {
    if let PlaceKind::File(format) | PlaceKind::Folder(format) = target {
        format.check_writable().map_err(|error| error.at(place))?;
    }
    check_scopes(&WRITING, options, target, place)
}

fn check_scopes<O>(scopes: &[OptionScope<O>], options: &O, kind: PlaceKind, place: &str) -> Result<()> {
    match scopes.iter().find(|(option, is_given)| is_given(options) && !kind.takes(option)) {
        None => Ok(()),
        Some((option, _)) => Err(Error::usage(format!("{option} does not apply: this is {kind}"))
            .at(place)
            .advice(format!("omit it; it applies to {}", places_of(option)))),
    }
}

/// The places that an option applies to, in words.
fn places_of(option: &OptionDefinition) -> String {
    let formats: Vec<_> = FileFormat::all().filter(|format| format.takes(option)).collect();
    let tables: Vec<_> = TABLES.into_iter().filter(|table| table.takes(option)).collect();
    let mut names: Vec<String> = match formats.len() == FileFormat::all().count() {
        true => vec!["files".to_owned()],
        false => formats.iter().map(|format| format.title.to_owned()).collect(),
    };
    if option.id == FILE_BYTES.id {
        names.push("folders with / at the end".to_owned());
    }
    names.extend(tables.iter().map(|table| format!("{} tables", table.title)));
    if option.id == MEMORY_LIMIT.id {
        names.push(format!("rows that are sorted with {ORDER_BY}"));
    }
    if PlaceKind::Database.takes(option) {
        names.push("databases; other sources have their own types".to_owned());
    }
    // Tables of such files do not take it.
    let is_of_files = tables.is_empty() && TABLES.iter().any(|table| formats.contains(&table.files));
    format!("{}{}", if is_of_files { "files of " } else { "" }, listed(names, "and"))
}

#[cfg(test)]
mod tests;
