#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn texts_are_written_and_read_as_another_library_does(text in "\\PC*|[\\x00-\\x7f]*") {
        let mut written = Vec::new();
        write_text(&mut written, text.as_bytes());
        prop_assert_eq!(&serde_json::from_slice::<String>(&written).unwrap(), &text);
        let theirs = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(Json::new(theirs.as_bytes()).text().unwrap(), text);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(prop::sample::select(b"{}[]\",:\\u0dDe-1.tfn ".to_vec()), 0..40)) {
        let skipped = Json::new(&bytes).skip().is_ok();
        // What another library takes, this one takes, and nothing else. Numbers beyond all floats are numbers here.
        match serde_json::from_slice::<serde_json::Value>(&bytes) {
            Ok(_) => prop_assert!(skipped),
            Err(_) => prop_assert!(!skipped || !is_whole(&bytes)),
        }
    }
}

#[test]
fn an_object_is_read_key_by_key() {
    let mut json = Json::new(br#" { "a" : [1, -2.5e3 ,"x\u00e9\ud83d\ude00"] , "b":{"c":null},"d":true} "#);
    let mut is_first = true;
    json.open_object().unwrap();
    assert_eq!(json.key(&mut is_first).unwrap().unwrap(), "a");
    let (mut values, mut first) = (0, true);
    json.open_array().unwrap();
    while json.next(&mut first).unwrap() {
        match values {
            0 => assert_eq!(json.number(), Ok("1")),
            1 => assert_eq!(json.number(), Ok("-2.5e3")),
            _ => assert_eq!(json.text().unwrap(), "xé😀"),
        }
        values += 1;
    }
    assert_eq!(values, 3);
    assert_eq!(json.key(&mut is_first).unwrap().unwrap(), "b");
    assert_eq!(json.skip(), Ok(&b"{\"c\":null}"[..]));
    assert_eq!(json.key(&mut is_first).unwrap().unwrap(), "d");
    assert_eq!(json.boolean(), Ok(true));
    assert_eq!(json.key(&mut is_first).unwrap(), None);
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = vec![b'['; 1 << 20];
    assert!(Json::new(&deep).skip().is_err());
}

/// Whether the bytes are one value, and no number in them is beyond all floats.
fn is_whole(bytes: &[u8]) -> bool {
    let mut json = Json::new(bytes);
    json.skip().is_ok() && json.is_at_end() && !bytes.iter().any(|byte| matches!(byte, b'e' | b'E'))
}

#[test]
fn short_integers_are_read_or_left() {
    for (text, value) in [("0,", Some(0)), ("-7}", Some(-7)), ("999999999999999999 ", Some(999_999_999_999_999_999))] {
        let mut json = Json::new(text.as_bytes());
        assert_eq!(json.short_integer(), value, "{text}");
        assert_eq!(json.position(), text.len() - 1, "{text}");
    }
    for text in ["", "-", "1.0", "1e3", "01", "1000000000000000000", "\"1\"", "null"] {
        let mut json = Json::new(text.as_bytes());
        assert_eq!((json.short_integer(), json.position()), (None, 0), "{text}");
    }
}

#[test]
fn expected_keys_are_passed_over_or_left() {
    let mut json = Json::new(br#"{"a":1,"b":2 ,"c":3,"d" :4}"#);
    let mut is_first = true;
    json.open_object().unwrap();
    assert!(!json.expected_key(b"\"b\":", &mut is_first) && is_first);
    assert!(json.expected_key(b"\"a\":", &mut is_first) && !is_first);
    assert_eq!(json.number().unwrap(), "1");
    assert!(json.expected_key(b"\"b\":", &mut is_first));
    assert_eq!(json.number().unwrap(), "2");
    // Blanks stand before the comma.
    assert!(!json.expected_key(b"\"c\":", &mut is_first));
    assert_eq!(json.key(&mut is_first).unwrap().as_deref(), Some("c"));
    assert_eq!(json.number().unwrap(), "3");
    assert!(!json.expected_key(b"\"d\":", &mut is_first));
    assert_eq!(json.key(&mut is_first).unwrap().as_deref(), Some("d"));
    assert_eq!(json.number().unwrap(), "4");
    assert!(!json.expected_key(b"\"e\":", &mut is_first));
    assert_eq!(json.key(&mut is_first).unwrap(), None);
}
