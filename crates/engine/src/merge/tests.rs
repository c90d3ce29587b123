#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::*;

fn joined(text: &str) -> Result<Vec<(String, String)>, ErrorKind> {
    joined_columns(text, "target", "s").map_err(|error| error.kind())
}

#[test]
fn conditions_of_equalities_name_columns() {
    let pair = |target: &str, source: &str| (target.to_owned(), source.to_owned());
    assert_eq!(joined("target.id = s.id").unwrap(), [pair("id", "id")]);
    assert_eq!(joined("s.k = target.`my id`").unwrap(), [pair("my id", "k")]);
    assert_eq!(
        joined("target.a = s.a AND (s.b = target.c and target.d = s.d)").unwrap(),
        [pair("a", "a"), pair("c", "b"), pair("d", "d")]
    );
    for text in
        ["target.a > s.a", "target.a = 1", "a = b", "target.a = s.a OR target.b = s.b", "target.a = target.b", "true"]
    {
        assert_eq!(joined(text), Err(ErrorKind::Unsupported), "{text}");
    }
    assert_eq!(joined("target.a = "), Err(ErrorKind::Usage));
}

#[test]
fn names_of_columns_may_have_the_table_and_backticks() {
    for text in ["x y", "target.x y", "`x y`", "target.`x y`"] {
        assert_eq!(column_name(text, "target"), "x y");
    }
    assert_eq!(column_name("other.x", "target"), "other.x");
    assert_eq!(column_name("``", "target"), "``");
}
