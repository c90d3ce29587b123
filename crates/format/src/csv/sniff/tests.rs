use super::{DialectRules, has_tabs, other_delimiter};

#[test]
fn tabs_are_found_where_each_line_has_as_many() {
    for (text, is_found) in [
        ("a\tb\n1\t2\n", true),
        ("a\tb\n1\t2", true),
        ("a\tb", true),
        ("a\tb\r\n\r\n1,5\t2\r\n", true),
        ("a\tb\tc\n1,2\t\t\n\"x\ty\nz\"\t1\t2\n", true),
        ("a,b\n1,2\n", false),
        ("a,b\n1\t,2\t\n", false),
        ("a\n1\t2\n", false),
        ("a\tb,c,d\n1\t2,3,4\n", false),
        ("a\n", false),
        ("", false),
    ] {
        assert_eq!(has_tabs(text.as_bytes(), true, 0, None), is_found, "{text:?}");
    }
    assert!(has_tabs(b"title\n\n#x\na\tb\n1\t2\n3", false, 1, Some("#")));
}

#[test]
fn the_delimiter_of_most_fields_is_named() {
    let rules = DialectRules::default();
    for (text, expected) in [
        ("a;b\n1;2\n", Some((b';', 2))),
        ("a|b|c\n1|2|3;x\n", Some((b'|', 3))),
        ("a\tb;c\n1\t2;3\n", Some((b';', 2))),
        ("a\n1;2\n", None),
        ("note\nx\n", None),
        ("\"a;b\"\n\"c;d\"\n", None),
    ] {
        assert_eq!(other_delimiter(text.as_bytes(), true, &rules), expected, "{text:?}");
    }
}
