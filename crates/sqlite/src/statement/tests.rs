#![allow(clippy::unwrap_used)]

use super::*;

fn text(text: &str) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()))
}

fn failed(failure: SqliteFailure) -> Error {
    Error::internal(failure.to_string())
}

fn table(columns: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(&format!("CREATE TABLE t ({columns})")).unwrap();
    connection
}

#[test]
fn values_come_back_as_they_were_bound() {
    let connection = table("a, b, c, d, e");
    let mut insert = Statement::prepare(&connection, "INSERT INTO t VALUES (?, ?, ?, ?, ?)").unwrap();
    let owned = ToSqlOutput::Owned(rusqlite::types::Value::Text("owned".to_owned()));
    let values = [ValueRef::Integer(-7), ValueRef::Null, ValueRef::Blob(b""), ValueRef::Text("ä".as_bytes())];
    assert_eq!(insert.run(values.map(ToSqlOutput::Borrowed).into_iter().chain([owned])).unwrap(), 1);
    let mut select = Statement::prepare(&connection, "SELECT a, b, c, d, e, typeof(c) FROM t").unwrap();
    let mut seen = 0;
    let look = |row: &Row<'_>| {
        seen += 1;
        assert_eq!((row.int(0), row.opt_int(1), row.bytes(2), row.is_null(2)), (-7, None, &b""[..], false));
        assert_eq!((row.str(3)?, row.opt_str(4)?, row.opt_str(1)?, row.str(5)?), ("ä", Some("owned"), None, "blob"));
        Ok(true)
    };
    select.each([], failed, look).unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn a_statement_that_failed_runs_again() {
    let connection = table("word TEXT UNIQUE");
    let mut insert = Statement::prepare(&connection, "INSERT INTO t VALUES (?)").unwrap();
    insert.run([text("one")]).unwrap();
    let failure = insert.run([text("one")]).unwrap_err();
    assert_eq!((failure.code & 0xff, failure.extended), (ffi::SQLITE_CONSTRAINT, ffi::SQLITE_CONSTRAINT_UNIQUE));
    assert!(failure.message.contains("t.word"), "{failure}");
    assert_eq!(rusqlite::Error::from(failure).sqlite_error_code(), Some(rusqlite::ErrorCode::ConstraintViolation));
    assert_eq!(insert.run([text("two")]).unwrap(), 1);
    let error = insert.each([text("two")], failed, |_| Ok(true)).unwrap_err();
    assert!(error.to_string().contains("UNIQUE"), "{error}");
    let too_many = [text("three"), text("four")];
    assert_eq!(insert.run(too_many).unwrap_err().code, ffi::SQLITE_RANGE);
}

#[test]
fn rows_end_where_nobody_wants_more() {
    let connection = table("n");
    connection.execute_batch("INSERT INTO t VALUES (1), (2), (3)").unwrap();
    let mut select = Statement::prepare(&connection, "SELECT n FROM t").unwrap();
    for _ in 0..2 {
        let mut found = Vec::new();
        let take = |row: &Row<'_>| {
            found.push(row.int(0));
            Ok(found.len() < 2)
        };
        select.each([], failed, take).unwrap();
        assert_eq!(found, [1, 2]);
    }
    let error = select.each([], failed, |_| Err(Error::usage("enough"))).unwrap_err();
    assert_eq!(error.to_string(), "enough");
    let broken = Statement::prepare(&connection, "SELECT 1 FROM nowhere").unwrap_err();
    assert!(broken.message.contains("nowhere"), "{broken}");
}
