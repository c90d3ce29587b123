#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;

use super::{WRITERS, WriteBehind};
use crate::output::direct::set_direct;
use crate::output::page_cache::CacheWay;
use crate::output::tests::{job, names, target};
use crate::{ErrorKind, FileIo, IfExists, Job, Output};

const LIMIT_BYTES: usize = 3 << 20;

/// A thread that writes a new file. Tests of other files may have all of them for a while.
fn begin(file: &File, position: u64, job: &Job) -> WriteBehind {
    loop {
        if let Some(behind) = WriteBehind::begin(file, Path::new("/x"), position, LIMIT_BYTES, true, job).unwrap() {
            return behind;
        }
        std::thread::yield_now();
    }
}

fn chunk(number: usize, len: usize) -> Bytes {
    (0..len).map(|at| (number * 31 + at * 7) as u8).collect::<Vec<_>>().into()
}

#[test]
fn bytes_come_in_their_order_after_those_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, b"head").unwrap();
    let (job, mut all) = (Job::default(), b"head".to_vec());
    let mut behind = begin(&File::options().write(true).open(&path).unwrap(), 4, &job);
    // Empty ones, many small ones, and one that is larger than all that may wait.
    let lengths = [0, 1, 5 << 20, 0].into_iter().chain(std::iter::repeat_n(100, 3000)).chain([LIMIT_BYTES, 7]);
    for (number, len) in lengths.enumerate() {
        let bytes = chunk(number, len);
        all.extend_from_slice(&bytes);
        behind.write(bytes).unwrap();
        assert!(behind.thread.waiting_weight() <= LIMIT_BYTES.max(len) as u64);
    }
    assert_eq!(behind.finish().unwrap(), all.len() as u64);
    assert_eq!(job.meter().counts().bytes_written, all.len() as u64 - 4);
    assert!(std::fs::read(&path).unwrap() == all);
}

