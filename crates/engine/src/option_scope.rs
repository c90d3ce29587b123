//! The places that each option of reading and writing applies to. An option that nothing would read is an error.

use std::fmt;

use lakerace_format::{ColumnUnion, Format, OnBadRow, TimestampUnit, WriteOptions};
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

/// An option, and the places that it applies to.
struct OptionScope<O> {
    /// Its names: the command's, and Python's in parentheses.
    name: &'static str,
    is_given: fn(&O) -> bool,
    applies_to: fn(PlaceKind) -> bool,
    /// The places, for people.
    places: &'static str,
}

const DELIMITED: &str = "CSV and TBL";
const TEXT: &str = "CSV, TBL and JSON lines";

/// Options of the dialect of CSV, which a copy takes for its target, too.
const DIALECT: [OptionScope<ReadOptions>; 4] = [
    OptionScope {
        name: "--delimiter (delimiter)",
        is_given: |read| read.csv.delimiter.is_some(),
        applies_to: PlaceKind::is_delimited,
        places: DELIMITED,
    },
    OptionScope {
        name: "--quote (quote)",
        is_given: |read| read.csv.quote.is_some(),
        applies_to: PlaceKind::is_delimited,
        places: DELIMITED,
    },
    OptionScope {
        name: "--escape (escape)",
        is_given: |read| read.csv.escape.is_some(),
        applies_to: PlaceKind::is_delimited,
        places: DELIMITED,
    },
    OptionScope {
        name: "--null-string (null_strings)",
        is_given: |read| read.csv.null_strings.is_some(),
        applies_to: PlaceKind::is_delimited,
        places: DELIMITED,
    },
];

const READING: [OptionScope<ReadOptions>; 6] = [
    OptionScope {
        name: "--header and --no-header (header)",
        is_given: |read| read.csv.header.is_some(),
        applies_to: PlaceKind::is_delimited,
        places: DELIMITED,
    },
    OptionScope {
        name: "--schema (schema)",
        is_given: |read| read.csv.schema.is_some(),
        applies_to: |place| place.is_text() || place == PlaceKind::Database,
        places: "CSV, TBL, JSON lines and databases; other sources have types of their own",
    },
    OptionScope {
        name: "--infer-rows (infer_rows)",
        is_given: |read| read.csv.infer_rows.is_some(),
        applies_to: PlaceKind::is_text,
        places: TEXT,
    },
    OptionScope {
        name: "--on-bad-row (on_bad_row)",
        is_given: |read| read.csv.on_bad_row != OnBadRow::Error,
        applies_to: PlaceKind::is_text,
        places: TEXT,
    },
    OptionScope {
        name: "--timestamp-unit (timestamp_unit)",
        // That of ORC is also set by the Spark connector, for all sources.
        is_given: |read| read.parquet.timestamp_unit != TimestampUnit::Auto,
        applies_to: PlaceKind::has_columns,
        places: "files of Parquet and ORC",
    },
    OptionScope {
        name: "--union-columns (union_columns)",
        is_given: |read| read.column_union == ColumnUnion::Any,
        applies_to: PlaceKind::has_columns,
        places: "files of Parquet and ORC",
    },
];

const WRITING: [OptionScope<WriteOptions>; 8] = [
    OptionScope {
        name: "--compression (compression)",
        is_given: |write| write.compression.is_some(),
        applies_to: |place| place != PlaceKind::Database,
        places: "files and Delta tables",
    },
    OptionScope {
        name: "--row-group-rows (row_group_rows)",
        is_given: |write| write.row_group_rows.is_some(),
        applies_to: PlaceKind::is_parquet,
        places: "Parquet and Delta tables",
    },
    OptionScope {
        name: "--row-group-bytes (row_group_bytes)",
        is_given: |write| write.row_group_bytes.is_some(),
        applies_to: PlaceKind::is_parquet_or_orc,
        places: "Parquet, ORC and Delta tables",
    },
    OptionScope {
        name: "--bloom-filter (bloom_filter)",
        is_given: |write| !write.bloom_filter_columns.is_empty(),
        applies_to: PlaceKind::is_parquet_or_orc,
        places: "Parquet, ORC and Delta tables",
    },
    OptionScope {
        name: "--file-bytes (file_bytes)",
        is_given: |write| write.file_bytes.is_some(),
        applies_to: PlaceKind::is_several_files,
        places: "folders (with / at the end) and Delta tables",
    },
    OptionScope {
        name: "--memory-limit (memory_limit)",
        is_given: |write| write.memory_bytes.is_some(),
        applies_to: |place| place == PlaceKind::Table,
        places: "Delta tables",
    },
    OptionScope {
        name: "--output-delimiter (output_delimiter)",
        is_given: |write| write.csv.delimiter.is_some(),
        applies_to: PlaceKind::is_delimited,
        places: DELIMITED,
    },
    OptionScope {
        name: "--output-no-header (output_header)",
        is_given: |write| write.csv.header.is_some(),
        applies_to: PlaceKind::is_delimited,
        places: DELIMITED,
    },
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
    match scopes.iter().find(|scope| (scope.is_given)(options) && !(scope.applies_to)(kind)) {
        None => Ok(()),
        Some(OptionScope { name, places, .. }) => Err(Error::usage(format!("{name} does not apply: this is {kind}"))
            .at(place)
            .advice(format!("leave it out; it applies to {places}"))),
    }
}

#[cfg(test)]
mod tests;
