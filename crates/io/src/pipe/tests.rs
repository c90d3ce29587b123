#![allow(clippy::unwrap_used)]

use std::ffi::CString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::*;
use crate::{Job, Location, StorageOptions};

fn fifo(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    let c_path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path is a C string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
    path
}

fn text(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn files_folders_and_urls_are_no_pipes() {
    let (folder, job) = (tempfile::tempdir().unwrap(), Job::default());
    let file = folder.path().join("a");
    std::fs::write(&file, "x").unwrap();
    for place in [text(&file), text(folder.path()), "s3://bucket/key", "memory://a/b", "absent"] {
        assert!(Pipe::open(place, &job).unwrap().is_none(), "{place}");
    }
}

#[test]
fn a_pipe_gives_its_front_and_then_all_of_it_once() {
    let (folder, job) = (tempfile::tempdir().unwrap(), Job::default());
    let path = fifo(&folder, "p");
    let pipe = Pipe::open(text(&path), &job).unwrap().unwrap();
    let bytes: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let (to, sent) = (path.clone(), bytes.clone());
    let writer = thread::spawn(move || File::options().write(true).open(to).unwrap().write_all(&sent).unwrap());
    let (front, is_whole) = pipe.peek(100_000, &job).unwrap();
    assert_eq!((&front[..], is_whole), (&bytes[..100_000], false));
    // The same name is the same pipe for a job.
    let again = Pipe::open(text(&path), &job).unwrap().unwrap();
    assert_eq!(again.peek(10, &job).unwrap().0, front.slice(..10));
    let mut all = Vec::new();
    again.reader(&job).unwrap().read_to_end(&mut all).unwrap();
    assert!(all == bytes);
    writer.join().unwrap();
    let error = pipe.reader(&job).unwrap_err();
    assert_eq!((error.kind(), error.location()), (crate::ErrorKind::Usage, Some(text(&path))));
    assert_eq!(job.meter().counts().bytes_read, bytes.len() as u64);
}

#[test]
fn a_spooled_pipe_can_be_read_anywhere_and_often() {
    let (folder, job) = (tempfile::tempdir().unwrap(), Job::default());
    let path = fifo(&folder, "p");
    let pipe = Pipe::open(text(&path), &job).unwrap().unwrap();
    let to = path.clone();
    let writer = thread::spawn(move || File::options().write(true).open(to).unwrap().write_all(b"0123456789").unwrap());
    let object = pipe.spooled_object("a test needs it", &job).unwrap();
    writer.join().unwrap();
    let tail = object.read_tail(3).unwrap();
    assert_eq!((&tail.bytes[..], tail.size_bytes), (&b"789"[..], 10));
    let again = pipe.spooled_object("a test needs it", &job).unwrap();
    assert_eq!(again.read_range(2..5).unwrap(), "234");
    assert_eq!(again.url(), text(&path));
    assert_eq!(pipe.peek(4, &job).unwrap(), (Bytes::from("0123"), false));
    assert_eq!(job.warnings().len(), 1);
}

#[test]
fn a_wait_for_a_writer_or_a_reader_ends_when_the_job_is_cancelled() {
    let (folder, job) = (tempfile::tempdir().unwrap(), Job::default());
    let path = fifo(&folder, "p");
    let canceller = job.clone();
    let cancelling = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        canceller.cancel();
    });
    let pipe = Pipe::open(text(&path), &job).unwrap().unwrap();
    assert_eq!(pipe.peek(1, &job).unwrap_err().kind(), crate::ErrorKind::Cancelled);
    cancelling.join().unwrap();
    let other = fifo(&folder, "q");
    assert_eq!(PipeWriter::open(text(&other), &job).unwrap_err().kind(), crate::ErrorKind::Cancelled);
}

#[test]
fn a_full_pipe_is_left_when_the_job_is_cancelled() {
    let (folder, job) = (tempfile::tempdir().unwrap(), Job::default());
    let path = fifo(&folder, "p");
    let _reader = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
    let mut writer = PipeWriter::open(text(&path), &job).unwrap().unwrap();
    let canceller = job.clone();
    let cancelling = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        canceller.cancel();
    });
    let error = crate::Error::from(writer.write_all(&vec![1; 4 << 20]).unwrap_err());
    assert_eq!(error.kind(), crate::ErrorKind::Cancelled);
    cancelling.join().unwrap();
}

#[test]
fn a_pipe_is_no_file_of_a_store() {
    let (folder, job) = (tempfile::tempdir().unwrap(), Job::default());
    let path = fifo(&folder, "p.parquet");
    let object = Location::parse(text(&path)).unwrap().object(&StorageOptions::default(), &job).unwrap();
    let error = object.read_tail(8).unwrap_err();
    assert_eq!((error.kind(), error.location()), (crate::ErrorKind::Invalid, Some(text(&path))));
    assert!(error.message().contains("a pipe"), "{error}");
}

#[test]
fn no_file_is_named_as_the_standard_streams_are() {
    let error = Location::parse("-").unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Usage);
    assert!(Location::parse("./-").is_ok());
}
