use super::*;

#[test]
fn statistics_of_the_protocol_are_valid() {
    for text in [
        "{}",
        r#"{"numRecords":0}"#,
        r#"{"numRecords":9223372036854775807,"nullCount":{"a":0,"b":{"c":3}},"tightBounds":false}"#,
        r#"{"numRecords":null,"minValues":null,"maxValues":{"a":"😀","b":1e3},"other":[5]}"#,
    ] {
        assert_eq!(defect(text), None, "{text}");
    }
}

#[test]
fn each_defect_is_named() {
    for (text, words) in [
        ("", "are no JSON object"),
        ("[]", "are no JSON object"),
        (r#"{"minValues":{"a":"\ud800"}}"#, "can't be parsed"),
        (r#"{"numRecords":1180591620717411303424}"#, "have 1180591620717411303424 as numRecords"),
        (r#"{"numRecords":9223372036854775808}"#, "have 9223372036854775808 as numRecords"),
        (r#"{"numRecords":-1}"#, "have -1 as numRecords"),
        (r#"{"numRecords":3.5}"#, "have 3.5 as numRecords"),
        (r#"{"numRecords":"3"}"#, r#"have "3" as numRecords"#),
        (r#"{"tightBounds":1}"#, "have 1 as tightBounds"),
        (r#"{"minValues":[1]}"#, "have no object as minValues"),
        (r#"{"nullCount":7}"#, "have no object as nullCount"),
        (r#"{"nullCount":{"a":1,"b":{"c":-2}}}"#, "have no count as nullCount of b.c"),
        (r#"{"nullCount":{"a":18446744073709551616}}"#, "have no count as nullCount of a"),
    ] {
        let found = defect(text).unwrap_or_default();
        assert!(found.contains(words), "{text}: {found}");
    }
}
