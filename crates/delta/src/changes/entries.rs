//! The files with the changes of versions, as named by their entries.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use lakerace_format::Constants;
use lakerace_format::predicate::Value;
use lakerace_io::Result;

use super::{CHANGE_TYPE, ChangeOrigin, SchemaPiece, check_feed, feed_fields};
use crate::log::entry::{LogEntry, entry_bytes};
use crate::log::file_change::FileChange;
use crate::log::files as log_files;
use crate::snapshot::changed_rows::ChangedRows;
use crate::snapshot::files::TableFile;
use crate::snapshot::partitions::Partitions;
use crate::table::Table;

/// A file of which some rows have changed.
pub(super) struct ChangedFile {
    /// The file with the vector that it has in the version, and with the columns of the feed that all its rows share.
    pub file: TableFile,
    /// Which rows.
    pub rows: ChangedRows,
}

/// The versions of a feed, and the files of each; reads an entry when its files are asked for.
pub(super) struct FeedEntries {
    pub table: Table,
    origins: Vec<ChangeOrigin>,
    versions: VecDeque<FeedVersion>,
    /// When versions were made, in milliseconds since 1970, by the store; `None`: no one asks.
    moments: Option<BTreeMap<u64, i64>>,
    /// The files of the last entry that was read.
    files: VecDeque<ChangedFile>,
}

/// A version to read.
struct FeedVersion {
    number: u64,
    partitions: Arc<Partitions>,
    /// True if it lies within its piece: whether such versions have a feed is not known yet.
    is_within: bool,
}

impl FeedEntries {
    /// Makes the rows of these origins; `has_moments`: with the times of versions.
    pub fn new(table: &Table, pieces: &[SchemaPiece], origins: &[ChangeOrigin], has_moments: bool) -> Result<Self> {
        let versions = pieces.iter().flat_map(|piece| {
            let (first, last) = (*piece.versions.start(), *piece.versions.end());
            (first..=last).map(move |number| FeedVersion {
                number,
                partitions: Arc::clone(&piece.partitions),
                is_within: number != first && number != last,
            })
        });
        let moments = has_moments.then(|| table.list_log().map(|files| log_files::moments(&files)));
        Ok(Self {
            table: table.clone(),
            origins: origins.to_vec(),
            versions: versions.collect(),
            moments: moments.transpose()?,
            files: VecDeque::new(),
        })
    }

    /// The next files, at most so many and all distinct; none at the end.
    pub fn next_files(&mut self, most: usize) -> Result<Vec<ChangedFile>> {
        while self.files.len() < most {
            let Some(version) = self.versions.pop_front() else { break };
            self.table.job().check()?;
            let files = self.files_of(&version).map_err(|error| error.at(format!("version {}", version.number)))?;
            self.files.extend(files);
        }
        let mut known = HashSet::new();
        let different = self.files.iter().take(most).take_while(|file| known.insert(file.file.object.url())).count();
        Ok(self.files.drain(..different).collect())
    }

    fn files_of(&self, version: &FeedVersion) -> Result<Vec<ChangedFile>> {
        let mut entry = LogEntry::<FileChange>::parse(&entry_bytes(&self.table, version.number)?)?;
        entry.added.retain(FileChange::changes_data);
        entry.removed.retain(FileChange::changes_data);
        if version.is_within && entry.has_settings {
            let last = self.versions.back().map_or(version.number, |last| last.number);
            check_feed(self.table.engine(), &(version.number..=version.number), last)?;
        }
        let stored = self.moments.as_ref().map(|moments| moments.get(&version.number).copied().unwrap_or(0));
        let own = entry.info.and_then(|info| info.in_commit_timestamp);
        let file = VersionFacts { entries: self, version, moment: stored.map(|stored| own.unwrap_or(stored)) };
        let mut found = Vec::new();
        if !entry.changes.is_empty() {
            if self.wants(ChangeOrigin::ChangeFile) {
                for action in &entry.changes {
                    found.push(file.changed_file(action, ChangeOrigin::ChangeFile, ChangedRows::Visible)?);
                }
            }
            return Ok(found);
        }
        let added: HashSet<&str> = entry.added.iter().map(|action| action.path.as_str()).collect();
        let removed: HashMap<&str, &FileChange> =
            entry.removed.iter().map(|action| (action.path.as_str(), action)).collect();
        for action in entry.removed.iter().filter(|action| !added.contains(action.path.as_str())) {
            if self.wants(ChangeOrigin::Removed) {
                found.push(file.changed_file(action, ChangeOrigin::Removed, ChangedRows::Visible)?);
            }
        }
        for action in &entry.added {
            let Some(before) = removed.get(action.path.as_str()) else {
                if self.wants(ChangeOrigin::Added) {
                    found.push(file.changed_file(action, ChangeOrigin::Added, ChangedRows::Visible)?);
                }
                continue;
            };
            let (before, after) = (before.vector()?, action.vector()?);
            if before == after {
                continue;
            }
            if after.is_some() && self.wants(ChangeOrigin::Removed) {
                let rows = ChangedRows::Between(after.clone(), before.clone());
                found.push(file.changed_file(action, ChangeOrigin::Removed, rows)?);
            }
            if before.is_some() && self.wants(ChangeOrigin::Added) {
                found.push(file.changed_file(action, ChangeOrigin::Added, ChangedRows::Between(before, after))?);
            }
        }
        Ok(found)
    }

    fn wants(&self, origin: ChangeOrigin) -> bool {
        self.origins.contains(&origin)
    }
}

/// The facts that all files of a version share.
struct VersionFacts<'a> {
    entries: &'a FeedEntries,
    version: &'a FeedVersion,
    moment: Option<i64>,
}

impl VersionFacts<'_> {
    fn changed_file(&self, action: &FileChange, origin: ChangeOrigin, rows: ChangedRows) -> Result<ChangedFile> {
        let mut constants = match &action.partition_values {
            Some(values) => self.version.partitions.of_file(values).map_err(|e| e.at(action.path.clone()))?,
            None => self.version.partitions.of_file(&HashMap::new())?,
        };
        let integer = |value: i64| Some(Value::Integer(value.into()));
        let [_, version, moment] = feed_fields();
        constants.push((version, integer(self.version.number as i64)));
        constants.push((moment, self.moment.and_then(|moment| integer(moment.saturating_mul(1000)))));
        let kind = match origin {
            ChangeOrigin::Added => Some("insert"),
            ChangeOrigin::Removed => Some("delete"),
            // It has the column itself.
            ChangeOrigin::ChangeFile => None,
        };
        if let Some(kind) = kind {
            let field = Field::new(CHANGE_TYPE, DataType::Utf8View, false);
            constants.push((field, Some(Value::Bytes(kind.as_bytes().to_vec()))));
        }
        let file = action.table_file(&self.entries.table, Constants::new(constants))?;
        Ok(ChangedFile { file, rows })
    }
}
