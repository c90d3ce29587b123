#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};

use super::{EntryFiles, OperationFigures};

/// A file of an action: its path, bytes, stated rows and the rows that a vector hides.
type File = (&'static str, i64, Option<u64>, Option<i64>);

fn actions(kind: &str, files: &[File]) -> RecordBatch {
    let paths: StringArray = files.iter().map(|(path, ..)| Some(*path)).collect();
    let sizes: Int64Array = files.iter().map(|(_, size, ..)| Some(*size)).collect();
    let stats: StringArray =
        files.iter().map(|(_, _, rows, _)| rows.map(|n| format!(r#"{{"numRecords":{n}}}"#))).collect();
    let hidden: ArrayRef = Arc::new(files.iter().map(|(.., hidden)| *hidden).collect::<Int64Array>());
    let has_vector = NullBuffer::from(files.iter().map(|(.., hidden)| hidden.is_some()).collect::<Vec<_>>());
    let field = Field::new("cardinality", DataType::Int64, true);
    let vectors = StructArray::new(vec![field].into(), vec![hidden], Some(has_vector));
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("path", Arc::new(paths), false),
        ("size", Arc::new(sizes), false),
        ("stats", Arc::new(stats), true),
        ("deletionVector", Arc::new(vectors), true),
    ];
    let files = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    RecordBatch::try_from_iter([(kind, Arc::new(StructArray::from(files)) as ArrayRef)]).unwrap()
}

/// The metrics that are not 0, in the order of their names.
fn told(operation: &str, batches: &[RecordBatch], figures: OperationFigures) -> String {
    let mut metrics = EntryFiles::from_batches(batches).metrics(operation, &figures);
    metrics.retain(|(_, value)| *value > 0);
    metrics.sort_unstable();
    metrics.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_with_another_vector_is_neither_added_nor_removed() {
    let removed = [("a", 10, Some(9), None), ("b", 20, Some(9), Some(1)), ("c", 40, Some(9), Some(4))];
    let batches = [
        actions("remove", &removed),
        actions("add", &[("a", 10, Some(9), Some(2)), ("b", 20, Some(9), Some(3)), ("d", 80, Some(5), None)]),
    ];
    assert_eq!(
        told("DELETE", &batches, OperationFigures::default()),
        "numAddedBytes=80 numAddedFiles=1 numDeletedRows=5 numDeletionVectorsAdded=2 numDeletionVectorsRemoved=2 \
         numDeletionVectorsUpdated=1 numRemovedBytes=40 numRemovedFiles=1"
    );
    let figures = OperationFigures { restored_table: Some((3, 110)), ..OperationFigures::default() };
    assert_eq!(
        told("RESTORE", &batches, figures),
        "numOfFilesAfterRestore=3 numRemovedFiles=3 numRestoredFiles=3 removedFilesSize=70 restoredFilesSize=110 \
         tableSizeAfterRestore=110"
    );
}

#[test]
fn rows_that_are_not_known_are_not_told() {
    let batches = [actions("remove", &[("a", 1, Some(9), None), ("b", 2, None, None)])];
    let figures = OperationFigures { written_rows: 3, ..OperationFigures::default() };
    assert_eq!(told("WRITE", &batches, figures), "numOutputRows=3 numRemovedBytes=3 numRemovedFiles=2");
    assert_eq!(told("DELETE", &batches, figures), "numRemovedBytes=3 numRemovedFiles=2");
    // Rows that are changed by their ids, and not counted.
    let figures = OperationFigures { removed_rows: Some(2), ..figures };
    assert_eq!(told("MERGE", &batches, figures), "numOutputRows=3 numTargetBytesRemoved=3 numTargetFilesRemoved=2");
    assert_eq!(told("SET TBLPROPERTIES", &[], figures), "");
}

#[test]
fn rows_of_a_merge_add_up() {
    let merged = |written_rows, removed, is_by_key| {
        let removed_rows = Some(removed);
        OperationFigures { written_rows, removed_rows, is_by_key, ..OperationFigures::default() }.merged_rows()
    };
    assert_eq!(merged(5, 2, true), Some((3, 2, 0)));
    // The table had a key three times.
    assert_eq!(merged(1, 3, true), Some((0, 1, 2)));
    assert_eq!(merged(5, 0, false), Some((5, 0, 0)));
    assert_eq!(merged(0, 5, false), Some((0, 0, 5)));
    assert_eq!(merged(5, 2, false), None);
    let by_ids = OperationFigures {
        written_rows: 5,
        removed_rows: Some(4),
        updated_rows: Some(3),
        ..OperationFigures::default()
    };
    assert_eq!(by_ids.merged_rows(), Some((2, 3, 1)));
}

#[test]
fn sizes_of_compacted_files_are_told() {
    let sizes = [("a", 5, None, None), ("b", 1, None, None), ("c", 3, None, None), ("d", 2, None, None)];
    assert_eq!(
        told("OPTIMIZE", &[actions("add", &sizes)], OperationFigures::default()),
        "maxFileSize=5 minFileSize=1 numAddedBytes=11 numAddedFiles=4 p25FileSize=2 p50FileSize=3 p75FileSize=5"
    );
}
