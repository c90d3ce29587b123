#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::LogEntry;

#[test]
fn entries_give_their_files_and_who_wrote_them() {
    let text =
        br#"{"commitInfo":{"timestamp":5,"operation":"WRITE","operationParameters":{"mode":"Append"},"unknown":[1]}}
{"add":{"path":"a","size":10,"partitionValues":{},"deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":1}}}

{"remove":{"path":"b","dataChange":true}}
{"txn":{"appId":"x","version":1}}
"#;
    let entry: LogEntry = LogEntry::parse(text).unwrap();
    let info = entry.info.unwrap();
    assert_eq!(info.operation.as_deref(), Some("WRITE"));
    assert_eq!(info.parameters["mode"], "Append");
    assert_eq!((entry.added[0].path.as_str(), entry.added[0].size), ("a", Some(10)));
    assert_eq!(entry.added[0].deletion_vector.as_ref().unwrap().storage_type, "u");
    assert_eq!((entry.removed[0].path.as_str(), entry.removed[0].size), ("b", None));
}

#[test]
fn numbers_of_other_writers_keep_their_digits() {
    let text = br#"{"commitInfo":{"operationParameters":{"a":"b\"c","n":12345678901234567890.123,"l":[1e400]},"operationMetrics":{"m":"5"}}}"#;
    let info = <LogEntry>::parse(text).unwrap().info.unwrap();
    let parameters: Vec<(&str, &str)> = info.parameters.iter().map(|(name, text)| (&**name, &**text)).collect();
    assert_eq!(parameters, [("a", r#"b"c"#), ("l", "[1e400]"), ("n", "12345678901234567890.123")]);
    assert_eq!(info.metrics["m"], "5");
}

#[test]
fn damaged_lines_are_named() {
    let error = <LogEntry>::parse(b"{\"add\":{\"path\":\"a\"}}\n{\"add\":{\"path\":").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("line 2"), "{error}");
    assert_eq!(<LogEntry>::parse(b"\xff\n").unwrap_err().kind(), ErrorKind::Corrupt);
}
