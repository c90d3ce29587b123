#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow::array::{Int64Array, RecordBatch, StringArray};
use lakerace_format::Batches;
use tempfile::TempDir;

use super::keys::MOST_KEYS;
use super::*;
use crate::{CopyOptions, RowOptions, Scan, UpsertOptions, delete, upsert_rows, write};

/// A table, and a target that follows it.
struct Pair {
    _folder: TempDir,
    table: String,
    target: String,
    job: Job,
}

fn rows(ids: std::ops::Range<i64>, text: &str) -> Batches {
    let texts = StringArray::from_iter_values(ids.clone().map(|id| format!("{text}{id}")));
    let columns = [("id", Arc::new(Int64Array::from_iter_values(ids)) as _), ("text", Arc::new(texts) as _)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    Batches::new(batch.schema(), std::iter::once(Ok(batch)))
}

impl Pair {
    fn new(count: i64, has_feed: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (table, target) = (place("table"), format!("sqlite:{}#t", place("a.db")));
        let pair = Self { _folder: folder, table, target, job: Job::default() };
        let feed = ("delta.enableChangeDataFeed".to_owned(), has_feed.to_string());
        let options = CopyOptions { table_properties: [feed].into(), ..CopyOptions::default() };
        write(rows(0..count, "old"), &format!("delta:{}", pair.table), &options, &pair.job).unwrap();
        pair
    }

    fn options() -> SyncOptions {
        SyncOptions { key: vec!["id".to_owned()], ..SyncOptions::default() }
    }

    fn sync(&self) -> Synced {
        sync(&self.table, &self.target, &Self::options(), &self.job).unwrap()
    }

    fn upsert(&self, ids: std::ops::Range<i64>, text: &str) {
        let row_options = RowOptions { key: vec!["id".to_owned()], ..RowOptions::default() };
        let options = UpsertOptions { rows: row_options, ..UpsertOptions::default() };
        upsert_rows(&self.table, rows(ids, text).into(), &options, &self.job).unwrap();
    }

    fn delete(&self, condition: &str) {
        let (options, storage) = (lakerace_delta::DeleteOptions::default(), StorageOptions::default());
        delete(&self.table, condition, &options, &storage, &self.job).unwrap();
    }

    fn assert_same(&self) {
        let sum = |place: &str| Scan::open(place, &ReadOptions::default(), &self.job).unwrap().checksum().unwrap();
        assert_eq!(sum(&self.target), sum(&self.table));
    }
}

#[test]
fn more_changes_than_memory_is_meant_for() {
    for has_feed in [false, true] {
        let pair = Pair::new(1000, has_feed);
        assert_eq!(pair.sync().upserted, 1000);
        pair.upsert(100..600, "mid");
        pair.upsert(900..1300, "new");
        pair.delete("id >= 300 and id < 400 or id >= 1250");
        let done = pair.sync();
        assert_eq!((done.from_version, done.version), (Some(0), 3));
        pair.assert_same();
    }
}

#[test]
fn any_number_of_rows_may_come() {
    let pair = Pair::new(10, false);
    pair.sync();
    let count = i64::try_from(MOST_KEYS).unwrap() * 5;
    pair.upsert(10..10 + count, "new");
    assert_eq!(pair.sync().upserted, 5 * MOST_KEYS as u64);
    pair.assert_same();
}

#[test]
fn an_interval_may_be_as_long_as_can_be_said() {
    let pair = Pair::new(10, true);
    let job = Job::default();
    let each = |_: &Synced| job.cancel();
    let done = follow(&pair.table, &pair.target, &Pair::options(), Duration::MAX, &job, each).unwrap();
    assert_eq!((done.version, done.upserted), (0, 10));
    pair.assert_same();
}
