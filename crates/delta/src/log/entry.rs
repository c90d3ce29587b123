//! Entries of the log, read as they stand.

use std::collections::BTreeMap;

use lakerace_io::{Error, Object, Result};
use serde::Deserialize;
use serde_json::Value;

use super::files::LogFile;
use crate::Table;

/// What one version changed, as far as maintenance needs to know.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub info: Option<CommitInfo>,
    pub added: Vec<FileAction>,
    pub removed: Vec<FileAction>,
    /// Change files.
    pub changes: Vec<FileAction>,
}

/// Who made a version, and how.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(crate) struct CommitInfo {
    pub in_commit_timestamp: Option<i64>,
    pub operation: Option<String>,
    pub operation_parameters: Option<BTreeMap<String, Value>>,
    pub operation_metrics: Option<BTreeMap<String, Value>>,
    pub engine_info: Option<String>,
}

/// A file that a version added or removed, or by which it tells of changes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct FileAction {
    pub path: String,
    pub size: Option<u64>,
    pub deletion_vector: Option<VectorName>,
}

/// A deletion vector by its place.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct VectorName {
    pub storage_type: String,
    pub path_or_inline_dv: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Line {
    commit_info: Option<CommitInfo>,
    add: Option<FileAction>,
    remove: Option<FileAction>,
    cdc: Option<FileAction>,
}

impl Entry {
    /// Reads an entry.
    pub fn read(table: &Table, file: &LogFile) -> Result<Self> {
        let size = file.info.size_bytes;
        let object = Object { size_bytes: Some(size), ..table.store().object(file.info.path.clone()) };
        let bytes = object.read_range(0..size)?;
        Self::parse(&bytes).map_err(|error| error.at(object.url()))
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut entry = Self::default();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let line: Line = serde_json::from_slice(line)
                .map_err(|e| Error::corrupt(format!("line {} of an entry of the log: {e}", number + 1)))?;
            entry.info = entry.info.or(line.commit_info);
            entry.added.extend(line.add);
            entry.removed.extend(line.remove);
            entry.changes.extend(line.cdc);
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests;
