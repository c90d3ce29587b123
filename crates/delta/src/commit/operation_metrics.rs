//! The metrics of an entry (`commitInfo.operationMetrics`), by the names that delta-spark gives them.
//!
//! Files and bytes are counted from the actions that are committed. So they also hold for a commit that was tried again
//! after the entries of other writers. Rows come from the operation, and from the statistics of removed files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StructArray};
use arrow::datatypes::Int64Type;
use serde::Deserialize;

/// The figures of an operation that the actions of its entry do not state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OperationFigures {
    /// Rows of the source.
    pub source_rows: Option<u64>,
    /// Rows of the operation that were written.
    pub written_rows: u64,
    /// Rows of the table that were written again unchanged, because others of their files were removed.
    pub copied_rows: u64,
    /// Rows of the table that were removed or replaced. `None`: those of the removed files.
    pub removed_rows: Option<u64>,
    /// Rows of the table that a written row replaces each, where they were counted.
    pub updated_rows: Option<u64>,
    /// Rows of the table that a merge has updated and deleted because no row of the source matches them. `None`: it has no
    /// clause for such rows.
    pub unmatched_rows: Option<(u64, u64)>,
    /// Each written row replaces the rows with its key.
    pub is_by_key: bool,
    /// The table's files and their bytes after a restore.
    pub restored_table: Option<(u64, u64)>,
}

/// The files that an entry names.
#[derive(Debug, Default)]
pub(super) struct EntryFiles {
    added: Vec<EntryFile>,
    removed: Vec<EntryFile>,
    /// Change files.
    changes: u64,
}

#[derive(Debug)]
struct EntryFile {
    path: String,
    bytes: u64,
    /// The rows of a removed file that no deletion vector hides, if the entry states them.
    rows: Option<u64>,
    has_vector: bool,
}

