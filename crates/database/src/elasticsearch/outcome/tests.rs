#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn each_row_has_an_outcome() {
    let body = br#"{"errors":true,"items":[{"index":{"status":201}},{"index":{"status":429,"error":{"type":"es_rejected_execution_exception","reason":"x"}}},
        {"create":{"status":409,"error":{"type":"version_conflict_engine_exception","reason":"[secret]: version conflict"}}},
        {"delete":{"status":404}},{"index":{"status":403,"error":{"type":"cluster_block_exception","reason":"x"}}}]}"#;
    let expected = [RowOutcome::Taken, RowOutcome::Busy, RowOutcome::Exists, RowOutcome::Taken, RowOutcome::Blocked];
    assert_eq!(outcomes(body).unwrap(), expected);
    assert!(outcomes(&body[..40]).is_err());
}

#[test]
fn reasons_name_the_field_and_no_value() {
    let body = br#"{"items":[{"index":{"status":400,"error":{"type":"document_parsing_exception",
        "reason":"[1:8] failed to parse field [n] of type [long] in document with id 'canary'. Preview of field's value: 'canary'",
        "caused_by":{"type":"illegal_argument_exception","reason":"For input string: \"canary\""}}}}]}"#;
    let expected = "document_parsing_exception in field \"n\": illegal_argument_exception";
    assert_eq!(outcomes(body).unwrap(), [RowOutcome::Rejected(expected.to_owned())]);
}

#[test]
fn documents_of_a_resumed_load_are_told_by_all_their_digits() {
    let answer = br#"{"docs":[{"_source":{"n":1234567890123456789.01}},{"found":false},{"_source":{"n":1}}]}"#;
    let sent = [br#"{"n":1234567890123456789.01}"#.as_slice(), br#"{"n":1}"#, br#"{"n":1.0}"#, br#"{"n":1}"#];
    assert_eq!(are_there(sent.into_iter(), answer).unwrap(), [true, false, false, false]);
    let other = br#"{"n":1234567890123456789.02}"#.as_slice();
    assert_eq!(are_there([other].into_iter(), answer).unwrap(), [false]);
}
