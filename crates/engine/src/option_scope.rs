//! The places that each option of reading and writing applies to. An option that nothing would read is an error.

use std::fmt;

use lakerace_format::{ColumnUnion, Format, OnBadRow, TimestampUnit, WriteOptions};
use lakerace_io::option::{
    BLOOM_FILTER, COMPRESSION, DELIMITER, ESCAPE, FILE_BYTES, HEADER, INFER_ROWS, MEMORY_LIMIT, NO_HEADER, NULL_STRING,
    ON_BAD_ROW, OUTPUT_DELIMITER, OUTPUT_NO_HEADER, OptionDefinition, QUOTE, ROW_GROUP_BYTES, ROW_GROUP_ROWS, SCHEMA,
    TIMESTAMP_UNIT, UNION_COLUMNS,
};
use lakerace_io::{Error, Result};

use crate::ReadOptions;

/// A kind of place, as far as options go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    /// One file, or a stream, of a format.
    File(Format),
    /// A folder of files of a format.
    Folder(Format),
    /// A Delta table.
    Table,
    /// A generated table.
    Generated,
    /// A collection, an index or a table of a database.
    Database,
}

impl PlaceKind {
    /// The kind of a source, by the name that it gives its format.
    pub(crate) fn of_source(format: &str) -> Self {
        match format {
            "delta" => Self::Table,
            "tpch" => Self::Generated,
            other => Format::ALL.into_iter().find(|format| format.name() == other).map_or(Self::Database, Self::File),
        }
    }

    fn is_format(self, formats: &[Format]) -> bool {
        matches!(self, Self::File(format) | Self::Folder(format) if formats.contains(&format))
    }

    /// Whether it has the delimiters, quotes and null strings of CSV.
    pub(crate) fn is_delimited(self) -> bool {
        self.is_format(&[Format::Csv, Format::Tbl])
    }

    fn is_text(self) -> bool {
        self.is_format(&[Format::Csv, Format::Tbl, Format::Jsonl])
    }

    fn has_columns(self) -> bool {
        self.is_format(&[Format::Parquet, Format::Orc])
    }

    fn is_parquet(self) -> bool {
        self == Self::Table || self.is_format(&[Format::Parquet])
    }

    fn is_parquet_or_orc(self) -> bool {
        self == Self::Table || self.has_columns()
    }

    fn is_several_files(self) -> bool {
        matches!(self, Self::Folder(_) | Self::Table)
    }
}

impl fmt::Display for PlaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(format) => write!(f, "a file of format {}", format.name()),
            Self::Folder(format) => write!(f, "a folder of files of format {}", format.name()),
            Self::Table => f.write_str("a Delta table"),
            Self::Generated => f.write_str("a generated table"),
            Self::Database => f.write_str("in a database"),
        }
    }
}

/// The places that options apply to.
struct Places {
    include: fn(PlaceKind) -> bool,
    /// For people.
    text: &'static str,
}

/// An option, its places, and whether it is given.
type OptionScope<O> = (&'static OptionDefinition, Places, fn(&O) -> bool);

const DELIMITED: Places = Places { include: PlaceKind::is_delimited, text: "CSV and TBL" };
const TEXT: Places = Places { include: PlaceKind::is_text, text: "CSV, TBL and JSON lines" };
const TYPELESS: Places = Places {
    include: |place| place.is_text() || place == PlaceKind::Database,
    text: "CSV, TBL, JSON lines and databases; other sources have types of their own",
};
const COLUMNAR: Places = Places { include: PlaceKind::has_columns, text: "files of Parquet and ORC" };
const STORED: Places = Places { include: |place| place != PlaceKind::Database, text: "files and Delta tables" };
const PARQUET: Places = Places { include: PlaceKind::is_parquet, text: "Parquet and Delta tables" };
const PARQUET_OR_ORC: Places = Places { include: PlaceKind::is_parquet_or_orc, text: "Parquet, ORC and Delta tables" };
const SEVERAL_FILES: Places =
    Places { include: PlaceKind::is_several_files, text: "folders (with / at the end) and Delta tables" };
const TABLES: Places = Places { include: |place| place == PlaceKind::Table, text: "Delta tables" };

/// Options of the dialect of CSV, which a copy takes for its target, too.
static DIALECT: [OptionScope<ReadOptions>; 4] = [
    (&DELIMITER, DELIMITED, |read| read.csv.delimiter.is_some()),
    (&QUOTE, DELIMITED, |read| read.csv.quote.is_some()),
    (&ESCAPE, DELIMITED, |read| read.csv.escape.is_some()),
    (&NULL_STRING, DELIMITED, |read| read.csv.null_strings.is_some()),
];

static READING: [OptionScope<ReadOptions>; 7] = [
    (&HEADER, DELIMITED, |read| read.csv.header == Some(true)),
    (&NO_HEADER, DELIMITED, |read| read.csv.header == Some(false)),
    (&SCHEMA, TYPELESS, |read| read.csv.schema.is_some()),
    (&INFER_ROWS, TEXT, |read| read.csv.infer_rows.is_some()),
    (&ON_BAD_ROW, TEXT, |read| read.csv.on_bad_row != OnBadRow::Error),
    // That of ORC is also set by the Spark connector, for all sources.
    (&TIMESTAMP_UNIT, COLUMNAR, |read| read.parquet.timestamp_unit != TimestampUnit::Auto),
    (&UNION_COLUMNS, COLUMNAR, |read| read.column_union == ColumnUnion::Any),
];

static WRITING: [OptionScope<WriteOptions>; 8] = [
    (&COMPRESSION, STORED, |write| write.compression.is_some()),
    (&ROW_GROUP_ROWS, PARQUET, |write| write.row_group_rows.is_some()),
    (&ROW_GROUP_BYTES, PARQUET_OR_ORC, |write| write.row_group_bytes.is_some()),
    (&BLOOM_FILTER, PARQUET_OR_ORC, |write| !write.bloom_filter_columns.is_empty()),
    (&FILE_BYTES, SEVERAL_FILES, |write| write.file_bytes.is_some()),
    (&MEMORY_LIMIT, TABLES, |write| write.memory_bytes.is_some()),
    (&OUTPUT_DELIMITER, DELIMITED, |write| write.csv.delimiter.is_some()),
    (&OUTPUT_NO_HEADER, DELIMITED, |write| write.csv.header.is_some()),
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
    if !target.is_some_and(PlaceKind::is_delimited) {
        check_scopes(&DIALECT, options, source, place)?;
    }
    check_scopes(&READING, options, source, place)
}

/// Refuses options of writing that do not apply to `target`.
///
/// # Errors
/// Those of [`check_read_scope`].
pub(crate) fn check_write_scope(options: &WriteOptions, target: PlaceKind, place: &str) -> Result<()> {
    check_scopes(&WRITING, options, target, place)
}

fn check_scopes<O>(scopes: &[OptionScope<O>], options: &O, kind: PlaceKind, place: &str) -> Result<()> {
    let is_refused = |(_, places, is_given): &&OptionScope<O>| is_given(options) && !(places.include)(kind);
    match scopes.iter().find(is_refused) {
        None => Ok(()),
        Some((name, Places { text, .. }, _)) => Err(Error::usage(format!("{name} does not apply: this is {kind}"))
            .at(place)
            .advice(format!("leave it out; it applies to {text}"))),
    }
}

#[cfg(test)]
mod tests;
