//! Damaged checkpoints, parts of them that are gone, and `_last_checkpoint` that names what is not there.

use std::fs;
use std::path::{Path, PathBuf};

use lakerace_delta::{Table, VacuumOptions, VersionSpec, WriteMode, vacuum};
use lakerace_io::{Error, ErrorKind, Job, Location, StorageOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{append, batch, put, read, read_at, rows, write};

fn open(folder: &Path) -> Table {
    let location = Location::parse(folder.to_str().unwrap()).unwrap();
    Table::at(&location, &StorageOptions::default(), &Job::default()).unwrap()
}

fn log(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join("_delta_log").join(name)
}

const LAST: &str = "_last_checkpoint";
const OLDER: &str = "00000000000000000004.checkpoint.parquet";
const NEWER: &str = "00000000000000000008.checkpoint.parquet";

/// A table of versions 0 to 9 with checkpoints of 4 and 8, and a row for each version.
fn table() -> TempDir {
    let folder = TempDir::new().unwrap();
    let table = open(folder.path());
    let properties = [("delta.checkpointInterval", "4")];
    write(&table, WriteMode::Error, batch(&rows(0..1, "row")), &[], &properties);
    (1..10).for_each(|n| append(&table, n..n + 1, "row"));
    for name in [LAST, OLDER, NEWER] {
        assert!(log(&folder, name).is_file(), "{name}");
    }
    folder
}

fn remove_entries(folder: &TempDir, versions: std::ops::Range<u64>) {
    versions.for_each(|version| fs::remove_file(log(folder, &format!("{version:020}.json"))).unwrap());
}

/// All ten rows are read, and the user is told.
fn is_told(folder: &TempDir, word: &str) {
    let table = open(folder.path());
    assert_eq!(read(&table).len(), 10);
    assert_eq!(table.snapshot(None).unwrap().version(), 9);
    let warnings = table.job().warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(word) && warnings[0].contains(folder.path().to_str().unwrap()), "{warnings:?}");
}

