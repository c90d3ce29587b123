//! Options of reads, copies and loads.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;

use lakerace_database::BatchRows;
use lakerace_delta::Evolve;
use lakerace_format::{ColumnUnion, CsvOptions, ExcelOptions, FileFormat, OrcOptions, ParquetOptions, WriteOptions};
use lakerace_io::option::AT;
use lakerace_io::{Error, Result, StorageOptions, WriteMode};

use crate::column_item::ColumnItem;
use crate::column_nesting::ColumnNesting;

/// The options of a read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// The locations of a list, whose first is the location of the read: literal names of files and folders, whose rows are
    /// read in this order. Empty: the location alone, which may be a pattern.
    pub locations: Vec<String>,
    /// Columns in the order wanted, some of which may be computed; `None`: all of the source.
    pub columns: Option<Vec<ColumnItem>>,
    /// A SQL expression.
    pub filter: Option<String>,
    /// The order of the rows, as SQL: `price desc, day`. `None`: that of the source.
    pub order_by: Option<String>,
    /// Bytes of rows that are sorted in memory; the others are on the local disk. `None`: 512 MiB.
    pub memory_bytes: Option<u64>,
    /// At most this many rows.
    pub limit: Option<u64>,
    /// Rows in a batch, the last one apart; `usize::MAX`: all in one; `None`: as the source likes.
    pub batch_rows: Option<usize>,
    /// The version of a Delta table: its number, or a timestamp. `None`: the last one.
    pub at: Option<String>,
    /// The id of the Delta table that was opened before: another table at the same place is an error. `None`: any table.
    pub table_id: Option<String>,
    /// The format, where the name does not say it.
    pub format: Option<&'static FileFormat>,
    /// The CSV dialect.
    pub csv: CsvOptions,
    /// Options of Parquet.
    pub parquet: ParquetOptions,
    /// Options of ORC.
    pub orc: OrcOptions,
    /// Options of Excel.
    pub excel: ExcelOptions,
    /// The files whose columns are put together.
    pub column_union: ColumnUnion,
    /// A column with the path or URL of the file that a row is from, after all others.
    pub file_name_column: Option<String>,
    /// The nesting of the columns that are returned.
    pub nesting: ColumnNesting,
    /// True if the rows are read several times: a pipe is copied to a temporary file first.
    pub is_read_again: bool,
    /// Settings of the store.
    pub storage: StorageOptions,
}

impl ReadOptions {
    /// The list of which a location is the first; `None` of a location that is read alone.
    ///
    /// # Errors
    /// `Internal` for a list that begins with another location: its others would be left out without a word.
    pub(crate) fn list_of(&self, location: &str) -> Result<Option<&[String]>> {
        match self.locations.first() {
            None => Ok(None),
            Some(first) if first == location => Ok(Some(&self.locations)),
            Some(first) => Err(Error::internal(format!("a list that begins with {first} is read as {location}"))),
        }
    }

    /// Refuses a version of a source that has none; `why` says so of the source.
    pub(crate) fn refuse_version(&self, place: &str, why: &str) -> Result<()> {
        match self.at {
            None => Ok(()),
            Some(_) => Err(Error::unsupported(format!("a version is given, but {why}"))
                .at(place)
                .advice(format!("omit {AT}: only Delta tables have versions"))),
        }
    }
}

/// The options of a copy.
#[derive(Debug, Clone, Default)]
pub struct CopyOptions {
    /// The options of the read.
    pub read: ReadOptions,
    /// The options of written files.
    pub write: WriteOptions,
    /// The target's format, if its name does not say it.
    pub format: Option<&'static FileFormat>,
    /// A target that exists.
    pub mode: WriteMode,
    /// Delta tables: a SQL expression of partition columns. An overwrite replaces the rows for which it is true, and keeps the
    /// others; all rows of the source must fulfil it. `None`: all are replaced.
    pub replace_where: Option<String>,
    /// Delta tables: the columns by which the files of a new table are divided.
    pub partition_by: Vec<String>,
    /// Delta tables: properties of a new table.
    pub table_properties: BTreeMap<String, String>,
    /// Delta tables: the permitted changes of an existing schema.
    pub evolve: Evolve,
    /// Delta tables: columns that are NOT NULL in the source are so in a new table, too, where Delta can say it.
    pub keep_not_null: bool,
    /// Delta tables: whether the caller compacts the table after the copy, which it does by itself.
    pub auto_compact: bool,
    /// Databases, and Delta tables in batches.
    pub load: LoadOptions,
}

/// The options of loads: those that databases and Delta tables take in addition to those of files.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Rows of an acknowledged checkpoint: a commit in Delta and SQLite, an acknowledged range elsewhere.
    pub batch_rows: BatchRows,
    /// Databases: the key columns, in order.
    pub key: Vec<String>,
    /// Go on after the rows that an earlier load of the same rows has had acknowledged.
    pub resume: bool,
    /// Databases: a file of JSON lines that gets rejected rows.
    pub dead_letter: Option<PathBuf>,
    /// At most this many rows a second.
    pub max_rows_per_second: Option<NonZeroU64>,
    /// Databases: whether values may lose precision that the target's types lack.
    pub allow_narrowing: bool,
    /// Read from the highest value on that the target has seen of a column.
    pub since: Option<Since>,
    /// Read the target back after the load, and compare its checksum with that of the sent rows. If its format has
    /// statistics, filters must also find extremes, zeros and nulls.
    pub verify: bool,
}

/// From where on a copy reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Since {
    /// The column: rows whose value is at least the highest one seen are read, and those where it is null.
    pub column: String,
    /// The distance below it in which rows may still arrive: a number, or a time such as `10m` for dates and
    /// timestamps.
    pub overlap: Option<String>,
}
