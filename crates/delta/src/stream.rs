//! Reading a table as a stream: the rows that its versions add, from one position to the next.
//!
//! A stream starts with the files of a version, or with those that a version adds. A version that changes or removes
//! rows is an error, unless the caller chooses how to treat such a version. All rows have the columns of the version
//! that the stream was opened with.

mod schema;

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use delta_kernel::schema::StructType;
use lakerace_format::Constants;
use lakerace_io::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use self::schema::unread_field;
use crate::log::completeness::check_entry;
use crate::log::distrust::damaged_advice;
use crate::log::entry::LogEntry;
use crate::log::file_change::FileChange;
use crate::log::files::{self as log_files, LogFileKind};
use crate::paths::LOG;
use crate::snapshot::files::TableFile;
use crate::snapshot::partitions::Partitions;
use crate::{ScanFile, ScannedVersion, Snapshot, Table, VersionSpec};

/// A place between two files of a stream: all files before it have been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPosition {
    /// The id of the table.
    pub table_id: String,
    /// The version whose files are next.
    pub version: u64,
    /// The number of files of that version that have been read.
    pub file: u64,
    /// True if all files of that version are read, and not only those that it adds.
    pub is_initial: bool,
}

/// The first position of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamStart {
    /// All rows of the last version, and then the rows that later versions add.
    Snapshot,
    /// The rows that this version and later ones add.
    Version(u64),
    /// The rows that versions of this time, in milliseconds since 1970, and later ones add.
    Timestamp(i64),
    /// The rows that future versions add.
    Latest,
}

/// The meaning of a version that changes or removes rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NonAppend {
    /// It is an error.
    #[default]
    Refuse,
    /// It is left out, with the rows that it adds.
    Skip,
    /// The files that it adds are read, with the rows in them that have not changed.
    Reread,
}

/// The versions and rows that a stream reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// The most files between two positions.
    pub max_files: Option<u64>,
    /// Files between two positions have no more bytes than this, but for a single one.
    pub max_bytes: Option<u64>,
    /// The last version that is read.
    pub until: Option<u64>,
    /// Versions that change rows.
    pub non_append: NonAppend,
    /// True if versions that only remove rows are left out.
    pub ignores_deletes: bool,
    /// True if the changes of versions are read, and not the files that they add: a position is then between two
    /// versions.
    pub reads_changes: bool,
}

/// A table that is read as a stream.
pub struct TableStream {
    table: Table,
    table_id: String,
    version: ScannedVersion,
    schema: StructType,
    partitions: Partitions,
    options: StreamOptions,
}

/// The room that is left before the next position.
struct StreamBudget {
    files: u64,
    bytes: u64,
    is_unused: bool,
}

impl TableStream {
    /// A stream of the rows of a table, of the id `table_id`, with the columns of a version. Sends no request.
    pub fn new(table: Table, table_id: String, version: ScannedVersion, options: StreamOptions) -> Result<Self> {
        let schema = version.kernel_schema()?;
        let columns = version.columns()?;
        let partitions =
            Partitions::of_columns(&schema, version.partition_columns(), &schema, columns.schema.schema())?;
        Ok(Self { table, table_id, version, schema, partitions, options })
    }

    /// The first position of a stream.
    ///
    /// # Errors
    /// `NotFound` for a version or a time that is not there.
    pub fn start(&self, start: StreamStart) -> Result<StreamPosition> {
        let at = |version, is_initial| StreamPosition { table_id: self.table_id.clone(), version, file: 0, is_initial };
        Ok(match start {
            StreamStart::Snapshot => at(self.last_version()?, true),
            StreamStart::Latest => at(self.last_version()? + 1, false),
            StreamStart::Version(version) => {
                let last = self.last_version()?;
                if version > last + 1 {
                    return Err(Error::not_found(format!("there is no version {version}: the last one is {last}"))
                        .at(self.table.location()));
                }
                at(version, false)
            }
            StreamStart::Timestamp(millis) => at(self.version_since(millis)?, false),
        })
    }

