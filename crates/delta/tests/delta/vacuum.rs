//! Vacuum takes what no retained version needs, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use lakerace_delta::{Table, VacuumOptions, Vacuumed, WriteMode, delete, vacuum};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};
use lakerace_io::{ErrorKind, Result};

use crate::common::{append, batch, create, less, names, put, read, read_at, rows, stored, table, write};

/// With everything but the last version out of its retention.
fn at_once(dry_run: bool) -> VacuumOptions {
    // Files of this very moment are young.
    std::thread::sleep(Duration::from_millis(5));
    VacuumOptions { retain: Some(Duration::ZERO), allow_short_retention: true, dry_run }
}

pub fn vacuum_now(table: &Table) -> Result<Vacuumed> {
    vacuum(table, &at_once(false))
}

#[test]
fn what_the_last_version_has_stays_and_the_rest_goes() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[]);
    append(&table, 10..20, "a");
    put(&table, &rows([1, 2, 15], "b")).unwrap();
    put(&table, &rows([3], "c")).unwrap();
    delete(&table, &less("id", 1)).unwrap();
    let expected = read(&table);
    let before = stored(&inner);
    let log = names(&inner).len() - before.len();
    let dry = vacuum(&table, &at_once(true)).unwrap();
    assert_eq!(stored(&inner), before);
    // The second vector of the base; the first one is in a file with that of another, which is still the table's.
    assert_eq!(dry.files.len(), 1, "{:?}", dry.files);
    assert!(dry.files.iter().all(|name| name.ends_with(".bin") && name.starts_with("test://lake/table/")));
    assert!(dry.bytes > 0);
    let done = vacuum_now(&table).unwrap();
    assert_eq!(done, dry);
    assert_eq!(stored(&inner).len(), before.len() - 1);
    assert_eq!(names(&inner).len() - stored(&inner).len(), log);
    assert_eq!(read(&table), expected);
    assert_eq!(vacuum_now(&table).unwrap().files, Vec::<String>::new());
    write(&table, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    assert_eq!(vacuum_now(&table).unwrap().kept, 1);
    assert_eq!(stored(&inner).len(), 1);
    assert_eq!(read(&table).len(), 3);
    assert_eq!(read_at(&table, Some(1)).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn what_was_removed_or_made_within_the_retention_stays() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[]);
    put(&table, &rows([1], "a")).unwrap();
    put(&table, &rows([2], "b")).unwrap();
    write(&table, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    block_on(inner.put_opts(&Path::from("lake/table/left.parquet"), "x".into(), PutOptions::default())).unwrap();
    let before = stored(&inner);
    for retain in [None, Some(Duration::from_secs(7 * 24 * 3600)), Some(Duration::from_secs(1 << 40))] {
        let done = vacuum(&table, &VacuumOptions { retain, ..VacuumOptions::default() }).unwrap();
        assert_eq!((done.files.len(), done.kept), (0, before.len() as u64), "{retain:?}");
    }
    assert_eq!(stored(&inner), before);
    let young = VacuumOptions { retain: Some(Duration::from_secs(3600)), ..VacuumOptions::default() };
    let error = vacuum(&table, &young).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    let done = vacuum(&table, &VacuumOptions { allow_short_retention: true, ..young }).unwrap();
    assert_eq!(done.files.len(), 0);
    (0..4).for_each(|version| assert!(read_at(&table, Some(version)).is_ok()));
}

#[test]
fn a_table_may_ask_for_less() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[("delta.deletedFileRetentionDuration", "interval 0 seconds")]);
    write(&table, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(vacuum(&table, &VacuumOptions::default()).unwrap().files.len(), 1);
}

#[test]
fn hidden_things_stay_and_partitions_of_hidden_names_do_not() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let part = |text: &str| batch(&[(1, text.to_owned()), (2, "other".to_owned())]);
    write(&table, WriteMode::Error, part("a b/c"), &["text"], &[]);
    write(&table, WriteMode::Overwrite, part("_x"), &[], &[]);
    let hidden = [
        "_index/a.parquet",
        ".work/b.parquet",
        "_SUCCESS",
        ".crc",
        "text=q/_hidden/c.parquet",
        "_text=1/d.parquet",
        "_change_dataset/e.parquet",
        "_change_data/_f.parquet",
    ];
    for name in hidden.iter().chain(&["text=q/left.parquet", "left", "_change_data/left"]) {
        block_on(inner.put_opts(&Path::from(format!("lake/table/{name}")), "x".into(), PutOptions::default())).unwrap();
    }
    let other = Path::from("lake/table2/x.parquet");
    block_on(inner.put_opts(&other, "x".into(), PutOptions::default())).unwrap();
    let done = vacuum_now(&table).unwrap();
    // Two files of the first version, and three that no version has.
    assert_eq!(done.files.len(), 5, "{:?}", done.files);
    let left = stored(&inner);
    assert_eq!(left.len(), 2 + hidden.len() + 1, "{left:?}");
    assert!(hidden.iter().all(|name| left.contains(&format!("lake/table/{name}"))));
    assert!(left.contains(&other.to_string()));
    assert_eq!(read(&table).len(), 2);
}

#[test]
fn tombstones_outlive_checkpoints() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[("delta.checkpointInterval", "2")]);
    write(&table, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    (0..4).for_each(|n| append(&table, 100 + n..101 + n, "more"));
    let before = stored(&inner);
    // The entry that removed the first file is gone: the checkpoint still tells of it.
    let entries = names(&inner).into_iter().filter(|name| name.contains("_delta_log") && name.ends_with(".json"));
    for name in entries.filter(|name| name.as_str() < "lake/table/_delta_log/00000000000000000004") {
        block_on(lakerace_io::object_store::ObjectStoreExt::delete(inner.as_ref(), &Path::from(name))).unwrap();
    }
    assert_eq!(vacuum(&table, &VacuumOptions::default()).unwrap().files.len(), 0);
    assert_eq!(stored(&inner), before);
    let short = VacuumOptions {
        retain: Some(Duration::from_secs(60)),
        allow_short_retention: true,
        ..VacuumOptions::default()
    };
    assert_eq!(vacuum(&table, &short).unwrap().files.len(), 0);
    assert_eq!(vacuum_now(&table).unwrap().files.len(), 1);
}
