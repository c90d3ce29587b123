#![allow(clippy::unwrap_used)]

use super::{check_entry, check_json_checkpoint};

/// An entry of so many actions, each in a line.
fn entry(stated: u64) -> String {
    let digits = "0123456789abcdef".repeat(2);
    format!(
        "{{\"commitInfo\":{{\"engineInfo\":\"lakerace/1.0.0\",\"lakeraceActions\":{stated}}}}}\n\
         {{\"add\":{{\"path\":\"p=1/part-00000-{digits}.parquet\"}}}}\n\
         {{\"txn\":{{\"appId\":\"a\",\"version\":1}}}}\n"
    )
}

#[test]
fn an_entry_without_actions_is_not_complete() {
    for nothing in ["", "\n", " \r\n\n", "{}\n", "{}\n{}"] {
        assert!(check_entry(nothing.as_bytes()).is_err(), "{nothing:?}");
    }
}

#[test]
fn an_entry_of_ours_has_all_of_its_actions() {
    let whole = entry(3);
    assert_eq!(check_entry(whole.as_bytes()), Ok(()));
    assert_eq!(check_entry(whole.trim_end().as_bytes()), Ok(()));
    let lines: Vec<&str> = whole.lines().collect();
    for end in 1..lines.len() {
        let cut = lines[..end].join("\n");
        assert_eq!(check_entry(cut.as_bytes()), Err(format!("it has {end} actions of 3")));
    }
    let without_info = lines[1..].join("\n");
    assert!(check_entry(without_info.as_bytes()).unwrap_err().contains("commitInfo"));
}

#[test]
fn entries_of_other_writers_may_lack_the_info() {
    let others = [
        r#"{"add":{"path":"part-00000-1b5f-c000.snappy.parquet"}}"#,
        r#"{"remove":{"path":"part-00000-00000000000000000000000000000000.parquet"}}"#,
        "{\"remove\":{\"path\":\"part-00000-00000000000000000000000000000000.parquet\"}}\n\
         {\"add\":{\"path\":\"part-00000-00000000000000000000000000000000.parquet\"}}",
        r#"{"commitInfo":{"operation":"VACUUM START"}}"#,
        r#"{"commitInfo":{"engineInfo":"other","lakeraceActions":7}}"#,
        r#"{"commitInfo":{"engineInfo":"lakerace/0.1.0"}}"#,
    ];
    for other in others {
        assert_eq!(check_entry(other.as_bytes()), Ok(()), "{other}");
    }
}

#[test]
fn a_json_checkpoint_has_what_each_one_has() {
    let lines = [r#"{"checkpointMetadata":{"version":1}}"#, r#"{"metaData":{}}"#, r#"{"protocol":{}}"#];
    assert_eq!(check_json_checkpoint(lines.join("\n").as_bytes()), Ok(()));
    for end in 0..lines.len() {
        assert!(check_json_checkpoint(lines[..end].join("\n").as_bytes()).is_err());
    }
}

#[test]
fn an_entry_that_states_files_names_one() {
    let info = r#"{"commitInfo":{"operation":"DELETE","engineInfo":"delta-rs:py-1.6.6","operationMetrics":{"num_added_files":2,"num_removed_files":1}}}"#;
    let refused = "its commitInfo says that it adds 2 files and removes 1 file, but it names no file";
    for rest in ["", "\n", "\n{\"txn\":{\"appId\":\"a\",\"version\":1}}\n"] {
        assert_eq!(check_entry(format!("{info}{rest}").as_bytes()), Err(refused.to_owned()), "{rest:?}");
    }
    for rest in [r#"{"add":{"path":"a"}}"#, r#"{"remove":{"path":"a"}}"#, r#"{ "cdc" : {"path":"a"} }"#] {
        assert_eq!(check_entry(format!("{info}\n{rest}").as_bytes()), Ok(()), "{rest}");
    }
}
