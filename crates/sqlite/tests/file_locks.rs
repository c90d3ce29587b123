//! Locks beside those of another SQLite library in the same process, which are the process's.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::c_int;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lakerace_sqlite::{prepare, read_start};
use rusqlite::Connection;

/// Where SQLite locks a file for reading, and how many bytes of it.
const SHARED: (i64, i64) = (0x4000_0000 + 2, 510);

/// A lock of the process, as other libraries take it. False where it is refused.
fn lock_as_process(file: &File, kind: c_int) -> bool {
    lock(file, kind, libc::F_SETLK)
}

fn lock(file: &File, kind: c_int, request: c_int) -> bool {
    // SAFETY: all zeros are a lock; the call gets one that it may change.
    unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        (lock.l_type, lock.l_start, lock.l_len) = (kind as _, SHARED.0, SHARED.1);
        let answer = libc::fcntl(file.as_raw_fd(), request, std::ptr::from_mut(&mut lock));
        answer == 0 && (request != libc::F_OFD_GETLK || lock.l_type == libc::F_UNLCK as i16)
    }
}

fn open(path: &Path) -> Connection {
    prepare();
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS t (x)").unwrap();
    connection
}

fn open_as_other(path: &Path) -> File {
    File::options().read(true).write(true).open(path).unwrap()
}

/// How often this process has a file open.
fn descriptors(path: &Path) -> usize {
    let own = std::fs::metadata(path).unwrap();
    let is_same = |found: &std::fs::Metadata| (found.dev(), found.ino()) == (own.dev(), own.ino());
    let listed = std::fs::read_dir("/proc/self/fd").unwrap();
    listed.filter(|entry| std::fs::metadata(entry.as_ref().unwrap().path()).is_ok_and(|found| is_same(&found))).count()
}

#[test]
fn locks_stay_when_another_library_of_the_process_closes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = open(&path);
    for _ in 0..2 {
        // What a library does that takes itself for the last one.
        let other = open_as_other(&path);
        assert!(!lock_as_process(&other, libc::F_WRLCK));
        assert!(lock_as_process(&other, libc::F_RDLCK));
        drop(other);
    }
    drop(connection);
    assert!(lock_as_process(&open_as_other(&path), libc::F_WRLCK));
}

#[test]
fn the_locks_of_another_library_stay_when_a_connection_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(open(&path));
    let other = open_as_other(&path);
    assert!(lock_as_process(&other, libc::F_RDLCK));
    for _ in 0..3 {
        let (one, two) = (open(&path), open(&path));
        one.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        drop((one, two));
    }
    read_start(&path, &mut [0; 100]).unwrap();
    let observer = open_as_other(&path);
    // Closing it would drop the locks of the process.
    let observer = std::mem::ManuallyDrop::new(observer);
    assert!(!lock(&observer, libc::F_WRLCK, libc::F_OFD_GETLK), "the lock of the other library is gone");
    assert!(path.with_extension("db-wal").exists(), "the log went although another library has the file open");
}

#[test]
fn descriptors_that_are_kept_serve_again_and_go_with_the_last_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(open(&path));
    assert_eq!(descriptors(&path), 0);
    let other = open_as_other(&path);
    drop(open(&path));
    let first = descriptors(&path);
    assert!(first > 1);
    for _ in 0..20 {
        drop(open(&path));
    }
    assert_eq!(descriptors(&path), first);
    drop(other);
    drop(open(&path));
    assert_eq!(descriptors(&path), 0);
}

#[test]
fn a_reader_that_comes_first_leaves_writers_their_locks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(open(&path));
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = Connection::open_with_flags(&path, flags).unwrap();
    let count = || reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 0);
    let writer = open(&path);
    writer.execute_batch("PRAGMA journal_mode=DELETE").unwrap_err();
    writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(count(), 1);
    drop(reader);
    writer.execute_batch("PRAGMA journal_mode=DELETE; INSERT INTO t VALUES (2)").unwrap();
}

#[test]
fn connections_of_one_process_exclude_each_other_as_those_of_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (one, two) = (open(&path), open(&path));
    one.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").unwrap();
    assert!(two.execute_batch("BEGIN IMMEDIATE").is_err());
    one.execute_batch("COMMIT").unwrap();
    two.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2); COMMIT").unwrap();
}
