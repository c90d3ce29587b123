//! Entries of the log, read as they stand.

use std::collections::BTreeMap;

use bytes::Bytes;
use delta_kernel::{Engine, KernelResult};
use lakerace_io::{Error, ErrorKind, Object, Result};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use super::completeness::check_entry;
use super::distrust::damaged_advice;
use super::files::LogFile;
use super::json_object::JsonObject;
use crate::kernel::error::{guarded, is_missing};
use crate::paths::{LOG, ROOT};
use crate::table::Table;

/// The changes of a version. `F` is the parsed part of files: [`FileAction`] is the one for maintenance.
#[derive(Debug)]
pub(crate) struct LogEntry<F = FileAction> {
    pub info: Option<CommitInfo>,
    pub added: Vec<F>,
    pub removed: Vec<F>,
    /// Change files.
    pub changes: Vec<F>,
    /// True if it changes the schema, properties or the protocol.
    pub has_settings: bool,
    /// The schema and the id that it sets.
    pub metadata: Option<EntryMetadata>,
}

/// The metadata of an entry, reduced to what readers of single entries need.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(crate) struct EntryMetadata {
    pub id: String,
    pub schema_string: String,
}

/// The writer of a version, and its operation.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub(crate) struct CommitInfo {
    pub in_commit_timestamp: Option<i64>,
    pub operation: Option<String>,
    operation_parameters: Option<BTreeMap<String, IgnoredAny>>,
    operation_metrics: Option<BTreeMap<String, IgnoredAny>>,
    pub engine_info: Option<String>,
    /// The parameters of the operation: strings without their quotes, all other values as their JSON text.
    #[serde(skip)]
    pub parameters: BTreeMap<String, String>,
    /// The metrics of the operation, in the same form.
    #[serde(skip)]
    pub metrics: BTreeMap<String, String>,
}

impl CommitInfo {
    /// Sets parameters and metrics from the line of this `commitInfo`.
    fn note_texts(&mut self, line: &[u8]) {
        let line = str::from_utf8(line).ok().and_then(JsonObject::parse);
        let Some(info) = line.and_then(|line| JsonObject::parse(line.get("commitInfo")?)) else { return };
        let texts = |name: &str| {
            let values = info.get(name).and_then(JsonObject::parse).unwrap_or_default();
            let text = |value: &str| serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
            values.members().map(|(name, value)| (name.to_owned(), text(value))).collect()
        };
        self.parameters = texts("operationParameters");
        self.metrics = texts("operationMetrics");
    }
}

/// A file that a version added or removed, or a change file of the version.
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
struct EntryLine<F> {
    commit_info: Option<CommitInfo>,
    add: Option<F>,
    remove: Option<F>,
    cdc: Option<F>,
    #[serde(rename = "metaData")]
    metadata: Option<EntryMetadata>,
    protocol: Option<IgnoredAny>,
}

/// The bytes of an entry, which must be complete.
pub(crate) fn read_bytes(table: &Table, file: &LogFile) -> Result<Bytes> {
    let size = file.info.size_bytes;
    let object = Object { size_bytes: Some(size), ..table.store().object(file.info.path.clone()) };
    let bytes = object.read_range(0..size)?;
    check_entry(&bytes)
        .map_err(|text| Error::corrupt(text).at(object.url()).advice(damaged_advice(table.location())))?;
    Ok(bytes)
}

/// The digest of a version's entry, which distinguishes it from that of another version of the same number: a log that was
/// set back to an earlier version gets other entries. `None` where the log does not have the entry any more. At most one
/// request, and none for an entry that a snapshot has read.
pub fn entry_digest(table: &Table, version: u64) -> Result<Option<u64>> {
    match entry_bytes(table, version) {
        Ok(bytes) => Ok(Some(xxh3_64(&bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.at(table.location())),
    }
}

/// The bytes of the entry of a version, as [`find_entry`] returns them.
///
/// # Errors
/// `NotFound` where the log has no such entry.
pub(crate) fn entry_bytes(table: &Table, version: u64) -> Result<Vec<u8>> {
    find_entry(table, version)?
        .ok_or_else(|| Error::not_found(format!("the log has no entry of version {version}")).at(table.location()))
}

/// The bytes of the entry of a version; `None` where the log has no such entry. Those that the snapshots of the table
/// have read are not fetched again.
pub(crate) fn find_entry(table: &Table, version: u64) -> Result<Option<Vec<u8>>> {
    let url = Url::parse(ROOT).and_then(|root| root.join(&format!("{LOG}/{version:020}.json")));
    let url = url.map_err(Error::unexpected)?;
    let storage = table.engine().storage_handler();
    guarded(|| match storage.read_files(vec![(url, None)]).and_then(Iterator::collect::<KernelResult<Vec<_>>>) {
        Err(error) if is_missing(&error) => Ok(None),
        read => read.map(|read| Some(read.concat())),
    })
}

impl<F: DeserializeOwned> LogEntry<F> {
    /// Reads an entry, which must be complete.
    pub fn read(table: &Table, file: &LogFile) -> Result<Self> {
        let bytes = read_bytes(table, file)?;
        Self::parse(&bytes).map_err(|error| error.at(table.store().url(&file.info.path)))
    }

    /// An entry from its bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let (added, removed, changes) = (Vec::new(), Vec::new(), Vec::new());
        let mut entry = Self { info: None, added, removed, changes, has_settings: false, metadata: None };
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let text = line;
            let mut line: EntryLine<F> = serde_json::from_slice(text)
                .map_err(|e| Error::corrupt(format!("line {} of an entry of the log", number + 1)).because(e))?;
            if let Some(info) = &mut line.commit_info {
                info.note_texts(text);
            }
            entry.info = entry.info.or(line.commit_info);
            entry.added.extend(line.add);
            entry.removed.extend(line.remove);
            entry.changes.extend(line.cdc);
            entry.has_settings |= line.metadata.is_some() || line.protocol.is_some();
            entry.metadata = entry.metadata.or(line.metadata);
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests;
