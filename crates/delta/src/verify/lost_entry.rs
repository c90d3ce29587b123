//! Recovery from an empty last entry: its commit is given up, if the user requests that.
//!
//! The entry is filled, and not moved away. While its name is free, another writer could commit under it, and a second
//! repair would then move that commit. A filled entry changes nothing: the version has the rows of the one before. Its
//! bytes follow from the log alone, so that two concurrent repairs write the same.

use bytes::Bytes;
use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, IfExists, ObjectInfo, Output, Result};
use serde_json::{Value, json};

use crate::commit::ENGINE;
use crate::log::completeness::ACTION_COUNT;
use crate::log::entry::LogEntry;
use crate::log::files::{self as log_files, LogFile, LogFileKind};
use crate::maintain::restore::TIMES_IN_ENTRIES;
use crate::table::Table;
use crate::version_spec::VersionSpec;

/// The operation that history shows for such a version.
const OPERATION: &str = "GIVE UP LOST COMMIT";

/// An empty entry, the last one of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostEntry {
    version: u64,
    entry: Path,
    /// When the empty file was made, in milliseconds since 1970.
    modified: i64,
    /// Hadoop's checksums of the empty file, which would be wrong of the filled one.
    checksums: Option<Path>,
}

impl LostEntry {
    /// Finds the entry of a version, where it is empty and nothing in the log refers to it or to a later version; else
    /// the reason against it.
    pub fn find(folder: &[ObjectInfo], version: u64, hint: Option<u64>) -> std::result::Result<Self, String> {
        let name = format!("{version:020}.json");
        let found = |name: &str| folder.iter().find(|info| info.path.filename() == Some(name));
        let entry = found(&name).ok_or("it does not exist")?;
        if entry.size_bytes > 0 {
            return Err("it is not empty".to_owned());
        }
        if version == 0 {
            return Err("it is the first entry, without which there is no table".to_owned());
        }
        let checksums = format!(".{name}.crc");
        let tells = |info: &&ObjectInfo| {
            let other = info.path.filename().unwrap_or_default();
            let number = other.trim_start_matches('.').get(..20).and_then(|digits| digits.parse::<u64>().ok());
            let joined = log_files::parse((*info).clone()).and_then(|file| match file.kind {
                LogFileKind::Joined { last } => Some(last),
                _ => None,
            });
            // An empty file proves nothing, unless readers take it for an entry.
            let may_tell = info.size_bytes > 0 || log_files::parse((*info).clone()).is_some();
            may_tell
                && other != name
                && other != checksums
                && number.max(joined).is_some_and(|number| number >= version)
        };
        if let Some(other) = folder.iter().find(tells) {
            let other = other.path.filename().unwrap_or_default();
            return Err(format!("{other} is of this version or a later one"));
        }
        if hint.is_some_and(|hint| hint >= version) {
            return Err("_last_checkpoint names this version or a later one".to_owned());
        }
        let checksums = found(&checksums).map(|info| info.path.clone());
        Ok(Self { version, entry: entry.path.clone(), modified: entry.modified, checksums })
    }

    /// Fills the entry; returns a description.
    pub fn give_up(&self, table: &Table) -> Result<String> {
        let before = self.version - 1;
        let bytes = self.filled(table, before)?;
        let now = table.store().stat(&self.entry)?;
        if now.is_none_or(|now| now.size_bytes > 0) {
            return Err(Error::conflict("the entry was empty a moment ago, but no longer is")
                .at(table.store().url(&self.entry))
                .advice("run `lakerace verify` again"));
        }
        if let Some(checksums) = &self.checksums {
            table.store().delete(checksums)?;
        }
        let mut output = Output::create(table.store(), &self.entry, IfExists::Replace)?;
        output.write(bytes)?;
        output.finish()?;
        let lost = format!(
            "the commit of version {} is lost and was given up: this version has the rows of version {before}. Data \
             files of that commit \
             stay until `lakerace vacuum`",
            self.version
        );
        table.job().warn(&format!("{}: {lost}", table.location()));
        Ok(lost)
    }

    /// An entry that changes nothing.
    fn filled(&self, table: &Table, before: u64) -> Result<Bytes> {
        let snapshot = table.fresh()?.snapshot(Some(VersionSpec::Version(before)))?;
        let mut info = json!({
            "timestamp": self.modified,
            "operation": OPERATION,
            "operationParameters": {},
            "engineInfo": ENGINE,
        });
        info[ACTION_COUNT] = json!(1);
        if snapshot.properties().get(TIMES_IN_ENTRIES).is_some_and(|value| value == "true") {
            info["inCommitTimestamp"] = json!(self.modified.max(time_in_entry(table, before)?.saturating_add(1)));
        }
        let line: Value = json!({ "commitInfo": info });
        Ok(Bytes::from(format!("{line}\n")))
    }
}

/// The time that an entry carries in it. Those of later entries are greater.
fn time_in_entry(table: &Table, version: u64) -> Result<i64> {
    let path = table.root().clone().join(crate::paths::LOG).join(format!("{version:020}.json"));
    let missing = |text: &str| Error::corrupt(text).at(table.store().url(&path)).advice("restore it from a backup");
    let info = table.store().stat(&path)?.ok_or_else(|| missing("it does not exist"))?;
    let file = log_files::parse(info).ok_or_else(|| Error::internal("an entry with another name"))?;
    time_of(table, &file)?.ok_or_else(|| missing("it has no inCommitTimestamp"))
}

fn time_of(table: &Table, file: &LogFile) -> Result<Option<i64>> {
    let entry: LogEntry = LogEntry::read(table, file)?;
    Ok(entry.info.and_then(|info| info.in_commit_timestamp))
}
