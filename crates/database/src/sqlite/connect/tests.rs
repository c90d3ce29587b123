#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

/// A database as a writer leaves it that is killed while it writes: the pages of its transaction are in the file, and a
/// journal says what was there before.
fn half_written(folder: &Path) -> std::path::PathBuf {
    let (path, copy) = (folder.join("a.db"), folder.join("b.db"));
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('before'); PRAGMA cache_size = 2").unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) \
                INSERT INTO t SELECT printf('after %d', i) FROM n";
    writer.execute_batch(&format!("BEGIN; UPDATE t SET v = 'after'; {fill}")).unwrap();
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(folder.join("a.db-journal"), folder.join("b.db-journal")).unwrap();
    copy
}

#[test]
fn what_a_killed_writer_has_left_is_taken_back_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = half_written(folder.path());
    let refused = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY, &Job::default()).unwrap_err();
    assert!(needs_recovery(&refused), "{refused}");
    let connection = to_read(&path, &Job::default()).unwrap();
    let found: (i64, String) =
        connection.query_row("SELECT count(*), max(v) FROM t", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(found, (1, "before".to_owned()));
    assert!(!folder.path().join("b.db-journal").exists());
}

#[test]
fn who_may_not_write_is_told_why_a_read_has_to() {
    let refused =
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY_ROLLBACK), None);
    let told = unreadable(refused).to_string();
    assert!(told.contains("a process was killed") && told.contains("give write access"), "{told}");
}
