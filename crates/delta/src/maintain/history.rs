//! The history of a table, version by version.

use std::collections::{BTreeMap, HashSet};

use lakerace_exec::map_slice;
use lakerace_io::{Error, Result};
use serde::Serialize;

use crate::log::entry::{FileAction, LogEntry};
use crate::log::files as log_files;
use crate::log::files::{LogFile, LogFileKind};
use crate::table::Table;

/// A version, as described by its entry in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryEntry {
    /// Its number.
    pub version: u64,
    /// When it was made, in milliseconds since 1970: by the entry where the table keeps times in it, else by the store.
    /// A timestamp in place of a version is compared with it.
    pub timestamp: i64,
    /// The operation of the version, such as `WRITE` or `MERGE`, where the writer says so.
    pub operation: Option<String>,
    /// The parameters of the operation.
    pub parameters: BTreeMap<String, String>,
    /// The writer's own figures.
    pub metrics: BTreeMap<String, String>,
    /// The writer.
    pub engine: Option<String>,
    /// Files that it added.
    pub files_added: u64,
    /// Files that it removed.
    pub files_removed: u64,
    /// Files that got another deletion vector.
    pub vectors: u64,
    /// Bytes of the files that it added.
    pub bytes_added: u64,
    /// Bytes of the files that it removed, if the entry states them.
    pub bytes_removed: u64,
}

/// Requests for entries in flight.
pub(super) const READERS: usize = 16;

/// The versions of a table that its log has entries of, the newest first, at most `limit`.
pub fn history(table: &Table, limit: Option<usize>) -> Result<Vec<HistoryEntry>> {
    let files = table.list_log()?;
    let mut entries: Vec<&LogFile> = files.iter().filter(|file| file.kind == LogFileKind::Entry).collect();
    if entries.is_empty() {
        return Err(match log_files::checkpoints(&files).last() {
            Some(version) => {
                let message = format!(
                    "the history of the table is gone: all entries of its log were cleaned up, and the checkpoint of version {version} is left"
                );
                Error::not_found(message)
                    .at(table.location())
                    .advice(format!("read version {version}; versions that are made later have a history"))
            }
            None => table.without_log(!files.is_empty()),
        });
    }
    entries.sort_unstable_by_key(|file| std::cmp::Reverse(file.version));
    entries.truncate(limit.unwrap_or(usize::MAX));
    let moments = log_files::moments(&files);
    map_slice(&entries, READERS, |file| {
        let moment = moments.get(&file.version).copied().unwrap_or(file.info.modified);
        Ok(told(file.version, moment, LogEntry::read(table, file)?))
    })
}

fn told(version: u64, moment: i64, entry: LogEntry) -> HistoryEntry {
    let info = entry.info.unwrap_or_default();
    let names = |files: &[FileAction]| files.iter().map(|file| file.path.clone()).collect();
    let (added, removed): (HashSet<String>, HashSet<String>) = (names(&entry.added), names(&entry.removed));
    let sum = |files: &[FileAction], other: &HashSet<String>| {
        let alone = files.iter().filter(|file| !other.contains(&file.path));
        alone.fold((0, 0u64), |(count, bytes), file| (count + 1, bytes.saturating_add(file.size.unwrap_or(0))))
    };
    let (files_added, bytes_added) = sum(&entry.added, &removed);
    let (files_removed, bytes_removed) = sum(&entry.removed, &added);
    HistoryEntry {
        version,
        timestamp: info.in_commit_timestamp.unwrap_or(moment),
        operation: info.operation,
        parameters: info.parameters,
        metrics: info.metrics,
        engine: info.engine_info,
        files_added,
        files_removed,
        vectors: added.intersection(&removed).count() as u64,
        bytes_added,
        bytes_removed,
    }
}
