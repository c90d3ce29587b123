#![allow(clippy::unwrap_used, reason = "a test may panic")]

use lakerace_io::ErrorKind;

use super::*;

#[test]
fn names_are_paths_below_a_folder() {
    let long = "x".repeat(4_000);
    for name in ["a", "a/b", "...", "a/.b", "..a", "a\nb", "a b", "ä/ö", "~", "a\\b", "C:", "-", long.as_str()] {
        assert!(check_name(name).is_ok(), "{name:?}");
    }
    let too_long = "x".repeat(MAX_NAME_BYTES + 1);
    for name in ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "./a", "a/.", "a\0b", &too_long] {
        assert_eq!(check_name(name).map_err(|e| e.kind()), Err(ErrorKind::Invalid), "{name:?}");
    }
}

#[test]
fn a_glob_stops_at_slashes() {
    let glob = Glob::parse("a/b*/c?.txt").unwrap();
    assert_eq!(glob.prefix(), "a/b");
    assert!(glob.matches("a/bx/c1.txt"));
    assert!(!glob.matches("a/b/x/c1.txt"));
    assert!(Glob::parse("**/*.txt").unwrap().matches("a/b/c.txt"));
    assert_eq!(Glob::parse("a[").map(|_| ()).map_err(|e| e.kind()), Err(ErrorKind::Usage));
}

#[test]
fn a_class_never_is_a_slash() {
    let classes = [
        ("!b", "ac-]!", "b/"),
        ("^b", "ac", "b/"),
        ("!a-c", "dz-", "abc/"),
        ("!]", "ab[", "]/"),
        ("!]-", "ab", "]-/"),
        ("!-", "ab", "-/"),
        ("!a-", "b!", "a-/"),
        ("!/", "ab", "/"),
        ("ab", "ab", "c/"),
        ("/", "", "/a\\"),
        ("/!a", "!a", "/b"),
        ("a/b", "ab", "/c"),
        ("]/", "]", "/["),
        ("+-9", "+,-.0189", "/*:"),
        ("--0", "-.0", "/1"),
        ("/-9", "09", "/."),
        ("+-/", "+.", "/0"),
        ("+-9-", "+.09-", "/:"),
    ];
    for (class, members, others) in classes {
        let is_of = |of: &str, name: String| Glob::parse(&of.replace("CLASS", class)).unwrap().matches(&name);
        for of in ["g[CLASS]ac", "{x,g[CLASS]}ac", "**/g[CLASS]a[c]"] {
            members.chars().for_each(|member| assert!(is_of(of, format!("g{member}ac")), "[{class}] {member}"));
            others.chars().for_each(|other| assert!(!is_of(of, format!("g{other}ac")), "[{class}] {other}"));
        }
    }
    assert!(Glob::parse("g\\[!b]ac").unwrap().matches("g[!b]ac"));
    for pattern in ["a[", "a[!", "a[]", "a[!]", "a[z-a]", "a[!z-a]", "[a]b[c", "a\\"] {
        assert_eq!(Glob::parse(pattern).map(|_| ()).map_err(|e| e.kind()), Err(ErrorKind::Usage), "{pattern}");
    }
}

#[test]
fn the_end_of_a_prefix_is_after_all_of_it() {
    assert_eq!(prefix_end(b"ab").as_deref(), Some(&b"ac"[..]));
    assert_eq!(prefix_end(b"a\xff").as_deref(), Some(&b"b"[..]));
    assert_eq!(prefix_end(b"\xff\xff"), None);
    assert_eq!(prefix_end(b""), None);
}

#[test]
fn a_name_that_is_not_composed_is_told() {
    assert!(normalisation_warning("e\u{301}.txt").is_some());
    assert!(normalisation_warning("\u{e9}.txt").is_none());
    assert!(normalisation_warning("plain").is_none());
}
