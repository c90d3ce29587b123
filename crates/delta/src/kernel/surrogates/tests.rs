#![allow(clippy::unwrap_used)]

use std::borrow::Cow;

use super::{entry_with_whole_characters, with_whole_characters};

fn whole(json: &str) -> String {
    String::from_utf8(with_whole_characters(json.as_bytes()).into_owned()).unwrap()
}

#[test]
fn pairs_become_characters() {
    assert_eq!(whole(r#"{"a":"\ud840\udc00x\uD83D\uDE00"}"#), "{\"a\":\"\u{20000}x\u{1f600}\"}");
    assert_eq!(whole(r"\udbff\udfff"), "\u{10ffff}");
}

#[test]
fn other_escapes_stay() {
    for json in [
        r#"{"a":"\u0041\n\"\\"}"#,
        // A backslash of its own before what looks like an escape: the escapes of a text within a text.
        r#"{"stats":"{\"a\":\"\\ud840\\udc00\"}"}"#,
        r"\ud840",
        r"\udc00\ud840",
        r"\ud840\u0041",
        r"\ud840\ud",
        r"\u+840\udc00",
        "\\",
        "",
    ] {
        assert!(matches!(with_whole_characters(json.as_bytes()), Cow::Borrowed(_)), "{json}");
    }
    assert_eq!(whole(r"\ud840\ud840\udc00"), "\\ud840\u{20000}");
}

#[test]
fn every_plane_is_that_of_serde_json() {
    for plane in 1..=16u32 {
        let character = char::from_u32(plane << 16 | 0x345).unwrap();
        let mut units = [0; 2];
        let escapes: String = character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let json = format!("\"{escapes}\"");
        assert_eq!(whole(&json), format!("\"{character}\""));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), character.to_string());
    }
}

#[test]
fn statistics_are_texts_within_texts() {
    let whole = |json: &str| String::from_utf8(entry_with_whole_characters(json.as_bytes()).into_owned()).unwrap();
    let value = |json: &str| {
        let line: serde_json::Value = serde_json::from_str(json).unwrap();
        serde_json::from_str::<serde_json::Value>(line["add"]["stats"].as_str().unwrap()).unwrap()
    };
    for inner in [
        r#"{"a":"\\ud840\\udc00","b":"\ud840\udc00"}"#,
        r#"{"a":"\\","b":"\ud83d\ude00\ud840\udc00"}"#,
        r#"{"a":"x\"\udbff\udfff\"","b":"\u00e9"}"#,
    ] {
        let json = serde_json::json!({ "add": { "path": "a", "stats": inner } }).to_string();
        assert_eq!(value(&whole(&json)), value(&json), "{json}");
        let spaced = json.replace("\":", "\" : ");
        assert_eq!(value(&whole(&spaced)), value(&json), "{spaced}");
        assert!(whole(&json).contains(['\u{20000}', '\u{10ffff}']), "{json}");
    }
    // Only statistics are JSON: this is a value of six letters after each backslash.
    let partition = r#"{"add":{"partitionValues":{"p":"\\ud840\\udc00"}}}"#;
    assert_eq!(whole(partition), partition);
}
