#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::*;

/// The terms of an order: the value, whether it is descending, and whether nulls are first.
fn terms(text: &str) -> Vec<(String, bool, bool)> {
    let terms = parse_order(text, RunTime::now()).unwrap();
    terms.into_iter().map(|term| (term.text, term.is_descending, term.has_nulls_first)).collect()
}

fn column(text: &str) -> Expr {
    let mut terms = parse_order(text, RunTime::now()).unwrap();
    assert_eq!(terms.len(), 1);
    terms.remove(0).value
}

#[test]
fn terms_have_directions_and_places_of_nulls() {
    let named = |name: &str, is_descending, has_nulls_first| (name.to_owned(), is_descending, has_nulls_first);
    assert_eq!(terms("a"), [named("a", false, false)]);
    assert_eq!(terms("a ASC, b desc"), [named("a", false, false), named("b", true, false)]);
    assert_eq!(
        terms("a nulls first,b DESC NULLS FIRST, c desc nulls last"),
        [named("a", false, true), named("b", true, true), named("c", true, false)]
    );
    assert_eq!(terms("lower(a), a + 1 desc"), [named("lower(a)", false, false), named("a + 1", true, false)]);
}

#[test]
fn names_are_those_of_the_filter_language() {
    for (text, name) in [
        ("\"Unit Price\"", "Unit Price"),
        ("`a,b` desc", "a,b"),
        ("a.b", "a.b"),
        ("user", "user"),
        ("\"desc\" desc", "desc"),
        ("nulls desc", "nulls"),
        ("nulls nulls first", "nulls"),
        ("first nulls first", "first"),
        ("last nulls last", "last"),
        ("\"a\"\"b\"", "a\"b"),
    ] {
        assert_eq!(column(text), Expr::Column(name.to_owned()), "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    for (text, kind, message) in [
        ("", ErrorKind::Usage, "it is empty"),
        (" ", ErrorKind::Usage, "it is empty"),
        ("a,", ErrorKind::Usage, "the end of the order"),
        ("a b", ErrorKind::Usage, "unexpected b after the end of the order"),
        ("a desc asc", ErrorKind::Usage, "unexpected asc after the end of the order"),
        ("a nulls", ErrorKind::Usage, "unexpected nulls after the end of the order"),
        ("1", ErrorKind::Usage, "1 is the same for all rows"),
        ("a, 'b'", ErrorKind::Usage, "'b' is the same for all rows"),
        ("desc", ErrorKind::Usage, "desc is a direction, and no column stands before it (write \"desc\" in quotes"),
        ("a, DESC", ErrorKind::Usage, "line 1 column 4: DESC is a direction"),
        ("asc desc", ErrorKind::Usage, "asc is a direction"),
        ("nulls first", ErrorKind::Usage, "unexpected first after the end of the order"),
        ("sqrt(a)", ErrorKind::Unsupported, "the function sqrt"),
    ] {
        let error = parse_order(text, RunTime::now()).unwrap_err();
        assert_eq!(error.kind(), kind, "{text}: {error}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}
