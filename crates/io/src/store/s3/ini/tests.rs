#![allow(clippy::unwrap_used)]

use super::parse;

/// Sections by name, with their entries.
type Sections = &'static [(&'static str, &'static [(&'static str, &'static str)])];

#[test]
fn sections_are_those_of_configparser() {
    // Each expected value is what Python's RawConfigParser(default_section=None) returns.
    let cases: [(&str, Sections); 9] = [
        ("", &[]),
        ("[a]\nx=1\ny = 2 = 3\n[b]\n", &[("a", &[("x", "1"), ("y", "2 = 3")]), ("b", &[])]),
        ("[a]\n  x = 1\n  y = 2\n", &[("a", &[("x", "1"), ("y", "2")])]),
        ("[a]\nX: 1\n", &[("a", &[("x", "1")])]),
        ("# no\n[a]\n; no\nx = 1 # yes\n\n", &[("a", &[("x", "1 # yes")])]),
        (
            "[a]\ns3 =\n  style = path\n  # no\n  size = 1\ny = 2\n",
            &[("a", &[("s3", "\nstyle = path\nsize = 1"), ("y", "2")])],
        ),
        ("[a]\n  x = 1\n    more\n  y = 2", &[("a", &[("x", "1\nmore"), ("y", "2")])]),
        ("[profile \"a b\"] ; no\r\nx=1\r\n", &[("profile \"a b\"", &[("x", "1")])]),
        ("[a]\nx=\n  [b]\n", &[("a", &[("x", "\n[b]")])]),
    ];
    for (text, expected) in cases {
        let found = parse(text).unwrap();
        let found: Vec<(&str, Vec<(&str, &str)>)> = found
            .iter()
            .map(|section| {
                let entries = section.entries.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                (section.name.as_str(), entries.collect())
            })
            .collect();
        let expected: Vec<(&str, Vec<(&str, &str)>)> =
            expected.iter().map(|(name, entries)| (*name, entries.to_vec())).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn a_line_that_is_no_entry_is_named_without_its_text() {
    for (text, line) in [
        ("x = 1\n", 1),
        ("# fine\n[a]\nx = 1\ngarbage\n", 4),
        ("[a]\n= hunter2\n", 2),
        ("[a\nx = 1\n", 1),
        ("[a]\n[]\n", 2),
        ("{\"json\": 1}", 1),
    ] {
        assert_eq!(parse(text).unwrap_err().line, line, "{text:?}");
    }
}
