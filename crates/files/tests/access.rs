//! Stores that may be read, but not written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lakerace_files::{Options, PutOptions, Store};
use lakerace_io::ErrorKind;

/// Runs `work` on a thread without root's right to write everything.
fn as_reader(work: impl FnOnce() + Send) {
    let run = || {
        // Root's thread loses the right with root's identity at files; another user's call changes nothing.
        // SAFETY: the call changes nothing but the identity of the thread, which ends with the work.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::setfsuid(65_534);
        }
        work();
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap());
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn read_only() -> Options {
    Options { read_only: true, ..Options::default() }
}

/// A folder with a store whose name is not plain. Where `keep` says so, it has a log.
fn sample(folder: &Path, keep: bool) -> PathBuf {
    let path = folder.join("a store?100%#1.db");
    let store = Store::open(path.to_str().unwrap(), Options::default()).unwrap();
    store.put_many([("a", b"1".as_slice()), ("b", &[7; 100_000])], &PutOptions::default()).unwrap();
    let log = folder.join("a store?100%#1.db-wal");
    let left = keep.then(|| (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap()));
    drop(store);
    assert!(!log.exists());
    if let Some((file, written)) = left {
        std::fs::write(&path, file).unwrap();
        std::fs::write(&log, written).unwrap();
        set_mode(&log, 0o444);
    }
    set_mode(&path, 0o444);
    set_mode(folder, 0o555);
    path
}

#[test]
fn a_store_that_nobody_writes_is_read_where_its_folder_may_not_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path(), false);
    let location = path.to_str().unwrap();
    as_reader(|| {
        let store = Store::open(location, read_only()).unwrap();
        assert_eq!(store.get("a").unwrap(), b"1");
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.stat("b").unwrap().unwrap().size, 100_000);
        assert_eq!(store.list("").unwrap().len(), 2);
        let mut buffer = [0; 10];
        assert_eq!(store.open_read("b").unwrap().read_at(99_995, &mut buffer).unwrap(), 5);
        let verified = store.verify().unwrap();
        assert_eq!((verified.files, verified.damage.len()), (2, 0));
        let refused = Store::open(location, Options::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        assert!(refused.to_string().contains("read_only"), "{refused}");
    });
    set_mode(folder.path(), 0o755);
}

#[test]
fn what_is_written_while_a_store_is_read_without_locks_is_not_mixed_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path(), false);
    let location = path.to_str().unwrap();
    as_reader(|| {
        let store = Store::open(location, read_only()).unwrap();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.list("", "", 10).unwrap().len(), 2);
        assert_eq!(store.get("a").unwrap(), b"1");
        // Another user writes it, and closes it.
        set_mode_of_another(folder.path(), 0o755, &path, 0o644);
        write_as_another(location);
        set_mode_of_another(folder.path(), 0o555, &path, 0o444);
        assert_eq!(store.get("a").unwrap(), b"2");
        let refused = snapshot.list("", "", 10).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    });
    set_mode(folder.path(), 0o755);
}

fn set_mode_of_another(folder: &Path, folder_mode: u32, path: &Path, mode: u32) {
    let set = || {
        set_mode(folder, folder_mode);
        set_mode(path, mode);
    };
    as_another(set);
}

fn write_as_another(location: &str) {
    as_another(|| {
        let store = Store::open(location, Options::default()).unwrap();
        store.put("a", b"2", &PutOptions::default()).unwrap();
    });
}

/// Runs `work` as who began the test.
fn as_another(work: impl FnOnce() + Send) {
    let run = || {
        // SAFETY: as above.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::setfsuid(libc::geteuid());
        }
        work();
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap());
}

#[test]
fn a_log_that_must_be_read_is_told_where_the_folder_may_not_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path(), true);
    as_reader(|| {
        let refused = Store::open(path.to_str().unwrap(), read_only()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        assert!(refused.to_string().contains("log") && refused.to_string().contains("folder"), "{refused}");
    });
    set_mode(folder.path(), 0o755);
}
