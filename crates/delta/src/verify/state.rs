//! The state of a table as its entries make it, replayed without the kernel.

use std::collections::{BTreeMap, BTreeSet};

use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use lakerace_io::{Error, Result};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::log::stated_files::StatedFiles;
use crate::snapshot::Snapshot;
use crate::snapshot::files::{StatisticsDefect, TableFile};
use crate::snapshot::statistics::validity;

/// A line of an entry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct StateLine {
    commit_info: Option<EntryTransaction>,
    add: Option<LoggedFile>,
    remove: Option<LoggedFile>,
    cdc: Option<LoggedFile>,
    #[serde(rename = "metaData")]
    metadata: Option<StateMetadata>,
}

/// A file that an entry names.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct LoggedFile {
    pub path: String,
    pub size: Option<u64>,
    pub deletion_vector: Option<LoggedVector>,
    data_change: Option<bool>,
    /// Its statistics, as far as they are looked at.
    #[serde(default, rename = "stats", deserialize_with = "logged_statistics")]
    pub statistics: LoggedStatistics,
}

/// The statistics of a file in an entry.
#[derive(Debug, Clone, Default)]
pub(super) struct LoggedStatistics {
    /// Its rows, as they count them.
    rows: Option<u64>,
    /// The reason why they are not valid.
    defect: Option<String>,
}

/// The row count in the statistics of a file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct RowCount {
    num_records: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct LoggedVector {
    pub storage_type: String,
    pub path_or_inline_dv: String,
    pub offset: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct StateMetadata {
    id: String,
    schema_string: String,
    #[serde(default)]
    configuration: BTreeMap<String, String>,
}

/// The transaction of an entry, as checksum files name it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct EntryTransaction {
    txn_id: Option<String>,
}

/// An entry, parsed.
#[derive(Debug, Default)]
pub(super) struct EntryActions {
    pub added: Vec<LoggedFile>,
    pub removed: Vec<LoggedFile>,
    pub changes: Vec<LoggedFile>,
    pub transaction: Option<String>,
    stated: StatedFiles,
    metadata: Option<StateMetadata>,
}

impl EntryActions {
    /// The statistics of added files that are not valid.
    pub fn statistics_defects(&self) -> Vec<StatisticsDefect> {
        let defect = |file: &LoggedFile| {
            Some(StatisticsDefect { path: file.path.clone(), reason: file.statistics.defect.clone()? })
        };
        self.added.iter().filter_map(defect).collect()
    }

    /// The actions of an entry that was checked.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut actions = Self::default();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let text = line;
            let line: StateLine = serde_json::from_slice(text)
                .map_err(|e| Error::corrupt(format!("line {} can't be parsed", number + 1)).because(e))?;
            if line.commit_info.is_some() && actions.stated == StatedFiles::default() {
                actions.stated = StatedFiles::parse(text);
            }
            let transaction = line.commit_info.and_then(|info| info.txn_id);
            actions.transaction = actions.transaction.or(transaction);
            actions.added.extend(line.add);
            actions.removed.extend(line.remove);
            actions.changes.extend(line.cdc);
            actions.metadata = line.metadata.or(actions.metadata);
        }
        Ok(actions)
    }

    /// The files and rows that its `commitInfo` states and that it lacks, in words; `None`: it is complete. An entry
    /// that was cut at the end of a line lacks some, as may one whose lines are those of another version.
    pub fn lacks_stated(&self) -> Option<String> {
        let stated = self.stated;
        let lacks = |verb: &str, found: usize, stated: u64| {
            let found = found as u64;
            let problem = || format!("its commitInfo says that it {verb} {stated} files, but it {verb} {found}");
            (found < stated).then(problem)
        };
        // A file without a count may have any number of rows.
        let rows =
            self.added.iter().map(|file| file.statistics.rows).try_fold(0_u64, |sum, rows| sum.checked_add(rows?));
        let fewer = rows.filter(|rows| *rows < stated.rows);
        let problems = [
            lacks("adds", self.added.len() + self.changes.len(), stated.added),
            lacks("removes", self.removed.len(), stated.removed),
            fewer.map(|rows| {
                format!("its commitInfo says that it adds {} rows, but the files that it adds have {rows}", stated.rows)
            }),
        ];
        let problems: Vec<String> = problems.into_iter().flatten().collect();
        (!problems.is_empty()).then(|| problems.join("; "))
    }
}

/// Reads the number of rows out of statistics. Those that can't be understood count none.
fn logged_statistics<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<LoggedStatistics, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(LoggedStatistics::default()),
        Value::String(text) => text,
        _ => return Ok(LoggedStatistics { rows: None, defect: Some("are no text".to_owned()) }),
    };
    let rows = serde_json::from_str::<RowCount>(&text).ok().and_then(|count| count.num_records);
    Ok(LoggedStatistics { rows, defect: validity::defect(&text) })
}

/// A file with its deletion vector, by which the log knows it.
type FileKey = (String, String);

/// The files and the metadata of a version.
#[derive(Debug, Clone, Default)]
pub(super) struct VersionState {
    /// Sizes of files.
    files: BTreeMap<FileKey, u64>,
    metadata: Option<StateMetadata>,
    /// True for a state that starts at the first entry, if each entry since is known to be complete and fits those
    /// before it.
    pub is_proven: bool,
}

impl VersionState {
    /// That of no entry.
    pub fn empty() -> Self {
        Self { is_proven: true, ..Self::default() }
    }

