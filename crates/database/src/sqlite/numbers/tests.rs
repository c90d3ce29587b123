#![allow(clippy::unwrap_used, reason = "a test may panic")]

use rusqlite::Connection;

use super::*;

/// The judge is SQLite itself: what a column of each affinity makes of a text.
#[test]
fn texts_are_numbers_where_sqlite_says_so() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (n NUMERIC, i INT, r REAL)").unwrap();
    for text in [
        "007",
        " 7 ",
        "7.",
        ".5",
        "-.5e3",
        "1e5",
        "1e",
        "1e+",
        "0x10",
        "7 a",
        "",
        " ",
        ".",
        "+",
        "1_000",
        "A1",
        "1e400",
        "\u{b}7",
        "inf",
        "9223372036854775808",
        "2024-01-01",
        "1 2",
    ] {
        connection.execute("INSERT INTO t VALUES (?1, ?1, ?1)", [text]).unwrap();
        for column in ["n", "i", "r"] {
            let sql = format!("SELECT typeof({column}) = 'text' FROM t");
            let stays: bool = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert_eq!(is_number(text.as_bytes()), !stays, "{text:?} in {column}");
        }
        connection.execute_batch("DELETE FROM t").unwrap();
    }
}

#[test]
fn decimals_are_numbers_where_all_digits_stay() {
    let shown = |digits: &str, affinity| match number(digits, affinity) {
        Some(ToSqlOutput::Borrowed(ValueRef::Integer(value))) => format!("{value}"),
        Some(ToSqlOutput::Borrowed(ValueRef::Real(value))) => format!("{value:?}"),
        _ => "none".to_owned(),
    };
    let numeric = TypeAffinity::Numeric;
    for (digits, expected) in [
        ("12.50", "12.5"),
        ("12.00", "12"),
        ("-0.10", "-0.1"),
        ("0.00", "0"),
        ("9223372036854775807", "9223372036854775807"),
        ("1234567890123456789.01", "none"),
        ("9223372036854775808", "none"),
        ("123456789012345.67", "123456789012345.67"),
        ("9007199254740.93", "9007199254740.93"),
        // Two such decimals are one float.
        ("90071992547409.93", "none"),
        ("0.12345678901234567890", "none"),
    ] {
        assert_eq!(shown(digits, numeric), expected, "{digits}");
    }
    assert_eq!(shown("9007199254740993", TypeAffinity::Real), "none");
    assert_eq!(shown("9007199254740993", numeric), "9007199254740993");
}
