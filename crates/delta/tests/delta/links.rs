//! Symbolic and hard links in a table's folder: nothing goes by another name than its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lakerace_delta::{Table, VacuumOptions, VersionSpec, WriteMode, restore, vacuum};
use lakerace_io::{Job, Location, StorageOptions};
use tempfile::TempDir;

use crate::common::{batch, read, rows, write};

fn open(folder: &Path) -> Table {
    let location = Location::parse(folder.to_str().unwrap()).unwrap();
    Table::at(&location, &StorageOptions::default(), &Job::default()).unwrap()
}

/// A table of two partitions of one row each in `table`, and a folder `outside`; all files a month old.
fn partitioned() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("outside/deep")).unwrap();
    fs::write(folder.path().join("outside/notes.txt"), "precious").unwrap();
    fs::write(folder.path().join("outside/deep/b.dat"), "x").unwrap();
    let table = open(&folder.path().join("table"));
    let part = batch(&[(1, "a".to_owned()), (2, "b".to_owned())]);
    write(&table, WriteMode::Error, part, &["text"], &[]);
    age(folder.path());
    folder
}

fn age(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            age(&entry.path());
        } else if kind.is_file() {
            let file = fs::File::options().write(true).open(entry.path()).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(30 * 24 * 3600)).unwrap();
        }
    }
}

/// The one data file of a partition.
fn data(table: &Path, partition: &str) -> std::path::PathBuf {
    let files = fs::read_dir(table.join(partition)).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "parquet")).unwrap()
}

#[test]
fn vacuum_leaves_what_links_lead_to() {
    let folder = partitioned();
    let root = folder.path().join("table");
    let live = data(&root, "text=a");
    symlink("text=a", root.join("latest")).unwrap();
    symlink(folder.path().join("outside"), root.join("link")).unwrap();
    symlink("../..", root.join("text=a/up")).unwrap();
    symlink(&live, root.join("latest.parquet")).unwrap();
    symlink(folder.path().join("outside/notes.txt"), root.join("notes.txt")).unwrap();
    symlink("nowhere", root.join("dead")).unwrap();
    fs::hard_link(&live, root.join("twin.parquet")).unwrap();
    fs::write(root.join("left.parquet"), "left").unwrap();
    fs::hard_link(root.join("left.parquet"), root.join("text=b/left.parquet")).unwrap();
    age(folder.path());
    let table = open(&root);
    let done = vacuum(&table, &VacuumOptions::default()).unwrap();
    assert_eq!(done.files.len(), 2, "{:?}", done.files);
    assert!(!root.join("left.parquet").exists() && !root.join("text=b/left.parquet").exists());
    for kept in ["latest", "link", "latest.parquet", "notes.txt", "dead", "twin.parquet", "text=a/up"] {
        assert!(root.join(kept).symlink_metadata().is_ok(), "{kept}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("outside/notes.txt")).unwrap(), "precious");
    assert!(folder.path().join("outside/deep/b.dat").exists());
    assert_eq!(read(&table).len(), 2);
}

#[test]
fn a_table_after_a_link_is_vacuumed() {
    let folder = partitioned();
    let link = folder.path().join("link");
    symlink("table", &link).unwrap();
    fs::write(folder.path().join("table/left.parquet"), "left").unwrap();
    age(folder.path());
    let table = open(&link);
    let done = vacuum(&table, &VacuumOptions::default()).unwrap();
    assert_eq!(done.files, [link.join("left.parquet").to_str().unwrap()]);
    assert_eq!(read(&table).len(), 2);
}

#[test]
fn files_in_a_linked_partition_are_read_and_restored() {
    let folder = partitioned();
    let root = folder.path().join("table");
    fs::rename(root.join("text=a"), folder.path().join("outside/text=a")).unwrap();
    symlink(folder.path().join("outside/text=a"), root.join("text=a")).unwrap();
    let table = open(&root);
    assert_eq!(read(&table).len(), 2);
    write(&table, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    // Removed from the table a month ago and more, it would go from a folder of the table's own.
    let now = VacuumOptions { retain: Some(Duration::ZERO), allow_short_retention: true, dry_run: false };
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(vacuum(&table, &VacuumOptions { dry_run: true, ..now.clone() }).unwrap().files.len(), 1);
    restore(&table, VersionSpec::Version(0)).unwrap();
    assert_eq!(read(&table).len(), 2);
}

#[test]
fn a_live_file_that_is_a_link_keeps_its_target() {
    let folder = partitioned();
    let root = folder.path().join("table");
    let live = data(&root, "text=a");
    let real = root.join("real.parquet");
    fs::rename(&live, &real).unwrap();
    symlink(&real, &live).unwrap();
    let table = open(&root);
    assert_eq!(vacuum(&table, &VacuumOptions::default()).unwrap().files, Vec::<String>::new());
    assert_eq!(read(&table).len(), 2);
}
