#![allow(clippy::unwrap_used)]

use super::*;
use crate::{ErrorKind, Job, Location, Object, StorageOptions};

fn target(folder: &tempfile::TempDir, name: &str, job: &Job) -> Object {
    let path = folder.path().join(name);
    Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), job).unwrap()
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

fn write_all(object: &Object, chunks: &[usize], if_exists: IfExists) -> Result<Vec<u8>> {
    let mut output = Output::create(&object.store, &object.path, if_exists)?;
    let mut all = Vec::new();
    for (i, len) in chunks.iter().enumerate() {
        let chunk: Vec<u8> = (0..*len).map(|j| (i * 31 + j * 7) as u8).collect();
        all.extend_from_slice(&chunk);
        output.write(chunk.into())?;
        assert_eq!(output.position(), all.len() as u64);
    }
    output.finish()?;
    Ok(all)
}

#[test]
fn a_file_appears_whole_on_every_store() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    let memory = Location::parse("memory://output-whole/x").unwrap();
    let memory = memory.object(&StorageOptions::default(), &job).unwrap();
    for object in [target(&folder, "a/b/x", &job), memory] {
        for chunks in [&[][..], &[10], &[3 << 20, 5, 1 << 20, 70_000, 9 << 20, 8 << 20, 1], &[8 << 20], &[100; 50_000]]
        {
            let written = write_all(&object, chunks, IfExists::Replace).unwrap();
            let read = object.read_tail(1 << 30).unwrap();
            assert_eq!(read.size_bytes, written.len() as u64);
            assert!(read.bytes == written, "{chunks:?}");
        }
        assert_eq!(write_all(&object, &[1], IfExists::Error).unwrap_err().kind(), ErrorKind::Conflict);
    }
    assert_eq!(names(&folder.path().join("a/b")), ["x"]);
}

#[test]
fn nothing_is_seen_before_the_end_and_nothing_stays_of_what_was_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    let object = target(&folder, "new/folder/x", &job);
    let mut output = Output::create(&object.store, &object.path, IfExists::Error).unwrap();
    output.write(vec![1; 3 << 20].into()).unwrap();
    output.prepare().unwrap();
    let seen = names(&folder.path().join("new/folder"));
    assert!(seen.len() == 1 && seen[0].starts_with(".x.lakerace-") && seen[0].ends_with(".tmp"), "{seen:?}");
    drop(output);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_target_that_appeared_meanwhile_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    let object = target(&folder, "x", &job);
    let output = Output::create(&object.store, &object.path, IfExists::Error).unwrap();
    std::fs::write(object.url(), b"theirs").unwrap();
    assert_eq!(output.finish().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(std::fs::read(object.url()).unwrap(), b"theirs");
    assert_eq!(names(folder.path()), ["x"]);
}

#[test]
fn folders_and_devices_are_no_targets() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    std::fs::create_dir(folder.path().join("d")).unwrap();
    let create = |object: &Object| Output::create(&object.store, &object.path, IfExists::Replace).unwrap_err().kind();
    assert_eq!(create(&target(&folder, "d", &job)), ErrorKind::Invalid);
    std::fs::write(folder.path().join("f"), b"").unwrap();
    assert_eq!(create(&target(&folder, "f/x", &job)), ErrorKind::Invalid);
    let null = Location::parse("/dev/null").unwrap().object(&StorageOptions::default(), &job).unwrap();
    assert_eq!(create(&null), ErrorKind::Unsupported);
}

#[test]
fn a_link_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    std::fs::write(folder.path().join("real"), b"old").unwrap();
    std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
    let written = write_all(&target(&folder, "link", &job), &[100], IfExists::Replace).unwrap();
    assert!(folder.path().join("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(folder.path().join("real")).unwrap(), written);
}

#[test]
fn a_cancelled_job_writes_no_more_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    let object = target(&folder, "x", &job);
    let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
    output.write(vec![1; 2 << 20].into()).unwrap();
    job.cancel();
    assert_eq!(output.write(vec![1; 2 << 20].into()).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(output.finish().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn the_meter_counts_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    write_all(&target(&folder, "x", &job), &[3 << 20, 100], IfExists::Replace).unwrap();
    let counts = job.meter().counts();
    assert_eq!((counts.bytes_written, counts.requests.put), ((3 << 20) + 100, 2));
}
