#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use lakerace_io::ErrorKind;

use super::*;

fn computed(text: &str) -> ComputedColumn {
    match ColumnItem::parse(text).unwrap() {
        ColumnItem::Computed(column) => column,
        ColumnItem::Name(name) => panic!("{name:?} is a name"),
    }
}

#[test]
fn only_texts_with_a_new_name_are_values() {
    for name in
        ["a", "a.b", "unit price", "price * 2", "lower(a)", "it's", "a as", "as b", "a as b c", "x as y.z", "", "*"]
    {
        assert_eq!(ColumnItem::parse(name).unwrap(), ColumnItem::Name(name.to_owned()), "{name:?}");
    }
    // A quoted AS is no keyword.
    let name = r#"a "as" b"#;
    assert_eq!(ColumnItem::parse(name).unwrap(), ColumnItem::Name(name.to_owned()));
    for (text, name) in [
        ("a as b", "b"),
        ("a AS \"b c\"", "b c"),
        (" price * 1.2 as gross ", "gross"),
        ("cast(a as int) as a", "a"),
        ("case when a > 1 then 2 else b end as `c`", "c"),
        ("user.name as name", "name"),
        ("\"a as b\" as \"a as b\"", "a as b"),
        ("a as user", "user"),
        ("a > 1 as large", "large"),
    ] {
        assert_eq!(computed(text).name, name, "{text:?}");
    }
}

#[test]
fn renamed_columns_are_told_from_values() {
    assert_eq!(computed("a as b").renamed(), Some("a"));
    assert_eq!(computed("(user.name) as name").renamed(), Some("user.name"));
    assert_eq!(computed("a + 0 as b").renamed(), None);
}

#[test]
fn serialised_items_tell_values_from_names() {
    let json = |item: &ColumnItem| serde_json::to_string(item).unwrap();
    assert_eq!(json(&ColumnItem::Name("a as b".to_owned())), "\"a as b\"");
    let column = ColumnItem::parse("a as b").unwrap();
    assert_eq!(json(&column), r#"{"name":"b","text":"a as b"}"#);
    assert_ne!(json(&column), json(&ColumnItem::parse("a + 1 as b").unwrap()));
}

#[test]
fn reads_without_values_take_names_alone() {
    let named = ColumnItem::named(["a", "b"]);
    assert_eq!(plain_names(Some(&named)).unwrap(), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(plain_names(None).unwrap(), None);
    let error = plain_names(Some(&[ColumnItem::parse("a as b").unwrap()])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}
