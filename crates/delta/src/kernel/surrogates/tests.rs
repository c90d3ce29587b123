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
        r#"{"a":"\u00e9\n\"\\"}"#,
        // A backslash of its own before what looks like an escape: the escapes of a text within a text.
        r#"{"stats":"{\"a\":\"\\ud840\\udc00\"}"}"#,
        r"\ud840",
        r"\udc00\ud840",
        r"\ud840\u00e9",
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

#[test]
fn escapes_of_letters_and_backslashes_become_plain() {
    // Jackson's and Python's readers take each of them for the text on the right.
    let forms = [
        (r#"{"\u0073tats":1}"#, r#"{"stats":1}"#),
        (r#""\u005cud840\u005cudc00""#, r#""\\ud840\\udc00""#),
        (r#""\u005Cud840""#, r#""\\ud840""#),
        (r#""a\\u0062""#, r#""a\\u0062""#),
        (r#""\u0022\u000a\u00e9""#, r#""\u0022\u000a\u00e9""#),
    ];
    for (written, read) in forms {
        assert_eq!(with_whole_characters(written.as_bytes()), read.as_bytes(), "{written}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(written), value(read));
    }
    let entry = r#"{"add":{"path":"x","stats":"{\u0022a\u0022:\u0022\u005cud840\u005cudc00\u0022}"}}"#;
    let mended = entry_with_whole_characters(entry.as_bytes()).into_owned();
    let stats = |text: &[u8]| {
        let entry: serde_json::Value = serde_json::from_slice(text).unwrap();
        serde_json::from_str::<serde_json::Value>(entry["add"]["stats"].as_str().unwrap()).unwrap()
    };
    assert_eq!(stats(&mended), stats(entry.as_bytes()));
    assert!(String::from_utf8(mended).unwrap().contains('\u{20000}'));
}
