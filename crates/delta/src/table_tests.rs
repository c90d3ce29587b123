#![allow(clippy::unwrap_used)]

use lakerace_io::{ErrorKind, Job, Location, StorageOptions};

use super::Table;

fn table() -> Table {
    let location = Location::parse("/lake/my table%20/").unwrap();
    Table::at(&location, &StorageOptions::default(), &Job::default()).unwrap()
}

#[test]
fn names_of_files_are_decoded_once() {
    let url = |name: &str| table().object(name).unwrap().url();
    assert_eq!(url("part-0.parquet"), "/lake/my table%20/part-0.parquet");
    assert_eq!(url("day=2024-02-29%2000%253A00/p.parquet"), "/lake/my table%20/day=2024-02-29 00%3A00/p.parquet");
    assert_eq!(url("at=12:30/p.parquet"), "/lake/my table%20/at=12:30/p.parquet");
    assert_eq!(url("file:/elsewhere/a%20b.parquet"), "/elsewhere/a b.parquet");
    assert_eq!(url("file:///elsewhere/p.parquet"), "/elsewhere/p.parquet");
    assert_eq!(url("/elsewhere/p.parquet"), "/elsewhere/p.parquet");
    assert_eq!(url("s3://bucket/key/p.parquet"), "s3://bucket/key/p.parquet");
}

#[test]
fn names_that_lead_out_of_the_table_are_damage() {
    for name in ["../secret", "a/../../b", "%2e%2e/b", "a//b"] {
        assert_eq!(table().object(name).unwrap_err().kind(), ErrorKind::Corrupt, "{name}");
    }
}

#[test]
fn no_table_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::parse(folder.path().to_str().unwrap()).unwrap();
    let table = Table::at(&location, &StorageOptions::default(), &Job::default()).unwrap();
    let error = table.snapshot(None).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no Delta table"), "{error}");
}
