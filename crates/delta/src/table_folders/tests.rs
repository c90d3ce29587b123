#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use lakerace_io::object_store::path::Path;
use lakerace_io::{ErrorKind, Job, JobStore, Location, ObjectInfo, StorageOptions};

use super::{check_outside_tables, table_above, tables_in};
use crate::paths::LOG;

fn listed(paths: &[&str]) -> Vec<ObjectInfo> {
    let info = |path: &&str| ObjectInfo { path: Path::parse(path).unwrap(), size_bytes: 1, e_tag: None, modified: 0 };
    paths.iter().map(info).collect()
}

#[test]
fn tables_of_a_listing_are_the_folders_with_a_log() {
    for (paths, tables) in [
        (&["a/x.parquet", "a/_delta_log_2/0.json", "_delta_log"][..], &[][..]),
        (&["_delta_log/0.json", "x.parquet"], &[""]),
        (&["a/_delta_log/0.json", "a/b/_delta_log/_sidecars/1.parquet", "a/b/x.parquet"], &["a", "a/b"]),
        (&["é f/_delta_log/0.json"], &["é f"]),
    ] {
        let files = listed(paths);
        assert_eq!(tables_in(&files), tables.iter().copied().collect::<HashSet<_>>(), "{paths:?}");
    }
}

fn place(path: &std::path::Path) -> (JobStore, Path) {
    Location::parse(path.to_str().unwrap()).unwrap().open(&StorageOptions::default(), &Job::default()).unwrap()
}

#[test]
fn targets_in_the_folder_of_a_table_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table");
    std::fs::create_dir_all(table.join(LOG)).unwrap();
    for (name, is_below) in [
        ("table", false),
        ("other/x.parquet", false),
        ("table/x.parquet", true),
        ("table/p=1/q=2/x.parquet", true),
        ("table/_p=1/x.parquet", true),
        ("table/new", true),
        ("table/_exports/x.parquet", false),
        ("table/a/.hidden/x.parquet", false),
    ] {
        let (store, path) = place(&folder.path().join(name));
        let above = table_above(&store, &path).unwrap();
        assert_eq!(above.is_some(), is_below, "{name}");
        assert!(above.is_none_or(|above| above == place(&table).1), "{name}");
        let checked = check_outside_tables(&store, &path).map_err(|error| error.kind());
        assert_eq!(checked, if is_below { Err(ErrorKind::Conflict) } else { Ok(()) }, "{name}");
    }
}
