//! Copies into folders appear whole or not at all.

use std::path::Path as FilePath;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lakerace_format::folder::{FolderSink, list};
use lakerace_format::{ParquetSink, Sink, WriteOptions, Written};
use lakerace_io::object_store::ObjectStore;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::profile::Observations;
use lakerace_io::wrap::{Failing, FailingOptions};
use lakerace_io::{ErrorKind, IfExists, Job, JobStore, Location, Output, Result, StorageOptions, WriteMode};
use tempfile::TempDir;

/// Numbers that no codec shortens, so that files fill up.
fn batch(seed: i64) -> RecordBatch {
    let values = (0..2000).map(|i| (seed * 2000 + i).wrapping_mul(0x5851_f42d_4c95_7f2d));
    RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(values)) as ArrayRef)]).unwrap()
}

/// Files of 1,024 rows, the fewest there are: where files of more bytes are cut depends on how far their encoders are.
fn options() -> WriteOptions {
    WriteOptions { file_bytes: Some(1), row_group_rows: Some(1000), ..WriteOptions::default() }
}

fn sink(store: &JobStore, path: &Path, mode: WriteMode) -> Result<Box<dyn Sink>> {
    let (job, schema) = (store.job.clone(), batch(0).schema());
    let make = Box::new(move |output| ParquetSink::create(output, schema.clone(), &options(), &job));
    FolderSink::create(store, path, mode, "parquet", &options(), make)
}