    /// The state of a version, as read from its snapshot.
    pub fn from_snapshot(snapshot: &Snapshot, files: &[TableFile]) -> Self {
        let key = |file: &TableFile| (file.path.clone(), file.vector.as_ref().map(vector_key).unwrap_or_default());
        let files = files.iter().map(|file| (key(file), file.size_bytes)).collect();
        let metadata = StateMetadata {
            id: snapshot.table_id().to_owned(),
            schema_string: snapshot.schema_text().to_owned(),
            configuration: snapshot.properties(),
        };
        Self { files, metadata: Some(metadata), is_proven: false }
    }

    /// Applies the actions of the next entry.
    ///
    /// An entry that adds a file of the state, or removes one that the state lacks, may belong to another version: it
    /// is complete, but proves nothing.
    pub fn apply(&mut self, entry: &EntryActions, is_proven: bool) {
        let mut fits = true;
        for file in &entry.removed {
            fits &= self.files.remove(&logged_key(file)).is_some();
        }
        for file in &entry.added {
            fits &= self.files.insert(logged_key(file), file.size.unwrap_or(0)).is_none();
        }
        if entry.metadata.is_some() {
            self.metadata.clone_from(&entry.metadata);
        }
        self.is_proven &= is_proven && fits;
    }

    /// The actions of the next entry that do not fit this state, in words. `canonical` maps all names of a file to the
    /// same value.
    ///
    /// A file may be added again without a change of data: with other statistics or tags.
    pub fn misfits<N: PartialEq>(&self, entry: &EntryActions, canonical: impl Fn(&str) -> N) -> Vec<String> {
        let removed: BTreeSet<FileKey> = entry.removed.iter().map(logged_key).collect();
        let is_alike = |(path, vector): &FileKey| {
            let name = canonical(path);
            self.files.keys().any(|(known, other)| other == vector && canonical(known) == name)
        };
        let absent: Vec<&str> = removed
            .iter()
            .filter(|key| !self.files.contains_key(*key) && !is_alike(key))
            .map(|(path, _)| path.as_str())
            .collect();
        let stays = |key: &FileKey| !removed.contains(key);
        let (mut added, mut twice, mut other_vector) = (BTreeSet::new(), Vec::new(), Vec::new());
        for file in &entry.added {
            let key = logged_key(file);
            let of_path = (key.0.clone(), String::new())..;
            let mut others = self.files.range(of_path).map(|(key, _)| key).take_while(|other| other.0 == key.0);
            if !added.insert(key.clone())
                || (file.data_change != Some(false) && self.files.contains_key(&key) && stays(&key))
            {
                twice.push(file.path.as_str());
            } else if others.any(|other| *other != key && stays(other)) {
                other_vector.push(file.path.as_str());
            }
        }
        let told = |names: &[&str], one: &str, many: &str| match names {
            [] => None,
            [name] => Some(format!("{one}: {name}")),
            [name, ..] => Some(format!("{} {many}, such as {name}", names.len())),
        };
        [
            told(&twice, "it adds a file that already exists", "files that it adds already exist"),
            told(
                &other_vector,
                "it adds a file that already exists with another deletion vector, but does not remove that one",
                "files that it adds already exist with other deletion vectors, which it does not remove",
            ),
            told(&absent, "it removes a file that does not exist", "files that it removes do not exist"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The names of files that the other state lacks.
    pub fn files_beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a str> {
        self.files.keys().filter(|key| !other.files.contains_key(*key)).map(|(path, _)| path.as_str())
    }

    /// The names and sizes of files that the other state lacks.
    pub fn sizes_beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a str, u64)> {
        let files = self.files.iter().filter(|(key, _)| !other.files.contains_key(*key));
        files.map(|((path, _), size)| (path.as_str(), *size))
    }

    /// The number of files, and their bytes.
    pub fn totals(&self) -> (u64, u64) {
        (self.files.len() as u64, self.files.values().sum())
    }

    /// A difference to the version that a reader sees.
    pub fn difference(&self, snapshot: &Snapshot) -> Result<Option<String>> {
        Ok(self.difference_to(&Self::from_snapshot(snapshot, &snapshot.files()?.files)))
    }

    /// A difference to a state that was read in another way; `None`: they are equal.
    pub fn difference_to(&self, read: &Self) -> Option<String> {
        let count = |one: &Self, other: &Self| one.files.keys().filter(|key| !other.files.contains_key(*key)).count();
        let example = |one: &Self, other: &Self| {
            let key = one.files.keys().filter(|key| !other.files.contains_key(*key)).min();
            key.map(|(path, vector)| if vector.is_empty() { path.clone() } else { format!("{path} with {vector}") })
        };
        if let Some(name) = example(self, read) {
            return Some(format!("{} files of the entries are missing, such as {name}", count(self, read)));
        }
        if let Some(name) = example(read, self) {
            return Some(format!("it has {} files that the entries do not name, such as {name}", count(read, self)));
        }
        let differs = |(key, size): &(&FileKey, &u64)| read.files.get(*key).is_some_and(|other| other != *size);
        if let Some(((path, _), size)) = self.files.iter().find(differs) {
            return Some(format!("the size of {path} is not {size} bytes"));
        }
        match (&self.metadata, &read.metadata) {
            (Some(one), Some(other)) if one != other => Some("the schema or the properties differ".to_owned()),
            _ => None,
        }
    }
}

fn logged_key(file: &LoggedFile) -> FileKey {
    let vector = file.deletion_vector.as_ref().map(|vector| {
        let offset = vector.offset.map_or(String::new(), |offset| format!("@{offset}"));
        format!("{}{}{offset}", vector.storage_type, vector.path_or_inline_dv)
    });
    (file.path.clone(), vector.unwrap_or_default())
}

fn vector_key(vector: &DeletionVectorDescriptor) -> String {
    let offset = vector.offset.map_or(String::new(), |offset| format!("@{offset}"));
    format!("{}{}{offset}", vector.storage_type, vector.path_or_inline_dv)
}

#[cfg(test)]
mod tests;