fn is_corrupt(folder: &TempDir, file: &str) {
    let error: Error = read_at(&open(folder.path()), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let named = log(folder, file);
    assert!(error.to_string().contains(named.to_str().unwrap()), "{error} does not name {file}");
}

#[test]
fn a_hint_that_fits_nothing_is_passed_over() {
    let hints: [(&str, bool); 8] = [
        ("", false),
        ("{", false),
        ("\u{0}\u{1}", false),
        ("[]", false),
        (r#"{"version":4,"size":9}"#, false),
        (r#"{"version":6,"size":9}"#, false),
        (r#"{"version":9,"size":9}"#, true),
        (r#"{"version":4000,"size":9}"#, true),
    ];
    for (hint, is_wrong) in hints {
        let folder = table();
        fs::write(log(&folder, LAST), hint).unwrap();
        if is_wrong {
            is_told(&folder, LAST);
        } else {
            let table = open(folder.path());
            assert_eq!(read(&table).len(), 10, "{hint}");
            assert_eq!(table.job().warnings(), Vec::<String>::new(), "{hint}");
        }
        assert_eq!(read_at(&open(folder.path()), Some(3)).unwrap().len(), 4, "{hint}");
    }
    let folder = table();
    fs::remove_file(log(&folder, LAST)).unwrap();
    fs::create_dir(log(&folder, LAST)).unwrap();
    assert_eq!(read(&open(folder.path())).len(), 10);
    // Both checkpoints are gone, and it names one of them.
    let folder = table();
    fs::remove_file(log(&folder, OLDER)).unwrap();
    fs::remove_file(log(&folder, NEWER)).unwrap();
    is_told(&folder, LAST);
}

#[test]
fn entries_are_never_taken_for_the_beginning() {
    let folder = table();
    remove_entries(&folder, 0..6);
    fs::remove_file(log(&folder, OLDER)).unwrap();
    fs::remove_file(log(&folder, NEWER)).unwrap();
    // Schema and protocol are in the first entry that is left.
    let entry = log(&folder, "00000000000000000006.json");
    let whole = table();
    let first = fs::read_to_string(log(&whole, "00000000000000000000.json")).unwrap();
    let actions = first.lines().filter(|line| line.contains("\"protocol\"") || line.contains("\"metaData\""));
    let text = format!("{}\n{}", fs::read_to_string(&entry).unwrap().trim(), actions.collect::<Vec<_>>().join("\n"));
    fs::write(&entry, text).unwrap();
    is_corrupt(&folder, "00000000000000000005.json");
    fs::remove_file(log(&folder, LAST)).unwrap();
    is_corrupt(&folder, "00000000000000000005.json");
}

/// Ways to damage a file.
type Damage = fn(&Path);

const DAMAGES: [(&str, Damage); 5] = [
    ("empty", |file| fs::write(file, "").unwrap()),
    ("cut", |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("cut in its footer", |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() - 100]).unwrap();
    }),
    ("overwritten", |file| {
        let mut bytes = fs::read(file).unwrap();
        let end = bytes.len();
        bytes[end - 300..end - 200].fill(0xa5);
        fs::write(file, &bytes).unwrap();
    }),
    ("no file", |file| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
];

#[test]
fn entries_stand_in_for_a_damaged_checkpoint() {
    for (what, damage) in DAMAGES {
        let folder = table();
        damage(&log(&folder, NEWER));
        let table = open(folder.path());
        assert_eq!(read(&table).len(), 10, "{what}");
        let both = self::table();
        damage(&log(&both, NEWER));
        damage(&log(&both, OLDER));
        assert_eq!(read(&open(both.path())).len(), 10, "{what}");
        assert_eq!(read_at(&open(both.path()), Some(5)).unwrap().len(), 6, "{what}");
        // It goes on.
        let table = open(both.path());
        vacuum(&table, &VacuumOptions::default()).unwrap();
        put(&table, &rows(9..12, "new")).unwrap();
        append(&table, 12..13, "row");
        assert_eq!(read(&open(both.path())).len(), 13, "{what}");
        // Without the entries that it stands for, it is damage.
        remove_entries(&folder, 4..6);
        fs::remove_file(log(&folder, OLDER)).unwrap();
        is_corrupt(&folder, if what == "no file" { "00000000000000000004.json" } else { NEWER });
    }
    let folder = table();
    DAMAGES[1].1(&log(&folder, NEWER));
    is_told(&folder, "the checkpoint of version 8");
}

#[test]
fn damage_in_what_is_read_later_is_found_then() {
    let folder = table();
    let file = log(&folder, NEWER);
    let whole = fs::read(&file).unwrap();
    // Wherever the bytes of a column are damaged, the rows are the same or there is an error.
    for start in (4..whole.len() - 64).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[start..start + 48].fill(0xff);
        fs::write(&file, &bytes).unwrap();
        match read_at(&open(folder.path()), None) {
            Ok(rows) => assert_eq!(rows.len(), 10, "{start}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{start}: {error}"),
        }
    }
}

#[test]
fn a_file_of_another_kind_is_no_checkpoint() {
    let folder = table();
    let data = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let data = data.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "parquet")).unwrap();
    fs::copy(data, log(&folder, NEWER)).unwrap();
    is_told(&folder, "the checkpoint of version 8");
}

#[test]
fn a_checkpoint_that_lacks_a_part_is_none() {
    let folder = table();
    let parts = ["0000000001.0000000002", "0000000002.0000000002"];
    fs::remove_file(log(&folder, OLDER)).unwrap();
    let name = |part: &str| format!("00000000000000000008.checkpoint.{part}.parquet");
    fs::rename(log(&folder, NEWER), log(&folder, &name(parts[0]))).unwrap();
    fs::write(log(&folder, LAST), r#"{"version":8,"size":9,"parts":2}"#).unwrap();
    is_told(&folder, LAST);
    remove_entries(&folder, 0..8);
    is_corrupt(&folder, &name(parts[1]));
    fs::remove_file(log(&folder, LAST)).unwrap();
    is_corrupt(&folder, &name(parts[1]));
}

/// The table with a manifest in place of the newer checkpoint, whose files are in a sidecar.
fn with_sidecar() -> (TempDir, PathBuf) {
    let folder = table();
    let sidecar = log(&folder, "_sidecars/one.parquet");
    fs::create_dir(log(&folder, "_sidecars")).unwrap();
    fs::rename(log(&folder, NEWER), &sidecar).unwrap();
    fs::remove_file(log(&folder, OLDER)).unwrap();
    fs::remove_file(log(&folder, LAST)).unwrap();
    let first = fs::read_to_string(log(&folder, "00000000000000000000.json")).unwrap();
    let metadata: Value = first
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|v| v.get("metaData").is_some())
        .unwrap();
    let size = fs::metadata(&sidecar).unwrap().len();
    let lines = [
        json!({"checkpointMetadata": {"version": 8}}),
        json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
            "readerFeatures": ["v2Checkpoint", "deletionVectors"], "writerFeatures": ["v2Checkpoint", "deletionVectors"]}}),
        metadata,
        json!({"sidecar": {"path": "one.parquet", "sizeInBytes": size, "modificationTime": 1}}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let name = "00000000000000000008.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json";
    fs::write(log(&folder, name), text.join("\n")).unwrap();
    (folder, sidecar)
}

#[test]
fn entries_stand_in_for_a_damaged_sidecar() {
    let damages = DAMAGES.into_iter().chain([("gone", (|file| fs::remove_file(file).unwrap()) as Damage)]);
    for (what, damage) in damages {
        let (folder, sidecar) = with_sidecar();
        assert_eq!(read(&open(folder.path())).len(), 10);
        damage(&sidecar);
        is_told(&folder, "the checkpoint of version 8");
        remove_entries(&folder, 0..8);
        is_corrupt(&folder, "_sidecars/one.parquet");
        assert!(!what.is_empty());
    }
}

#[test]
fn a_damaged_entry_is_named_and_no_checkpoint_is_blamed() {
    let folder = table();
    fs::write(log(&folder, "00000000000000000009.json"), "{\"add\":").unwrap();
    is_corrupt(&folder, "00000000000000000009.json");
    assert_eq!(read_at(&open(folder.path()), Some(8)).unwrap().len(), 9);
}

#[test]
fn times_before_the_first_version_are_not_found() {
    let folder = table();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10 * 365 * 24 * 3600);
    for entry in fs::read_dir(log(&folder, "")).unwrap() {
        let path = entry.unwrap().path();
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    }
    for millis in [0, 1_700_000_000_000] {
        let error = open(folder.path()).snapshot(Some(VersionSpec::Timestamp(millis))).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("days later"), "{error}");
    }
    let last = open(folder.path()).snapshot(Some(VersionSpec::Timestamp(i64::MAX / 2))).unwrap();
    assert_eq!(last.version(), 9);
}
