//! Tables damaged in each way: what a verification finds, and what it repairs.

use std::fs;
use std::path::{Path, PathBuf};

use lakerace_delta::{Finding, Subject, Table, Verified, VerifyOptions, WriteMode, verify};
use lakerace_io::{ErrorKind, Job, Location, StorageOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Model, append, batch, put, read, rows, write};

fn open(folder: &Path) -> Table {
    let location = Location::parse(folder.to_str().unwrap()).unwrap();
    Table::at(&location, &StorageOptions::default(), &Job::default()).unwrap()
}

fn log(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join("_delta_log").join(name)
}

fn entry(folder: &TempDir, version: u64) -> PathBuf {
    log(folder, &format!("{version:020}.json"))
}

const HINT: &str = "_last_checkpoint";
const OLDER: &str = "00000000000000000004.checkpoint.parquet";
const NEWER: &str = "00000000000000000008.checkpoint.parquet";

/// A table of versions 0 to 9 with checkpoints of 4 and 8, a key, and a deletion vector.
fn table() -> TempDir {
    let folder = TempDir::new().unwrap();
    let table = open(folder.path());
    let properties = [("delta.checkpointInterval", "4"), ("lakerace.primaryKey", "id")];
    write(&table, WriteMode::Error, batch(&rows(0..10, "row")), &[], &properties);
    (1..9).for_each(|n| append(&table, n * 10..n * 10 + 10, "row"));
    put(&table, &rows([5, 15, 200], "put")).unwrap();
    [HINT, OLDER, NEWER].iter().for_each(|name| assert!(log(&folder, name).is_file(), "{name}"));
    folder
}

fn model() -> Model {
    rows(0..90, "row").into_iter().chain(rows([5, 15, 200], "put")).collect()
}

fn verified(folder: &TempDir) -> Verified {
    verify(&open(folder.path()), &VerifyOptions { deep: true, ..VerifyOptions::default() }).unwrap()
}

fn repaired(folder: &TempDir) -> Verified {
    verify(&open(folder.path()), &VerifyOptions { deep: true, repair: true, ..VerifyOptions::default() }).unwrap()
}

/// The only finding, which is of this kind and names the file and these words.
fn only<'a>(verified: &'a Verified, subject: Subject, words: &[&str]) -> &'a Finding {
    assert_eq!(verified.findings.len(), 1, "{:?}", verified.findings);
    let finding = &verified.findings[0];
    assert_eq!(finding.subject, subject, "{finding:?}");
    let text = format!("{} {}", finding.place, finding.problem);
    words.iter().for_each(|word| assert!(text.contains(word), "{text} does not name {word}"));
    assert!(!finding.advice.is_empty());
    finding
}

/// It is repaired, and reads as before without what was damaged.
fn is_repaired(folder: &TempDir) {
    let made = repaired(folder);
    assert!(made.is_sound() && made.findings.iter().any(|finding| finding.repaired.is_some()), "{made:?}");
    assert_eq!(read(&open(folder.path())), model());
    assert_eq!(verified(folder).findings, []);
}

