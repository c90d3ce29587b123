//! Writes of several processes in one commit: files of several writers, rows hidden by their ids, transactions, conflicts.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use lakerace::{
    AppTransaction, ErrorKind, FieldPaths, FilesCommit, Job, NewTable, OpenVersion, PendingFile, ReadOptions,
    ReplaceCondition, Replaced, Requests, RowStatement, RowStatementKind, Scan, SharedTable, StorageOptions, TableTask,
    WriteOptions, commit_files, commit_rows, discard_files, read_table_task, table_writer,
};

fn batch(ids: impl IntoIterator<Item = i64>) -> RecordBatch {
    let ids: ArrayRef = Arc::new(ids.into_iter().map(Some).collect::<Int64Array>());
    RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).unwrap()
}

struct Place {
    folder: tempfile::TempDir,
    name: String,
    storage: StorageOptions,
    job: Job,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("delta:{}/t", folder.path().display());
        Self { folder, name, storage: StorageOptions::default(), job: Job::default() }
    }

    fn make(&self) -> SharedTable {
        let schema = batch([]).schema();
        SharedTable::find_or_make(&self.name, &schema, &NewTable::default(), &self.storage, &self.job).unwrap()
    }

    fn at(&self, version: u64) -> OpenVersion {
        OpenVersion::open(&self.name, version, None, &self.storage, &self.job).unwrap()
    }

    /// Files of one writer, as they cross between processes.
    fn files(&self, version: u64, ids: impl IntoIterator<Item = i64>) -> Vec<PendingFile> {
        let (rows, options) = (batch(ids), WriteOptions::default());
        let mut writer = table_writer(&self.at(version), &rows.schema(), &options).unwrap();
        writer.write(&rows).unwrap();
        let text = serde_json::to_string(&writer.finish().unwrap()).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn commit(&self, version: u64, files: Vec<PendingFile>, replaced: Replaced) -> Option<u64> {
        let done = commit_files(&self.at(version), files, replaced, &FilesCommit::default()).unwrap();
        done.and_then(|written| written.version)
    }

    fn ids(&self) -> Vec<i64> {
        let scan = Scan::open(&self.name, &ReadOptions::default(), &self.job).unwrap();
        let batches = scan.batches().unwrap().map(Result::unwrap);
        let mut ids: Vec<i64> =
            batches.flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        ids.sort_unstable();
        ids
    }

    /// The rows of a version for which a filter is true, with their ids.
    fn with_ids(&self, version: u64, filter: &str) -> Vec<(i64, String, u64)> {
        let read = ReadOptions {
            at: Some(version.to_string()),
            columns: Some(vec!["id".into()]),
            filter: Some(filter.to_owned()),
            ..ReadOptions::default()
        };
        let open = Scan::describe(&self.name, &read, &self.job).unwrap().open_version().unwrap();
        let scan = open.plan(&read, FieldPaths::new(), true).unwrap();
        // As it comes to another process.
        let copied = |task: &TableTask| serde_json::from_str(&serde_json::to_string(task).unwrap()).unwrap();
        let tasks: Vec<TableTask> = scan.tasks(1).iter().map(copied).collect();
        let read = |task| read_table_task(&self.name, &scan.version, task, &read, &self.job).unwrap();
        let batches = tasks.iter().flat_map(read);
        let rows = batches.map(Result::unwrap).flat_map(|batch| {
            let (ids, files) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
            let positions = batch.column(2).as_primitive::<Int64Type>();
            let row = |at: usize| (ids.value(at), files.value(at).to_owned(), positions.value(at) as u64);
            (0..batch.num_rows()).map(row).collect::<Vec<_>>()
        });
        rows.collect()
    }

    fn data_files(&self) -> usize {
        let entries = std::fs::read_dir(self.folder.path().join("t")).unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "parquet")).count()
    }
}

/// Hides rows as another process tells of them.
fn hidden(rows: &[(i64, String, u64)]) -> HashMap<String, Vec<u64>> {
    let mut hidden = HashMap::<String, Vec<u64>>::new();
    rows.iter().for_each(|(_, file, row)| hidden.entry(file.clone()).or_default().push(*row));
    hidden
}

