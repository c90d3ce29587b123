#![allow(clippy::unwrap_used)]

use lakerace_io::{ErrorKind, Job, Location, StorageOptions};

use super::Table;

#[test]
fn no_table_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::parse(folder.path().to_str().unwrap()).unwrap();
    let table = Table::at(&location, &StorageOptions::default(), &Job::default()).unwrap();
    let error = table.snapshot(None).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no Delta table"), "{error}");
}
