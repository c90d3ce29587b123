//! Copies into folders appear whole or not at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path as FilePath;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lakerace_format::folder::{FolderMode, FolderSink, list};
use lakerace_format::{ParquetSink, Sink, WriteOptions, Written};
use lakerace_io::object_store::path::Path;
use lakerace_io::{ErrorKind, Job, JobStore, Location, Result, StorageOptions};
use tempfile::TempDir;

/// Numbers that no codec shortens, so that files fill up.
fn batch(seed: i64) -> RecordBatch {
    let values = (0..2000).map(|i| (seed * 2000 + i).wrapping_mul(0x5851_f42d_4c95_7f2d));
    RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(values)) as ArrayRef)]).unwrap()
}

fn options() -> WriteOptions {
    WriteOptions { file_bytes: Some(20_000), row_group_rows: Some(1000), ..WriteOptions::default() }
}

fn sink(store: &JobStore, path: &Path, mode: FolderMode) -> Result<Box<dyn Sink>> {
    let (job, schema) = (store.job.clone(), batch(0).schema());
    let make = Box::new(move |output| ParquetSink::create(output, schema.clone(), &options(), &job));
    FolderSink::create(store, path, mode, "parquet", &options(), make)
}

fn copy(store: &JobStore, path: &Path, mode: FolderMode, batches: std::ops::Range<i64>) -> Result<Written> {
    let mut sink = sink(store, path, mode)?;
    batches.into_iter().try_for_each(|seed| sink.write(batch(seed)))?;
    sink.finish()
}

fn open(location: &str, job: &Job) -> (JobStore, Path) {
    Location::parse(location).unwrap().open(&StorageOptions::default(), job).unwrap()
}

/// Names in a folder, hidden ones too.
fn entries(folder: &FilePath) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn names(store: &JobStore, folder: &Path) -> Vec<String> {
    list(store, folder).unwrap().into_iter().map(|o| o.path.filename().unwrap().to_owned()).collect()
}

/// A folder on disk and one in memory.
fn places(name: &str) -> (TempDir, Vec<(JobStore, Path)>) {
    let folder = TempDir::new().unwrap();
    let job = Job::default();
    let local = open(folder.path().join("a/table").to_str().unwrap(), &job);
    let memory = open(&format!("memory://folder-sink-{name}/a/table"), &job);
    (folder, vec![local, memory])
}

#[test]
fn files_are_rotated_and_listed() {
    let (folder, places) = places("rotated");
    for (store, path) in places {
        let written = copy(&store, &path, FolderMode::Error, 0..10).unwrap();
        assert_eq!(written.rows, 20_000);
        assert!(written.files.len() >= 4, "{:?}", written.files);
        let listed = list(&store, &path).unwrap();
        assert_eq!(listed.iter().map(|o| store.url(&o.path)).collect::<Vec<_>>(), written.files);
        assert_eq!(listed.iter().map(|o| o.size_bytes).sum::<u64>(), written.bytes);
        assert_eq!(store.list(&path).unwrap().len(), listed.len(), "something is left over");
    }
    assert_eq!(entries(&folder.path().join("a")), ["table"]);
}

#[test]
fn modes() {
    let (folder, places) = places("modes");
    for (store, path) in places {
        copy(&store, &path, FolderMode::Error, 0..3).unwrap();
        let first = names(&store, &path);
        assert_eq!(copy(&store, &path, FolderMode::Error, 0..3).unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(names(&store, &path), first);

        copy(&store, &path, FolderMode::Append, 3..6).unwrap();
        let both = names(&store, &path);
        assert_eq!(both.len(), 2 * first.len());
        assert!(first.iter().all(|name| both.contains(name)));

        let last = copy(&store, &path, FolderMode::Overwrite, 6..8).unwrap();
        let names = names(&store, &path);
        assert_eq!(names.len(), last.files.len());
        assert!(names.iter().all(|name| !both.contains(name)));
        assert_eq!(store.list(&path).unwrap().len(), names.len(), "something is left over");
    }
    assert_eq!(entries(&folder.path().join("a")), ["table"]);
}

#[test]
fn a_copy_that_is_not_finished_leaves_nothing() {
    let (folder, places) = places("unfinished");
    for (store, path) in &places {
        for mode in [FolderMode::Error, FolderMode::Overwrite, FolderMode::Append] {
            let mut sink = sink(store, path, mode).unwrap();
            (0..5).for_each(|seed| sink.write(batch(seed)).unwrap());
            drop(sink);
            assert_eq!(store.list(path).unwrap(), []);
        }
    }
    assert_eq!(entries(folder.path()), [""; 0]);
    for (store, path) in &places {
        copy(store, path, FolderMode::Error, 0..3).unwrap();
        let before = store.list(path).unwrap();
        for mode in [FolderMode::Overwrite, FolderMode::Append] {
            let mut sink = sink(store, path, mode).unwrap();
            (0..5).for_each(|seed| sink.write(batch(seed)).unwrap());
            drop(sink);
            assert_eq!(store.list(path).unwrap(), before);
        }
    }
    assert_eq!(entries(&folder.path().join("a")), ["table"]);
}

#[test]
fn only_folders_of_data_are_replaced() {
    let folder = TempDir::new().unwrap();
    let job = Job::default();
    let (store, path) = open(folder.path().to_str().unwrap(), &job);
    std::fs::write(folder.path().join("thesis.doc"), "years of work").unwrap();
    let error = copy(&store, &path, FolderMode::Overwrite, 0..1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("thesis.doc"), "{error}");
    std::fs::remove_file(folder.path().join("thesis.doc")).unwrap();
    std::fs::create_dir(folder.path().join("_delta_log")).unwrap();
    assert_eq!(copy(&store, &path, FolderMode::Overwrite, 0..1).unwrap_err().kind(), ErrorKind::Invalid);
    std::fs::remove_dir(folder.path().join("_delta_log")).unwrap();
    std::fs::create_dir(folder.path().join("day=1")).unwrap();
    std::fs::write(folder.path().join("day=1/x.parquet"), "").unwrap();
    copy(&store, &path, FolderMode::Overwrite, 0..1).unwrap();
    assert_eq!(entries(folder.path()).len(), 1);
}

#[test]
fn a_file_is_no_folder() {
    let folder = TempDir::new().unwrap();
    let job = Job::default();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let (store, path) = open(file.to_str().unwrap(), &job);
    for mode in [FolderMode::Error, FolderMode::Overwrite, FolderMode::Append] {
        assert_eq!(copy(&store, &path, mode, 0..1).unwrap_err().kind(), ErrorKind::Conflict);
    }
    assert_eq!(entries(folder.path()), ["file"]);
    assert_eq!(std::fs::read(file).unwrap(), b"x");
}

#[test]
fn a_cancelled_copy_leaves_nothing() {
    for location in ["memory://folder-sink-cancelled/t", "local"] {
        let folder = TempDir::new().unwrap();
        let local = folder.path().join("t");
        let location = if location == "local" { local.to_str().unwrap() } else { location };
        let job = Job::default();
        let (store, path) = open(location, &job);
        let mut sink = sink(&store, &path, FolderMode::Error).unwrap();
        sink.write(batch(1)).unwrap();
        job.cancel();
        assert_eq!(sink.finish().unwrap_err().kind(), ErrorKind::Cancelled);
        let (store, path) = open(location, &Job::default());
        assert_eq!(store.list(&path).unwrap(), []);
        assert_eq!(entries(folder.path()), [""; 0]);
    }
}
