//! The examples run, and give what they say.
#![allow(missing_docs, dead_code, clippy::unwrap_used)]

#[path = "../examples/scan.rs"]
mod scan;
#[path = "../examples/upsert.rs"]
mod upsert;

#[test]
fn a_scan_with_a_filter() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(scan::run(folder.path()).unwrap(), 5);
}

#[test]
fn a_table_in_step_with_files() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(upsert::run(folder.path()).unwrap(), 3);
}
