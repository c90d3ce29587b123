//! Entries of the log, read as they stand.

use std::collections::BTreeMap;

use bytes::Bytes;
use lakerace_io::{Error, Object, Result};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::completeness::check_entry;
use super::distrust::DAMAGED_ADVICE;
use super::files::LogFile;
use crate::Table;

/// What one version changed. `F` is what is to be known of files: [`FileAction`] is what maintenance needs.
#[derive(Debug)]
pub(crate) struct Entry<F = FileAction> {
    pub info: Option<CommitInfo>,
    pub added: Vec<F>,
    pub removed: Vec<F>,
    /// Change files.
    pub changes: Vec<F>,
    /// Whether it changes the schema, properties or the protocol.
    pub has_settings: bool,
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
#[serde(rename_all = "camelCase", expecting = "an object", bound = "F: Deserialize<'de>")]
struct Line<F> {
    commit_info: Option<CommitInfo>,
    add: Option<F>,
    remove: Option<F>,
    cdc: Option<F>,
    #[serde(rename = "metaData")]
    metadata: Option<IgnoredAny>,
    protocol: Option<IgnoredAny>,
}

/// The bytes of an entry, which must be complete.
pub(crate) fn read_bytes(table: &Table, file: &LogFile) -> Result<Bytes> {
    let size = file.info.size_bytes;
    let object = Object { size_bytes: Some(size), ..table.store().object(file.info.path.clone()) };
    let bytes = object.read_range(0..size)?;
    check_entry(&bytes).map_err(|text| Error::corrupt(text).at(object.url()).advice(DAMAGED_ADVICE))?;
    Ok(bytes)
}

impl<F: DeserializeOwned> Entry<F> {
    /// Reads an entry, which must be complete.
    pub fn read(table: &Table, file: &LogFile) -> Result<Self> {
        let bytes = read_bytes(table, file)?;
        Self::parse(&bytes).map_err(|error| error.at(table.store().url(&file.info.path)))
    }

    /// An entry from its bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (added, removed, changes) = (Vec::new(), Vec::new(), Vec::new());
        let mut entry = Self { info: None, added, removed, changes, has_settings: false };
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let line: Line<F> = serde_json::from_slice(line)
                .map_err(|e| Error::corrupt(format!("line {} of an entry of the log: {e}", number + 1)))?;
            entry.info = entry.info.or(line.commit_info);
            entry.added.extend(line.add);
            entry.removed.extend(line.remove);
            entry.changes.extend(line.cdc);
            entry.has_settings |= line.metadata.is_some() || line.protocol.is_some();
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests;
