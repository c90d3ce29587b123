#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::Value;

use super::*;

const WIDE: &str =
    r#" { "numRecords" : 4, "minValues":{"v":-5388493425193644.48,"x":[1e400, {"}":"]"}]} ,"n\u0061me":"\"}{\\" } "#;

#[test]
fn values_stay_as_they_are_written() {
    let mut object = JsonObject::parse(WIDE).unwrap();
    assert_eq!(object.get("numRecords"), Some("4"));
    assert_eq!(object.get("minValues"), Some(r#"{"v":-5388493425193644.48,"x":[1e400, {"}":"]"}]}"#));
    assert_eq!(object.get("name"), Some(r#""\"}{\\""#));
    assert_eq!(object.get("maxValues"), None);
    object.set("numRecords", "5");
    object.set("tightBounds", "false");
    let expected = r#"{"numRecords":5,"minValues":{"v":-5388493425193644.48,"x":[1e400, {"}":"]"}]},"name":"\"}{\\","tightBounds":false}"#;
    assert_eq!(object.to_string(), expected);
    object.retain(|name| name == "tightBounds");
    assert_eq!(object.to_string(), r#"{"tightBounds":false}"#);
}

#[test]
fn the_last_of_several_members_counts_and_is_the_only_one_that_is_set() {
    let mut object = JsonObject::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
    assert_eq!(object.get("a"), Some("3"));
    object.set("a", "4");
    assert_eq!(object.to_string(), r#"{"a":4,"b":2}"#);
}

#[test]
fn other_texts_are_no_objects() {
    assert_eq!(JsonObject::parse("{}"), Some(JsonObject::default()));
    assert_eq!(JsonObject::parse(" {\n} "), Some(JsonObject::default()));
    for text in [
        "",
        "{",
        "}",
        "[]",
        "5",
        "{a:1}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{,"a":1}"#,
        r#"{"a":1 "b":2}"#,
        r#"{"a":1}}"#,
        r#"{"a":NaN}"#,
        r#"{"a":1} x"#,
    ] {
        assert_eq!(JsonObject::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_object_is_understood(members in proptest::collection::btree_map(".*", ".*", 0..6), number in any::<u64>()) {
        let mut expected: serde_json::Map<String, Value> =
            members.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
        expected.insert("inner".to_owned(), serde_json::json!({ "number": number, "list": [null, true, {}] }));
        let text = serde_json::to_string_pretty(&expected).unwrap();
        let object = JsonObject::parse(&text).unwrap();
        for (name, value) in object.members() {
            prop_assert_eq!(&serde_json::from_str::<Value>(value).unwrap(), &expected[name]);
        }
        prop_assert_eq!(serde_json::from_str::<Value>(&object.to_string()).unwrap(), Value::Object(expected));
    }
}
