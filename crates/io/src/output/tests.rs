#![allow(clippy::unwrap_used)]

use super::*;
use crate::{ErrorKind, FileIo, Job, JobOptions, Location, Object, StorageOptions};

const WAYS: [FileIo; 4] = [FileIo::Auto, FileIo::Sync, FileIo::Uring, FileIo::UringDirect];

/// A job that writes files this way.
pub(crate) fn job(file_io: FileIo) -> Job {
    Job::new(JobOptions { file_io, ..JobOptions::default() })
}

pub(crate) fn target(folder: &tempfile::TempDir, name: &str, job: &Job) -> Object {
    let path = folder.path().join(name);
    Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), job).unwrap()
}

pub(crate) fn names(folder: &std::path::Path) -> Vec<String> {
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
    for way in WAYS {
        let job = job(way);
        let folder = tempfile::tempdir().unwrap();
        let memory = Location::parse("memory://output-whole/x").unwrap();
        let memory = memory.object(&StorageOptions::default(), &job).unwrap();
        for object in [target(&folder, "a/b/x", &job), memory] {
            for chunks in [
                &[][..],
                &[10],
                &[3 << 20, 5, 1 << 20, 70_000, 9 << 20, 8 << 20, 1],
                &[8 << 20],
                &[100; 50_000],
                &[(1 << 20) + 1, 4095],
                &[4096; 600],
            ] {
                let written = write_all(&object, chunks, IfExists::Replace).unwrap();
                let read = object.read_tail(1 << 30).unwrap();
                assert_eq!(read.size_bytes, written.len() as u64);
                assert!(read.bytes == written, "{chunks:?}");
            }
            assert_eq!(write_all(&object, &[1], IfExists::Error).unwrap_err().kind(), ErrorKind::Conflict);
        }
        assert_eq!(names(&folder.path().join("a/b")), ["x"]);
    }
}

