//! Ids of rows: no two rows of a version have the same, and files keep theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use lakerace_delta::{Table, WriteMode, delete};
use lakerace_io::object_store::memory::InMemory;

use crate::common::{Meanwhile, append, batch, create, entry, less, on, put, read, rows, table, version, write};

/// Holds the ids of all versions against what the protocol demands; gives the last version's files with their first ids.
fn check(inner: &Arc<InMemory>, last: u64) -> BTreeMap<String, i64> {
    let (mut bases, mut highest) = (BTreeMap::new(), -1);
    let mut taken: Vec<(i64, i64)> = Vec::new();
    for version in 0..=last {
        let lines = entry(inner, version);
        let number = |action: &serde_json::Value, name: &str| action[name].as_i64().unwrap();
        for remove in lines.iter().filter_map(|line| line.get("remove")) {
            let path = remove["path"].as_str().unwrap();
            assert_eq!(
                bases.remove(path),
                Some((number(remove, "baseRowId"), number(remove, "defaultRowCommitVersion")))
            );
        }
        let removed: Vec<&str> = lines.iter().filter_map(|line| line.get("remove")?.get("path")?.as_str()).collect();
        for add in lines.iter().filter_map(|line| line.get("add")) {
            let (path, base) = (add["path"].as_str().unwrap(), number(add, "baseRowId"));
            let stats: serde_json::Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
            let end = base + stats["numRecords"].as_i64().unwrap() - 1;
            let is_again = removed.contains(&path);
            if !is_again {
                assert!(base > highest, "version {version}: {base} is not above {highest}");
                assert_eq!(number(add, "defaultRowCommitVersion"), version as i64);
                assert!(taken.iter().all(|(from, to)| end < *from || base > *to), "{base} is taken: {taken:?}");
                taken.push((base, end));
            } else {
                assert!(taken.contains(&(base, end)), "{path} has new ids");
            }
            bases.insert(path.to_owned(), (base, number(add, "defaultRowCommitVersion")));
        }
        let marks =
            lines.iter().filter_map(|line| line.get("domainMetadata")).filter(|d| d["domain"] == "delta.rowTracking");
        for mark in marks {
            let mark: serde_json::Value = serde_json::from_str(mark["configuration"].as_str().unwrap()).unwrap();
            highest = number(&mark, "rowIdHighWaterMark");
        }
        assert!(taken.iter().all(|(_, to)| *to <= highest), "version {version}: {highest} is below {taken:?}");
    }
    bases.into_iter().map(|(path, (base, _))| (path, base)).collect()
}

fn preserved(inner: &Arc<InMemory>, version: u64) -> String {
    let lines = entry(inner, version);
    let info = lines.iter().find_map(|line| line.get("commitInfo")).unwrap();
    info["tags"]["delta.rowTracking.preserved"].as_str().unwrap().to_owned()
}

fn tracked(properties: &[(&str, &str)]) -> (Arc<InMemory>, Table) {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[&[("delta.enableRowTracking", "true")], properties].concat());
    (inner, table)
}

#[test]
fn every_row_has_an_id_of_its_own() {
    for properties in [&[][..], &[("delta.enableChangeDataFeed", "true")]] {
        let (inner, table) = tracked(properties);
        append(&table, 10..20, "a");
        put(&table, &rows(5..15, "b")).unwrap();
        put(&table, &rows(30..40, "c")).unwrap();
        delete(&table, &less("id", 3)).unwrap();
        // A file without a row left.
        put(&table, &rows(30..40, "d")).unwrap();
        assert_eq!(read(&table).len(), 27);
        assert_eq!(check(&inner, 5).len(), 4);
        let kept: Vec<String> = (1..=5).map(|version| preserved(&inner, version)).collect();
        assert_eq!(kept, ["true", "false", "true", "true", "false"]);
        write(&table, WriteMode::Overwrite, batch(&rows(0..3, "e")), &[], &[]);
        assert_eq!(
            (check(&inner, 6).into_values().collect::<Vec<_>>(), preserved(&inner, 6)),
            (vec![50], "true".to_owned())
        );
        assert_eq!(read(&table).len(), 3);
    }
}

#[test]
fn ids_are_given_after_those_of_other_writers() {
    let (inner, _) = tracked(&[]);
    let other = Arc::clone(&inner);
    let meanwhile = Meanwhile::before(1, &inner, move || drop(put(&table(&other), &rows([3, 20], "other")).unwrap()));
    put(&on(meanwhile), &rows([3, 4, 20], "mine")).unwrap();
    let table = table(&inner);
    assert_eq!(version(&table), 2);
    check(&inner, 2);
    assert_eq!((read(&table)[&3].as_str(), read(&table)[&20].as_str()), ("mine 3", "mine 20"));
}