#[test]
fn files_of_several_writers_are_one_commit() {
    let place = Place::new();
    let version = place.make().version;
    let files = [place.files(version, 0..10), place.files(version, 10..20)].concat();
    assert!(place.ids().is_empty());
    assert_eq!(files.iter().map(PendingFile::rows).sum::<u64>(), 20);
    // Another writer is faster: both are there.
    let other = place.files(version, 20..25);
    assert_eq!(place.commit(version, other, Replaced::Nothing), Some(1));
    assert_eq!(place.commit(version, files, Replaced::Nothing), Some(2));
    assert_eq!(place.ids(), (0..25).collect::<Vec<_>>());
    assert_eq!(place.commit(version, place.files(version, [7]), Replaced::Table), Some(3));
    assert_eq!(place.ids(), [7]);
    discard_files(&place.name, place.files(3, [8]), &place.storage, &place.job).unwrap();
    assert_eq!((place.ids(), place.data_files()), (vec![7], 4));
}

#[test]
fn a_transaction_counts_once() {
    let place = Place::new();
    let version = place.make().version;
    let run = |number| {
        let transaction = AppTransaction { name: "load".to_owned(), number };
        let files = place.files(version, [number as i64]);
        let once = FilesCommit { transaction: Some(&transaction), ..FilesCommit::default() };
        commit_files(&place.at(version), files, Replaced::Nothing, &once)
    };
    assert_eq!(run(1).unwrap().unwrap().version, Some(1));
    assert!(run(1).unwrap().is_none());
    assert!(run(0).unwrap().is_none());
    assert_eq!((place.ids(), place.data_files()), (vec![1], 1));
}

#[test]
fn rows_are_hidden_by_their_ids() {
    let place = Place::new();
    let version = place.make().version;
    place.commit(version, [place.files(version, 0..10), place.files(version, 10..20)].concat(), Replaced::Nothing);
    let (mut version, mut left) = (1, (0..20).collect::<Vec<i64>>());
    // The later ones are of files that have deletion vectors.
    for divisor in [5, 3, 2] {
        let rows = place.with_ids(version, &format!("id % {divisor} = 0"));
        let (found, rest): (Vec<i64>, Vec<i64>) = left.iter().partition(|id| **id % divisor == 0);
        let mut ids: Vec<i64> = rows.iter().map(|(id, ..)| *id).collect();
        ids.sort_unstable();
        assert_eq!(ids, found);
        let files = place.files(version, [100 + divisor]);
        let changed = commit_rows(&place.at(version), files, hidden(&rows), &statement(), None).unwrap().unwrap();
        assert_eq!(changed.hidden, found.len() as u64);
        version = changed.written.version.unwrap();
        left = rest;
        left.push(100 + divisor);
        left.sort_unstable();
        assert_eq!(place.ids(), left);
    }
}

fn statement() -> RowStatement {
    RowStatement { kind: RowStatementKind::Update, conditions: Some(vec!["id < 3".to_owned()]), updated_rows: None }
}

#[test]
fn rows_that_came_or_changed_meanwhile_are_a_conflict() {
    let place = Place::new();
    let version = place.make().version;
    place.commit(version, place.files(version, 0..10), Replaced::Nothing);
    let rows = place.with_ids(1, "id < 3");
    place.commit(1, place.files(1, [50]), Replaced::Nothing);
    let conflict = |rows: &[(i64, String, u64)], version| {
        let files = place.files(version, [99]);
        commit_rows(&place.at(version), files, hidden(rows), &statement(), None).unwrap_err().kind()
    };
    assert_eq!(conflict(&rows, 1), ErrorKind::Conflict);
    let rows = place.with_ids(2, "id < 3");
    commit_rows(&place.at(2), Vec::new(), hidden(&rows[..1]), &statement(), None).unwrap();
    assert_eq!(conflict(&rows, 2), ErrorKind::Conflict);
    assert_eq!(place.ids(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 50]);
    assert_eq!(place.data_files(), 2);
}

