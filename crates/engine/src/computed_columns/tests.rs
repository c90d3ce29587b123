#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::filter::parse_filter;

fn requested(texts: &[&str]) -> RequestedColumns {
    let columns = texts.iter().map(|text| ColumnItem::parse(text).unwrap()).collect();
    RequestedColumns::from_options(
        "a.parquet",
        &ReadOptions { columns: Some(columns), ..ReadOptions::default() },
        RunTime::now(),
    )
    .unwrap()
    .unwrap()
}

#[test]
fn names_alone_are_no_computed_columns() {
    let options = |columns| ReadOptions { columns, ..ReadOptions::default() };
    assert!(RequestedColumns::from_options("a", &options(None), RunTime::now()).unwrap().is_none());
    assert!(
        RequestedColumns::from_options("a", &options(Some(ColumnItem::named(["a", "b"]))), RunTime::now())
            .unwrap()
            .is_none()
    );
}

#[test]
fn unchanged_columns_are_read_first() {
    let columns = requested(&["b * a as x", "c", "a as y", "d.e"]).source_columns();
    assert_eq!(columns, ["c", "d.e", "b", "a"]);
}

#[test]
fn names_of_computed_columns_become_their_values() {
    let requested = requested(&["a + b as x", "s as t", "c"]);
    let value = |text: &str| requested.with_aliases(&parse_filter(text).unwrap()).unwrap();
    assert_eq!(value("x > c"), parse_filter("a + b > c").unwrap());
    assert_eq!(value("t.f = 1 and u.f = 2 and tt.f = 3"), parse_filter("s.f = 1 and u.f = 2 and tt.f = 3").unwrap());
    assert_eq!(
        value("case when x > 1 then lower(t.f) else cast(x as text) end like 'a%'"),
        parse_filter("case when a + b > 1 then lower(s.f) else cast(a + b as text) end like 'a%'").unwrap()
    );
}

#[test]
fn large_values_are_not_copied_without_end() {
    let sum = format!("a{} as x", " + a".repeat(90));
    let parts = vec!["x = 1"; 2000].join(" or ");
    let error = requested(&[&sum]).with_aliases(&parse_filter(&parts).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