    /// The first version of this time or a later one.
    fn version_since(&self, millis: i64) -> Result<u64> {
        let before = match self.table.snapshot(Some(VersionSpec::Timestamp(millis.saturating_sub(1)))) {
            Ok(before) => before.version() + 1,
            // All versions are later.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let files = self.table.list_log()?;
                let entries = files.iter().filter(|file| file.kind == LogFileKind::Entry);
                return entries.map(|file| file.version).min().ok_or(error);
            }
            Err(error) => return Err(error),
        };
        if before > self.last_version()? {
            return Err(Error::not_found("there is no version of that time or later")
                .at(self.table.location())
                .advice("name an earlier time, or \"latest\" as the version, which is the next one"));
        }
        Ok(before)
    }

    /// The last version of the table.
    pub fn last_version(&self) -> Result<u64> {
        let snapshot = self.table.snapshot(None)?;
        self.check_id(snapshot.table_id())?;
        Ok(snapshot.version())
    }

    /// The next position: the end of the table, or the limit of the options. It equals `from` where there is nothing
    /// new.
    ///
    /// # Errors
    /// `Unsupported` where the next version changes rows, or its schema has a part that the stream's columns lack;
    /// `NotFound` where it no longer exists.
    pub fn advance(&self, from: &StreamPosition) -> Result<StreamPosition> {
        self.check_id(&from.table_id)?;
        let mut budget = StreamBudget {
            files: self.options.max_files.unwrap_or(u64::MAX),
            bytes: self.options.max_bytes.unwrap_or(u64::MAX),
            is_unused: true,
        };
        let mut at = from.clone();
        loop {
            if !at.is_initial && self.options.until.is_some_and(|until| at.version > until) {
                return Ok(at);
            }
            let files = match self.files_at(&at) {
                // Earlier versions are read first.
                Err(_) if at != *from => return Ok(at),
                files => files?,
            };
            let Some(files) = files else {
                self.check_reached(&at)?;
                return Ok(at);
            };
            let sizes = files.iter().skip(usize::try_from(at.file).unwrap_or(usize::MAX)).map(|file| file.size_bytes);
            let taken = if self.options.reads_changes { budget.take_all(sizes) } else { budget.take(sizes) };
            if at.file + taken < files.len() as u64 {
                return Ok(StreamPosition { file: at.file + taken, ..at });
            }
            at = StreamPosition { version: at.version + 1, file: 0, is_initial: false, ..at };
        }
    }

    /// The files between two positions.
    ///
    /// # Errors
    /// As those of [`Self::advance`].
    pub fn files(&self, from: &StreamPosition, to: &StreamPosition) -> Result<Vec<ScanFile>> {
        self.check_id(&from.table_id)?;
        let (mut found, mut at) = (Vec::new(), from.clone());
        while at.version < to.version || at.version == to.version && at.file < to.file {
            let files = self.files_at(&at)?.ok_or_else(|| self.missing(at.version))?;
            let end = if at.version == to.version { to.file } else { files.len() as u64 };
            let range: Range<usize> = usize::try_from(at.file).unwrap_or(usize::MAX)..files.len().min(end as usize);
            found.extend(files.get(range).unwrap_or_default().iter().map(ScanFile::from_file));
            at = StreamPosition { version: at.version + 1, file: 0, is_initial: false, ..at };
        }
        Ok(found)
    }

    /// The files of the version of a position; `None` where there is no such version.
    fn files_at(&self, at: &StreamPosition) -> Result<Option<Vec<TableFile>>> {
        let place = |error: Error| if error.location().is_none() { error.at(self.table.location()) } else { error };
        match at.is_initial {
            true => self.initial_files(at.version).map(Some),
            false => self.added_files(at.version).map_err(place),
        }
    }

    /// All files of a version, in an order that depends on nothing but the version.
    fn initial_files(&self, version: u64) -> Result<Vec<TableFile>> {
        let snapshot: Snapshot = self.table.snapshot(Some(VersionSpec::Version(version))).map_err(|error| {
            match error.kind() == ErrorKind::NotFound {
                true => self.missing(version),
                false => error,
            }
        })?;
        self.check_id(snapshot.table_id())?;
        self.check_schema(version, &snapshot.kernel().schema())?;
        let mut files = snapshot.files()?.files.clone();
        files.sort_by(|one, other| (one.modified, &one.path).cmp(&(other.modified, &other.path)));
        Ok(files)
    }

    /// The files that a version adds, in the order of its entry.
    fn added_files(&self, version: u64) -> Result<Option<Vec<TableFile>>> {
        let Some(bytes) = self.entry(version)? else { return Ok(None) };
        let mut entry =
            LogEntry::<FileChange>::parse(&bytes).map_err(|error| error.at(format!("version {version}")))?;
        if let Some(metadata) = &entry.metadata {
            self.check_id(&metadata.id)?;
            let schema: StructType = serde_json::from_str(&metadata.schema_string)
                .map_err(|e| Error::corrupt(format!("the schema of version {version}: {e}")))?;
            self.check_schema(version, &schema)?;
        }
        entry.added.retain(FileChange::changes_data);
        entry.removed.retain(FileChange::changes_data);
        if self.options.reads_changes {
            let files = entry.changes.iter().chain(&entry.added).chain(&entry.removed);
            return files
                .map(|file| file.table_file(&self.table, Constants::new(Vec::new())))
                .collect::<Result<_>>()
                .map(Some);
        }
        if !entry.removed.is_empty() {
            let only_removes = entry.added.is_empty();
            match self.options.non_append {
                NonAppend::Skip => return Ok(Some(Vec::new())),
                NonAppend::Reread => {}
                NonAppend::Refuse if only_removes && self.options.ignores_deletes => {}
                NonAppend::Refuse => {
                    let operation = entry.info.and_then(|info| info.operation).unwrap_or_else(|| "a change".to_owned());
                    return Err(self.changes_rows(version, &operation, only_removes));
                }
            }
        }
        let no_values = HashMap::new();
        let file = |file: &FileChange| {
            let values = self.partitions.of_file(file.partition_values.as_ref().unwrap_or(&no_values))?;
            file.table_file(&self.table, Constants::new(values))
        };
        entry.added.iter().map(file).collect::<Result<_>>().map(Some)
    }

    /// The entry of a version; `None` where the log has none. One GET.
    fn entry(&self, version: u64) -> Result<Option<Bytes>> {
        let path = self.table.root().clone().join(LOG).join(format!("{version:020}.json"));
        let object = self.table.store().object(path);
        let bytes = match object.read_tail(u64::from(u32::MAX)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?.bytes,
        };
        check_entry(&bytes).map_err(|text| Error::corrupt(text).at(object.url()).advice(damaged_advice()))?;
        Ok(Some(bytes))
    }

    fn changes_rows(&self, version: u64, operation: &str, only_removes: bool) -> Error {
        let what = if only_removes { "removes" } else { "changes" };
        let deletes = if only_removes { "ignoreDeletes, or " } else { "" };
        Error::unsupported(format!("version {version} ({operation}) {what} rows, and a stream reads new ones"))
            .at(self.table.location())
            .advice(format!(
                "leave such versions out by option {deletes}skipChangeCommits, read the files that they write again by \
                 ignoreChanges, or read changes by readChangeFeed"
            ))
    }

    /// An error where a version has a column, a field or a type that the stream's columns lack.
    fn check_schema(&self, version: u64, schema: &StructType) -> Result<()> {
        let Some(unread) = unread_field(schema, &self.schema) else { return Ok(()) };
        let error = Error::unsupported(format!("version {version} has {unread}, which the stream was begun without"))
            .at(self.table.location());
        let opened = self.version.version;
        Err(match version > opened {
            true => error.advice("start the query again: it goes on from its checkpoint, with the columns that the table has by then"),
            false => error.advice(format!(
                "version {opened} has it no more, so that a stream can't read on from there: start a query with another \
                 checkpoint, by startingVersion or with the rows that are there"
            )),
        })
    }

    fn check_id(&self, id: &str) -> Result<()> {
        if id == self.table_id {
            return Ok(());
        }
        Err(self.replaced())
    }

    fn replaced(&self) -> Error {
        Error::conflict("it is another table than the one that the stream has read: it was dropped or replaced")
            .at(self.table.location())
            .advice("start a query with another checkpoint: it begins with the rows of the table that is there")
    }

    /// An error where a version that is not there is not the next one.
    fn check_reached(&self, at: &StreamPosition) -> Result<()> {
        let log = self.table.list_log()?;
        let last = log.iter().filter(|file| file.kind == LogFileKind::Entry).map(|file| file.version).max();
        match last {
            // It was made in the meantime, and the next look finds it.
            Some(last) if last == at.version => Ok(()),
            Some(last) if last > at.version => Err(self.missing(at.version)),
            Some(last) if last + 1 == at.version => Ok(()),
            None if log_files::checkpoints(&log).last().is_some_and(|version| version + 1 == at.version) => Ok(()),
            _ => Err(self.replaced()),
        }
    }

    fn missing(&self, version: u64) -> Error {
        Error::not_found(format!("the log has version {version} no more, which the stream reads next"))
            .at(self.table.location())
            .advice(
                "start a query with another checkpoint: it begins with the rows that are there; \
                 delta.logRetentionDuration says how long the log keeps versions",
            )
    }
}

impl StreamBudget {
    /// The number of the files for which there is room, in order.
    fn take(&mut self, sizes: impl Iterator<Item = u64>) -> u64 {
        let mut taken = 0;
        for size in sizes {
            if !self.is_unused && (self.files == 0 || self.bytes < size) {
                break;
            }
            self.use_up(1, size);
            taken += 1;
        }
        taken
    }

    /// All files or none.
    fn take_all(&mut self, sizes: impl Iterator<Item = u64>) -> u64 {
        let (files, bytes) = sizes.fold((0, 0u64), |(files, bytes), size| (files + 1, bytes.saturating_add(size)));
        if files == 0 || !self.is_unused && (self.files < files || self.bytes < bytes) {
            return 0;
        }
        self.use_up(files, bytes);
        files
    }

    fn use_up(&mut self, files: u64, bytes: u64) {
        self.files = self.files.saturating_sub(files);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.is_unused = false;
    }
}

#[cfg(test)]
mod tests;
