//! Restoring gives back what an earlier version read, as a new version.

use std::sync::Arc;

use lakerace_delta::{CompactOptions, VersionSpec, WriteMode, compact, delete, restore};
use lakerace_io::ErrorKind;
use lakerace_io::object_store::memory::InMemory;

use crate::common::{
    Meanwhile, append, batch, create, entry, less, on, put, read, read_at, rows, table, version, write,
};
use crate::vacuum::vacuum_now;

#[test]
fn every_version_can_be_restored() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..50, &[("delta.checkpointInterval", "3")]);
    append(&table, 50..60, "a");
    put(&table, &rows([3, 55, 70], "b")).unwrap();
    put(&table, &rows([4, 55], "c")).unwrap();
    delete(&table, &less("id", 10)).unwrap();
    compact(&table, &CompactOptions::default()).unwrap();
    write(&table, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    let then: Vec<_> = (0..7).map(|version| read_at(&table, Some(version)).unwrap()).collect();
    for (number, at) in [4, 0, 6, 2, 5, 3, 1, 3].into_iter().enumerate() {
        let done = restore(&table, VersionSpec::Version(at)).unwrap();
        assert_eq!((done.version, done.restored), (Some(7 + number as u64), at), "{done:?}");
        assert_eq!(read(&table), then[at as usize], "restored {at}");
        // The table goes on from there.
        if number == 3 {
            assert_eq!(entry(&inner, 10)[0]["commitInfo"]["operation"], "RESTORE");
        }
    }
    put(&table, &rows([3, 4], "after")).unwrap();
    let mut expected = then[3].clone();
    expected.extend(rows([3, 4], "after"));
    assert_eq!(read(&table), expected);
    let last = version(&table);
    let again = restore(&table, VersionSpec::Version(last)).unwrap();
    assert_eq!((again.version, again.files_added, again.files_removed), (None, 0, 0));
    assert_eq!(restore(&table, VersionSpec::Version(99)).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn vectors_come_back_and_go() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..50, &[]);
    delete(&table, &less("id", 10)).unwrap();
    delete(&table, &less("id", 20)).unwrap();
    for (at, left) in [(1, 40), (0, 50), (2, 30)] {
        let done = restore(&table, VersionSpec::Version(at)).unwrap();
        assert_eq!((done.files_added, done.files_removed), (1, 0));
        assert_eq!(read(&table).len(), left);
    }
}

#[test]
fn what_was_vacuumed_is_refused() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..50, &[]);
    delete(&table, &less("id", 10)).unwrap();
    delete(&table, &less("id", 20)).unwrap();
    vacuum_now(&table).unwrap();
    // Its vector is gone, though its file is there.
    let error = restore(&table, VersionSpec::Version(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(".bin"), "{error}");
    assert_eq!(version(&table), 2);
    restore(&table, VersionSpec::Version(0)).unwrap();
    write(&table, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    vacuum_now(&table).unwrap();
    let error = restore(&table, VersionSpec::Version(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(".parquet"), "{error}");
    assert_eq!(read(&table).len(), 3);
}

#[test]
fn append_only_tables_are_refused() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..5, &[("delta.appendOnly", "true")]);
    append(&table, 5..6, "a");
    assert_eq!(restore(&table, VersionSpec::Version(0)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn writes_of_others_meanwhile_are_undone_too() {
    let inner = Arc::new(InMemory::new());
    let healthy = table(&inner);
    create(&healthy, 0..50, &[]);
    append(&healthy, 50..60, "a");
    let other = table(&inner);
    let store = Meanwhile::before(2, &inner, move || drop(put(&other, &rows([3, 55, 99], "meanwhile")).unwrap()));
    let done = restore(&on(store), VersionSpec::Version(0)).unwrap();
    assert_eq!(done.version, Some(3));
    assert_eq!(read(&healthy), read_at(&healthy, Some(0)).unwrap());
}
