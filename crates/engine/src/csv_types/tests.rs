#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn renamed_columns_have_the_types_of_their_new_names() {
    let items = |texts: &[&str]| texts.iter().map(|text| ColumnItem::parse(text).unwrap()).collect::<Vec<_>>();
    let of = |name: &'static str, texts: &[&str]| source_of(name, Some(&items(texts))).map(str::to_owned);
    assert_eq!(source_of("a", None), Some("a"));
    assert_eq!(of("a", &["a", "b"]).as_deref(), Some("a"));
    assert_eq!(of("b", &["a as b"]).as_deref(), Some("a"));
    assert_eq!(of("a", &["a as b"]), None);
    // The column that keeps its name has the type of that name.
    assert_eq!(of("b", &["a", "a as b"]), None);
    assert_eq!(of("a", &["a", "a as b"]).as_deref(), Some("a"));
    // Values of a column of the same name are read in the table's type, those of others are not.
    assert_eq!(of("a", &["a * 2 as a"]).as_deref(), Some("a"));
    assert_eq!(of("a", &["b * 2 as a"]), None);
    assert_eq!(of("a", &["a * 2 as b"]).as_deref(), Some("a"));
}