#[test]
fn an_overwrite_replaces_the_partitions_of_its_files() {
    let place = Place::new();
    let rows = |ids: [i64; 2]| {
        let ids: ArrayRef = Arc::new(ids.into_iter().map(Some).collect::<Int64Array>());
        RecordBatch::try_from_iter_with_nullable([("id", Arc::clone(&ids), true), ("part", ids, true)]).unwrap()
    };
    let schema = rows([0, 0]).schema();
    let new = NewTable { partition_by: vec!["part".to_owned()], ..NewTable::default() };
    let table = SharedTable::find_or_make(&place.name, &schema, &new, &place.storage, &place.job).unwrap();
    let write = |ids: [i64; 2]| {
        let options = WriteOptions::default();
        let mut writer = table_writer(&place.at(table.version), &schema, &options).unwrap();
        writer.write(&rows(ids)).unwrap();
        writer.finish().unwrap()
    };
    place.commit(table.version, write([1, 2]), Replaced::Nothing);
    // Behind another commit: what is there then is replaced.
    place.commit(table.version, write([2, 3]), Replaced::Partitions);
    assert_eq!(place.ids(), [1, 2, 3]);
    assert_eq!(place.commit(table.version, Vec::new(), Replaced::Partitions), None);
    assert_eq!(place.ids(), [1, 2, 3]);
    let only = |text: &str| {
        Replaced::Where(ReplaceCondition { filter: lakerace::parse_filter(text).unwrap(), text: text.to_owned() })
    };
    let last = place.commit(table.version, write([3, 3]), only("part > 2")).unwrap();
    assert_eq!(place.ids(), [1, 2, 3, 3]);
    for (text, kind) in [("part = 2", ErrorKind::Invalid), ("id = 3", ErrorKind::Unsupported)] {
        let refused = commit_files(&place.at(table.version), write([3, 4]), only(text), &FilesCommit::default());
        assert_eq!(refused.unwrap_err().kind(), kind, "{text}");
    }
    // Without rows, by the version that the statement has read.
    assert_eq!(place.commit(table.version, Vec::new(), only("part < 3")), None);
    assert_eq!(place.commit(last, Vec::new(), only("part < 3")), Some(last + 1));
    assert_eq!(place.ids(), [3, 3]);
    assert_eq!(place.commit(last + 1, Vec::new(), only("part < 3")), None);
}

#[test]
fn a_version_that_is_open_is_read_once() {
    let place = Place::new();
    let opened = place.make().open_version();
    place.commit(0, place.files(0, 0..10), Replaced::Nothing);
    place.commit(1, place.files(1, 10..20), Replaced::Nothing);
    let job = Job::default();
    let again = OpenVersion::open(&place.name, 0, Some(&opened), &place.storage, &job).unwrap();
    assert_eq!((again.version(), job.meter().counts().requests), (0, Requests::default()));
    let later = OpenVersion::open(&place.name, 2, Some(&opened), &place.storage, &job).unwrap();
    assert_eq!((later.version(), later.file_count().unwrap()), (2, 2));
    let last = SharedTable::find_after(&place.name, &opened, &place.storage, &job).unwrap().unwrap();
    assert_eq!((last.version, last.open_version().file_count().unwrap()), (2, 2));
    // An earlier version than the open one, and one that does not exist.
    let open = |version| OpenVersion::open(&place.name, version, Some(&later), &place.storage, &job);
    assert_eq!(open(1).unwrap().file_count().unwrap(), 1);
    assert_eq!(open(3).err().unwrap().kind(), ErrorKind::NotFound);
}

#[test]
fn a_table_that_was_replaced_is_opened_as_a_whole() {
    let place = Place::new();
    place.make();
    let files = place.files(0, 0..10);
    place.commit(0, files, Replaced::Nothing);
    let (first, opened) = (place.at(0), place.at(1));
    let waiting = place.files(1, 10..20);
    lakerace::drop_table(&place.name, &place.storage, &place.job).unwrap();
    // No table, one of fewer versions, and one with as many.
    let last = || SharedTable::find_after(&place.name, &opened, &place.storage, &place.job).unwrap();
    assert!(last().is_none());
    place.make();
    assert_eq!((last().unwrap().version, last().unwrap().open_version().file_count().unwrap()), (0, 0));
    let other = SharedTable::find_after(&place.name, &first, &place.storage, &place.job).unwrap().unwrap();
    assert_ne!(other.open_version().table_id(), first.table_id());
    place.commit(0, place.files(0, 50..60), Replaced::Nothing);
    assert_ne!(last().unwrap().open_version().table_id(), opened.table_id());
    // What was written for the old table does not get into the new one.
    let error = commit_files(&opened, waiting, Replaced::Nothing, &FilesCommit::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(place.ids(), (50..60).collect::<Vec<_>>());
}
