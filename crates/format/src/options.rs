//! Options of reading and writing files.

use std::fmt;
use std::str::FromStr;

use lakerace_io::option::Choice;
use lakerace_io::{Error, Result};
use serde::{Deserialize, Serialize};

/// The treatment of a CSV row that does not fit the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnBadRow {
    /// End with an error that names file, line and column.
    #[default]
    Error,
    /// Leave the row out and count it.
    Skip,
    /// Put null in the fields that do not parse, and in those that are missing; drop surplus fields.
    Null,
}

impl Choice for OnBadRow {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("skip", Self::Skip), ("null", Self::Null)];
}

/// Options for reading and writing CSV and TBL, and, by [`Self::schema`], [`Self::types`], [`Self::infer_rows`] and
/// [`Self::on_bad_row`], for reading JSON lines and Excel. `None` means the format's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CsvOptions {
    /// True if the first row names the columns. Default: CSV yes, TBL no.
    pub header: Option<bool>,
    /// Between fields. Default: `,`, TBL `|`.
    pub delimiter: Option<u8>,
    /// The quote around fields. Default `"`; `Some(None)`: no quoting. TBL: no quoting.
    pub quote: Option<Option<u8>>,
    /// Escape character inside quotes. Default: none (a doubled quote means one quote).
    pub escape: Option<u8>,
    /// Unquoted texts that mean null. Default: the empty string.
    pub null_strings: Option<Vec<String>>,
    /// The schema, as Arrow-style text: `id int64, price decimal(15,2), day date32, at timestamp(us, UTC), name utf8`,
    /// each with an optional `not null`. `None`: inferred.
    pub schema: Option<String>,
    /// Types of columns that the files may have, as text like [`Self::schema`]: those of columns that it does not name, in place
    /// of inferred ones. A type that text can't hold is an error.
    pub types: Option<String>,
    /// Rows that are examined to infer the schema. Default 10,000 (and at most 4 MiB of text).
    pub infer_rows: Option<usize>,
    /// Rows that do not fit.
    pub on_bad_row: OnBadRow,
    /// Lines before the header, or before the first row, that are skipped in each file.
    pub skip_rows: usize,
    /// Lines that start with this text are not rows. Default: none.
    pub comment: Option<String>,
    /// The format of dates, such as `%d.%m.%Y`. Default: ISO 8601.
    pub date_format: Option<String>,
    /// The format of timestamps, such as `%d.%m.%Y %H:%M`. Default: ISO 8601.
    pub timestamp_format: Option<String>,
    /// Numbers have a comma for a point.
    pub decimal_comma: bool,
    /// The encoding of the files, such as `latin1`, `utf-16` or `windows-1252`. Default: UTF-8.
    pub encoding: Option<String>,
}

/// Options for reading Excel workbooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcelOptions {
    /// The name of the sheet. `None`: the first one that Excel shows.
    pub sheet: Option<String>,
}

/// The files whose columns are united.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnUnion {
    /// Each file shares half of its columns, or half of those before it, with the files before it: columns may be added
    /// and left out, and files of different tables are an error.
    #[default]
    Related,
    /// Any files.
    Any,
}

/// Options for reading Parquet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParquetOptions {
    /// True if timestamps of 96 bits are instants, in UTC, as Spark reads them. Else they are clock times without a zone, but
    /// where the writer's Arrow schema names one. Those of Delta tables are instants in any case.
    pub int96_is_instant: bool,
    /// The unit of timestamps of 96 bits. By default nanoseconds, or microseconds in files of Spark, and a time that does not fit, or
    /// whose digits would be lost, is an error. Delta tables have microseconds in any case.
    pub timestamp_unit: TimestampUnit,
}

/// Options for reading ORC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrcOptions {
    /// The unit of timestamps.
    pub timestamp_unit: TimestampUnit,
    /// The zone by whose clock timestamps without a zone are instants, as programs in Java read them, Spark among them. `None`: they
    /// are clock times, as the writer's clock showed them.
    pub timestamp_zone: Option<String>,
}

/// The unit in which timestamps are read. ORC's own range is wider than that of nanoseconds in 64 bits, and its
/// resolution is finer than microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimestampUnit {
    /// For each column, nanoseconds, or microseconds in all files of the scan if the statistics of one of them show a
    /// time before 1677-09-21 00:12:43.145224193 or after 2262-04-11 23:47:16.854775807. A time that does not fit, or
    /// whose digits would be lost, is an error.
    #[default]
    Auto,
    /// Seconds; fractions are rounded down.
    Second,
    /// Milliseconds; smaller fractions are rounded down.
    Millisecond,
    /// Microseconds, which reach from 290,308 BC to 294,247; smaller fractions are rounded down.
    Microsecond,
    /// Nanoseconds: all digits. A time before 1677 or after 2262 is an error.
    Nanosecond,
}

impl Choice for TimestampUnit {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("s", Self::Second),
        ("ms", Self::Millisecond),
        ("us", Self::Microsecond),
        ("ns", Self::Nanosecond),
    ];
}

