#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lakerace_format::schema_text::print_schema;

use super::*;
use crate::{CopyOptions, write};

/// A Parquet file of a thousand rows with a number and a long text.
fn file(folder: &tempfile::TempDir) -> String {
    let numbers: ArrayRef = Arc::new((0..1000).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new((0..1000).map(|at| Some(format!("{at:x}").repeat(40))).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter([("id", numbers), ("text", texts)]).unwrap();
    let path = folder.path().join("rows.parquet").to_str().unwrap().to_owned();
    let batches = Batches::new(batch.schema(), [Ok(batch)].into_iter());
    write(batches, &path, &CopyOptions::default(), &Job::default()).unwrap();
    path
}

fn open(location: &str, columns: &[&str], options: ReadOptions) -> Scan {
    let columns = columns.iter().map(|text| ColumnItem::parse(text).unwrap()).collect();
    Scan::open(location, &ReadOptions { columns: Some(columns), ..options }, &Job::default()).unwrap()
}

/// Names and types of batches, and the sum of the column `key`.
fn read(batches: Batches) -> (String, i64) {
    let mut sum = 0;
    let schema = Arc::clone(batches.schema());
    for batch in batches {
        let batch = batch.unwrap();
        assert_eq!(batch.schema(), schema);
        let keys = batch.column_by_name("key").unwrap();
        sum += keys.as_any().downcast_ref::<Int64Array>().unwrap().values().iter().sum::<i64>();
    }
    (print_schema(&schema), sum)
}

#[test]
fn an_upsert_reads_some_computed_columns_again() {
    let folder = tempfile::tempdir().unwrap();
    let location = file(&folder);
    let scan = open(&location, &["upper(text) as text", "id * 2 as key", "id"], ReadOptions::default());
    let (all, sum) = read(scan.batches().unwrap());
    assert_eq!((all.as_str(), sum), ("text utf8_view, key int64, id int64 not null", 999_000));
    let bytes = |scan: &Scan| scan.job.meter().counts().bytes_read;
    let before = bytes(&scan);
    let (some, sum) = read(scan.columns(&["key".to_owned()]).unwrap());
    assert_eq!((some.as_str(), sum), ("key int64", 999_000));
    let whole = open(&location, &["id * 2 as key", "text"], ReadOptions::default());
    let opened = bytes(&whole);
    read(whole.batches().unwrap());
    // The texts are not among the bytes.
    assert!((bytes(&scan) - before) * 2 < bytes(&whole) - opened);
    let limited = open(&location, &["id + 1 as key"], ReadOptions { limit: Some(10), ..ReadOptions::default() });
    assert_eq!(read(limited.columns(&["key".to_owned()]).unwrap()).1, 55);
    assert!(limited.source_rows().is_ok());
}

#[test]
fn extremes_of_renamed_columns_are_those_of_their_source() {
    let folder = tempfile::tempdir().unwrap();
    let scan = open(&file(&folder), &["id as key", "id + 1 as id", "text"], ReadOptions::default());
    let source = Scan::open(&file(&tempfile::tempdir().unwrap()), &ReadOptions::default(), &Job::default()).unwrap();
    assert_eq!(scan.extremes("key").unwrap(), source.extremes("id").unwrap());
    assert!(scan.extremes("key").unwrap().is_some());
    assert_eq!(scan.extremes("id").unwrap(), None);
    assert_eq!(scan.extremes("other").unwrap(), None);
}

#[test]
fn parts_of_a_plan_compute_their_columns_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let location = file(&folder);
    let columns = Some(vec![ColumnItem::parse("id * 3 as key").unwrap(), "text".into()]);
    let options = ReadOptions { columns, filter: Some("id > 500".to_owned()), ..ReadOptions::default() };
    let scan = Scan::open(&location, &options, &Job::default()).unwrap();
    let parts = scan.split(3).unwrap();
    let mut rows = Checksum::default();
    for part in parts {
        let part = Scan::with_plan(&location, &options, part, &Job::default()).unwrap();
        assert_eq!(part.schema(), scan.schema());
        rows = rows.and(part.checksum().unwrap());
    }
    assert_eq!(rows, scan.checksum().unwrap());
    let again = scan.planned_again(&location, &ReadOptions { limit: Some(5), ..options }).unwrap();
    assert_eq!(read(again.batches().unwrap()).1, 3 * (501..506).sum::<i64>());
}