fn copy(store: &JobStore, path: &Path, mode: WriteMode, batches: std::ops::Range<i64>) -> Result<Written> {
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
        let written = copy(&store, &path, WriteMode::Error, 0..10).unwrap();
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
        copy(&store, &path, WriteMode::Error, 0..3).unwrap();
        let first = names(&store, &path);
        assert_eq!(copy(&store, &path, WriteMode::Error, 0..3).unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(names(&store, &path), first);

        copy(&store, &path, WriteMode::Append, 3..6).unwrap();
        let both = names(&store, &path);
        assert_eq!(both.len(), 2 * first.len());
        assert!(first.iter().all(|name| both.contains(name)));

        let last = copy(&store, &path, WriteMode::Overwrite, 6..8).unwrap();
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
        for mode in [WriteMode::Error, WriteMode::Overwrite, WriteMode::Append] {
            let mut sink = sink(store, path, mode).unwrap();
            (0..5).for_each(|seed| sink.write(batch(seed)).unwrap());
            drop(sink);
            assert_eq!(store.list(path).unwrap(), []);
        }
    }
    assert_eq!(entries(folder.path()), [""; 0]);
    for (store, path) in &places {
        copy(store, path, WriteMode::Error, 0..3).unwrap();
        let before = store.list(path).unwrap();
        for mode in [WriteMode::Overwrite, WriteMode::Append] {
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
    let error = copy(&store, &path, WriteMode::Overwrite, 0..1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("thesis.doc"), "{error}");
    std::fs::remove_file(folder.path().join("thesis.doc")).unwrap();
    std::fs::create_dir(folder.path().join("_delta_log")).unwrap();
    assert_eq!(copy(&store, &path, WriteMode::Overwrite, 0..1).unwrap_err().kind(), ErrorKind::Invalid);
    std::fs::remove_dir(folder.path().join("_delta_log")).unwrap();
    std::fs::create_dir(folder.path().join("day=1")).unwrap();
    std::fs::write(folder.path().join("day=1/x.parquet"), "").unwrap();
    copy(&store, &path, WriteMode::Overwrite, 0..1).unwrap();
    assert_eq!(entries(folder.path()).len(), 2);
}

#[test]
fn a_file_is_no_folder() {
    let folder = TempDir::new().unwrap();
    let job = Job::default();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let (store, path) = open(file.to_str().unwrap(), &job);
    for mode in [WriteMode::Error, WriteMode::Overwrite, WriteMode::Append] {
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
        let mut sink = sink(&store, &path, WriteMode::Error).unwrap();
        sink.write(batch(1)).unwrap();
        job.cancel();
        assert_eq!(sink.finish().unwrap_err().kind(), ErrorKind::Cancelled);
        let (store, path) = open(location, &Job::default());
        assert_eq!(store.list(&path).unwrap(), []);
        assert_eq!(entries(folder.path()), [""; 0]);
    }
}

/// A store in memory that ends after some requests, and the healthy store behind it.
fn ending(after: Option<u64>, inner: &Arc<InMemory>) -> JobStore {
    let failing = FailingOptions { stop_after: after, ..FailingOptions::default() };
    let store = Failing::new(Arc::clone(inner) as Arc<dyn ObjectStore>, failing);
    let job = Job::default();
    JobStore::wrapping(Arc::new(store), "test://", Observations::local_disk(), &job)
}

#[test]
fn whatever_fails_a_reader_sees_the_old_or_the_new_files() {
    let path = Path::from("a/table");
    for (mode, base) in [(WriteMode::Error, 0), (WriteMode::Overwrite, 3), (WriteMode::Append, 3)] {
        let (mut failures, mut old_seen, mut new_seen) = (0, 0, 0);
        for requests in 0.. {
            let inner = Arc::new(InMemory::new());
            let healthy = ending(None, &inner);
            if base > 0 {
                copy(&healthy, &path, WriteMode::Error, 0..base).unwrap();
            }
            let old = names(&healthy, &path);
            let outcome = copy(&ending(Some(requests), &inner), &path, mode, 10..12);
            let now = names(&healthy, &path);
            let added: Vec<_> = now.iter().filter(|name| !old.contains(name)).collect();
            let kept = old.iter().filter(|name| now.contains(name)).count();
            if added.is_empty() {
                assert_eq!(kept, old.len(), "{mode:?}: old files are missing after {requests} requests");
                old_seen += 1;
            } else {
                assert_eq!(added.len(), 4, "{mode:?}: half of the new files after {requests} requests");
                assert_eq!(kept, if mode == WriteMode::Append { old.len() } else { 0 }, "{mode:?}, {requests}");
                new_seen += 1;
            }
            match outcome {
                Ok(written) => assert_eq!(written.files.len(), added.len()),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                    failures += 1;
                }
            }
            // Afterwards the folder works as ever.
            copy(&healthy, &path, WriteMode::Overwrite, 20..21).unwrap();
            assert_eq!(names(&healthy, &path).len(), 2, "{mode:?}, {requests}");
            if outcome_is_clean(&inner, &path, &healthy) && new_seen > 3 {
                break;
            }
        }
        assert!(failures > 3 && old_seen > 3, "{mode:?}: {failures} failures, {old_seen} times the old state");
    }
}

/// Whether nothing but what counts is there.
fn outcome_is_clean(inner: &Arc<InMemory>, path: &Path, healthy: &JobStore) -> bool {
    ending(None, inner).list(path).unwrap().len() == names(healthy, path).len()
}

#[test]
#[ignore = "mounts a small file system, which only root may: make test"]
fn a_full_disk_is_unavailable_and_stays_clean() {
    let folder = TempDir::new().unwrap();
    let mount =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(folder.path()).output();
    let mount = mount.unwrap();
    assert!(mount.status.success(), "{}", String::from_utf8_lossy(&mount.stderr));
    let outcome = std::panic::catch_unwind(|| {
        for target in ["table", "deep/table"] {
            let (store, path) = open(folder.path().join(target).to_str().unwrap(), &Job::default());
            let error = copy(&store, &path, WriteMode::Error, 0..200).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert_eq!(entries(folder.path()), [""; 0]);
        }
        let (store, path) = open(folder.path().join("one.parquet").to_str().unwrap(), &Job::default());
        let output = Output::create(&store, &path, IfExists::Error).unwrap();
        let mut sink = ParquetSink::create(output, batch(0).schema(), &options(), &store.job).unwrap();
        let failed = (0..200).try_for_each(|seed| sink.write(batch(seed))).and_then(|()| sink.finish().map(drop));
        let error = failed.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("one.parquet"), "{error}");
        assert_eq!(entries(folder.path()), [""; 0]);
    });
    std::process::Command::new("umount").arg(folder.path()).status().unwrap();
    outcome.unwrap();
}