/// Counts of files. A file that only gets another deletion vector is neither added nor removed.
#[derive(Debug, Default)]
struct FileCounts {
    added: u64,
    added_bytes: u64,
    removed: u64,
    removed_bytes: u64,
    /// Rows of the removed files, where all of them are known.
    removed_rows: Option<u64>,
    vectors_added: u64,
    vectors_removed: u64,
    vectors_updated: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct RecordCount {
    num_records: Option<u64>,
}

type Metrics = Vec<(&'static str, u64)>;

impl EntryFiles {
    pub fn from_batches<'a>(batches: impl IntoIterator<Item = &'a RecordBatch>) -> Self {
        let mut files = Self::default();
        for batch in batches {
            let actions = |name: &str| batch.column_by_name(name).and_then(|column| column.as_struct_opt());
            files.added.extend(actions("add").map(|add| named_files(add, false)).unwrap_or_default());
            files.removed.extend(actions("remove").map(|remove| named_files(remove, true)).unwrap_or_default());
            files.changes += actions("cdc").map_or(0, |changes| (changes.len() - changes.null_count()) as u64);
        }
        files
    }

    fn counts(&self) -> FileCounts {
        let before: HashMap<&str, bool> = self.removed.iter().map(|f| (f.path.as_str(), f.has_vector)).collect();
        let after: HashSet<&str> = self.added.iter().map(|file| file.path.as_str()).collect();
        let mut counts = FileCounts { removed_rows: Some(0), ..FileCounts::default() };
        for file in &self.added {
            counts.vectors_added += u64::from(file.has_vector);
            match before.get(file.path.as_str()) {
                None => {
                    counts.added += 1;
                    counts.added_bytes += file.bytes;
                }
                Some(had_vector) => counts.vectors_updated += u64::from(*had_vector && file.has_vector),
            }
        }
        for file in &self.removed {
            counts.vectors_removed += u64::from(file.has_vector);
            if !after.contains(file.path.as_str()) {
                counts.removed += 1;
                counts.removed_bytes += file.bytes;
                counts.removed_rows = counts.removed_rows.zip(file.rows).map(|(all, rows)| all + rows);
            }
        }
        counts
    }

    /// The metrics of an operation with these files.
    fn metrics(&self, operation: &str, figures: &OperationFigures) -> Metrics {
        match operation {
            "DELETE" => self.of_delete(figures),
            "UPDATE" => self.of_update(figures),
            "MERGE" => self.of_merge(figures),
            "OPTIMIZE" => self.of_optimize(),
            "RESTORE" => self.of_restore(figures),
            "WRITE" => self.of_write(figures),
            // Other operations either write rows or change no file.
            _ if self.added.is_empty() && self.removed.is_empty() => Vec::new(),
            _ => self.of_write(figures),
        }
    }

    fn of_write(&self, figures: &OperationFigures) -> Metrics {
        let counts = self.counts();
        let mut metrics = vec![
            ("numFiles", counts.added),
            ("numOutputRows", figures.written_rows),
            ("numOutputBytes", counts.added_bytes),
        ];
        if !self.removed.is_empty() {
            metrics.extend([("numRemovedFiles", counts.removed), ("numRemovedBytes", counts.removed_bytes)]);
            metrics.extend(counts.removed_rows.map(|rows| ("numDeletedRows", rows)));
        }
        metrics
    }

    fn of_delete(&self, figures: &OperationFigures) -> Metrics {
        let counts = self.counts();
        let mut metrics = self.of_changed_rows(&counts, figures);
        metrics.extend(figures.removed_rows.or(counts.removed_rows).map(|rows| ("numDeletedRows", rows)));
        metrics
    }

    fn of_update(&self, figures: &OperationFigures) -> Metrics {
        let mut metrics = self.of_changed_rows(&self.counts(), figures);
        metrics.extend(figures.removed_rows.map(|rows| ("numUpdatedRows", rows)));
        metrics
    }

    /// The metrics that `DELETE` and `UPDATE` have in common.
    fn of_changed_rows(&self, counts: &FileCounts, figures: &OperationFigures) -> Metrics {
        vec![
            ("numAddedFiles", counts.added),
            ("numRemovedFiles", counts.removed),
            ("numAddedBytes", counts.added_bytes),
            ("numRemovedBytes", counts.removed_bytes),
            ("numAddedChangeFiles", self.changes),
            ("numDeletionVectorsAdded", counts.vectors_added),
            ("numDeletionVectorsRemoved", counts.vectors_removed),
            ("numDeletionVectorsUpdated", counts.vectors_updated),
            ("numCopiedRows", figures.copied_rows),
        ]
    }

    fn of_merge(&self, figures: &OperationFigures) -> Metrics {
        let counts = self.counts();
        let mut metrics = vec![
            ("numOutputRows", figures.written_rows + figures.copied_rows),
            ("numTargetRowsCopied", figures.copied_rows),
            ("numTargetFilesAdded", counts.added),
            ("numTargetFilesRemoved", counts.removed),
            ("numTargetBytesAdded", counts.added_bytes),
            ("numTargetBytesRemoved", counts.removed_bytes),
            ("numTargetChangeFilesAdded", self.changes),
            ("numTargetDeletionVectorsAdded", counts.vectors_added),
            ("numTargetDeletionVectorsRemoved", counts.vectors_removed),
            ("numTargetDeletionVectorsUpdated", counts.vectors_updated),
        ];
        metrics.extend(figures.source_rows.map(|rows| ("numSourceRows", rows)));
        if let Some((inserted, updated, deleted)) = figures.merged_rows() {
            let (unmatched_updated, unmatched_deleted) = figures.unmatched_rows.unwrap_or_default();
            metrics.extend([
                ("numTargetRowsInserted", inserted),
                ("numTargetRowsUpdated", updated),
                ("numTargetRowsMatchedUpdated", updated.saturating_sub(unmatched_updated)),
                ("numTargetRowsDeleted", deleted),
                ("numTargetRowsMatchedDeleted", deleted.saturating_sub(unmatched_deleted)),
            ]);
            if figures.unmatched_rows.is_some() {
                metrics.extend([
                    ("numTargetRowsNotMatchedBySourceUpdated", unmatched_updated),
                    ("numTargetRowsNotMatchedBySourceDeleted", unmatched_deleted),
                ]);
            }
        }
        metrics
    }

    fn of_optimize(&self) -> Metrics {
        let counts = self.counts();
        let mut metrics = vec![
            ("numAddedFiles", counts.added),
            ("numRemovedFiles", counts.removed),
            ("numAddedBytes", counts.added_bytes),
            ("numRemovedBytes", counts.removed_bytes),
            ("numDeletionVectorsRemoved", counts.vectors_removed),
        ];
        let mut sizes: Vec<u64> = self.added.iter().map(|file| file.bytes).collect();
        sizes.sort_unstable();
        if let (Some(min), Some(max)) = (sizes.first(), sizes.last()) {
            let quantile = |quarters: usize| sizes[sizes.len() * quarters / 4];
            metrics.extend([
                ("minFileSize", *min),
                ("p25FileSize", quantile(1)),
                ("p50FileSize", quantile(2)),
                ("p75FileSize", quantile(3)),
                ("maxFileSize", *max),
            ]);
        }
        metrics
    }

    /// Files whose deletion vector was restored are among both counts, as delta-spark counts them.
    fn of_restore(&self, figures: &OperationFigures) -> Metrics {
        let bytes = |files: &[EntryFile]| files.iter().map(|file| file.bytes).sum::<u64>();
        let mut metrics = vec![
            ("numRestoredFiles", self.added.len() as u64),
            ("numRemovedFiles", self.removed.len() as u64),
            ("restoredFilesSize", bytes(&self.added)),
            ("removedFilesSize", bytes(&self.removed)),
        ];
        if let Some((files, bytes)) = figures.restored_table {
            metrics.extend([("numOfFilesAfterRestore", files), ("tableSizeAfterRestore", bytes)]);
        }
        metrics
    }
}

impl OperationFigures {
    /// The rows of a merge that are new, that took the place of others, and that went. `None` where they are not known.
    ///
    /// By key, a written row takes the place of one row. If the table has a key more often, the others count as deleted.
    fn merged_rows(&self) -> Option<(u64, u64, u64)> {
        let (written, removed) = (self.written_rows, self.removed_rows?);
        let is_known = self.is_by_key || written == 0 || removed == 0;
        let updated = self.updated_rows.or(is_known.then_some(written))?.min(written).min(removed);
        Some((written - updated, updated, removed - updated))
    }
}

/// The files of actions, with their rows if these are counted: those of new files are known, and need no parsing.
fn named_files(actions: &StructArray, counts_rows: bool) -> Vec<EntryFile> {
    let texts = |name: &str| actions.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    let Some(paths) = texts("path") else { return Vec::new() };
    let sizes = actions.column_by_name("size").and_then(|sizes| sizes.as_primitive_opt::<Int64Type>());
    let statistics = texts("stats").filter(|_| counts_rows);
    let vectors = actions.column_by_name("deletionVector").and_then(|vectors| vectors.as_struct_opt());
    let hidden = vectors.and_then(|vectors| vectors.column_by_name("cardinality"));
    let hidden = hidden.and_then(|hidden| hidden.as_primitive_opt::<Int64Type>());
    let file = |row: usize| {
        let value =
            |numbers: &Int64Array| numbers.is_valid(row).then(|| u64::try_from(numbers.value(row)).unwrap_or(0));
        let has_vector = vectors.is_some_and(|vectors| vectors.is_valid(row)) && hidden.and_then(value).is_some();
        let hidden = if has_vector { hidden.and_then(value).unwrap_or(0) } else { 0 };
        let stated = statistics.filter(|statistics| statistics.is_valid(row)).map(|statistics| statistics.value(row));
        let stated = stated.and_then(|text| serde_json::from_str::<RecordCount>(text).ok()?.num_records);
        EntryFile {
            path: paths.value(row).to_owned(),
            bytes: sizes.and_then(value).unwrap_or(0),
            rows: stated.map(|rows| rows.saturating_sub(hidden)),
            has_vector,
        }
    };
    (0..actions.len()).filter(|row| actions.is_valid(*row) && paths.is_valid(*row)).map(file).collect()
}

/// The operation that an entry names.
fn operation(batches: &[RecordBatch]) -> Option<&str> {
    let info = batches.iter().find_map(|batch| batch.column_by_name("commitInfo")?.as_struct_opt());
    let names = info?.column_by_name("operation")?.as_string_opt::<i32>()?;
    (!names.is_empty() && names.is_valid(0)).then(|| names.value(0))
}

/// The metrics of an entry with these actions, for the rows of a `commitInfo`.
pub(super) fn metrics_column(
    batches: &[RecordBatch],
    figures: &OperationFigures,
) -> impl Fn(usize) -> ArrayRef + use<> {
    let files = EntryFiles::from_batches(batches);
    let metrics = files.metrics(operation(batches).unwrap_or_default(), figures);
    move |rows| text_map(rows, metrics.iter().map(|(name, value)| (*name, value.to_string())))
}

/// Rows that all have this map of texts.
pub(super) fn text_map(rows: usize, entries: impl Iterator<Item = (&'static str, String)> + Clone) -> ArrayRef {
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for _ in 0..rows {
        for (name, value) in entries.clone() {
            map.keys().append_value(name);
            map.values().append_value(value);
        }
        // There is one value for each key.
        let _ = map.append(true);
    }
    Arc::new(map.finish())
}

#[cfg(test)]
mod tests;
