#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn items(text: &str) -> Vec<ColumnItem> {
    text.parse::<ColumnList>().unwrap().items().unwrap()
}

fn texts(text: &str) -> Vec<String> {
    items(text).iter().map(|item| item.text().to_owned()).collect()
}

#[test]
fn names_are_those_of_comma_lists() {
    for text in
        ["b,a", "a", r#""a,b",c"#, r#""a""b""#, "größe, x", r#"" x", y"#, "unit price,b", "driver's,b", "w(kg,b"]
    {
        assert_eq!(items(text), ColumnItem::named(text.parse::<CommaList>().unwrap().0), "{text:?}");
    }
}

#[test]
fn values_keep_their_commas() {
    assert_eq!(texts("a, coalesce(b, c) as b,d"), ["a", "coalesce(b, c) as b", "d"]);
    assert_eq!(texts("cast(p as decimal(10,2)) as p"), ["cast(p as decimal(10,2)) as p"]);
    assert_eq!(texts("concat(a, ', (') as t,b"), ["concat(a, ', (') as t", "b"]);
    assert_eq!(texts(r#""a, b" as c,`d,e` as f"#), [r#""a, b" as c"#, "`d,e` as f"]);
    assert_eq!(texts(r#"'it''s, so' as a, b"#), ["'it''s, so' as a", "b"]);
}

#[test]
fn quoted_names_are_never_values() {
    assert_eq!(items(r#""a as b""#), [ColumnItem::Name("a as b".to_owned())]);
    assert!(matches!(&items("a as b")[0], ColumnItem::Computed(column) if column.name == "b"));
    assert!(matches!(&items(r#""a" as "b c""#)[0], ColumnItem::Computed(column) if column.name == "b c"));
}

#[test]
fn lists_with_missing_parts_are_usage_errors() {
    for text in ["", "a,", ",a", "a,,b", r#""a"#, r#""""#] {
        assert!(text.parse::<ColumnList>().is_err(), "{text:?}");
    }
    for text in [r#""a"b"#, "a * as b", "(a as b", "sum(a) as b", "* as b"] {
        assert!(text.parse::<ColumnList>().unwrap().items().is_err(), "{text:?}");
    }
}
