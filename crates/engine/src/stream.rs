//! Delta tables as streams: positions between the files that versions add, and scans of the files from one to another.

use lakerace_delta::{
    ScanFile, ScannedVersion, StreamBatch, StreamOptions, StreamPosition, StreamStart, TableScan, TableStream,
    VersionSpec,
};
use lakerace_format::{FieldPaths, ReadRequest};
use lakerace_io::{Job, Result};

use crate::column_item::plain_names;
use crate::delta::open_table;
use crate::filter::parse_filter;
use crate::options::ReadOptions;

/// A Delta table that is read as a stream, with the columns of a version.
pub struct StreamedTable {
    stream: TableStream,
    version: ScannedVersion,
}

impl StreamedTable {
    /// The table of a name, of this id, with the columns of a version. Sends no request.
    ///
    /// # Errors
    /// `Usage` for a name that is none.
    pub fn open(
        name: &str,
        (table_id, version): (String, ScannedVersion),
        options: StreamOptions,
        read: &ReadOptions,
        job: &Job,
    ) -> Result<Self> {
        let table = open_table(name, &read.storage, job)?;
        Ok(Self { stream: TableStream::new(table, table_id, version.clone(), options)?, version })
    }

    /// The first position.
    ///
    /// # Errors
    /// `NotFound` for a version or a time that is not there; `Usage` for a text that is neither.
    pub fn start(&self, version: Option<&str>, timestamp: Option<&str>) -> Result<StreamPosition> {
        let start = match (version, timestamp) {
            (None, None) => StreamStart::Snapshot,
            (Some(text), _) if text.eq_ignore_ascii_case("latest") => StreamStart::Latest,
            (Some(text), _) | (None, Some(text)) => match (text.parse()?, version) {
                (VersionSpec::Version(number), Some(_)) => StreamStart::Version(number),
                (VersionSpec::Timestamp(millis), None) => StreamStart::Timestamp(millis),
                (VersionSpec::Timestamp(_), _) => {
                    return Err(lakerace_io::Error::usage(format!("{text:?} is neither a version nor \"latest\"")));
                }
                (VersionSpec::Version(_), None) => {
                    return Err(lakerace_io::Error::usage(format!("{text:?} is not a timestamp"))
                        .advice("write a time such as 2026-11-22T08:30:00Z"));
                }
            },
        };
        self.stream.start(start)
    }

    /// The last version of the table.
    ///
    /// # Errors
    /// `Conflict` where another table is at its place.
    pub fn last_version(&self) -> Result<u64> {
        self.stream.last_version()
    }

    /// The files that the options have room for, and the position after them.
    ///
    /// # Errors
    /// As those of [`TableStream::advance`].
    pub fn advance(&self, from: &StreamPosition) -> Result<StreamBatch> {
        self.stream.advance(from)
    }

    /// The files between two positions.
    ///
    /// # Errors
    /// As those of [`TableStream::files`].
    pub fn files(&self, from: &StreamPosition, to: &StreamPosition) -> Result<Vec<ScanFile>> {
        self.stream.files(from, to)
    }

    /// A scan of files of the stream, by columns and filter of the options.
    ///
    /// # Errors
    /// As those of [`TableScan::of_files`].
    pub fn scan(&self, files: Vec<ScanFile>, read: &ReadOptions) -> Result<TableScan> {
        let request = ReadRequest {
            columns: plain_names(read.columns.as_deref())?,
            fields: FieldPaths::new(),
            filter: read.filter.as_deref().map(parse_filter).transpose()?,
            limit: None,
            batch_rows: read.batch_rows,
            version: None,
        };
        TableScan::of_files(&self.version, files, &request)
    }
}
