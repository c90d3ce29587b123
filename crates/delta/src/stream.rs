//! Reading a table as a stream: the rows that its versions add, from one position to the next.
//!
//! A stream starts with the files of a version, or with those that a version adds. A version that changes or removes
//! rows is an error, unless the caller chooses how to treat such a version. All rows have the columns of the version
//! that the stream was opened with.

mod schema;

use std::collections::HashMap;

use delta_kernel::schema::StructType;
use lakerace_format::Constants;
use lakerace_io::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use self::schema::unread_field;
use crate::log::entry::{LogEntry, find_entry};
use crate::log::file_change::FileChange;
use crate::log::files::{self as log_files, LogFileKind};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::partitions::Partitions;
use crate::table::{LIST_VERSIONS, Table};
use crate::table_scan::{ScanFile, ScannedVersion};
use crate::version_spec::VersionSpec;

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
    /// True if the stream reads the changes of versions, and not the files that they add.
    #[serde(default)]
    pub reads_changes: bool,
    /// The meaning of versions that change rows, by which the files before the position were counted. `None` for a first
    /// position.
    #[serde(default)]
    pub non_append: Option<NonAppend>,
}

/// The files from one position to the next.
#[derive(Debug, Clone)]
pub struct StreamBatch {
    /// The next position. It is the first one where there is nothing new.
    pub end: StreamPosition,
    /// The files; none where changes are read.
    pub files: Vec<ScanFile>,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonAppend {
    /// It is an error.
    #[default]
    Refuse,
    /// It is left out where it only removes rows, and an error where it changes them.
    IgnoreDeletes,
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
    /// True if the changes of versions are read, and not the files that they add: a position is then between two
    /// versions.
    pub reads_changes: bool,
    /// True for the first batch since the stream was opened: the schema that its first version has is checked. The
    /// entries of the log give those of later versions.
    pub is_first: bool,
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

/// The reason why the log has no entry of a version.
#[derive(Debug, PartialEq, Eq)]
enum MissingEntry {
    /// It is the next version.
    NotYet,
    /// The log does not keep it any more.
    Removed,
    /// The log has fewer versions: it is that of another table.
    Replaced,
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
        let (table_id, reads_changes) = (self.table_id.clone(), self.options.reads_changes);
        let at = |version, is_initial| StreamPosition {
            table_id,
            version,
            file: 0,
            is_initial,
            reads_changes,
            non_append: None,
        };
        Ok(match start {
            StreamStart::Snapshot => at(self.last_version()?, true),
            StreamStart::Latest => at(self.last_version()? + 1, false),
            StreamStart::Version(version) => {
                let last = self.last_version()?;
                if version > last + 1 {
                    return Err(Error::not_found(format!("version {version} does not exist: the last one is {last}"))
                        .at(self.table.location())
                        .advice(LIST_VERSIONS));
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
            return Err(Error::not_found("no version of that time or later exists")
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

    /// The next position, and the files up to it: the end of the table, or the limit of the options.
    ///
    /// # Errors
    /// `Unsupported` where the next version changes rows, or its schema has a part that the stream's columns lack;
    /// `NotFound` where it no longer exists; `Conflict` where another table is at the place; `Usage` where the position
    /// does not fit the options.
    pub fn advance(&self, from: &StreamPosition) -> Result<StreamBatch> {
        self.check_position(from)?;
        let mut budget = StreamBudget {
            files: self.options.max_files.unwrap_or(u64::MAX),
            bytes: self.options.max_bytes.unwrap_or(u64::MAX),
            is_unused: true,
        };
        let (mut at, mut found) = (from.clone(), Vec::new());
        while at.is_initial || self.options.until.is_none_or(|until| at.version <= until) {
            let files = match self.files_at(&at, self.options.non_append) {
                // Earlier versions are read first.
                Err(_) if at != *from => break,
                files => files?,
            };
            let Some(files) = files else {
                if at == *from {
                    self.check_reached(&at)?;
                }
                break;
            };
            let rest = self.select_files(&at, &files, files.len() as u64)?;
            let sizes = rest.iter().map(|file| file.size_bytes);
            let taken = if self.options.reads_changes { budget.take_all(sizes) } else { budget.take(sizes) };
            self.collect(&mut found, rest.iter().take(usize::try_from(taken).unwrap_or(usize::MAX)));
            if taken < rest.len() as u64 {
                at.file += taken;
                break;
            }
            at = StreamPosition { version: at.version + 1, file: 0, is_initial: false, ..at };
        }
        if at == *from {
            return Ok(StreamBatch { end: at, files: found });
        }
        self.check_table(from, &at)?;
        Ok(StreamBatch { end: StreamPosition { non_append: Some(self.options.non_append), ..at }, files: found })
    }

    /// The files between two positions, as [`Self::advance`] found them: by the options of that time. None where changes
    /// are read.
    ///
    /// # Errors
    /// As those of [`Self::advance`].
    pub fn files(&self, from: &StreamPosition, to: &StreamPosition) -> Result<Vec<ScanFile>> {
        self.check_position(from)?;
        self.check_position(to)?;
        self.check_order(from, to)?;
        let non_append = to.non_append.unwrap_or(self.options.non_append);
        let (mut found, mut at) = (Vec::new(), from.clone());
        while (at.version, at.file) < (to.version, to.file) {
            let files = self.files_at(&at, non_append)?.ok_or_else(|| self.missing(at.version))?;
            let end = if at.version == to.version { to.file } else { files.len() as u64 };
            self.collect(&mut found, self.select_files(&at, &files, end)?.iter());
            at = StreamPosition { version: at.version + 1, file: 0, is_initial: false, ..at };
        }
        if (from.version, from.file) < (to.version, to.file) {
            self.check_table(from, to)?;
        }
        Ok(found)
    }

    fn collect<'a>(&self, found: &mut Vec<ScanFile>, files: impl Iterator<Item = &'a TableFile>) {
        if !self.options.reads_changes {
            found.extend(files.map(ScanFile::from_file));
        }
    }

    /// The files of a version from a position on, and before the number `end`.
    fn select_files<'a>(&self, at: &StreamPosition, files: &'a [TableFile], end: u64) -> Result<&'a [TableFile]> {
        let index = |number| usize::try_from(number).unwrap_or(usize::MAX);
        files.get(index(at.file)..index(end)).ok_or_else(|| {
            let (version, count) = (at.version, files.len());
            let message = format!(
                "version {version} has {count} files for the stream, and the checkpoint has a position after file {}",
                at.file.max(end)
            );
            Error::usage(message).at(self.table.location()).advice(
                "give ignoreChanges, ignoreDeletes and skipChangeCommits as the query had them before, until it has read \
                 this version; or start a query with another checkpoint",
            )
        })
    }

    /// The files of the version of a position; `None` where there is no such version.
    fn files_at(&self, at: &StreamPosition, non_append: NonAppend) -> Result<Option<Vec<TableFile>>> {
        let place = |error: Error| if error.location().is_none() { error.at(self.table.location()) } else { error };
        match at.is_initial {
            true => self.initial_files(at.version).map(Some),
            false => self.added_files(at.version, non_append).map_err(place),
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
    fn added_files(&self, version: u64, non_append: NonAppend) -> Result<Option<Vec<TableFile>>> {
        let Some(bytes) = find_entry(&self.table, version)? else { return Ok(None) };
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
            match non_append {
                NonAppend::Skip => return Ok(Some(Vec::new())),
                NonAppend::Reread => {}
                NonAppend::IgnoreDeletes if only_removes => {}
                NonAppend::Refuse | NonAppend::IgnoreDeletes => {
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

    fn changes_rows(&self, version: u64, operation: &str, only_removes: bool) -> Error {
        let what = if only_removes { "removes" } else { "changes" };
        let deletes = if only_removes { "ignoreDeletes, or " } else { "" };
        Error::unsupported(format!("version {version} ({operation}) {what} rows, but a stream reads only new ones"))
            .at(self.table.location())
            .advice(format!(
                "skip such versions with option {deletes}skipChangeCommits, read the files that they rewrite with \
                 ignoreChanges, or read changes with readChangeFeed"
            ))
    }

    /// An error where a version has a column, a field or a type that the stream's columns lack.
    fn check_schema(&self, version: u64, schema: &StructType) -> Result<()> {
        let Some(unread) = unread_field(schema, &self.schema) else { return Ok(()) };
        let error = Error::unsupported(format!(
            "version {version} has {unread}, which the table did not have when the stream started"
        ))
        .at(self.table.location());
        let opened = self.version.version;
        Err(match version > opened {
            true => error
                .advice("start the query again: it continues from its checkpoint, with the new columns of the table"),
            false => error.advice(format!(
                "version {opened} no longer has it, so a stream can't continue from there: start a query with another \
                 checkpoint, from startingVersion or with the existing rows"
            )),
        })
    }

    /// An error where a position is not of this table, or of a stream of another kind.
    fn check_position(&self, position: &StreamPosition) -> Result<()> {
        self.check_id(&position.table_id)?;
        if position.reads_changes == self.options.reads_changes {
            return Ok(());
        }
        let (then, now) = match position.reads_changes {
            true => ("changes", "rows: give the option readChangeFeed"),
            false => ("rows", "changes: omit the option readChangeFeed"),
        };
        Err(Error::usage(format!("the checkpoint is of a stream of {then}, and this one reads {now}"))
            .at(self.table.location())
            .advice("or start a query with another checkpoint"))
    }

    /// An error where the positions of a batch are not one after the other.
    fn check_order(&self, from: &StreamPosition, to: &StreamPosition) -> Result<()> {
        let is_same_version = from.version == to.version;
        let is_same_kind = !is_same_version || from.file == to.file || from.is_initial == to.is_initial;
        if (from.version, from.file) <= (to.version, to.file) && is_same_kind {
            return Ok(());
        }
        let shown = |at: &StreamPosition| format!("version {}, file {}", at.version, at.file);
        let message = format!("a micro-batch of the checkpoint is from {} to {}", shown(from), shown(to));
        Err(Error::usage(message).at(self.table.location()).advice("start a query with another checkpoint"))
    }

    /// Checks the table after entries of its log were read: if it was replaced before, they are of another table. The
    /// first batch also needs the schema that the version of its first position has, which its entry does not state.
    fn check_table(&self, from: &StreamPosition, to: &StreamPosition) -> Result<()> {
        if to.is_initial {
            return Ok(());
        }
        let latest = self.table.snapshot(None)?;
        self.check_id(latest.table_id())?;
        if !self.options.is_first || from.is_initial {
            return Ok(());
        }
        let version = from.version;
        let first = match version == latest.version() {
            true => latest,
            false => self.table.snapshot(Some(VersionSpec::Version(version))).map_err(|error| {
                error.advice(format!(
                    "the log does not give the schema of version {version}, at which the stream starts: start a query \
                     with another checkpoint, and with a later version or the rows that are there"
                ))
            })?,
        };
        self.check_schema(version, &first.kernel().schema())
    }

    fn check_id(&self, id: &str) -> Result<()> {
        if id == self.table_id {
            return Ok(());
        }
        Err(self.replaced())
    }

    fn replaced(&self) -> Error {
        Error::conflict("it is not the table that the stream has read: it was dropped or replaced")
            .at(self.table.location())
            .advice("start a query with another checkpoint: it starts with the rows of the current table")
    }

    /// An error where a version that is not there is not the next one.
    fn check_reached(&self, at: &StreamPosition) -> Result<()> {
        let log = self.table.list_log()?;
        let entries = log.iter().filter(|file| file.kind == LogFileKind::Entry).map(|file| file.version).collect();
        match MissingEntry::from_listing(at.version, entries, log_files::checkpoints(&log).last().copied()) {
            MissingEntry::NotYet => Ok(()),
            MissingEntry::Removed => Err(self.missing(at.version)),
            MissingEntry::Replaced => Err(self.replaced()),
        }
    }

    fn missing(&self, version: u64) -> Error {
        Error::not_found(format!("the log no longer has version {version}, which the stream reads next"))
            .at(self.table.location())
            .advice(
                "start a query with another checkpoint: it starts with the existing rows; \
                 delta.logRetentionDuration says how long the log keeps versions",
            )
    }
}

impl MissingEntry {
    /// The reason by a listing that was made after the entry was not found.
    fn from_listing(version: u64, entries: Vec<u64>, last_checkpoint: Option<u64>) -> Self {
        match entries.iter().max() {
            // It was made in the meantime, perhaps with others, and the next look finds it.
            _ if entries.contains(&version) => Self::NotYet,
            Some(last) if *last > version => Self::Removed,
            Some(last) if last + 1 == version => Self::NotYet,
            None if last_checkpoint.is_some_and(|checkpoint| checkpoint + 1 == version) => Self::NotYet,
            _ => Self::Replaced,
        }
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
