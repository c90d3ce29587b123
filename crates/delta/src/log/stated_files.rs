//! The number of files that an entry changes, according to other writers.
//!
//! delta-rs and delta-spark count the files of a commit in `commitInfo.operationMetrics`. An entry that was cut at the
//! end of a line has fewer of them. Only metrics that hold for every version of these writers count: each is a lower
//! bound.

use super::json_object::JsonObject;

/// The counts that an entry states of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatedFiles {
    /// Data and change files that it adds at least.
    pub added: u64,
    /// Files that it removes at least.
    pub removed: u64,
    /// Rows of the files that it adds at least.
    pub rows: u64,
}

/// The metrics of one kind of operation: of files that it adds, and of files that it removes.
struct FileMetrics {
    operations: &'static [&'static str],
    added: &'static str,
    removed: &'static str,
}

/// The metrics of delta-rs. Its counts of added files contain change files.
const DELTA_RS: [FileMetrics; 4] = [
    FileMetrics { operations: &["WRITE", "DELETE", "UPDATE"], added: "num_added_files", removed: "num_removed_files" },
    FileMetrics { operations: &["MERGE"], added: "num_target_files_added", removed: "num_target_files_removed" },
    FileMetrics { operations: &["OPTIMIZE"], added: "numFilesAdded", removed: "numFilesRemoved" },
    FileMetrics { operations: &["RESTORE"], added: "numRestoredFile", removed: "numRemovedFile" },
];
/// The metrics of delta-spark. Its count of files of a WRITE contains files without rows, which it does not add.
const DELTA_SPARK: [FileMetrics; 3] = [
    FileMetrics { operations: &["DELETE", "UPDATE", "OPTIMIZE"], added: "numAddedFiles", removed: "numRemovedFiles" },
    FileMetrics { operations: &["MERGE"], added: "numTargetFilesAdded", removed: "numTargetFilesRemoved" },
    FileMetrics { operations: &["RESTORE"], added: "numRestoredFiles", removed: "numRemovedFiles" },
];

impl StatedFiles {
    /// The counts in a line with `commitInfo`; zeros where nothing certain is stated.
    pub fn parse(line: &[u8]) -> Self {
        Self::try_parse(line).unwrap_or_default()
    }

    fn try_parse(line: &[u8]) -> Option<Self> {
        let line = JsonObject::parse(str::from_utf8(line).ok()?)?;
        let info = JsonObject::parse(line.get("commitInfo")?)?;
        let metrics = JsonObject::parse(info.get("operationMetrics")?)?;
        let text = |name: &str| info.get(name).and_then(|value| serde_json::from_str::<String>(value).ok());
        let (operation, engine) = (text("operation")?, text("engineInfo").or_else(|| text("clientVersion"))?);
        let count = |name: &str| metrics.get(name).and_then(count).unwrap_or(0);
        let of_table = |table: &[FileMetrics]| {
            let of_operation = table.iter().find(|metrics| metrics.operations.contains(&operation.as_str()));
            of_operation.map_or((0, 0), |metrics| (count(metrics.added), count(metrics.removed)))
        };
        if engine.starts_with("delta-rs") {
            let (added, removed) = of_table(&DELTA_RS);
            return Some(Self { added, removed, rows: 0 });
        }
        if !engine.starts_with("Apache-Spark/") || !engine.contains("Delta-Lake/") {
            return None;
        }
        let (added, removed) = of_table(&DELTA_SPARK);
        if operation != "WRITE" {
            return Some(Self { added, removed, rows: 0 });
        }
        // Rows that were written stand in a file at least. Those of an overwrite may stand in change files as well.
        let rows = count("numOutputRows");
        let parameters = info.get("operationParameters").and_then(JsonObject::parse);
        let mode = parameters.and_then(|parameters| serde_json::from_str::<String>(parameters.get("mode")?).ok());
        let is_append = mode.is_some_and(|mode| mode == "Append" || mode == "ErrorIfExists");
        Some(Self { added: u64::from(rows > 0), removed, rows: if is_append { rows } else { 0 } })
    }

    /// The counts in words.
    pub fn told(self) -> String {
        let files = |count: u64| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        match (self.added, self.removed) {
            (added, 0) => format!("adds {}", files(added)),
            (0, removed) => format!("removes {}", files(removed)),
            (added, removed) => format!("adds {} and removes {}", files(added), files(removed)),
        }
    }
}

/// A metric: delta-rs writes numbers, delta-spark writes texts.
fn count(value: &str) -> Option<u64> {
    let digits = value.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(value);
    digits.parse().ok()
}

#[cfg(test)]
mod tests;
