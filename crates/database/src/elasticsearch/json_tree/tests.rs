#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn tree(text: &str) -> JsonTree<'_> {
    JsonTree::parse(text.as_bytes()).unwrap()
}

fn written(tree: &JsonTree<'_>) -> String {
    let mut out = Vec::new();
    tree.write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_keep_their_digits() {
    let text = r#"{"a":[1234567890123456789.01,1e400,-0.0,18446744073709551617],"b":{"c":null,"é\n":"\u0001"}}"#;
    assert_eq!(written(&tree(text)), text);
}

#[test]
fn grafted_keys_lead_into_objects() {
    let mut whole = JsonTree::Object(Vec::new());
    assert!(whole.graft("a.b", tree("12345678901234567890.5")));
    assert!(whole.graft("a", tree(r#"{"c":{"d":1},"c.e":2}"#)));
    assert_eq!(written(&whole), r#"{"a":{"b":12345678901234567890.5,"c":{"d":1,"e":2}}}"#);
    assert_eq!(whole.remove("a.c.e"), Some(tree("2")));
    assert_eq!(whole.remove("a.c.e"), None);
    assert!(!whole.graft("a.b", tree("7")));
    assert!(!whole.graft("a.b.x", tree("7")));
}

#[test]
fn documents_are_the_same_by_all_digits() {
    assert!(tree(r#"{"a":1,"b":{"x":[1,{}]}}"#).is_same(&tree(r#"{ "b": {"x":[1, {}]}, "a": 1 }"#)));
    for (one, other) in [
        ("1234567890123456789.01", "1234567890123456789.02"),
        (r#"{"a":1}"#, r#"{"a":1,"b":1}"#),
        ("[1,2]", "[2,1]"),
        ("\"1\"", "1"),
    ] {
        assert!(!tree(one).is_same(&tree(other)), "{one}");
    }
}

#[test]
fn nothing_is_told_from_something() {
    for void in ["null", "[]", "[null,[]]", r#"{"a":{"b":null}}"#] {
        assert!(tree(void).is_void(), "{void}");
    }
    assert!(!tree(r#"{"a":[0]}"#).is_void());
    assert!(JsonTree::parse(b"1 2").is_err());
    assert!(JsonTree::parse("[".repeat(100_000).as_bytes()).is_err());
}
