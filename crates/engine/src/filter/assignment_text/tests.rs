#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;
use lakerace_io::option::Door;

use super::*;

fn parse_assignment(text: &str) -> Result<ColumnAssignment> {
    AssignmentText::Whole(text.to_owned()).parsed(RunTime::now())
}

#[test]
fn a_column_and_its_value_are_parsed() {
    let parsed = parse_assignment(" \"my price\" = coalesce(price, 1) * 1.1 ").unwrap();
    assert_eq!(
        (parsed.column.as_str(), parsed.text.as_str()),
        ("my price", r#""\"my price\" = coalesce(price, 1) * 1.1""#)
    );
    assert_eq!(parse_assignment("`a b` = c").unwrap().value, Expr::Column("c".to_owned()));
    assert_eq!(parse_assignment("a.b = 1").unwrap().column, "a.b");
    // A name in Python is the column's own, whatever is in it.
    let named = parse_new_value("my price", "a = b", RunTime::now()).unwrap();
    assert_eq!((named.column.as_str(), named.text.as_str()), ("my price", r#""my price = a = b""#));
    assert!(matches!(named.value, Expr::Compare { .. }));
}

#[test]
fn assignments_of_other_languages_get_advice() {
    for (text, advice) in [("price == 1", "write one ="), ("a = 1, b = 2", "an option of its own")] {
        let error = parse_assignment(text).unwrap_err();
        assert!(error.advice_text().is_some_and(|text| text.contains(advice)), "{error}");
    }
}

#[test]
fn errors_name_the_option_and_the_text() {
    for (text, kind) in [
        ("price", ErrorKind::Usage),
        ("price = ", ErrorKind::Usage),
        ("= 3", ErrorKind::Usage),
        ("price = 1, qty = 2", ErrorKind::Usage),
        ("price = ?", ErrorKind::Usage),
        ("price = sum(price)", ErrorKind::Unsupported),
        ("price == 3", ErrorKind::Usage),
    ] {
        let error = parse_assignment(text).unwrap_err();
        assert_eq!(error.kind(), kind, "{text}: {error}");
        let place = error.text(Door::CommandLine).place.unwrap_or_default();
        assert!(place.starts_with(&format!("--set: \"{text}").trim_end().to_owned()), "{place}");
    }
}
