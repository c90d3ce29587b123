use std::borrow::Cow;

use super::printable;
use crate::Error;

#[test]
fn control_characters_are_escaped_and_nothing_else() {
    assert!(matches!(printable("a\n\tb é 日本"), Cow::Borrowed(_)));
    assert_eq!(printable("a\u{1b}]0;x\u{7}\u{9b}31m\u{7f}\r\0"), "a\\u001b]0;x\\u0007\\u009b31m\\u007f\\u000d\\u0000");
}

#[test]
fn errors_show_no_escape_sequences() {
    let error = Error::corrupt("m\u{1b}[31m").at("p\u{1b}c").advice("a\u{9b}");
    assert_eq!(error.to_string(), "p\\u001bc: m\\u001b[31m (a\\u009b)");
    // What a program reads is as it was.
    assert_eq!((error.message(), error.location()), ("m\u{1b}[31m", Some("p\u{1b}c")));
    assert!(!format!("{error:?}").contains('\u{1b}'));
}