fn change_lines(path: &Path, change: impl Fn(&mut Value)) {
    let text = fs::read_to_string(path).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.iter_mut().for_each(change);
    fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

fn data_file(folder: &TempDir) -> PathBuf {
    let text = fs::read_to_string(entry(folder, 3)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let path = lines.filter_map(|line| Some(line.get("add")?["path"].as_str()?.to_owned())).next().unwrap();
    folder.path().join(path)
}

#[test]
fn a_sound_table_has_no_finding() {
    let folder = table();
    let verified = verified(&folder);
    assert_eq!(verified.findings, []);
    let Verified { version, entries, checkpoints, files, vectors, rows, orphan_files, .. } = verified;
    assert_eq!((version, entries, checkpoints, files, vectors, rows), (Some(9), 10, 2, 10, 2, 91));
    assert_eq!(orphan_files, 0);
    assert_eq!(verified.key, ["id"]);
    // Entries that expired are no damage.
    (0..4).for_each(|version| fs::remove_file(entry(&folder, version)).unwrap());
    assert_eq!(self::verified(&folder).findings, []);
    fs::remove_file(entry(&folder, 4)).unwrap();
    assert_eq!(self::verified(&folder).findings, []);
    let nothing = verify(&open(TempDir::new().unwrap().path()), &VerifyOptions::default()).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::NotFound);
}

#[test]
fn a_hint_that_points_nowhere_is_removed() {
    for hint in ["", "{", r#"{"version":6,"size":9}"#, r#"{"version":4000,"size":9}"#] {
        let folder = table();
        fs::write(log(&folder, HINT), hint).unwrap();
        only(&verified(&folder), Subject::LastCheckpoint, &[HINT]);
        is_repaired(&folder);
    }
}

#[test]
fn a_checkpoint_that_can_not_be_read_is_written_again() {
    for (name, bytes) in [(NEWER, &b""[..]), (NEWER, b"PAR1"), (OLDER, b"nothing of that kind")] {
        let folder = table();
        fs::write(log(&folder, name), bytes).unwrap();
        let found = verified(&folder);
        assert!(found.findings.iter().any(|finding| finding.subject == Subject::Checkpoint), "{found:?}");
        assert!(!found.is_sound());
        is_repaired(&folder);
        // It has the whole state: earlier entries are needed no more.
        let upto = if name == NEWER { 8 } else { 4 };
        (0..upto).for_each(|version| fs::remove_file(entry(&folder, version)).unwrap());
        assert_eq!(read(&open(folder.path())), model());
    }
}

#[test]
fn a_checkpoint_of_another_state_is_written_again() {
    let folder = table();
    // That of the version before, under this one's name.
    fs::copy(log(&folder, OLDER), log(&folder, NEWER)).unwrap();
    assert_ne!(read(&open(folder.path())), model());
    let found = verified(&folder);
    let finding = found.findings.iter().find(|finding| finding.subject == Subject::Checkpoint).unwrap();
    assert!(finding.place.contains("version 8"), "{finding:?}");
    is_repaired(&folder);
}

#[test]
fn a_damaged_checkpoint_without_its_entries_is_not_guessed() {
    let folder = table();
    fs::write(log(&folder, NEWER), "PAR1").unwrap();
    fs::remove_file(entry(&folder, 6)).unwrap();
    let made = repaired(&folder);
    assert!(!made.is_sound());
    assert!(made.findings.iter().all(|finding| finding.repaired.is_none()), "{made:?}");
    assert_eq!(made.version, None);
    assert_eq!(fs::read_to_string(log(&folder, NEWER)).unwrap(), "PAR1");
}

#[test]
fn an_entry_is_restored_from_a_copy_that_is_proven() {
    // By the checkpoint after it.
    let folder = table();
    let whole = fs::read(entry(&folder, 6)).unwrap();
    fs::write(log(&folder, "00000000000000000006.json.bak"), &whole).unwrap();
    fs::write(entry(&folder, 6), "").unwrap();
    let found = verified(&folder);
    only(&found, Subject::Entry, &["00000000000000000006.json", "empty"]);
    is_repaired(&folder);
    assert_eq!(fs::read(entry(&folder, 6)).unwrap(), whole);
    // By what is left of it.
    let folder = table();
    let whole = fs::read(entry(&folder, 9)).unwrap();
    fs::write(log(&folder, "00000000000000000009.json~"), &whole).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    fs::write(entry(&folder, 9), &whole[..first_line]).unwrap();
    is_repaired(&folder);
    // By Hadoop's checksums of it.
    let folder = table();
    let whole = fs::read(entry(&folder, 9)).unwrap();
    let algorithm = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    let mut sums = b"crc\0\0\0\x02\0".to_vec();
    whole.chunks(512).for_each(|block| sums.extend(algorithm.checksum(block).to_be_bytes()));
    fs::write(log(&folder, ".00000000000000000009.json.crc"), sums).unwrap();
    fs::write(log(&folder, "00000000000000000009.json.bak"), &whole).unwrap();
    fs::remove_file(entry(&folder, 9)).unwrap();
    fs::write(entry(&folder, 9), "").unwrap();
    is_repaired(&folder);
}

#[test]
fn a_copy_that_is_not_proven_is_left() {
    let folder = table();
    let other = fs::read(entry(&folder, 7)).unwrap();
    let whole = fs::read(entry(&folder, 9)).unwrap();
    // Nothing tells that it is the entry: no checkpoint comes after it, and nothing is left of it.
    fs::write(log(&folder, "00000000000000000009.json.bak"), whole).unwrap();
    fs::write(entry(&folder, 9), "").unwrap();
    // And this one is another version's.
    fs::write(log(&folder, "00000000000000000006.json.bak"), other).unwrap();
    fs::write(entry(&folder, 6), "").unwrap();
    let made = repaired(&folder);
    assert_eq!(made.findings.iter().filter(|finding| finding.subject == Subject::Entry).count(), 2, "{made:?}");
    assert!(made.findings.iter().all(|finding| finding.repaired.is_none()), "{made:?}");
    assert_eq!(fs::read(entry(&folder, 6)).unwrap(), b"");
    assert_eq!(fs::read(entry(&folder, 9)).unwrap(), b"");
}

#[test]
fn entries_that_are_missing_are_named() {
    let folder = table();
    fs::remove_file(entry(&folder, 6)).unwrap();
    only(&verified(&folder), Subject::Entry, &["00000000000000000006.json", "does not exist"]);
    let folder = table();
    fs::remove_file(entry(&folder, 9)).unwrap();
    // Nothing tells that there was a version 9.
    assert_eq!(verified(&folder).findings, []);
    assert_eq!(verified(&folder).orphan_files, 2);
}

#[test]
fn checksum_files_are_held_against_the_entries() {
    let folder = table();
    let checksum = log(&folder, "00000000000000000009.crc");
    fs::write(&checksum, "").unwrap();
    only(&verified(&folder), Subject::Checksum, &["00000000000000000009.crc"]);
    is_repaired(&folder);
    let totals = json!({"tableSizeBytes": 1, "numFiles": 10, "numMetadata": 1, "numProtocol": 1});
    fs::write(&checksum, totals.to_string()).unwrap();
    let found = repaired(&folder);
    assert!(found.findings.iter().any(|finding| finding.subject == Subject::Checksum && finding.repaired.is_none()));
}

#[test]
fn a_checksum_file_of_the_first_checkpoint_is_held_against_it() {
    let folder = table();
    let checksum = log(&folder, "00000000000000000008.crc");
    (0..9).for_each(|version| fs::remove_file(entry(&folder, version)).unwrap());
    fs::remove_file(log(&folder, OLDER)).unwrap();
    assert_eq!(verified(&folder).findings, []);
    fs::write(&checksum, json!({"tableSizeBytes": 1, "numFiles": 10}).to_string()).unwrap();
    only(&verified(&folder), Subject::Checksum, &["00000000000000000008.crc", "10 files of 1 bytes"]);
}

/// A table of versions 0 to 4 without checkpoints.
fn table_of_entries() -> TempDir {
    let folder = TempDir::new().unwrap();
    let table = open(folder.path());
    write(&table, WriteMode::Error, batch(&rows(0..10, "row")), &[], &[("lakerace.primaryKey", "id")]);
    (1..4).for_each(|n| append(&table, n * 10..n * 10 + 10, "row"));
    put(&table, &rows([5], "put")).unwrap();
    folder
}

#[test]
fn an_entry_in_the_place_of_another_one_is_found() {
    let folder = table_of_entries();
    fs::copy(entry(&folder, 1), entry(&folder, 2)).unwrap();
    only(&verified(&folder), Subject::Entry, &["00000000000000000002.json", "already exists: part-"]);
    // One that hides rows: its file is gone by the first of the two.
    let folder = table_of_entries();
    fs::copy(entry(&folder, 4), entry(&folder, 5)).unwrap();
    let found = verified(&folder);
    assert!(found.findings.iter().all(|finding| finding.place.contains("00000000000000000005.json")), "{found:?}");
    let problems: Vec<&str> = found.findings.iter().map(|finding| finding.problem.as_str()).collect();
    assert!(problems.iter().any(|problem| problem.contains("it removes a file that does not exist")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("already exist")), "{problems:?}");
}

#[test]
fn actions_on_files_are_held_against_the_version_before() {
    let remove = |path: &str| json!({"remove": {"path": path, "dataChange": true, "deletionTimestamp": 1}});
    let added = |folder: &TempDir| {
        let text = fs::read_to_string(entry(folder, 3)).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.into_iter().find(|line| line.get("add").is_some()).unwrap()
    };
    let found = |make: &dyn Fn(&TempDir) -> Vec<Value>| {
        let folder = table_of_entries();
        let lines = make(&folder).iter().map(|line| format!("{line}\n")).collect::<String>();
        let info = json!({"commitInfo": {"engineInfo": "another/1"}});
        fs::write(entry(&folder, 5), format!("{info}\n{lines}")).unwrap();
        verified(&folder)
    };
    only(
        &found(&|_| vec![remove("none.parquet")]),
        Subject::Entry,
        &["it removes a file that does not exist: none.parquet"],
    );
    only(&found(&|folder| vec![added(folder)]), Subject::Entry, &["it adds a file that already exists"]);
    // With other statistics, without a change of rows.
    let with_statistics = |folder: &TempDir| {
        let mut line = added(folder);
        line["add"]["dataChange"] = json!(false);
        vec![line]
    };
    assert_eq!(found(&with_statistics).findings, []);
    let with_vector = |folder: &TempDir| {
        let mut line = added(folder);
        line["add"]["deletionVector"] = json!({"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", "sizeInBytes": 40, "cardinality": 6});
        vec![line]
    };
    let found = found(&with_vector);
    assert!(found.findings[0].problem.contains("already exists with another deletion vector"), "{found:?}");
}

#[test]
fn copies_that_are_not_used_are_named() {
    let folder = table();
    let name = "00000000000000000009.json.bak";
    let whole = fs::read(entry(&folder, 9)).unwrap();
    fs::write(log(&folder, name), &whole).unwrap();
    assert!(verified(&folder).notes.is_empty());
    let noted = |folder: &TempDir, words: &str| {
        let found = repaired(folder);
        assert!(found.notes.iter().any(|note| note.starts_with(name) && note.contains(words)), "{found:?}");
    };
    fs::write(log(&folder, name), fs::read(entry(&folder, 8)).unwrap()).unwrap();
    noted(&folder, "differs from the entry of version 9, which is intact");
    fs::write(entry(&folder, 9), "").unwrap();
    noted(&folder, "nothing proves that it is the entry of version 9");
    fs::write(log(&folder, name), &whole[..whole.len() / 2]).unwrap();
    noted(&folder, "not a complete entry");
}

#[test]
fn keys_are_those_of_the_options_and_unchecked_ones_are_told() {
    let folder = TempDir::new().unwrap();
    write(&open(folder.path()), WriteMode::Error, batch(&rows(0..10, "row")), &[], &[]);
    append(&open(folder.path()), 7..9, "again");
    let found = verified(&folder);
    assert_eq!((found.findings.len(), found.has_checked_keys()), (0, false));
    assert_eq!(found.notes.len(), 1);
    assert!(found.notes[0].starts_with("keys are not checked"), "{found:?}");
    let by = |key: &str| {
        let options = VerifyOptions { key: vec![key.to_owned()], ..VerifyOptions::default() };
        verify(&open(folder.path()), &options)
    };
    only(&by("id").unwrap(), Subject::Key, &["2 keys", "id=7"]);
    assert_eq!(by("id").unwrap().key, ["id"]);
    assert_eq!(by("it").unwrap_err().kind(), ErrorKind::NotFound);
    fs::remove_file(
        fs::read_dir(folder.path()).unwrap().map(|found| found.unwrap().path()).find(|path| path.is_file()).unwrap(),
    )
    .unwrap();
    let found = by("id").unwrap();
    assert!(!found.has_checked_keys() && found.notes[0].ends_with("1 of 2 files are damaged"), "{found:?}");
}

#[test]
fn data_files_are_held_against_the_log() {
    let folder = table();
    let file = data_file(&folder);
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let whole = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    only(&verified(&folder), Subject::File, &[&name, "does not exist"]);
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    only(&verified(&folder), Subject::File, &[&name, "bytes"]);
    fs::write(&file, "").unwrap();
    only(&verified(&folder), Subject::File, &[&name, "0 bytes"]);
    let mut changed = whole.clone();
    let end = changed.len();
    changed[end - 60..end - 8].fill(0xa5);
    fs::write(&file, &changed).unwrap();
    only(&verified(&folder), Subject::File, &[&name]);
    fs::write(&file, &whole).unwrap();
    assert_eq!(verified(&folder).findings, []);
}

/// An entry whose statistics are changed, without a checkpoint that has them, too.
fn with_statistics(change: impl Fn(&mut Value)) -> TempDir {
    let folder = TempDir::new().unwrap();
    let table = open(folder.path());
    write(&table, WriteMode::Error, batch(&rows(0..10, "row")), &[], &[]);
    append(&table, 10..20, "row");
    change_lines(&entry(&folder, 1), |line| {
        if let Some(add) = line.get_mut("add") {
            let mut stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
            change(&mut stats);
            add["stats"] = stats.to_string().into();
        }
    });
    folder
}

#[test]
fn statistics_are_held_against_the_values() {
    let found = |change: fn(&mut Value)| verified(&with_statistics(change));
    assert_eq!(found(|_| {}).findings, []);
    only(&found(|stats| stats["numRecords"] = json!(11)), Subject::File, &["10 rows", "11"]);
    only(&found(|stats| stats["minValues"]["id"] = json!(11)), Subject::Statistics, &["id", "10", "11"]);
    only(&found(|stats| stats["maxValues"]["id"] = json!(18)), Subject::Statistics, &["id", "19", "18"]);
    only(&found(|stats| stats["maxValues"]["text"] = json!("row 1")), Subject::Statistics, &["text"]);
    only(&found(|stats| stats["nullCount"]["text"] = json!(1)), Subject::Statistics, &["text", "null"]);
    assert_eq!(found(|stats| stats["maxValues"]["id"] = json!(1900)).findings, []);
}

#[test]
fn deletion_vectors_are_read() {
    let folder = table();
    let is_vector = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "bin");
    let file = fs::read_dir(folder.path()).unwrap().map(|found| found.unwrap().path()).find(is_vector).unwrap();
    let whole = fs::read(&file).unwrap();
    for change in [&whole[..0], &whole[..whole.len() - 1]] {
        fs::write(&file, change).unwrap();
        let found = verified(&folder);
        assert!(!found.findings.is_empty(), "{} bytes", change.len());
        assert!(found.findings.iter().all(|finding| finding.subject == Subject::Vector), "{found:?}");
    }
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    fs::write(&file, changed).unwrap();
    assert!(verified(&folder).findings.iter().any(|finding| finding.subject == Subject::Vector));
    fs::remove_file(&file).unwrap();
    let found = verified(&folder);
    assert!(found.findings.iter().all(|finding| finding.subject == Subject::Vector), "{found:?}");
    fs::write(&file, whole).unwrap();
    assert_eq!(verified(&folder).findings, []);
}

#[test]
fn keys_in_several_rows_are_named() {
    let folder = table();
    append(&open(folder.path()), 7..9, "again");
    for memory_bytes in [None, Some(1 << 20), Some(1 << 16)] {
        let options = VerifyOptions { memory_bytes, ..VerifyOptions::default() };
        let found = verify(&open(folder.path()), &options).unwrap();
        only(&found, Subject::Key, &["2 keys", "id=7", "id=8", " row "]);
    }
    put(&open(folder.path()), &rows([7, 8], "right")).unwrap();
    assert_eq!(verified(&folder).findings, []);
}