#[test]
fn a_store_has_what_was_prepared_unless_it_is_one_part() {
    let job = job(FileIo::Auto);
    let memory = Location::parse("memory://output-unsent/x").unwrap();
    let memory = memory.object(&StorageOptions::default(), &job).unwrap();
    // An object of one part is sent when it is finished.
    for (bytes, unsent) in [(8 << 20, 8 << 20), ((8 << 20) + 1, 0), (20 << 20, 0)] {
        let mut output = Output::create(&memory.store, &memory.path, IfExists::Replace).unwrap();
        output.write(vec![7; bytes].into()).unwrap();
        assert!(output.object.unsent_bytes() > 0);
        output.prepare().unwrap();
        assert_eq!(output.object.unsent_bytes(), unsent, "{bytes}");
        output.finish().unwrap();
        assert_eq!(memory.read_tail(1 << 30).unwrap().size_bytes, bytes as u64);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = target(&folder, "x", &job);
    let mut output = Output::create(&file.store, &file.path, IfExists::Error).unwrap();
    output.write(vec![7; 3 << 20].into()).unwrap();
    assert_eq!(output.object.unsent_bytes(), 0);
}

#[test]
fn nothing_is_seen_before_the_end_and_nothing_stays_of_what_was_dropped() {
    for way in WAYS {
        let job = job(way);
        let folder = tempfile::tempdir().unwrap();
        let object = target(&folder, "new/folder/x", &job);
        let mut output = Output::create(&object.store, &object.path, IfExists::Error).unwrap();
        output.write(vec![1; 3 << 20].into()).unwrap();
        output.prepare().unwrap();
        let seen = names(&folder.path().join("new/folder"));
        assert!(seen.len() == 1 && seen[0].starts_with(".x.lakerace-") && seen[0].ends_with(".tmp"), "{seen:?}");
        drop(output);
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn a_target_that_appeared_meanwhile_is_left_alone() {
    for way in WAYS {
        let job = job(way);
        let folder = tempfile::tempdir().unwrap();
        let object = target(&folder, "x", &job);
        let output = Output::create(&object.store, &object.path, IfExists::Error).unwrap();
        std::fs::write(object.url(), b"theirs").unwrap();
        assert_eq!(output.finish().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(std::fs::read(object.url()).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), ["x"]);
    }
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
    for way in WAYS {
        let job = job(way);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("real"), b"old").unwrap();
        std::os::unix::fs::symlink("real", folder.path().join("link")).unwrap();
        let written = write_all(&target(&folder, "link", &job), &[100], IfExists::Replace).unwrap();
        assert!(folder.path().join("link").symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(folder.path().join("real")).unwrap(), written);
    }
}

#[test]
fn a_cancelled_job_writes_no_more_and_leaves_nothing() {
    for way in WAYS {
        let job = job(way);
        let folder = tempfile::tempdir().unwrap();
        let object = target(&folder, "x", &job);
        let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
        output.write(vec![1; 2 << 20].into()).unwrap();
        job.cancel();
        assert_eq!(output.write(vec![1; 2 << 20].into()).unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(output.finish().unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn the_meter_counts_what_was_written() {
    for way in WAYS {
        let job = job(way);
        let folder = tempfile::tempdir().unwrap();
        write_all(&target(&folder, "x", &job), &[3 << 20, 100], IfExists::Replace).unwrap();
        let counts = job.meter().counts();
        assert_eq!(counts.bytes_written, (3 << 20) + 100);
        // Past the page cache, three buffers and what is left.
        assert_eq!(counts.requests.put, if way == FileIo::UringDirect { 4 } else { 2 });
        if cfg!(target_os = "linux") {
            assert_eq!((job.file_io(), job.warnings()), (Some(way), Vec::new()));
        }
    }
}

#[test]
fn a_full_disk_is_the_same_error_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut errors = Vec::new();
    let mounted = mount_and(folder.path(), || {
        for way in WAYS {
            let object = target(&folder, "new/x", &job(way));
            let error = write_all(&object, &[1 << 20; 9], IfExists::Error).unwrap_err();
            assert!(names(folder.path()).is_empty());
            let written = write_all(&object, &[1 << 20, 3 << 20, 5], IfExists::Error).unwrap();
            assert!(std::fs::read(object.url()).unwrap() == written);
            std::fs::remove_dir_all(folder.path().join("new")).unwrap();
            errors.push((error.kind(), error.to_string()));
        }
    });
    if !mounted {
        eprintln!("skipped: a small file system can't be mounted here");
        return;
    }
    assert_eq!(errors[0].0, ErrorKind::Unavailable);
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
}

/// Runs `test` with a file system of a few megabytes at `folder`; false where none can be mounted.
fn mount_and(folder: &std::path::Path, test: impl FnOnce()) -> bool {
    let run = |command: &mut std::process::Command| command.output().is_ok_and(|output| output.status.success());
    let mount = ["-t", "tmpfs", "-o", "size=6m", "tmpfs"];
    if !run(std::process::Command::new("mount").args(mount).arg(folder)) {
        return false;
    }
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
    assert!(run(std::process::Command::new("umount").arg(folder)));
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    true
}

#[test]
fn parts_under_way_are_bounded_where_a_store_is_slow() {
    use crate::wrap::{ThrottleOptions, Throttled};
    let job = Job::default();
    let slow = ThrottleOptions { connection_bytes_per_second: Some(40e6), ..ThrottleOptions::default() };
    let store = Throttled::new(Arc::new(object_store::memory::InMemory::new()), slow);
    let store = crate::JobStore::wrapping(Arc::new(store), "test://", crate::profile::Observations::local_disk(), &job);
    let path = object_store::path::Path::from("x");
    let mut output = Output::create(&store, &path, IfExists::Replace).unwrap();
    output.limit_in_flight(&crate::InFlight::new(20 << 20));
    let mut most = 0;
    for _ in 0..64 {
        output.write(vec![1; 1 << 20].into()).unwrap();
        most = most.max(output.object.unsent_bytes());
    }
    output.finish().unwrap();
    // Two parts under way, and what is kept back for the next one.
    assert!(most > 16 << 20 && most <= 25 << 20, "{most}");
    assert_eq!(store.stat(&path).unwrap().unwrap().size_bytes, 64 << 20);
}
