//! Damaged and strange tables: an error of the right kind that names the file, never a panic.

use std::fs;
use std::path::{Path, PathBuf};

use lakerace_delta::{DeltaSource, Table, VersionSpec};
use lakerace_format::{ReadRequest, Source};
use lakerace_io::{Error, ErrorKind, Job, Location, Result, StorageOptions};
use lakerace_testing::corpus_entry;
use tempfile::TempDir;

fn open(folder: &Path, at: Option<VersionSpec>) -> Result<DeltaSource> {
    let location = Location::parse(folder.to_str().unwrap())?;
    let table = Table::at(&location, &StorageOptions::default(), &Job::default())?;
    DeltaSource::open(table.snapshot(at)?)
}

fn rows(folder: &Path, at: Option<VersionSpec>) -> Result<u64> {
    let source = open(folder, at)?;
    let plan = source.plan(&ReadRequest::default())?;
    source.read(&plan)?.map(|batch| Ok(batch?.num_rows() as u64)).sum()
}

/// A golden table of Delta's, copied; `None` where the corpus is absent.
/// Runs a test on a copy of a golden table.
fn golden(name: &str, test: impl FnOnce(&Path)) {
    corpus_entry(&format!("delta/{name}"), |source| {
        let copy = TempDir::new().unwrap();
        copy_folder(source, copy.path());
        test(copy.path());
    });
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join("_delta_log").join(name)
}

/// A table of one entry with these lines behind protocol and schema (one integer column `id`).
fn table(lines: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let schema = r#"{"type":"struct","fields":[{"name":"id","type":"integer","nullable":true,"metadata":{}}]}"#;
    let schema = serde_json::to_string(schema).unwrap();
    let metadata = format!(
        r#"{{"metaData":{{"id":"a","format":{{"provider":"parquet","options":{{}}}},"schemaString":{schema},"partitionColumns":[],"configuration":{{}}}}}}"#
    );
    let protocol = r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}"#;
    let mut text = format!("{protocol}\n{metadata}\n");
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    fs::create_dir(folder.path().join("_delta_log")).unwrap();
    fs::write(log(folder.path(), "00000000000000000000.json"), text).unwrap();
    folder
}

fn check(outcome: Result<u64>, kind: ErrorKind, words: &[&str]) {
    let error: Error = outcome.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{error} does not say {word}");
    }
}

#[test]
fn golden_tables_that_are_broken_are_refused() {
    let cases = [
        ("deltalog-invalid-protocol-version", ErrorKind::Corrupt, "rotocol"),
        ("deltalog-state-reconstruction-from-checkpoint-missing-protocol", ErrorKind::Corrupt, "version 10"),
        ("versions-not-contiguous", ErrorKind::Corrupt, "version 1"),
        ("deltalog-commit-info", ErrorKind::Corrupt, "00000000000000000000.json"),
        ("delete-re-add-same-file-different-transactions", ErrorKind::Corrupt, "/bar"),
    ];
    for (name, kind, word) in cases {
        golden(name, |folder| check(rows(folder, None), kind, &[word]));
    }
}

#[test]
fn an_entry_that_is_cut_short_is_named_with_its_version() {
    golden("basic-with-inserts-merge", |folder| {
        let entry = log(folder, "00000000000000000001.json");
        let text = fs::read(&entry).unwrap();
        fs::write(&entry, &text[..text.len() - 40]).unwrap();
        check(rows(folder, None), ErrorKind::Corrupt, &["00000000000000000001.json", "version 1"]);
        // The version before it is whole.
        assert!(rows(folder, Some(VersionSpec::Version(0))).unwrap() > 0);
    });
}

#[test]
fn bytes_that_are_no_json_are_damage() {
    golden("basic-with-inserts-merge", |folder| {
        for junk in [&b"\xff\xfe\x00"[..], b"{\"add\":", b"[1,2", b"{\"add\":{\"path\":7}}"] {
            fs::write(log(folder, "00000000000000000001.json"), junk).unwrap();
            check(rows(folder, None), ErrorKind::Corrupt, &["00000000000000000001.json"]);
        }
    });
}

#[test]
fn a_damaged_checkpoint_is_named() {
    golden("125-iterator-bug", |folder| {
        let checkpoint = log(folder, "00000000000000000010.checkpoint.parquet");
        let mut bytes = fs::read(&checkpoint).unwrap();
        let end = bytes.len();
        bytes[end - 300..end - 200].fill(0xa5);
        fs::write(&checkpoint, &bytes).unwrap();
        // The entries before it are there.
        assert_eq!(rows(folder, None).unwrap(), 5);
        fs::remove_file(log(folder, "00000000000000000003.json")).unwrap();
        check(rows(folder, None), ErrorKind::Corrupt, &["checkpoint.parquet", "version 10"]);
    });
}

