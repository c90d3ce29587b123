#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;
use lakerace_io::option::Door;

use super::*;

/// Kind, place, message and advice of the error of a text.
fn failure(text: &str) -> (ErrorKind, String, String, String) {
    let error = parse_column(text, RunTime::now()).unwrap_err();
    let shown = error.text(Door::CommandLine);
    (error.kind(), shown.place.unwrap_or_default(), shown.message, shown.advice.unwrap_or_default())
}

#[test]
fn values_are_those_of_the_filter_language() {
    let (value, name) = parse_column("coalesce(a, b.c) as \"d\"", RunTime::now()).unwrap();
    let mut columns = Vec::new();
    value.visit_columns(&mut |column| columns.push(column.to_owned()));
    assert_eq!((name.as_str(), columns), ("d", vec!["a".to_owned(), "b.c".to_owned()]));
}

#[test]
fn errors_name_the_text_and_the_place_in_it() {
    let (kind, place, message, advice) = failure("price * as gross");
    assert_eq!(kind, ErrorKind::Usage);
    assert!(place.starts_with("--columns: \"price * as gross\""), "{place}");
    assert!(!message.is_empty() && !advice.is_empty());
    let (kind, place, message, advice) = failure("sum(price) as total");
    assert_eq!((kind, message.as_str()), (ErrorKind::Unsupported, "the function sum can't be used here"));
    assert!(place.ends_with("line 1 column 1"), "{place}");
    assert!(advice.contains("aggregates rows") && advice.contains("lakerace sql"), "{advice}");
    let (kind, _, message, advice) = failure("* as all_columns");
    assert_eq!(kind, ErrorKind::Usage);
    assert!(message.contains("all columns") && advice.contains("--columns"), "{message} {advice}");
    assert!(failure("a as \"\"").2.contains("empty"));
    assert!(failure("a + ? as b").2.contains("placeholder"));
    assert!(failure(&format!("{} as b", "a + ".repeat(100))).1.contains('…'));
}

#[test]
fn names_that_were_meant_as_values_get_advice() {
    let advice = |name: &str| advice_on_name(name).map(|text| Door::CommandLine.show(&text).into_owned());
    assert_eq!(advice("prise"), None);
    assert_eq!(advice("a.b"), None);
    assert_eq!(advice("unit price"), None);
    assert_eq!(advice("5"), None);
    assert!(advice("price * 2").unwrap().contains("price * 2 as name"));
    assert!(advice("lower(a)").unwrap().contains("lower(a) as name"));
    assert!(advice("a as my name").unwrap().contains("double quotes"));
    assert!(advice("cast(a as int)").unwrap().contains("cast(a as int) as name"));
}
