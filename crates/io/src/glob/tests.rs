#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::ErrorKind;

fn is_match(pattern: &str, name: &str) -> bool {
    Glob::parse(pattern, true).unwrap().matches(name)
}

#[test]
fn characters_are_compared_and_not_bytes() {
    for (pattern, yes, no) in [
        ("?", "é", "éé"),
        ("?", "日", "日本"),
        ("?", "😀", ""),
        ("a?b", "a日b", "ab"),
        ("[é]", "é", "e"),
        ("[à-ü]", "é", "z"),
        ("[!x]", "日", "x"),
        ("a[!x]b", "a😀b", "axb"),
        ("[éx]*", "xé", "é/x"),
        ("{é,x}?", "é日", "日é"),
        ("**/?.csv", "日/é/本.csv", "日本.csv"),
        ("[😀-😂]", "😁", "😃"),
        ("e\u{301}", "e\u{301}", "\u{e9}"),
    ] {
        assert!(is_match(pattern, yes), "{pattern} {yes}");
        assert!(!is_match(pattern, no), "{pattern} {no}");
    }
}

#[test]
fn stars_stop_at_slashes_unless_two_stand_between_them() {
    for (pattern, yes, no) in [
        ("a/*", "a/b", "a/b/c"),
        ("a/**", "a/b/c", "a/"),
        ("a/**", "a/b", "a"),
        ("a/**/b", "a/b", "ab"),
        ("a/**/b", "a/x/y/b", "a/xb"),
        ("**/b", "b", "xb"),
        ("**/b", "x/y/b", "b/x"),
        ("**", "a/b", "\0never"),
        ("a**b", "axxb", "a/b"),
        ("***", "a", "a/b"),
        ("{**/x,y}", "a/x", "a/y"),
        ("*\n", "a\n", "a"),
        ("a.b+(c)|$^", "a.b+(c)|$^", "axb+(c)|$^"),
        ("\\*\\[", "*[", "x["),
    ] {
        assert!(is_match(pattern, yes), "{pattern} {yes}");
        assert!(pattern == "**" || !is_match(pattern, no), "{pattern} {no}");
    }
    assert!(Glob::parse("a\\b", false).unwrap().matches("a\\b"));
}

#[test]
fn what_is_no_pattern_is_refused() {
    for pattern in ["a[", "a[!", "a[]", "a[!]", "a[z-a]", "a[!z-a]", "[a]b[c", "a\\", "{a", "a}", "{a,{b}"] {
        assert_eq!(Glob::parse(pattern, true).map_err(|e| e.kind()).err(), Some(ErrorKind::Usage), "{pattern}");
    }
}