#[test]
fn versions_that_are_not_there_are_not_found() {
    golden("basic-with-inserts-merge", |folder| {
        check(rows(folder, Some(VersionSpec::Version(999))), ErrorKind::NotFound, &["999", "the last one is"]);
        check(rows(folder, Some(VersionSpec::Timestamp(0))), ErrorKind::NotFound, &[]);
        let last = open(folder, Some(VersionSpec::Timestamp(i64::MAX / 2))).unwrap();
        assert_eq!(last.snapshot().version(), open(folder, None).unwrap().snapshot().version());
    });
}

#[test]
fn features_that_nobody_knows_are_unsupported_by_name() {
    let folder = table(&[]);
    let entry = log(folder.path(), "00000000000000000000.json");
    let text = fs::read_to_string(&entry).unwrap().replace("\"deletionVectors\"", "\"timeTravelBackwards\"");
    fs::write(&entry, text).unwrap();
    check(rows(folder.path(), None), ErrorKind::Unsupported, &["timeTravelBackwards"]);
}

/// An action that adds a file with a deletion vector.
fn add(vector: &str) -> String {
    format!(
        r#"{{"add":{{"path":"p.parquet","partitionValues":{{}},"size":9,"modificationTime":1,"dataChange":true,"stats":"{{\"numRecords\":10}}","deletionVector":{vector}}}}}"#
    )
}

#[test]
fn damaged_vectors_are_named() {
    let vector =
        r#"{"storageType":"p","pathOrInlineDv":"file:FOLDER/v.bin","offset":1,"sizeInBytes":34,"cardinality":2}"#;
    let folder = TempDir::new().unwrap();
    let add_here = |folder: &Path| add(&vector.replace("FOLDER", folder.to_str().unwrap()));
    let table = table(&[&add_here(folder.path())]);
    let file = folder.path().join("v.bin");
    check(rows(table.path(), None), ErrorKind::Corrupt, &["v.bin"]);
    let mut bytes = vec![1u8];
    bytes.extend([0, 0, 0, 34]);
    bytes.extend(1_681_511_377u32.to_le_bytes());
    bytes.extend([0; 34]);
    for (bytes, kind) in [
        (&bytes[..20], ErrorKind::Corrupt),
        (&bytes[..], ErrorKind::Corrupt),
        (&[[2u8; 1].as_slice(), &bytes[1..]].concat()[..], ErrorKind::Unsupported),
        (&vec![0; bytes.len()][..], ErrorKind::Corrupt),
        (&[[1u8, 0, 0, 0, 33].as_slice(), &bytes[5..]].concat()[..], ErrorKind::Corrupt),
    ] {
        fs::write(&file, bytes).unwrap();
        check(rows(table.path(), None), kind, &["v.bin"]);
    }
}

#[test]
fn vectors_that_make_no_sense_are_damage() {
    for vector in [
        r#"{"storageType":"u","pathOrInlineDv":"short","offset":1,"sizeInBytes":34,"cardinality":2}"#,
        r#"{"storageType":"x","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":4,"sizeInBytes":40,"cardinality":6}"#,
        r#"{"storageType":"i","pathOrInlineDv":"wi5b=","sizeInBytes":4,"cardinality":6}"#,
        r#"{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":-40,"cardinality":6}"#,
        // It hides rows 3, 4, 7, 11, 18 and 29, and the file has 10 rows.
        r#"{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":40,"cardinality":6}"#,
        r#"{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":40,"cardinality":7}"#,
    ] {
        let folder = table(&[&add(vector)]);
        check(rows(folder.path(), None), ErrorKind::Corrupt, &[]);
    }
}

#[test]
fn files_outside_of_the_table_are_refused() {
    let line =
        r#"{"add":{"path":"../p.parquet","partitionValues":{},"size":9,"modificationTime":1,"dataChange":true}}"#;
    check(rows(table(&[line]).path(), None), ErrorKind::Corrupt, &["../p.parquet"]);
    let line = r#"{"add":{"path":"p.parquet","partitionValues":{},"size":-9,"modificationTime":1,"dataChange":true}}"#;
    check(rows(table(&[line]).path(), None), ErrorKind::Corrupt, &["p.parquet"]);
}
