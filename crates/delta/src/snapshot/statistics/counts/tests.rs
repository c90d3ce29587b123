use super::*;

#[test]
fn counts_are_whole_numbers() {
    for text in [
        r#"{"numRecords":5}"#,
        r#"{"numRecords":0,"minValues":{"numRecords":"x"}}"#,
        r#"{"minValues":{"numRecords":1.5}, "numRecords" : 5 }"#,
        r#"{"numRecords":null,"nullCount":null}"#,
        r#"{"numRecords":5,"nullCount":{"a":1,"b":{"c":0,"d\"}":2},"e":null},"tightBounds":true}"#,
        r#"{"numRecords":5,"minValues":{"nullCount":1.5},"nullCount":{"nullCount":1}}"#,
        "{}",
        "no object",
    ] {
        assert!(are_sound(text), "{text}");
    }
    for text in [
        r#"{"numRecords":"5"}"#,
        r#"{"numRecords":1.5,"nullCount":{"a":1}}"#,
        r#"{"numRecords":5.0}"#,
        r#"{"numRecords":-5}"#,
        r#"{"numRecords":true}"#,
        r#"{"nullCount":{"a":1},"numRecords":"5"}"#,
        r#"{"numRecords":5,"nullCount":{"a":0.5}}"#,
        r#"{"numRecords":5,"nullCount":{"a":{"b":"0"}},"maxValues":{"a":1}}"#,
        r#"{"numRecords":5,"nullCount":"0"}"#,
    ] {
        assert!(!are_sound(text), "{text}");
    }
}

#[test]
fn plain_texts_are_not_parsed() {
    assert!(are_plain(r#"{"numRecords":5,"minValues":{"a":1.5},"nullCount":{"a":1,"b":{"c":0}}}"#));
    assert!(!are_plain(r#"{"numRecords":5,"nullCount":{"a": 1}}"#));
}