#[test]
fn an_error_comes_out_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, b"").unwrap();
    let mut behind = begin(&File::open(&path).unwrap(), 0, &Job::default());
    let first = (0..).find_map(|number| behind.write(chunk(number, 1 << 20)).err()).unwrap();
    let again = behind.write(chunk(0, 1)).unwrap_err();
    assert_eq!((first.kind(), first.to_string()), (again.kind(), again.to_string()));
    assert_eq!(behind.finish().unwrap_err().to_string(), first.to_string());
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[test]
fn a_file_that_was_given_up_or_cancelled_leaves_nothing() {
    let job = job(FileIo::Sync);
    let folder = tempfile::tempdir().unwrap();
    let object = target(&folder, "x", &job);
    let begin = || {
        let mut output = Output::create(&object.store, &object.path, IfExists::Error).unwrap();
        output.write_behind(LIMIT_BYTES);
        (0..4).for_each(|number| output.write(chunk(number, 2 << 20)).unwrap());
        output
    };
    drop(begin());
    assert!(names(folder.path()).is_empty());
    let output = begin();
    job.cancel();
    assert_eq!(output.finish().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_thread_ends_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<WriteBehind> = (0..2 * WRITERS as usize)
        .map(|number| {
            let mut behind = begin(&File::create(folder.path().join(format!("{number}"))).unwrap(), 0, &Job::default());
            behind.write(chunk(number, 2 << 20)).unwrap();
            // Nobody has waited for it when the next one begins.
            behind.close();
            behind
        })
        .collect();
    files.into_iter().for_each(|behind| assert_eq!(behind.finish().unwrap(), 2 << 20));
}

#[test]
fn a_file_that_is_left_unwritten_appears_whole_when_it_is_finished() {
    let job = job(FileIo::Sync);
    let folder = tempfile::tempdir().unwrap();
    // More files than threads.
    let begun = (0..5).map(|file| {
        let object = target(&folder, &format!("{file}"), &job);
        let mut output = Output::create(&object.store, &object.path, IfExists::Error).unwrap();
        output.write_behind(LIMIT_BYTES);
        let deferred = output.defer_unwritten();
        let lengths = [10, 4 << 20, 100, 1 << 20, file << 10];
        let chunks: Vec<Bytes> = lengths.iter().enumerate().map(|(number, len)| chunk(number + file, *len)).collect();
        chunks.iter().for_each(|chunk| output.write(chunk.clone()).unwrap());
        output.finish().unwrap();
        (deferred.take().unwrap(), chunks.concat())
    });
    let begun: Vec<_> = begun.collect();
    assert!(names(folder.path()).iter().all(|name| name.ends_with(".tmp")));
    for (file, (output, all)) in begun.into_iter().enumerate() {
        output.publish().unwrap();
        assert!(std::fs::read(folder.path().join(format!("{file}"))).unwrap() == all);
    }
}

/// A job for which bytes into the page cache are dear from here on.
fn dear(job: &Job) {
    job.page_cache().note_cached(1 << 30, Duration::from_secs(60));
    assert_eq!(job.page_cache().way(), CacheWay::Direct);
}

#[test]
fn a_file_that_leaves_the_page_cache_and_comes_back_has_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for position in [0, 5, 4096] {
        let (path, job) = (folder.path().join(format!("{position}")), Job::default());
        let mut all = chunk(9, position).to_vec();
        std::fs::write(&path, &all).unwrap();
        let mut behind = begin(&File::options().write(true).open(&path).unwrap(), position as u64, &job);
        let lengths = [1 << 20, 100, 4 << 20, 4096, 1, 9 << 20, 3];
        for (number, len) in lengths.iter().cycle().take(4 * lengths.len()).enumerate() {
            if number == lengths.len() {
                // Where memory was dear already, and then the disk slower still, the file stays in the cache.
                job.page_cache().note_cached(1 << 30, Duration::from_secs(60));
            }
            if number == 3 * lengths.len() {
                // The disk is slower than anything.
                job.page_cache().note_waited(Duration::from_secs(6000));
                assert_eq!(job.page_cache().way(), CacheWay::Cached);
            }
            let bytes = chunk(number, *len);
            all.extend_from_slice(&bytes);
            behind.write(bytes).unwrap();
        }
        assert_eq!(behind.finish().unwrap(), all.len() as u64);
        assert_eq!(job.meter().counts().bytes_written, (all.len() - position) as u64);
        assert!(std::fs::read(&path).unwrap() == all, "{position}");
    }
}

#[test]
fn only_a_job_that_may_choose_leaves_the_page_cache() {
    let folder = tempfile::tempdir().unwrap();
    for way in [FileIo::Auto, FileIo::Sync] {
        let job = job(way);
        dear(&job);
        let before = job.bytes_past_cache();
        let object = target(&folder, way.name(), &job);
        // Tests of other files may have all threads for a while.
        let has_passed = (0..1000).any(|_| {
            let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
            output.write_behind(LIMIT_BYTES);
            (0..4).for_each(|number| output.write(chunk(number, 2 << 20)).unwrap());
            output.finish().unwrap();
            job.bytes_past_cache() > before || job.page_cache().way() == CacheWay::Cached || way == FileIo::Sync
        });
        assert!(has_passed);
        assert_eq!(job.bytes_past_cache() > before, way == FileIo::Auto && has_direct(&folder), "{way}");
        assert_eq!(job.file_io(), Some(way));
        assert_eq!(std::fs::metadata(folder.path().join(way.name())).unwrap().len(), 8 << 20);
    }
}

/// Whether the file system of tests knows writes past the page cache.
fn has_direct(folder: &tempfile::TempDir) -> bool {
    let file = File::create(folder.path().join("probe")).unwrap();
    set_direct(&file, true).is_ok()
}

#[test]
fn an_error_past_the_page_cache_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, b"").unwrap();
    let job = Job::default();
    dear(&job);
    let mut behind = begin(&File::open(&path).unwrap(), 0, &job);
    let error = (0..).find_map(|number| behind.write(chunk(number, 1 << 20)).err()).unwrap();
    assert_eq!(behind.finish().unwrap_err().to_string(), error.to_string());
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}
