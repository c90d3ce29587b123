#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

/// A table, and what was noted of it.
fn noted(connection: &Connection) -> String {
    TableIdentity::read(connection, "t").unwrap().unwrap().text().unwrap()
}

fn is_same(connection: &Connection, noted: &str) -> bool {
    TableIdentity::is_of(connection, "T", noted).unwrap()
}

#[test]
fn a_table_that_is_changed_stays_the_same() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)").unwrap();
    connection.execute_batch("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (9, 'i')").unwrap();
    let noted = noted(&connection);
    assert!(is_same(&connection, &noted));
    connection.execute_batch("CREATE INDEX v ON t (v); VACUUM; ALTER TABLE t ADD COLUMN more INTEGER").unwrap();
    assert!(is_same(&connection, &noted));
    connection.execute_batch("UPDATE t SET v = 'new' WHERE id = 9; DELETE FROM t WHERE id = 2").unwrap();
    assert!(is_same(&connection, &noted));
}

#[test]
fn a_table_that_is_made_again_is_another_one() {
    let connection = Connection::open_in_memory().unwrap();
    let make = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)";
    connection.execute_batch(make).unwrap();
    connection.execute_batch("INSERT INTO t VALUES (1, 'a'), (2, 'b')").unwrap();
    let noted = noted(&connection);
    connection.execute_batch("DROP TABLE t").unwrap();
    assert!(!is_same(&connection, &noted));
    connection.execute_batch(make).unwrap();
    assert!(!is_same(&connection, &noted));
    connection.execute_batch("INSERT INTO t VALUES (1, 'other'), (2, 'rows')").unwrap();
    assert!(!is_same(&connection, &noted));
    assert!(!is_same(&connection, "damaged"));
}

#[test]
fn a_table_that_is_emptied_is_another_one() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)").unwrap();
    let empty = noted(&connection);
    connection.execute_batch("INSERT INTO t VALUES (1, 'a'), (2, 'b')").unwrap();
    let full = noted(&connection);
    assert!(is_same(&connection, &empty) && is_same(&connection, &full));
    connection.execute_batch("DELETE FROM t").unwrap();
    assert!(is_same(&connection, &empty) && !is_same(&connection, &full));
}

#[test]
fn a_table_without_numbers_is_known_by_its_place() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (id TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO t VALUES ('a')").unwrap();
    let noted = noted(&connection);
    connection.execute_batch("CREATE TABLE other (id INTEGER)").unwrap();
    assert!(is_same(&connection, &noted));
    connection.execute_batch("DROP TABLE t; CREATE TABLE t (id TEXT PRIMARY KEY, v) WITHOUT ROWID").unwrap();
    assert!(!is_same(&connection, &noted));
}