/// A compression codec and, if it has levels, its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Codec {
    None,
    Snappy,
    Gzip,
    Brotli,
    Lz4,
    Zstd,
}

/// A codec with its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Compression {
    /// The codec.
    pub codec: Codec,
    /// Its level; `None`: the codec's default.
    pub level: Option<i32>,
}

/// Options for writing files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriteOptions {
    /// The codec; `None`: Parquet snappy, ORC zstd, CSV and JSON lines according to the file's name.
    pub compression: Option<Compression>,
    /// Parquet: rows in a row group. Default 1,048,576, fewer where `row_group_bytes` is reached first.
    pub row_group_rows: Option<usize>,
    /// The maximum of encoded bytes in a row group (Parquet) or stripe (ORC), which bounds the writer's memory.
    pub row_group_bytes: Option<u64>,
    /// Parquet: approximate size of a data page in bytes, before compression.
    pub page_bytes: Option<usize>,
    /// Parquet and ORC: dictionary encoding where it pays off.
    pub dictionary: bool,
    /// Parquet: integers in ascending order are stored as their differences, where that makes them shorter; texts
    /// without a dictionary are stored after all of their lengths, which are stored as differences. Readers of 2021 and
    /// before may not know these encodings.
    pub differences: bool,
    /// Parquet: statistics in footer and page index.
    pub statistics: bool,
    /// Parquet and ORC: columns that get a bloom filter.
    pub bloom_filter_columns: Vec<String>,
    /// Folders: approximate size of each file in bytes; the first may have twice as many. Default 512 MiB.
    pub file_bytes: Option<u64>,
    /// Delta tables with a key: bytes of rows that are sorted by the key in memory together before they are written.
    /// Row groups take at most an eighth of it. Default 512 MiB, with the default size of row groups.
    pub memory_bytes: Option<u64>,
    /// ORC: timestamps without a zone in Spark's form, which only Spark reads as timestamps; other readers see
    /// integers.
    pub spark_timestamps: bool,
    /// Options for writing CSV and TBL.
    pub csv: CsvOptions,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            compression: None,
            row_group_rows: None,
            row_group_bytes: None,
            page_bytes: None,
            dictionary: true,
            differences: false,
            statistics: true,
            bloom_filter_columns: Vec::new(),
            file_bytes: None,
            memory_bytes: None,
            spark_timestamps: false,
            csv: CsvOptions::default(),
        }
    }
}

/// Default bytes of a row group or stripe, in the format with the smallest ones.
const DEFAULT_GROUP_BYTES: u64 = 64 << 20;

impl WriteOptions {
    /// Makes the options for each file of a folder: no row group or stripe is longer than a file should be.
    pub fn of_each_file(&self) -> Self {
        let longest = self.row_group_bytes.unwrap_or(DEFAULT_GROUP_BYTES);
        let shorter = self.file_bytes.filter(|bytes| (1..longest).contains(bytes));
        Self { row_group_bytes: shorter.or(self.row_group_bytes), ..self.clone() }
    }
}

impl Compression {
    /// A codec at its default level.
    pub fn new(codec: Codec) -> Self {
        Self { codec, level: None }
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// Parses `CODEC[:LEVEL]`. `gzip` and `zlib` are the same codec, by Parquet's name and by ORC's.
    fn from_str(text: &str) -> Result<Self> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let codec = match name.trim().to_ascii_lowercase().as_str() {
            "none" | "uncompressed" => Codec::None,
            "snappy" => Codec::Snappy,
            "gzip" | "gz" | "zlib" => Codec::Gzip,
            "brotli" => Codec::Brotli,
            "lz4" | "lz4_raw" => Codec::Lz4,
            "zstd" | "zst" => Codec::Zstd,
            _ => {
                return Err(Error::usage(format!("unknown codec {name:?}"))
                    .advice("choose none, snappy, gzip, zlib, brotli, lz4 or zstd"));
            }
        };
        let levels = match codec {
            Codec::Gzip => Some((0, 9)),
            Codec::Brotli => Some((0, 11)),
            Codec::Zstd => Some((1, 22)),
            Codec::None | Codec::Snappy | Codec::Lz4 => None,
        };
        let level = match (level, levels) {
            (None, _) => None,
            (Some(_), None) => return Err(Error::usage(format!("codec {name} has no levels"))),
            (Some(level), Some((low, high))) => match level.trim().parse::<i32>() {
                Ok(level) if (low..=high).contains(&level) => Some(level),
                _ => return Err(Error::usage(format!("level {level:?} of {name} is not within {low} to {high}"))),
            },
        };
        Ok(Self { codec, level })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.codec {
            Codec::None => "none",
            Codec::Snappy => "snappy",
            Codec::Gzip => "gzip",
            Codec::Brotli => "brotli",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        };
        match self.level {
            Some(level) => write!(f, "{name}:{level}"),
            None => f.write_str(name),
        }
    }
}
